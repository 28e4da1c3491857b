/* --pages: which recordings of a batch keep a page. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/*
 * Makes the pages of rows that the index calls odd and of those that they are compared with, where --pages asks for these alone
 * and the batch converts, and sets `no_page` of every row that has none, or is not to keep it. After index_choose_medians. What
 * cannot be made is noted in batch->incomplete. False: no memory, or ended by a signal; printed. `*number`: of the signal,
 * else 0.
 */
bool pages_make(struct index *index, struct batch *batch, int *number);

/* Removes the pages that an earlier run made of rows without one. After the index that does not link to them is written. */
void pages_remove(const struct index *index, struct batch *batch);
