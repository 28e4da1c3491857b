/*
 * Ranks that do the same work, and may be compared: of one dump of a run (`step`), of one group where names tell groups,
 * else with the same program, which is how often each call site allocates in forward, backward and optimizer. One more line
 * does not make another program, nor do fewer gradients. Freestanding.
 */
#pragma once

#include "analysis/compare/ranks.h"

struct cohort_row {
    const struct rank_profile *profile;
    int64_t step;   /* that the file's name tells; rows of different steps are never compared */
    uint64_t group; /* hash of the group that the name tells; 0: it tells none */
    int64_t rank;   /* < 0: not known */
};

/* Fills cohort[n_rows] with numbers from 0, in the order of their first rows. O(n (log n + cohorts * calls)). False: no
 * memory. */
bool cohorts_find(const struct cohort_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *cohort,
                  uint32_t *n_cohorts);
