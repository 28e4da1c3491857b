/* Generic values as JSON text, for what is only shown: allocator settings, metadata given as a dict. */
#pragma once

#include "parser/snapshot.h"

/* The text of `value` as a string of the trace; what nests deeper than 32 becomes null. 0 for VALUE_NONE. What it takes is added to
 * what the snapshot has made of references (parser/made_text.h). */
bool settings_text(struct snapshot *snapshot, const struct value *value, uint32_t *string);
