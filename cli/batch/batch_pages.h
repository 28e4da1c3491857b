/* --pages: which recordings of a batch keep a page. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/*
 * Where --pages asks for odd rows only and the batch converts: makes the pages of the rows that the index calls odd and
 * of those that they are compared with. Also sets `no_page` of every row that has no page or is not to keep it. Call it
 * after index_choose_medians. A page that cannot be made is noted in batch->incomplete. False: no memory, or ended by a
 * signal; printed. `*number`: that signal, else 0.
 */
bool pages_make(struct index *index, struct batch *batch, int *number);

/* Removes the pages that an earlier run made and that no row has now. Call it once the index that does not link to them
 * is written. */
void pages_remove(const struct index *index, struct batch *batch);
