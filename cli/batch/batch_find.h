/* The snapshots among files and directories, recognised by their first bytes. */
#pragma once

#include "cli/batch/batch.h"
#include "cli/batch/batch_names.h"

/*
 * Fills batch->files from settings->inputs, sorted by `input`, with ranks and steps read from the names. A file that
 * begins like nothing that Strata reads is BATCH_SKIPPED with a reason, unless the command line names it. The output
 * directory, reports of other batches and names that begin with a dot are passed over. Symbolic links to files are
 * followed, those to directories are not. A path that cannot be read becomes a file that has failed, which is printed.
 */
void batch_find(struct batch *batch, const struct rank_pattern *pattern);
