/* The contents of a log's lines, one row per line. A log may have millions of them: struct log_row, for the line that
 * is being read, has room for every figure; struct log_entry keeps the figures that a row has. Private to
 * parser/log/. */
#pragma once

#include "trace/trace.h"

enum { LOG_NO_DEVICE = -2, LOG_HOST = -1, LOG_NAME_NBYTES = 160 };

/* The contents of a line: its figures by enum note_what. */
struct log_row {
    uint64_t value[NOTE_KINDS];
    uint64_t known;  /* bits of `value` */
    uint32_t line;   /* from 1 */
    uint32_t label;  /* string; 0: none */
    uint32_t stack;  /* of a traceback above an error, innermost line last; 0: none */
    int64_t time_us; /* where has_time */
    int32_t rank;    /* RANK_UNKNOWN */
    int32_t gpu;     /* LOG_NO_DEVICE; LOG_HOST: the host's memory */
    bool has_time, is_oom;
    bool max_is_reset; /* its maxima are since the line before, not since the beginning */
    bool is_list;      /* more figures of the same kind follow, of the next devices */
    uint16_t form;     /* 1 + index of the form that read it, of a level; 0: none */
    bool retried;      /* the allocator tries again after the message */
    bool possible;     /* of a kill: lack of memory is one of the possible reasons */
    bool is_raised;    /* an error with the name of its exception before it, as it ends a traceback */
    bool is_own;       /* its stack ends at a line of the user's own code */
    char backend[LOG_NAME_NBYTES], setting[LOG_NAME_NBYTES], killed[LOG_NAME_NBYTES],
        most[LOG_NAME_NBYTES]; /* "": none */
};

_Static_assert(NOTE_KINDS <= 64, "a bit of log_row.known for each kind");

/* A kept row; its figures are `value` of log_rows from `first` on, by rising kind. */
struct log_entry {
    uint64_t known;
    int64_t time_us;
    uint32_t first, line, label, stack;
    uint32_t backend, setting, killed, most; /* strings */
    int32_t rank, gpu;
    bool has_time, is_oom, max_is_reset, retried, possible;
    bool dropped; /* it does not count (rows_drop) */
};

struct log_rows {
    struct log_entry *entry;
    uint64_t *value;
    uint32_t count, capacity, n_values, value_capacity;
    bool expandable; /* a line says that expandable_segments:True is set */
    bool windows;    /* a traceback's path is one of Windows */
};

struct interner;

static inline bool log_knows(const struct log_row *row, enum note_what what) {
    return (row->known >> what & 1) != 0;
}

static inline void log_know(struct log_row *row, enum note_what what, uint64_t value) {
    row->value[what] = value;
    row->known |= UINT64_C(1) << what;
}

/* The same, unless the line said it before. */
static inline void log_know_first(struct log_row *row, enum note_what what, uint64_t value) {
    if (!log_knows(row, what))
        log_know(row, what, value);
}

static inline void log_forget(struct log_row *row, enum note_what what) {
    row->known &= ~(UINT64_C(1) << what);
}

static inline bool log_entry_knows(const struct log_entry *entry, enum note_what what) {
    return (entry->known >> what & 1) != 0;
}

/* Writes the figures of an entry, and 0 where it has none. */
static inline void log_entry_figures(const struct log_rows *rows, const struct log_entry *entry,
                                     uint64_t value[NOTE_KINDS]) {
    uint64_t at = entry->first;
    for (unsigned what = 0; what < NOTE_KINDS; what++)
        value[what] = log_entry_knows(entry, (enum note_what)what) ? rows->value[at++] : 0;
}

/* Adds a row; its texts are interned. A row that becomes more complete is replaced by log_rows_put. False: no memory. */
bool log_rows_add(struct log_rows *rows, struct interner *interner, const struct log_row *row);

/* Writes row `index` anew: its figures are appended once more. False: no memory. */
bool log_rows_put(struct log_rows *rows, struct interner *interner, uint32_t index,
                  const struct log_row *row);

/* ---- log_build.c ---- */

enum log_built { LOG_BUILT, LOG_NO_MEMORY, LOG_TOO_MANY };

/* Makes the devices of the interner's trace, one per rank (without ranks, one per GPU), and the host's memory as the
 * CPU. O(rows log rows). */
enum log_built log_build(struct interner *interner, struct log_rows *rows);
