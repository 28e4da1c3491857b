/* The colours of call sites. Part of timeline_init; freestanding. */
#ifndef STRATA_LAYOUT_SITE_SLOTS_H
#define STRATA_LAYOUT_SITE_SLOTS_H

#include "layout/timeline.h"

/*
 * Fills `slot` and `twin` of a timeline whose call sites are known. Sites are ranked by the most bytes that they ever have. The
 * first 12 get 12 different colours: each the one that its hash prefers, so that it keeps it from file to file, or where a
 * larger site has that, the next free one. The next 12 get the colours a second time, with stripes; all others share one.
 * O(events + allocations + length of the sites' names). False: no memory.
 */
bool site_slots_find(struct timeline *timeline, struct arena *arena);

#endif
