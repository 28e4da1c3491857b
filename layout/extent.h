/*
 * The allocations that a question is about: those alive at a moment, or those of a range of moments.
 *
 *                first        end
 *      a   |-------|-----------|------|      through
 *      b           |  |----|   |             allocated, freed
 *      c           |     |-----|---|         allocated, kept
 *      d   |-------|----|      |             freed
 *      e           |     |-----|----->      allocated, kept, lasting
 *
 * Freestanding.
 */
#pragma once

#include "layout/timeline.h"

enum extent_what {
    EXTENT_AT,        /* alive at `first` */
    EXTENT_PEAK,      /* alive at the highest moment of the range */
    EXTENT_ALLOCATED, /* made in the range */
    EXTENT_FREED,     /* freed in the range */
    EXTENT_KEPT,      /* made in the range and alive at its end */
    EXTENT_THROUGH,   /* alive before the range and after it */
    EXTENT_LASTING    /* made in the range and never freed, not even after it */
};

/* Moments [first, end); `end` is ignored for EXTENT_AT. Both are clamped to the recording. */
struct extent {
    enum extent_what what;
    uint32_t first, end;
};

/* The moment whose memory an extent describes: for EXTENT_PEAK the highest, otherwise the last of the range. */
uint32_t extent_moment(const struct timeline *timeline, struct extent extent);

/* Writes ids of the allocations, rising, into `*allocations` (ARENA_DROP frees it early). `keep` is a bitmap by
 * filter_keep_step; NULL: all. O(allocations born in the range, or before its end); for a moment O(alive). False: no
 * memory. */
bool extent_allocations(const struct timeline *timeline, struct extent extent, const uint64_t *keep,
                        struct arena *arena, uint32_t **allocations, uint32_t *n_allocations);
