#include "cli/batch/batch_progress.h"

#include "base/format.h"
#include "cli/clock.h"
#include "cli/terminal.h"

#include <stdio.h>

static const int64_t note_interval_us = 10 * 1000000;

void batch_progress_start(struct batch_progress *progress) {
    *progress = (struct batch_progress){.start_us = clock_us()};
    progress->noted_us = progress->start_us;
}

void batch_progress_expect(struct batch_progress *progress, uint64_t nbytes) {
    progress->n_files++;
    progress->nbytes += nbytes;
}

void batch_progress_add(struct batch_progress *progress, uint64_t nbytes) {
    progress->n_done++;
    progress->done_nbytes += nbytes;
}

/* ", 40 s left", or nothing before the first file is done. */
static void remaining_text(const struct batch_progress *progress, int64_t elapsed_us, char *text,
                           size_t capacity) {
    *text = '\0';
    if (progress->done_nbytes == 0 || progress->done_nbytes >= progress->nbytes)
        return;
    double left = (double)(progress->nbytes - progress->done_nbytes) / (double)progress->done_nbytes;
    int64_t left_s = (int64_t)((double)elapsed_us * left / 1e6) + 1;
    snprintf(text, capacity, ", %s left", format_duration(left_s * 1000000).text);
}

static void progress_text(const struct batch_progress *progress, int64_t elapsed_us, char *text,
                          size_t capacity) {
    char left[64];
    remaining_text(progress, elapsed_us, left, sizeof left);
    snprintf(text, capacity, "%s of %s files, %s of %s%s", format_count(progress->n_done).text,
             format_count(progress->n_files).text, format_bytes(progress->done_nbytes).text,
             format_bytes(progress->nbytes).text, left);
}

void batch_progress_show(struct batch_progress *progress) {
    char text[256];
    int64_t now = clock_us();
    progress_text(progress, now - progress->start_us, text, sizeof text);
    if (progress_show(text) || now - progress->noted_us < note_interval_us)
        return;
    progress->noted_us = now;
    terminal_note(NULL, "%s", text);
}

void batch_progress_end(struct batch_progress *progress) {
    (void)progress;
    progress_end();
}
