/* Processes that convert the files of a batch; one that fails or is killed costs its file only. */
#pragma once

#include "cli/batch/batch.h"

/*
 * Converts every file that is BATCH_WAITING, the largest first, and leaves each BATCH_DONE, BATCH_FAILED or
 * BATCH_SKIPPED. As many run at once as settings->batch.jobs (or the cores) and the memory allow: each reserves what its
 * size suggests, and one that fails for lack of memory is tried again alone. Prints failures and progress.
 * batch->store is open. Returns 0, or the signal that ended it: then all workers are gone, and unfinished files are
 * still BATCH_WAITING.
 */
int workers_run(struct batch *batch);

/* Ends all workers; their files stay BATCH_WAITING. Takes no memory. */
void workers_kill(struct pool *pool);
