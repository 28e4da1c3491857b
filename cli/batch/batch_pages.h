/* The pages that the index links to: which recordings keep theirs (--pages), how odd ranks differ from the median of
 * their cohort, and the removal of what an earlier index made. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/*
 * Where --pages asks for odd rows only and the batch converts: makes the pages of the rows that the index calls odd and
 * of those that they are compared with. Also sets `no_page` of every row that has no page or is not to keep it. Call it
 * after index_choose_medians. A page that cannot be made is noted in batch->incomplete. False: ended by a signal;
 * `*number` is that signal, else 0.
 */
bool pages_make(struct index *index, struct batch *batch, int *number);

/* Removes the pages that an earlier run made and that no row has now. Call it once the index that does not link to them
 * is written. */
void pages_remove(const struct index *index, struct batch *batch);

/* At most so many pages of differences, for the first findings of kinds rank_...; each reads two recordings again. */
enum { BATCH_DIFFS = 4 };

/*
 * Writes diff-ODD-MEDIAN.html for these findings into the directory, and sets `diff` of the findings and of their rows.
 * It reads the pages that are there, so a shard's inputs need not be. A page that cannot be made or written is printed
 * and noted in batch->incomplete; its finding gets none.
 */
void diffs_write(struct index *index, struct batch *batch);

/*
 * Compares the difference pages and timelines that the index links to with the list of the last index,
 * shards/index.json; removes those only in that list, if Strata wrote them; and writes the new list. False:
 * printed.
 */
bool made_update(const struct index *index, struct batch *batch);
