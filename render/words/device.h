/* Words for devices in sentences, and the sentence for a file without devices. */
#pragma once

#include "base/format.h"

#include <stdint.h>

/* "device 3", "CPU". */
struct figure device_words(int32_t ordinal);

/* The sentence for a file without devices. */
extern const char no_device_sentence[];
