/*
 * Makes a recording smaller than it is, for a page that must not exceed a size.
 *
 * Some moments are kept, the others are given up: what happened between two kept moments is moved to the later one. So
 * at every kept moment the picture is exact, bytes and allocations alike, and until the next one it stands still:
 *
 *     moments      0   1   2   3   4   5   6   7        kept: 0, 3, 7
 *     allocation a           |-----------|                     3 .. 7
 *     allocation b               |---|                         3 .. 7     same stack as a: one band, 2 allocations
 *     allocation c                           |---|             never alive at a kept moment: hidden, only counted
 *
 * Kept are the beginning, the end and the peak, every moment at which something of note happens (segments, out of memory,
 * snapshots), the highest and the lowest moment of each time slice, and the moments of all allocations that are large
 * enough. "Large" is bytes times lifetime, the area in the picture: the smallest and shortest-lived are merged first.
 * Freely chosen is where "large" begins, and when that is not enough, how many slices there are: the `level`.
 */
#pragma once

#include "trace/trace.h"

enum { MERGE_LEVELS = 2048 + 10 }; /* level 0 merges nothing; each one merges more than the one before */

struct merge {
    /* the smaller recording; tables, strings and most columns are those of the original */
    struct trace trace;
    uint64_t n_allocations; /* of the original, all devices */
    uint64_t n_merged;      /* allocations that share a band with others */
    uint64_t n_bands;       /* the bands that they are merged into */
    uint64_t n_hidden;      /* allocations that are alive at no kept moment */
    uint64_t n_kept;        /* moments */
    struct arena arena;     /* the new columns of `trace` */
};

/*
 * Makes `merge->trace` of `trace` (which must outlive it), in memory that counts as the arena's of `trace`. To be
 * released in any case. False: no memory. O(events + allocations).
 */
bool merge_init(struct merge *merge, struct trace *trace, unsigned level);
void merge_release(struct merge *merge);
