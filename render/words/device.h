/* What devices are called in sentences, and what is said where there are none. */
#ifndef STRATA_RENDER_WORDS_DEVICE_H
#define STRATA_RENDER_WORDS_DEVICE_H

#include "base/format.h"

#include <stdint.h>

/* "device 3", "CPU". */
struct figure device_words(int32_t ordinal);

/* Of a file without devices. */
extern const char no_device_sentence[];

#endif
