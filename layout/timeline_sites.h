/* The parts of timeline_init that need its call sites. Freestanding. */
#pragma once

#include "layout/timeline.h"

/* Fills `oldest` and `oldest_place`: the order in the stack of allocations from before the recording. O(these +
 * frames). False: no memory. */
bool oldest_order(struct timeline *timeline, struct arena *arena);

/*
 * Fills `slot` and `twin`, the colours. Call sites are ranked by their highest total. The first 12 get 12 different
 * colours: the one that the site's hash prefers, so that it stays from file to file, or the next free one if a
 * larger site has that. The next 12 get the colours again, with stripes; all others share one. O(events +
 * allocations + length of the sites' names). In SITE_SLOTS_STEPS, from 0 on; after a failure (false: no memory) start with 0 again.
 */
bool site_slots_step(struct timeline *timeline, uint32_t step, struct arena *arena);
