/* Call sites that share a colour, told apart. Part of timeline_init; freestanding. */
#pragma once

#include "layout/timeline.h"

/*
 * Fills `twin` of a timeline whose peak and call sites are known. Sites are ranked by what they have at the peak, then by
 * bytes times moments of the whole run; of those with one colour the first is plain. O(allocations + length of the sites'
 * names). False: no memory.
 */
bool site_twins_find(struct timeline *timeline, struct arena *arena);
