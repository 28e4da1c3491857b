/* One file of a batch: from the snapshot to its page, picture and sidecar. Runs in a process of its own. */
#pragma once

#include "cli/batch/batch.h"

/* Exit codes of the process. */
enum convert_code {
    CONVERT_DONE = 0,
    CONVERT_FAILED = 1,       /* printed: the file cannot be read, or its results cannot be written */
    CONVERT_NO_SNAPSHOT = 10, /* printed: the file is intact, but is not a snapshot */
    CONVERT_NO_MEMORY = 11,   /* printed: it may succeed with more memory */
};

/* Writes NAME.html, NAME.png and an export (if wanted) and NAME.strata.json into the directory `staging`, with at most
 * `memory_nbytes` of memory for the recording. */
enum convert_code batch_convert(const struct batch *batch, const struct batch_file *file, const char *staging,
                                size_t memory_nbytes);
