/* Finds the files of a batch that are dumps of one rank at several moments, by their paths. */
#pragma once

#include "cli/batch/batch.h"

/*
 * The common form of the paths of one rank's dumps: the path with 'N' for the numbers of its step and rank and 'T' for a date
 * with a time, "iteration_N/rankN_memory_snapshot.pickle". A number of a directory counts only after a word for a step, so
 * that run3/ and run4/ stay two. `*stamped`: there is a time. NULL: no memory.
 */
char *family_text(struct batch *batch, const char *input, int64_t rank, int64_t step, bool *stamped);
