/* Options and values that earlier versions had, and what does their work now. */
#pragma once

#include "cli/options.h"

#include <stddef.h>

/* What to use instead of an option of this verb (`value` NULL), or of a value of the option, as the end of a sentence.
 * Returns NULL where no earlier version had it. `name` has `length` bytes. */
const char *gone_instead(enum verb_bit verb, const char *name, size_t length, const char *value);
