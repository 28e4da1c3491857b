/* Finds the files of a batch that are dumps of one rank at several moments, by their paths. */
#pragma once

#include "cli/batch/batch.h"

/*
 * The common form of the paths of one rank's dumps, "iteration_N/rankN_memory_snapshot.pickle": 'N' replaces the
 * numbers of step and rank, 'T' a date with a time. In a directory only a number after a word for a step is replaced,
 * so that run3/ and run4/ stay two. `*stamped`: the path has a time. NULL: no memory.
 */
char *family_text(struct batch *batch, const char *input, int64_t rank, int64_t step, bool *stamped);
