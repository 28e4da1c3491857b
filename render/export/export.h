/* The recording's figures as files of other tools: rows for spreadsheets and SQL, stacks for flame graphs and pprof,
 * counters for Perfetto. docs/export.md explains each of them to people. */
#pragma once

#include "analysis/findings/selection.h"
#include "base/buffer.h"

/* Every kind, X(NUMBER, name, ending of a file, other ending or "", is it text): strata export --to takes the name,
 * -o takes the endings, and export_NAME of export_NAME.c writes it. A new kind is its file and its line here. */
#define STRATA_EXPORT_KINDS(X)                 \
    X(CSV, csv, ".csv", "", true)              \
    X(SQLITE, sqlite, ".sqlite", ".db", false) \
    X(PPROF, pprof, ".pb.gz", "", false)       \
    X(FOLDED, folded, ".folded", "", true)     \
    X(PERFETTO, perfetto, ".pftrace", "", false)

enum export_kind {
#define STRATA_EXPORT_KIND_NUMBER(NUMBER, name, ending, other, text) EXPORT_##NUMBER,
    STRATA_EXPORT_KINDS(STRATA_EXPORT_KIND_NUMBER)
#undef STRATA_EXPORT_KIND_NUMBER
        EXPORT_KINDS
};

struct export_work;
extern const struct export_kind_row {
    const char *name;           /* "csv" */
    const char *ending, *other; /* of its files: ".csv"; other "": there is none */
    bool is_text;               /* may it be printed on a terminal? */
    bool (*write)(struct export_work *work);
} export_kinds[EXPORT_KINDS];

/* The kind with this name, or with the ending of this path. EXPORT_KINDS: none. */
enum export_kind export_kind_by_name(const char *name);
enum export_kind export_kind_of_path(const char *path);

/* Does a file of this kind hold one device? Then the caller chooses the device unless one is named. */
bool export_kind_of_one_device(enum export_kind kind);

/* Does the kind sum up what is live at a moment, or was allocated in a range? Others export the whole range. */
bool export_kind_of_moment(enum export_kind kind);

enum { EXPORT_ALL_DEVICES = ORDINAL_NONE };

/* The part of a device that is exported: the moments [from, until), from < until. Flame graphs show moment `at`. */
struct export_range {
    uint32_t from, until;
    uint32_t at;
    bool whole; /* no range was given */
    bool none;  /* the device has no such moment and is left out */
};

struct export_options {
    enum export_kind kind;
    const char *file;                  /* name of the input as the reader knows it */
    const char *fingerprint;           /* of the input, "xxh128:" and 32 hex digits */
    const char *source;                /* "snapshot", "kineto", ... */
    const struct filter_query *filter; /* only allocations that pass it are exported; NULL: all */
    int32_t device;                    /* ordinal, or EXPORT_ALL_DEVICES */
    bool allocated; /* flame graphs sum up what was allocated in the range instead of what is live */
    /* The range of a device. False: there is no such range, and the caller knows why. NULL: the whole recording. */
    bool (*range)(void *context, const struct timeline *timeline, struct export_range *range);
    void *context;
    /* directory for a temporary file that may be as large as the result; NULL: the system's */
    const char *directory;
};

enum export_result {
    EXPORT_DONE,
    EXPORT_NO_MEMORY, /* also where the sink took no more: out->refused */
    EXPORT_NO_RANGE,  /* options.range refused */
    EXPORT_FAILED     /* `reason` says why */
};

enum { EXPORT_REASON_NBYTES = 256 };

/*
 * Writes the export into `out`, which should have a sink: rows are written as they are made, and devices are computed
 * one after the other in `scratch`. After EXPORT_FAILED `reason` holds a phrase. O(allocations * length of a row).
 * After a failure `out` holds a part of the export.
 */
enum export_result export_render(struct buffer *out, const struct trace *trace,
                                 const struct export_options *options, struct arena *scratch,
                                 char reason[EXPORT_REASON_NBYTES]);

/* "Stra": the application id in a database's header. */
enum { EXPORT_APPLICATION = 0x53747261, EXPORT_APPLICATION_AT = 68 };
