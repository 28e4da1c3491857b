/* The order in the stack of allocations from before the recording. Part of timeline_init; freestanding. */
#pragma once

#include "layout/timeline.h"

/* Fills `oldest` and `oldest_place` of a timeline whose call sites are known. O(older allocations + frames). False:
 * no memory. */
bool oldest_order(struct timeline *timeline, struct arena *arena);
