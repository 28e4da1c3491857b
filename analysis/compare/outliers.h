/*
 * Finds ranks that are unlike the others, in what they differ, and which call sites make the difference. A figure is
 * compared with the median of the rank's peers (peers.h); how far from it is usual, all ranks of the crew show. Ranks are compared at the same moments: at the end of the rank's last complete step, which the others
 * reached too; at the highest moment of the same steps; and, if a rank ran out of memory, in the same step and
 * phase. Freestanding.
 */
#pragma once

#include "analysis/compare/peers.h"
#include "analysis/compare/ranks.h"

enum outlier_measure { OUTLIER_PEAK, OUTLIER_END, OUTLIER_GROWTH, OUTLIER_EVENTS, OUTLIER_MEASURES };

enum { OUTLIER_DIFFERENCES = 8, OUTLIER_UNIT = 1000 };

/* By how much a call site is above or below the median of the peers. */
struct outlier_difference {
    uint32_t site;  /* hash */
    uint32_t owner; /* a row whose profile has the site */
    uint64_t bytes, median_bytes;
};

struct outlier_figure {
    bool known;
    uint64_t value, median;
    int64_t score; /* robust z-score in 1/OUTLIER_UNIT; 0 if the spread is 0 */
    bool odd;      /* possible from four ranks on */
    bool higher;   /* the highest of two or three ranks, by an amount worth reporting */
};

struct outlier_row {
    /* in */
    const struct rank_profile *profile;
    struct peer_row of;
    uint64_t peak_bytes, end_bytes, n_events; /* of the whole recording */
    bool oom;

    /* out */
    uint32_t peers, crew_size;
    int64_t at_step; /* compared at the end of this step; RANK_NO_STEP: over the whole recordings */
    struct outlier_figure figure[OUTLIER_MEASURES];
    /* per step, from the end of the second complete step on; 0 with fewer than three */
    int64_t growth_bytes;
    uint32_t n_steps, median_steps; /* complete steps, of the row and of the crew's median */
    /* It ended at an earlier step than half of the crew. With as many events as these, or with more memory at its
     * first step, only the beginning may be missing, as in a full buffer. */
    bool stopped_early;
    uint32_t n_differences; /* first excess, by falling size; then deficit */
    struct outlier_difference difference[OUTLIER_DIFFERENCES];
    uint64_t total_bytes, total_median_bytes; /* at the moment of `difference` */
};

/* Fills the output part of all rows. O(n log n * steps + entries log entries). False: no memory. */
bool outliers_find(struct outlier_row *rows, uint32_t n_rows, struct arena *arena);
