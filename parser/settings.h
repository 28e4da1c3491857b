/* Generic values as JSON text that is only shown: allocator settings, metadata given as a dict. */
#pragma once

#include "parser/snapshot.h"

/* The text of `value` as a string of the trace; nesting beyond 32 becomes null. 0 for VALUE_NONE. Its bytes count
 * towards the texts that the snapshot makes (parser/made_text.h). */
bool settings_text(struct snapshot *snapshot, const struct value *value, uint32_t *string);
