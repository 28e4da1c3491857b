/* Words for devices in sentences, and the sentence for a file without devices. */
#pragma once

#include "base/format.h"

#include <stdint.h>

/* "device 3", "CPU", "host (pinned)". device_named writes `noun` in place of "device", or only "3" if it is "". */
struct figure device_words(int32_t ordinal);
struct figure device_named(const char *noun, int32_t ordinal);

/* The sentence for a file without devices. */
extern const char no_device_sentence[];
