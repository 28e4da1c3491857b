/* From sidecars and the shards' records to index.html and summary.json. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/* Removes the pages, pictures and sidecars that an earlier run made of inputs that are gone or could not be read now.
 * Files that Strata did not write are kept. False: a directory cannot be read; printed. */
bool join_remove_stale(struct batch *batch);

/* Fills the index, in the batch's arena, from the batch's own results and the sidecars of its finished files. */
void join_batch(struct index *index, struct batch *batch);

/* Fills the index from all sidecars and records of the batch's directory. Missing shards, and shards that saw other
 * files than the rest, become notes of the index; then `*complete` is false. False: nothing is there, or a directory
 * cannot be read; printed. */
bool join_directory(struct index *index, struct batch *batch, bool *complete);

/* Analyses, makes the outputs that the index links to (batch_series.h, batch_pages.h), and writes index.html and
 * summary.json into batch->directory, without those that could not be made (batch->incomplete). False: printed;
 * `*number` is the signal that ended it, or 0. */
bool join_write(struct index *index, struct batch *batch, int *number);
