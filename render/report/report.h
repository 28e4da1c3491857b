/* Writes the figures as text, for programs (JSON, schema 3) and for people. docs/report.md explains them. */
#pragma once

#include "analysis/compare/compare.h"
#include "analysis/findings/selection.h"
#include "base/beside.h"
#include "base/json_writer.h"
#include "render/report/text_look.h"

/* Every format, X(NUMBER, name, ending of a file, writer): strata report --format takes the name, and report_WRITER
 * writes it. Text is one screen, the full text has all sections, and Markdown is the screen with the full text folded
 * behind it. Differences and plans have the first three formats. */
#define STRATA_EXPORTS(X)                 \
    X(TEXT, text, ".txt", text)           \
    X(JSON, json, ".report.json", json)   \
    X(MARKDOWN, markdown, ".md", text)    \
    X(BRIEF, brief, ".brief.json", brief) \
    X(FULL, full, ".txt", text)

enum report_format {
#define STRATA_EXPORT_NUMBER(NUMBER, name, ending, writer) REPORT_##NUMBER,
    STRATA_EXPORTS(STRATA_EXPORT_NUMBER)
#undef STRATA_EXPORT_NUMBER
        REPORT_FORMATS
};

enum { REPORT_ALL_DEVICES = ORDINAL_NONE };

/* Members that the caller adds to the end of the JSON. */
struct report_more {
    bool (*add)(struct json_writer *json, const void *context); /* false: no memory */
    const void *context;
};

struct plan_request;

/* Work that the host begins beside a report, once a device's timeline is made: nothing later takes as much memory. */
struct report_turn {
    void (*begin)(void *context);
    void *context;
};

struct report_options {
    enum report_format format;
    struct text_look look;    /* for text only */
    const char *file;         /* name of the input as the reader knows it */
    const char *fingerprint;  /* of the input, "xxh128:" and 32 hex digits */
    const char *recording_id; /* fingerprint of the content, in the same form; for JSON only */
    const char *kind;         /* "snapshot", "kineto" or "memory_timeline" */
    enum compare_by group;
    const struct filter_query *filter; /* only allocations that pass it are listed; NULL: all */
    uint32_t top;                      /* number of groups that are shown; 0: all */
    int32_t device;                    /* ordinal, or REPORT_ALL_DEVICES */
    /* ordinal of the device that the text begins with; the screen and the brief report are about it alone */
    int32_t first;
    const struct report_more *more; /* for JSON only; NULL: none */
    /* asks for plans where memory ran out or a device is named; NULL: no plan */
    const struct plan_request *plan;
    /* for a page: only devices that ran out of memory are replayed, and the timeline is drawn */
    bool still;
    const struct report_turn *turn; /* NULL: nothing */
    /* the other thread; NULL: there is none. The scratch memory must be of the same host */
    const struct beside_hooks *beside;
};

/* The ending of a format's files. */
const char *report_format_ending(enum report_format format);

/* Appends the report to `out`. Builds the timelines that it needs in `scratch`, within its limit. A report can be much
 * longer than its input, so `out` should share that limit. False: no memory. */
bool report_render(struct buffer *out, const struct trace *trace, const struct report_options *options,
                   struct arena *scratch);

/* The parts of the report that a page carries. */
struct report_page {
    /* advice after each device's last out-of-memory event, in the report's words: a JSON object of arrays of sentences,
     * by the devices' ordinals */
    struct buffer *follows;
    /* for readers without the page's program: figures, findings and call sites of a device, as HTML */
    struct buffer *still;
    struct buffer *opening; /* what the page's first picture needs of that device, as JSON */
    const char *file;       /* as in report_options */
    int32_t device;         /* ordinal of the device that `still` is about */
    /* Appends a picture to `still`; false: no memory. NULL: none. */
    bool (*picture)(struct buffer *out, const struct verdicts *verdicts, const void *context,
                    struct arena *scratch);
    const void *picture_context;
    const struct beside_hooks *beside; /* as in report_options */
    const struct report_turn *turn;    /* NULL: nothing */
};

/* Appends to `follows`, `still` and `opening`. Works in `scratch`, whose limit they should share. False: no memory.
 * O(a report of these devices). */
bool report_page_write(const struct report_page *page, const struct trace *trace,
                       const struct plan_request *plan, struct arena *scratch);
