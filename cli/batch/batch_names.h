/* Rank and step from a file's path, and names for its outputs. */
#ifndef STRATA_CLI_BATCH_BATCH_NAMES_H
#define STRATA_CLI_BATCH_BATCH_NAMES_H

#include "cli/batch/batch.h"

#include <regex.h>

/* --rank-regex, ready to match. */
struct rank_pattern {
    bool given;
    regex_t regex;
    size_t rank_group, step_group; /* 0: the expression has none */
};

/*
 * Compiles a POSIX extended expression in which \d and named groups, (?P<rank>...) or (?<step>...), are understood as
 * well. NULL: the names in use. False: printed, nothing to release.
 */
bool rank_pattern_init(struct rank_pattern *pattern, const char *regex);
void rank_pattern_release(struct rank_pattern *pattern);

/*
 * Reads rank and step from a path, the file's own name before its directories: rank0_memory_snapshot.pickle,
 * snapshot_oom_rank-3.pickle, prof_memsnap_r0.pkl, rank-1_itrn-3.Mar_01.snapshot.pickle, snapshot_0.pickle,
 * iteration_10/rank0_x.pickle. BATCH_UNKNOWN where it says nothing.
 */
void names_read(const char *input, const struct rank_pattern *pattern, int64_t *rank, int64_t *step);

/*
 * Sets `name` of every file that is not BATCH_SKIPPED (rank3.log must not take a name from rank3.pickle): rank3-step10,
 * or the path's text where no rank is known. Files that would share a name get the path's text as well, so both of two
 * files of one rank are kept. Depends on the set of inputs only, not on their order. False: no memory.
 */
bool names_assign(struct batch *batch);

#endif
