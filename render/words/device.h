/* What devices are called in sentences, and what is said where there are none. */
#pragma once

#include "base/format.h"

#include <stdint.h>

/* "device 3", "CPU". */
struct figure device_words(int32_t ordinal);

/* Of a file without devices. */
extern const char no_device_sentence[];
