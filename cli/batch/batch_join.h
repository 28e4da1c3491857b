/* From sidecars to index.html and summary.json. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/* Fills the index, in the batch's arena, from the batch's own results and the sidecars of its finished files. */
void join_batch(struct index *index, struct batch *batch);

/* Sorts the index's rows and finds what is different. */
void join_analyse(struct index *index, struct batch *batch);

/* Analyses, makes the pages that the index links to (batch_pages.h), writes index.html and summary.json into
 * batch->directory without those that could not be made (batch->incomplete), and removes what they no longer need
 * (store_finish). False: printed; `*number` is the signal that ended it, or 0. */
bool join_write(struct index *index, struct batch *batch, int *number);
