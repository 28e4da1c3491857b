/* Pages that show how an odd rank differs from the median of its cohort. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

enum {
    BATCH_DIFFS = 4
}; /* at most so many pages, for the first findings of kinds rank_...; each page reads two recordings again */

/*
 * Writes diff-ODD-MEDIAN.html for these findings into the directory, and sets `diff` of the findings and of their rows.
 * Call it after index_choose_medians. It reads the pages that are there, so a shard's inputs need not be. A page that
 * cannot be made or written is printed and noted in batch->incomplete; its finding gets none.
 */
void diffs_write(struct index *index, struct batch *batch);
