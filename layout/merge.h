/*
 * Makes a recording smaller, for a page that must not exceed a size.
 *
 * Some moments are kept. What happened between two of them moves to the later one, so at every kept moment the
 * picture is exact, in bytes and in allocations, and until the next one it does not change:
 *
 *     moments      0   1   2   3   4   5   6   7        kept: 0, 3, 7
 *     allocation a           |-----------|                     3 .. 7
 *     allocation b               |---|                         3 .. 7     same stack as a: one band, 2 allocations
 *     allocation c                           |---|             never alive at a kept moment: hidden, only counted
 *
 * The beginning, the end, the peak and every moment of a segment event, an out-of-memory error or a snapshot are
 * kept, as are the highest and the lowest moment of each time slice and the moments of all large allocations.
 * "Large" means bytes times lifetime, the area in the picture: the smallest and shortest-lived are merged first.
 * The `level` sets where "large" begins and, beyond that, how many slices there are.
 */
#pragma once

#include "trace/trace.h"

enum { MERGE_LEVELS = 2048 + 10 }; /* level 0 merges nothing; each one merges more than the one before */

struct merge {
    /* the smaller recording; it shares tables, strings and most columns with the original */
    struct trace trace;
    uint64_t n_allocations; /* of the original, all devices */
    uint64_t n_merged;      /* allocations that share a band with others */
    uint64_t n_bands;       /* the bands that they are merged into */
    uint64_t n_hidden;      /* allocations that are alive at no kept moment */
    uint64_t n_kept;        /* kept moments */
    struct arena arena;     /* the new columns of `trace` */
};

/* Makes `merge->trace` from `trace` (which must outlive it), in memory that counts towards the limit of the arena
 * of `trace`. Release it in any case. False: no memory. O(events + allocations). */
bool merge_init(struct merge *merge, struct trace *trace, unsigned level);
void merge_release(struct merge *merge);
