/* Pages that show how an odd rank differs from the median of its cohort. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

enum {
    BATCH_DIFFS = 4
}; /* pages, of the first findings of kinds rank_...; each reads two recordings again */

/*
 * Writes these pages into the directory, named diff-ODD-MEDIAN.html, and sets `diff` of their findings and rows. They are made of
 * the pages that are there, so that a shard's inputs need not be. Where one cannot be made or written, that is printed,
 * noted in batch->incomplete, and its finding has none. After index_choose_medians.
 */
void diffs_write(struct index *index, struct batch *batch);
