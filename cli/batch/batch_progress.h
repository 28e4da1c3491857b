/* The progress of a batch: a line that is rewritten on a terminal, otherwise a note every ten seconds. */
#pragma once

#include <stdint.h>

struct batch_progress {
    uint32_t n_files, n_done;
    uint64_t nbytes, done_nbytes;
    int64_t start_us, noted_us;
};

void batch_progress_start(struct batch_progress *progress);
void batch_progress_expect(struct batch_progress *progress, uint64_t nbytes); /* one more file to come */
void batch_progress_add(struct batch_progress *progress, uint64_t nbytes);    /* one file is done */
void batch_progress_show(struct batch_progress *progress);                    /* call it every now and then */
void batch_progress_end(struct batch_progress *progress);
