/* The contents of a log's lines, one row per line. A log may have millions of them: struct log_row, for the line that
 * is being read, has room for every figure; a struct log_entry is followed by those that it has. Private to
 * parser/log/. */
#pragma once

#include "trace/trace.h"

enum { LOG_NO_DEVICE = -2, LOG_HOST = -1 };

/* What a kept line is about; its figures are `value` of log_rows from `first` on, by rising kind. */
struct log_entry {
    uint64_t known; /* bits by enum note_what */
    int64_t time_us;
    uint32_t first;
    uint32_t stack; /* of a traceback above an error, innermost line last; 0: none */
    int32_t rank;   /* RANK_UNKNOWN */
    int32_t gpu;    /* LOG_NO_DEVICE; LOG_HOST: the host's memory */
    bool has_time, is_oom;
    bool max_is_reset; /* its maxima are since the line before, not since the beginning */
    bool dropped;      /* it does not count */
};

struct log_value {
    uint64_t number;
    uint32_t text; /* string; 0: none */
};

struct log_row {
    struct log_entry of;
    struct log_value value[NOTE_KINDS]; /* where `of.known` has the bit; else the number and the text are 0 */
    uint16_t form;                      /* 1 + index of the form that read it, of a level; 0: none */
    bool is_list;                       /* more figures of the same kind follow, of the next devices */
    bool is_raised; /* an error with the name of its exception before it, as it ends a traceback */
    bool is_own;    /* its stack ends at a line of the user's own code */
};

_Static_assert(NOTE_KINDS <= 64, "a bit of log_entry.known for each kind");

struct log_rows {
    struct log_entry *entry;
    struct log_value *value;
    uint32_t count, capacity, n_values, value_capacity;
};

struct arena;

static inline bool log_knows(const struct log_row *row, enum note_what what) {
    return (row->of.known >> what & 1) != 0;
}

static inline uint64_t log_number(const struct log_row *row, enum note_what what) {
    return row->value[what].number;
}

static inline void log_know(struct log_row *row, enum note_what what, uint64_t number) {
    row->value[what].number = number;
    row->of.known |= UINT64_C(1) << what;
}

/* The same, unless the line said it before. */
static inline void log_know_first(struct log_row *row, enum note_what what, uint64_t number) {
    if (!log_knows(row, what))
        log_know(row, what, number);
}

static inline void log_know_text(struct log_row *row, enum note_what what, uint32_t text) {
    log_know(row, what, log_number(row, what));
    row->value[what].text = text;
}

static inline void log_forget(struct log_row *row, enum note_what what) {
    row->value[what] = (struct log_value){0};
    row->of.known &= ~(UINT64_C(1) << what);
}

/* Keeps a row as number `index`, at most `count`; one that is there already is replaced, and its figures are appended
 * once more. False: no memory. */
bool log_rows_put(struct log_rows *rows, struct arena *arena, uint32_t index, const struct log_row *row);
void log_rows_get(const struct log_rows *rows, uint32_t index, struct log_row *row);
