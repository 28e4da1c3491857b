/* The files that an index made beside its recordings' pages: the next index removes those that it no longer needs. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/*
 * Compares the difference pages and timelines that the index links to with the list of the last index,
 * shards/index.json; removes those only in that list, if Strata wrote them; and writes the new list. False:
 * printed.
 */
bool made_update(const struct index *index, struct batch *batch);
