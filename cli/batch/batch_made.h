/* The files that an index had made beside its recordings' pages, so that the next index removes those it no longer needs. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/*
 * Compares the pages of differences and the timelines that the index links to with the list that the last index left,
 * shards/index.json; removes what is in that list only and is still Strata's, never another file; and writes the new list.
 * False: printed.
 */
bool made_update(const struct index *index, struct batch *batch);
