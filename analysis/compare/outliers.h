/*
 * Which ranks are unlike the others of their cohort, in what, and which call sites make the difference. Ranks are compared
 * at the same moment: each at the end of its last complete step, with the others at the end of the same step; at the highest
 * moment of the same steps; where one ran out of memory, with the others' same step and phase. Freestanding.
 */
#pragma once

#include "analysis/compare/cohorts.h"

enum outlier_measure { OUTLIER_PEAK, OUTLIER_END, OUTLIER_GROWTH, OUTLIER_EVENTS, OUTLIER_MEASURES };

enum { OUTLIER_DIFFERENCES = 8, OUTLIER_UNIT = 1000 };

/* How far a call site is above or below the cohort's median rank. */
struct outlier_difference {
    uint32_t site;  /* hash */
    uint32_t owner; /* a row in whose profile the site is */
    uint64_t bytes, median_bytes;
};

struct outlier_figure {
    bool known;
    uint64_t value, median;
    int64_t score; /* robust z-score in 1/OUTLIER_UNIT; 0 where the spread is 0 */
    bool odd;      /* from four ranks on */
    bool higher;   /* the highest of two or three ranks, by more than what is worth a word */
};

struct outlier_row {
    /* in */
    struct cohort_row of;
    uint64_t peak_bytes, end_bytes, n_events; /* of the whole recording */
    bool oom;

    /* out */
    uint32_t cohort, cohort_size;
    int64_t at_step; /* compared at the end of this step; RANK_NO_STEP: over the whole recordings */
    struct outlier_figure figure[OUTLIER_MEASURES];
    /* per step, from the second complete step's end on; 0 where there are fewer than three */
    int64_t growth_bytes;
    uint32_t n_growth;              /* steps that it is taken from */
    uint32_t growth_site;           /* hash of the site that grows most; 0: none */
    uint64_t growth_site_bytes;     /* per step */
    uint32_t n_steps, median_steps; /* complete ones, and of the cohort */
    uint32_t n_differences;         /* what is more first, by falling size; then what is less */
    struct outlier_difference difference[OUTLIER_DIFFERENCES];
    enum rank_moment compared_at;             /* of `difference` */
    uint64_t total_bytes, total_median_bytes; /* at that moment */
    uint32_t only_site; /* hash of a site that no other rank of this step has; 0: none */
    uint64_t only_bytes;
};

/* Fills the out part of all rows. `n_cohorts` is answered. O(n log n * steps + entries log entries). False: no memory. */
bool outliers_find(struct outlier_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *n_cohorts);
