/* Tells whether a backward makes new gradients or adds to those that are there. Private to the findings. */
#pragma once

#include "analysis/findings/finder.h"

#include "base/bits.h"

/* Is it a gradient, and not a copy of one kept by a leak? */
static inline bool is_gradient(const struct finder *finder, uint32_t allocation) {
    return finder->verdicts->category[allocation] == CATEGORY_GRADIENT &&
           !bits_has(finder->lives.told, allocation);
}

/*
 * Fills made[turns]: bytes of gradients that each turn's backward makes and that, if kept, would be seen at the
 * forward of the next turn, forward_moment[turn + 1]. 0 if it may as well add to gradients from before the
 * recording, which sets finder->gradients_unsure. O(allocations log parameters). False: no memory.
 */
bool gradients_made(struct finder *finder, const uint32_t *forward_moment, uint64_t *made);
