/*
 * Many recordings side by side: which rank is different, and why. The figures come from the sidecars that strata
 * batch writes beside each page; index.html and summary.json are made of the same struct, so they cannot disagree.
 */
#ifndef STRATA_RENDER_INDEX_INDEX_H
#define STRATA_RENDER_INDEX_INDEX_H

#include "base/arena.h"
#include "base/buffer.h"

enum { INDEX_UNKNOWN = -1 }; /* a rank or step that the file's name does not tell */

enum { INDEX_SAMPLES = 256 }; /* at most, per curve */

/* What one call site holds at the peak. */
struct index_site {
    const char *site; /* "train.py:41 forward" */
    uint64_t bytes;
    uint64_t count; /* allocations */
};

/* What a row's call site holds more (or less) than the median of its cohort. */
struct index_difference {
    const char *site;
    uint64_t bytes, median_bytes;
};

/* In which respect a row is far from the others of its step. */
enum index_odd {
    INDEX_ODD_PEAK = 1,
    INDEX_ODD_END = 2,
    INDEX_ODD_EVENTS = 4,
    INDEX_ODD_OOM = 8,
    INDEX_ODD_TRUNCATED = 16
};

enum { INDEX_DIFFERENCES = 8 }; /* at most, per row */

/* One recording; its device with the most events. */
struct index_row {
    const char *input; /* path below what the command line names */
    const char *name;  /* of the outputs, without ending; letters, digits, '.', '_' and '-' only */
    int64_t rank, step;
    int64_t device;
    uint32_t n_devices;
    bool has_png;
    uint64_t input_nbytes;
    uint64_t n_events, peak_bytes, end_bytes, reserved_peak_bytes;
    int64_t peak_event;
    uint32_t n_ooms;
    uint64_t oom_requested_bytes, oom_free_bytes; /* of the first */
    const char *truncation; /* the reader's sentence where the file is cut short; NULL: it is whole */
    uint32_t n_samples;
    uint64_t *samples; /* live bytes: highest of each of n_samples equal parts of the run */
    uint32_t n_sites;
    struct index_site *sites; /* at the peak, by falling bytes */

    /* Filled by index_analyse: */
    unsigned odd;        /* of enum index_odd */
    double score;        /* robust z-score of the peak among the rows of the same step; 0: too few rows */
    double severity;     /* the largest of the scores, for sorting */
    const char *finding; /* sentences for people; NULL: nothing is odd */
    uint32_t n_differences;
    struct index_difference *differences; /* by falling difference; for odd peaks only */
};

/* A file without a row. */
struct index_refusal {
    const char *input;
    const char *reason;
};

struct index {
    struct arena *arena; /* of everything here */
    const char *version; /* of Strata */
    uint32_t n_rows, n_failed, n_skipped, n_notes;
    struct index_row *rows; /* sorted by index_sort */
    struct index_refusal *failed, *skipped;
    const char **notes; /* sentences about the whole: missing shards */

    uint32_t n_findings; /* index_analyse: rows with a finding, the most severe first */
    uint32_t *findings;  /* indices of rows */
};

/* Rows by rank, step and input (unknown numbers last), refusals by input. O(n log n). */
void index_sort(struct index *index);

/*
 * Compares each row with the others of its step by robust z-score (0.6745 * (x - median) / MAD): peak, end and number
 * of events. A score beyond 3.5 (more where there are many rows) is odd if the difference is also one that a person
 * would care about. Steps with fewer than four rows are not compared. O(n sites log). False: no memory.
 */
bool index_analyse(struct index *index);

/* summary.json: totals, one row per file, findings, refusals. False: no memory. */
bool index_json(struct buffer *out, const struct index *index);

/* index.html, self-contained. False: no memory. */
bool index_html(struct buffer *out, const struct index *index);

#endif
