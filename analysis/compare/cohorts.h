/*
 * Finds ranks that do the same work and may be compared. They are of one dump of a run (`step`) and of one group,
 * if file names tell groups; otherwise they run the same program, judged by how often each call site allocates in
 * forward, backward and optimizer. One more line, or fewer gradients, do not make another program. Freestanding.
 */
#pragma once

#include "analysis/compare/ranks.h"

struct cohort_row {
    const struct rank_profile *profile;
    int64_t step;   /* from the file's name; rows of different steps are never compared */
    uint64_t group; /* hash of the group in the file's name; 0: none */
    int64_t rank;   /* < 0: unknown */
};

/* Fills cohort[n_rows] with numbers from 0, in the order of their first rows. O(n (log n + cohorts * calls)).
 * False: no memory. */
bool cohorts_find(const struct cohort_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *cohort,
                  uint32_t *n_cohorts);
