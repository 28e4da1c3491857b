/* Dumps of one rank at several steps or times, as one recording beside those of the dumps. */
#pragma once

#include "analysis/compare/index.h"
#include "cli/batch/batch.h"

/*
 * Finds in the index's rows the dumps that are of one rank, at several steps or dates by their paths, or with windows of events
 * that meet; makes of the pages of each, so that a shard's inputs need not be there, series/NAME.html and .strata.json (with
 * settings->png a picture), unless they are there already and the settings say that this is enough (--resume, --index); and
 * fills index->series with those that are there. What cannot be made becomes a note of the index and, but for dumps whose
 * pages are kept too small, noted in batch->incomplete. After index_mark_copies. False: no memory, or ended by a signal;
 * printed. `*number`: of the signal, else 0.
 */
bool series_write(struct index *index, struct batch *batch, int *number);
