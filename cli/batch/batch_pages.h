/* The pages that the index links to: which recordings keep theirs (--pages), how odd ranks differ from the median of
 * their peers. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/*
 * Where --pages asks for odd rows only: makes the pages of the rows that the index calls odd and
 * of those that they are compared with. Also sets `no_page` of every row that has no page or is not to keep it. Call it
 * after index_choose_medians. A page that cannot be made is noted in batch->incomplete. False: ended by a signal;
 * `*number` is that signal, else 0.
 */
bool pages_make(struct index *index, struct batch *batch, int *number);

/* At most so many pages of differences, for the first findings of kinds rank_...; each reads two recordings again. */
enum { BATCH_DIFFS = 4 };

/*
 * Writes diff-ODD-MEDIAN.html for these findings into the directory, and sets `diff` of the findings and of their rows.
 * It reads the pages that are there. A page that cannot be made or written is printed
 * and noted in batch->incomplete; its finding gets none.
 */
void diffs_write(struct index *index, struct batch *batch);
