/*
 * A cohort while it is judged, shared by outliers.c (which ranks are odd) and outlier_differences.c (which call sites make
 * the difference). Private to them.
 */
#pragma once

#include "analysis/compare/outliers.h"

#include "base/sort.h"

struct spread {
    uint64_t median, deviation; /* the median of the distances from it */
    uint32_t count;
};

/* Tables of the others at one moment. */
struct tally {
    int64_t step;
    enum rank_moment at;
    struct spread totals;
    struct sort_row *entries, *spare; /* key: site; value: index into `bytes` */
    uint64_t *bytes;
    uint32_t count, n_tables;
};

struct cohort {
    struct outlier_row *rows;
    const uint32_t *member; /* [count] rows */
    uint32_t count;
    struct arena *arena;
    struct sort_row *values, *deviations, *spare; /* [count] */
    struct tally *kept;                           /* of the last comparison; NULL: none */
    bool without_oom; /* ranks that ran out of memory are not what the others are compared with */
};

static inline uint64_t outliers_distance(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
}

/* The lower median where there are two, rounded down to their middle. Sorts `rows`; `spare` has room for as many. */
uint64_t outliers_median(struct sort_row *rows, struct sort_row *spare, uint32_t count);

struct spread outliers_spread(struct cohort *cohort, uint32_t count);

/* Bytes of a site in a table; 0: it is not there. O(entries). */
uint64_t outliers_table_bytes(const struct rank_profile *profile, const struct rank_table *table,
                              uint32_t site);

int64_t outliers_step_with_tables(const struct rank_profile *profile, int64_t step, enum rank_moment at);

/* Fills the row's differences, where it has a table to compare. False: no memory. */
bool outliers_compare(struct cohort *cohort, uint32_t index);

/* Gives a tally's columns back; an empty one has none. */
void outliers_tally_drop(struct cohort *cohort, struct tally *tally);
