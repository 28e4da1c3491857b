/* Compares many recordings: which rank is different, and why. The figures come from the sidecars that strata batch
 * writes beside each page; index.html and summary.json are made from the same struct, so they cannot disagree. */
#pragma once

#include "analysis/compare/outliers.h"
#include "analysis/findings/finding.h"
#include "analysis/plan/plan.h"

enum { INDEX_UNKNOWN = -1 }; /* a rank or step that the file's name does not contain */

enum { INDEX_NOBODY = UINT32_MAX }; /* no row */

enum { INDEX_SAMPLES = 256 }; /* at most, per curve */

enum { INDEX_PLACES = 3 }; /* in expert, context and tensor parallelism */

/* By how much a row's call site is above (or below) the median of its peers. */
struct index_difference {
    const char *site;
    uint64_t bytes, median_bytes;
};

enum { INDEX_NOTES = 16 }; /* most findings taken from a row's own report */

/* What a finding of the index is about. */
enum index_about {
    INDEX_OF_REPORTS, /* conclusions of the reports of single recordings */
    INDEX_OF_OOM,     /* rows that ran out of memory */
    INDEX_OF_RANK,    /* rank_odd: a row against its peers */
};

/* A conclusion of one recording's report. */
struct index_note {
    const char *kind, *title, *site, *view; /* `site` "": no site */
    enum finding_severity severity;
    enum finding_confidence confidence;
    bool out_of_memory; /* its kind is out_of_memory */
    uint64_t bytes;
};

/* The figures in which a row is far from the others of its step. */
enum index_odd {
    INDEX_ODD_PEAK = 1,
    INDEX_ODD_END = 2,
    INDEX_ODD_EVENTS = 4,
    INDEX_ODD_OOM = 8,
    INDEX_ODD_TRUNCATED = 16,
    INDEX_ODD_GROWTH = 32,
    INDEX_ODD_STEPS = 64 /* fewer complete steps than the others */
};

enum { INDEX_DIFFERENCES = 8 }; /* at most, per row */

/* One recording, represented by its device with the most events. */
struct index_row {
    bool is_snapshot;     /* neither a trace of the profiler nor a log */
    bool has_allocations; /* false: levels of a log, without call sites; its page has other ranks on it */
    uint32_t n_others;
    struct index_row *others; /* rows of a log's other ranks or GPUs, until the index takes them */
    const char *input;        /* path below the one on the command line */
    const char *name;         /* base name of the outputs; letters, digits, '.', '_' and '-' only */
    int64_t rank, step;
    int64_t device;
    uint32_t n_devices;
    bool has_png, no_page;
    uint64_t input_nbytes;
    uint64_t n_events, peak_bytes, end_bytes, reserved_peak_bytes, reserved_end_bytes;
    uint64_t capacity_bytes; /* of the device; 0: unknown */
    int64_t peak_event;
    uint32_t n_ooms;
    uint64_t oom_requested_bytes, oom_free_bytes; /* of the first error; OOM_UNKNOWN */
    const char *truncation; /* the reader's sentence if the file is truncated; NULL: it is complete */
    uint32_t n_samples;
    uint64_t *samples;   /* live bytes: the highest in each of n_samples equal parts of the run */
    uint64_t *sample_us; /* begin of each part, since the Unix epoch; NULL: the file has no times */
    struct rank_profile profile;
    const char **call_names;  /* [profile.n_calls] */
    const char *host, *group; /* "": not in the file's name */
    int64_t local_rank;       /* INDEX_UNKNOWN */
    /* from the file's name; INDEX_UNKNOWN: not in it, or the user names groups */
    int64_t place[INDEX_PLACES];
    uint32_t n_settings;        /* 0: not requested, or not replayed */
    struct plan_need *settings; /* on an unlimited device; served: by the device of --gpu */
    const char *plan;           /* what would make it fit, in a sentence; NULL: not requested */
    const char *recording_id;   /* "": the sidecar is of an older version */
    uint64_t oom_event;
    uint32_t n_notes;
    struct index_note *notes;

    /* Filled by index_analyse: */
    /* another row that is no copy has this rank and step: only the path tells them apart */
    bool has_namesake;
    unsigned odd;          /* of enum index_odd */
    double score;          /* robust z-score of the peak; 0: too few rows, or no spread */
    double severity;       /* the largest difference as a share of the median, for sorting */
    const char *made_of;   /* what the peak consists of, in a sentence; NULL: a log, or unknown */
    const char *finding;   /* a sentence for people; NULL: nothing found */
    const char *predicate; /* the same without its subject */
    const char *kind;      /* kind of the finding, as in summary.json */
    const char *site;      /* call site that the finding names; NULL: none */
    /* page of the difference from its peers' median row, beside the index; NULL: not made */
    const char *diff;
    const char *copy_of; /* input of the row whose recording this is a copy of; NULL: no copy, so it counts */
    uint32_t peers;      /* rows with the same number are compared with each other */
    int64_t growth_bytes;     /* per step */
    int64_t difference_bytes; /* of the first figure in the finding */
    uint32_t n_steps, n_differences;
    struct index_difference *differences; /* first what is above, by falling size; then what is below */
};

/* A sentence about one row, or about several similar ones. */
struct index_finding {
    const char *kind, *title, *detail, *site, *view; /* `site`, `view` NULL: none */
    enum finding_severity severity;
    enum finding_confidence confidence;
    enum index_about about;
    uint64_t bytes;
    uint32_t n_rows, *rows; /* indices of rows, rising */
    /* For kinds rank_...: the first of its rows is compared with this one. */
    uint32_t against; /* the median row of its peers; INDEX_NOBODY: there is none */
    const char *diff; /* page of the difference, beside the index; NULL: not made */
};

/* A file without a row, and why. */
struct index_refusal {
    const char *input;
    const char *reason;
};

struct index {
    struct arena *arena; /* of everything here */
    uint32_t n_rows, n_failed, n_skipped;
    uint32_t rows_capacity;
    struct index_row *rows; /* sorted by index_sort */
    struct index_refusal *failed, *skipped;

    bool lacks_memory; /* a sentence could not be made */
    uint32_t n_copies;
    uint32_t n_findings; /* filled by index_analyse: the most severe first */
    struct index_finding *findings;
    uint32_t n_planned, n_together; /* rows with settings; settings that all of these rows have */
    struct plan_need *together;     /* for each, the most that any of these rows needs */
};

/* Fills `together`. False: no memory. */
bool index_unite_settings(struct index *index);

/* Adds a row and the rows in its `others`. False: no memory. */
bool index_add_row(struct index *index, const struct index_row *row);

/* Sorts rows by rank, step and input (unknown numbers last), refusals by input. O(n log n). */
void index_sort(struct index *index);

/* Marks rows with the recording of another row as its copies. Rows are sorted. O(n log n). False: no memory. */
bool index_mark_copies(struct index *index);

/*
 * Compares each row with its peers (analysis/compare/outliers.h), puts the results into sentences and
 * unites similar ones. Copies are not compared. Call it after index_mark_copies. False:
 * no memory.
 */
bool index_analyse(struct index *index);

/*
 * Chooses for every finding about an odd rank the row to compare it with (`against`): of its peers, among
 * those without a finding, the one with the middle peak. Call it after index_analyse. O(findings * rows). False: no
 * memory.
 */
bool index_choose_medians(struct index *index);
