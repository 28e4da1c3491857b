/* The colours of call sites. Part of timeline_init; freestanding. */
#ifndef STRATA_LAYOUT_SITE_SLOTS_H
#define STRATA_LAYOUT_SITE_SLOTS_H

#include "layout/timeline.h"

/*
 * Fills `slot` and `twin` of a timeline whose call sites are known. Sites are ranked by their highest total. The
 * first 12 get 12 different colours: the one that the site's hash prefers, so that it stays from file to file, or
 * the next free one if a larger site has that. The next 12 get the colours again, with stripes; all others share
 * one. O(events + allocations + length of the sites' names). False: no memory.
 */
bool site_slots_find(struct timeline *timeline, struct arena *arena);

#endif
