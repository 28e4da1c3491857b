/* The differences between two recordings, as text, Markdown or JSON. docs/diff.md explains each figure. */
#pragma once

#include "analysis/compare/causes.h"
#include "analysis/findings/verdicts.h"
#include "base/buffer.h"
#include "render/report/report.h"

/* One side, computed; `timeline` is of the whole device. */
struct diff_side {
    /* as the user named it, including what follows the path: "run.pickle#step=3" */
    const char *file;
    const char *fingerprint; /* fingerprint of the input */
    const struct timeline *timeline;
    const uint64_t *keep; /* bitmap of the filtered allocations; NULL: all */
    uint32_t moment;
    const struct verdicts *verdicts;
};

/* How the two moments were chosen: each at its peak, at the peak of a step each, or of the same annotation, or named. */
enum diff_alignment { DIFF_BY_PEAK, DIFF_BY_STEP, DIFF_BY_ANNOTATION, DIFF_BY_EVENT };

struct diff {
    struct diff_side a, b;
    enum diff_alignment aligned_by;
    const char *filter; /* words of the filter; NULL: none */
    enum compare_by by; /* grouping of more rows beside those by call site; COMPARE_BY_SITE: none */
    struct comparison comparison;
    struct causes causes;
    struct diff_rows {
        struct compare_named *row;
        uint32_t count;
    } sites, categories, groups; /* `groups` are grouped by `by` */
    struct phase_peak phase[PHASE_PEAKS];
};

/* Computes the difference from `a`, `b`, `aligned_by`, `filter` and `by`, which must be set. Memory comes from `arena`.
 * False: no memory. */
bool diff_compute(struct diff *diff, struct arena *arena);

struct diff_options {
    enum report_format format;
    struct text_look look; /* for text only */
    uint32_t top;          /* number of sites in text and Markdown; 0: all. JSON has all of them */
    bool as_several;       /* JSON is a list of comparisons, even of a single one */
};

/* Writes a document of one or several differences: diff_begin, each difference, diff_end. diff_write and diff_end work
 * in `arena`. False: no memory. */
struct diff_writer {
    struct buffer *out;
    const struct diff_options *options;
    struct arena *arena;
    struct json_writer *json;
    /* Several differences as text: the table comes first but is complete only after the last difference, so the texts
     * are kept until then: some 5 KB for each, whatever the size of the recordings. */
    struct buffer rows, texts;
};
void diff_begin(struct diff_writer *writer);
bool diff_write(struct diff_writer *writer, const struct diff *diff);
bool diff_end(struct diff_writer *writer);

/* Frees the writer's own memory. Needed even without diff_end. */
void diff_writer_release(struct diff_writer *writer);

/* Writes the figures that the page of a difference carries: the JSON of one difference, and `matches`: both names of
 * each call site that is named differently in A, alive at these moments or not. False: no memory. */
bool diff_write_figures(struct buffer *out, const struct diff *diff);

/* Writes a cause as one sentence, `with_bytes` after its amount: "+14.8 GiB: attention.py:88 forward is new". Cut at
 * capacity - 1 bytes. */
void diff_cause_text(const struct diff *diff, const struct cause *cause, bool with_bytes, char *text,
                     size_t capacity);

/* Writes the name of a row's site, "train.py:41 forward", as B calls it if B has it. */
void diff_site_text(const struct diff *diff, const struct compare_site *site, char *text, size_t capacity);

/* The word for a change: "grown". */
const char *diff_change_name(enum site_change change);
