/* A crew while it is being judged. Private to outliers.c (odd ranks) and outlier_differences.c (their call
 * sites). */
#pragma once

#include "analysis/compare/outliers.h"

#include "base/numbers.h"
#include "base/sort.h"

/* The other ranks' tables at one moment. */
struct tally {
    int64_t step;
    enum rank_moment at;
    uint64_t median_total;
    struct sort_row *entries, *spare; /* key: site; value: index into `bytes` */
    uint64_t *bytes;
    uint32_t count, n_tables;
};

/* A crew, or peers in it. */
struct crew {
    struct outlier_row *rows;
    const uint32_t *member; /* [count] rows, peers after peers */
    uint32_t count;
    struct arena *arena;
    struct sort_row *values, *deviations, *spare; /* [count] */
    uint64_t *medians;                            /* [count] of the peers of each value */
    struct tally *kept;                           /* tally of the last comparison; NULL: none */
    bool without_oom; /* leave ranks that ran out of memory out of the comparison */
};

/* The median; of an even number the mean of the middle two, rounded down. Sorts `rows`; `spare` has room for as
 * many. */
uint64_t outliers_median(struct sort_row *rows, struct sort_row *spare, uint32_t count);

/* Fills the differences of a row from its peers, if it has a table to compare. False: no memory. */
bool outliers_compare(struct crew *peers, uint32_t index);

/* Frees a tally's columns, if it has any. */
void outliers_tally_drop(struct crew *peers, struct tally *tally);
