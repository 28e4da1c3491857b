/* Joins dumps of one rank at several steps or times to one recording, beside the recordings of the dumps. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/*
 * Finds in the index's rows the dumps of one rank: at several steps or dates by their paths, or with windows of events
 * that meet. Makes series/NAME.html and .strata.json (with settings->png a picture) of each such set, unless they are
 * there already and the settings accept that (--resume, --index). It reads the dumps' pages, so a shard's inputs need
 * not be there. Fills index->series with those that are there. What cannot be made becomes a note of the index and,
 * except where the dumps' pages were kept too small, is noted in batch->incomplete. Call it after index_mark_copies.
 * False: ended by a signal. `*number`: that signal, else 0.
 */
bool series_write(struct index *index, struct batch *batch, int *number);
