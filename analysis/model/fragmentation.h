/*
 * Why more is reserved than in use, at any moment, by causes that add up to the gap, to the byte. Freestanding.
 *
 *     reserved   |-------- segment --------|------- segment -------|
 *     blocks     [ request |round|  tail  ][ free ][ request |round]
 *                                  unsplit   free
 */
#pragma once

#include "analysis/model/replay.h"
#include "layout/timeline.h"

enum gap_cause {
    GAP_ROUNDING,        /* requests rounded up */
    GAP_UNSPLIT,         /* remainders of blocks that were not worth splitting off */
    GAP_EMPTY_SEGMENTS,  /* segments with nothing in use: empty_cache() gives them back */
    GAP_FREE_BLOCKS,     /* free blocks between others, in segments of the default pool */
    GAP_EXPANDABLE_TAIL, /* the free end of an expandable segment: it can be unmapped, and can grow */
    GAP_PRIVATE,         /* everything free in private pools, which no other request can use */
    GAP_CONTRADICTION,   /* where the file contradicts itself; may be negative */
    GAP_CAUSES
};

/* "rounding", "unsplit_tails", "empty_segments", "holes", "expandable_tails", "private_pools", "contradictions" */
extern const char *const gap_cause_name[GAP_CAUSES];

/* A segment with less than a quarter in use, and what keeps it. */
struct pinned_segment {
    uint64_t address, size, free_bytes;
    uint32_t n_blocks;   /* in use or waiting */
    uint32_t allocation; /* the largest block in use */
    uint16_t stream, pool;
    uint8_t flags; /* enum segment_flag */
};

enum { PINNED_MAX = 10 };

struct fragmentation {
    uint32_t moment;
    uint64_t reserved_bytes, live_bytes; /* live: requested, including what waits for another stream */
    int64_t gap_bytes;                   /* reserved_bytes - live_bytes: the sum of the causes */
    int64_t cause_bytes[GAP_CAUSES];
    /* sizes of blocks are known; otherwise a free block may partly be unsplit rest, or the reverse */
    bool exact;
    uint64_t largest_free_bytes;
    uint32_t n_segments, n_pinned;
    uint64_t pinned_free_bytes;               /* of all n_pinned */
    struct pinned_segment pinned[PINNED_MAX]; /* those with the most free bytes, in that order */
};

/* `segments` must belong to the timeline's device. `replay` may be NULL; if its grade is exact it gives the sizes
 * of blocks. O(pieces + alive log alive). False: no memory. */
bool fragmentation_find(struct fragmentation *fragmentation, const struct timeline *timeline,
                        const struct segments *segments, const struct replay *replay, uint32_t moment,
                        struct arena *arena);

/* The same for a known state: `held` is that of the moment (fragmentation_state). O(blocks). */
void fragmentation_of(struct fragmentation *found, const struct timeline *timeline, const struct held *held,
                      const struct replay *replay, uint32_t moment);

/* The segments and blocks at a moment, with sizes from the replay if it has them. False: no memory. */
bool fragmentation_state(struct held *held, const struct timeline *timeline, const struct segments *segments,
                         const struct replay *replay, uint32_t moment, struct arena *arena);
