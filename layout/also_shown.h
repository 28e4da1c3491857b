/*
 * Finds call sites that colour a good part of a picture but are missing in a list of what is alive at one moment,
 * because almost nothing of them is alive then. Example: gradients, where the peak lies in the forward pass.
 * Freestanding.
 */
#pragma once

#include "layout/timeline.h"

enum { ALSO_SHOWN_MAX = 5 };

struct also_shown {
    uint32_t site;  /* frame id; 0: no stack was recorded */
    bool of_free;   /* the line is where it was freed */
    uint64_t bytes; /* the most at once in the window */
};

/*
 * Finds the largest such sites of the moments [first, end) among the allocations of the bitmap `keep` (NULL: all),
 * largest first: those that take at least a hundredth of the picture's area, and less than a thousandth of what is
 * alive at `moment`. Writes them into `also` and their number into `count`. O(allocations log allocations). False:
 * no memory.
 */
bool also_shown_find(const struct timeline *timeline, const uint64_t *keep, uint32_t first, uint32_t end,
                     uint32_t moment, struct arena *arena, struct also_shown also[ALSO_SHOWN_MAX],
                     uint32_t *count);
