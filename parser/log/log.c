#include "parser/log/log.h"

#include "parser/log/log_build.h"
#include "parser/log/log_text.h"

#include <string.h>

enum { LABEL_NBYTES = 80 };

struct reader {
    struct cursor *cursor;
    struct trace *trace;
    struct interner interner;
    struct log_state state;
    struct log_row *rows;
    uint32_t n_rows, row_capacity;
    uint32_t line; /* from 1 */
    uint64_t n_lines, n_understood, n_long;
    uint32_t last_label;            /* what the line before says, where it says nothing of memory */
    uint8_t plain[LOG_LINE_NBYTES]; /* a line without colours */
};

bool log_recognises(const uint8_t *p, size_t nbytes) {
    size_t at = nbytes >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (; at < nbytes; at++)
        if ((p[at] < 0x20 && strchr("\t\n\v\f\r\b\x1b", p[at]) == NULL) || p[at] == 0 || p[at] == 0x7f)
            return false;
    return nbytes != 0;
}

static bool fail_memory(struct reader *reader) {
    return cursor_fail_memory(reader->cursor, cursor_offset(reader->cursor));
}

/* ---- lines ---- */

/* The first end of a line in [p, p + nbytes): progress bars end theirs by a carriage return. NULL: none. */
static const uint8_t *end_find(const uint8_t *p, size_t nbytes) {
    const uint8_t *feed = nbytes != 0 ? memchr(p, '\n', nbytes) : NULL;
    nbytes = feed != NULL ? (size_t)(feed - p) : nbytes;
    const uint8_t *carriage = nbytes != 0 ? memchr(p, '\r', nbytes) : NULL;
    return carriage != NULL ? carriage : feed;
}

/* The next line without its end; of a long one the beginning. False: there is none. */
static bool line_take(struct reader *reader, struct text *line) {
    struct cursor *cursor = reader->cursor;
    size_t length = 0, available;
    const uint8_t *end;
    do {
        bool more = cursor_fill(cursor, length + 1);
        available = (size_t)(cursor->end - cursor->p);
        size_t seen = available < LOG_LINE_NBYTES ? available : LOG_LINE_NBYTES;
        end = seen > length ? end_find(cursor->p + length, seen - length) : NULL;
        length = seen;
        if (!more)
            break;
    } while (end == NULL && length < LOG_LINE_NBYTES);
    if (available == 0)
        return false;
    *line = (struct text){cursor->p, (uint32_t)(end != NULL ? (size_t)(end - cursor->p) : length)};
    return true;
}

/* After the line's end, wherever that is; lines are counted by their feeds. */
static void line_pass(struct reader *reader, uint32_t nbytes) {
    struct cursor *cursor = reader->cursor;
    cursor->p += nbytes;
    reader->n_long += nbytes == LOG_LINE_NBYTES && cursor->p < cursor->end && end_find(cursor->p, 1) == NULL;
    while (cursor_fill(cursor, 1)) {
        const uint8_t *end = end_find(cursor->p, (size_t)(cursor->end - cursor->p));
        cursor->p = end != NULL ? end + 1 : cursor->end;
        if (end == NULL)
            continue;
        reader->line += *end == '\n' && reader->line < UINT32_MAX;
        return;
    }
}

/* Colours and other sequences of terminals taken out: ESC [ ... letter. */
static struct text line_plain(struct reader *reader, struct text line) {
    uint32_t n = 0;
    if (memchr(line.at, 0x1b, line.nbytes) == NULL)
        return line;
    for (uint32_t i = 0; i < line.nbytes; i++) {
        if (line.at[i] != 0x1b) {
            reader->plain[n++] = line.at[i];
            continue;
        }
        if (i + 1 < line.nbytes && line.at[i + 1] == '[')
            for (i += 2; i < line.nbytes && (line.at[i] < '@' || line.at[i] > '~');)
                i++;
    }
    return (struct text){reader->plain, n};
}

/* ---- rows ---- */

static bool row_add(struct reader *reader, const struct log_row *row) {
    if (!ARENA_GROW(&reader->trace->arena, reader->rows, reader->row_capacity, (uint64_t)reader->n_rows + 1))
        return fail_memory(reader);
    reader->rows[reader->n_rows++] = *row;
    reader->cursor->n_events = reader->n_rows;
    return true;
}

static bool label_intern(struct reader *reader, struct text text, uint32_t *label) {
    *label = 0;
    while (text.nbytes > 0 && strchr(": |,", text.at[text.nbytes - 1]) != NULL)
        text.nbytes--;
    if (text.nbytes == 0 || text.nbytes > LABEL_NBYTES)
        return true;
    return intern_string(&reader->interner, text.at, text.nbytes, label) || fail_memory(reader);
}

/* What the moment of a row is called: in see_memory_usage by the line before, in Megatron's by what stands in front of the
 * figures. */
static bool row_label(struct reader *reader, struct text line, struct log_row *row) {
    uint32_t end = log_find(line, 0, " memory (MB)");
    row->label = row->label_before ? reader->last_label : 0;
    if (end == LOG_NONE)
        return true;
    struct text before = {line.at, end};
    struct text label = log_message(before);
    return label_intern(reader, label, &row->label);
}

static bool host_add(struct reader *reader, struct text line, const struct log_row *row) {
    struct log_row host = {.line = row->line, .time_us = row->time_us, .has_time = row->has_time};
    return !log_line_host(line, &host) || row_add(reader, &host);
}

static bool line_read(struct reader *reader, struct text line) {
    struct log_row row = {.line = reader->line, .rank = RANK_UNKNOWN, .gpu = LOG_NO_DEVICE};
    uint32_t rank = log_rank(line), n_before = reader->n_rows;
    row.rank = rank != LOG_NONE ? (int32_t)rank : RANK_UNKNOWN;
    row.has_time = log_time(line, &row.time_us);
    const struct log_row fresh = row;
    enum log_seen seen = log_line(&reader->state, line, &row);
    if (seen == LOG_ROW && (!row_label(reader, line, &row) || !row_add(reader, &row)))
        return false;
    if (!host_add(reader, line, &fresh))
        return false;
    bool understood = seen != LOG_NOTHING || reader->n_rows != n_before;
    reader->n_understood += understood;
    if (understood) {
        reader->last_label = seen == LOG_ROW ? 0 : reader->last_label;
        return true;
    }
    return label_intern(reader, log_message(line), &reader->last_label);
}

/* Ranks that print at once lose the line's end between their messages: "... 13236.0[Rank 6] (after 1 iterations) memory ...".
 * LOG_NONE: the line is one message. */
static uint32_t message_end(struct text line) {
    uint32_t figures = log_find(line, 0, " memory (MB) |");
    return figures != LOG_NONE ? log_find(line, figures, "[Rank ") : LOG_NONE;
}

static bool messages_read(struct reader *reader, struct text line) {
    uint64_t n_before = reader->n_understood;
    for (uint32_t end; (end = message_end(line)) != LOG_NONE;
         line = (struct text){line.at + end, line.nbytes - end})
        if (!line_read(reader, (struct text){line.at, end}))
            return false;
    if (!line_read(reader, line))
        return false;
    reader->n_understood = reader->n_understood > n_before ? n_before + 1 : n_before;
    return true;
}

static bool lines_read(struct reader *reader) {
    struct text line;
    while (line_take(reader, &line)) {
        uint32_t nbytes = line.nbytes;
        reader->n_lines += nbytes != 0;
        if (nbytes != 0 && !messages_read(reader, line_plain(reader, line)))
            return false;
        line_pass(reader, nbytes);
    }
    struct log_row row;
    if (log_line_end(&reader->state, &row) && !row_add(reader, &row))
        return false;
    return reader->cursor->error->code == READ_OK;
}

/* ---- the whole ---- */

static bool log_diagnose(struct reader *reader) {
    const uint64_t lines[DIAGNOSTIC_NUMBERS] = {reader->n_lines, reader->n_understood,
                                                reader->n_lines - reader->n_understood};
    const uint64_t n_long[DIAGNOSTIC_NUMBERS] = {reader->n_long, LOG_LINE_NBYTES};
    struct trace *trace = reader->trace;
    return (trace_diagnose(trace, "log_levels", ORDINAL_NONE, NULL) &&
            trace_diagnose(trace, "log_lines", ORDINAL_NONE, lines) &&
            (reader->n_long == 0 || trace_diagnose(trace, "log_long_lines", ORDINAL_NONE, n_long)) &&
            (!reader->state.csv_guessed || trace_diagnose(trace, "log_csv_guessed", ORDINAL_NONE, NULL))) ||
           fail_memory(reader);
}

static bool log_finish(struct reader *reader) {
    if (reader->n_rows == 0)
        return cursor_fail(reader->cursor, READ_UNKNOWN_KIND, 0,
                           "this is not a memory snapshot: it is neither a pickle nor JSON, a page, a zip or "
                           "gzip, nor a log with lines about memory");
    if (!log_diagnose(reader))
        return false;
    switch (log_build(&reader->interner, reader->rows, reader->n_rows)) {
    case LOG_BUILT: return true;
    case LOG_TOO_MANY:
        return cursor_fail(reader->cursor, READ_LIMIT, 0, "the log names more than %d ranks or GPUs",
                           LOG_DEVICES_MOST);
    default: return fail_memory(reader);
    }
}

bool log_read(struct cursor *cursor, struct trace *trace, unsigned depth) {
    struct reader *reader = arena_alloc(&trace->arena, sizeof *reader);
    (void)depth;
    if (reader == NULL)
        return cursor_fail_memory(cursor, 0);
    *reader = (struct reader){.cursor = cursor, .trace = trace, .line = 1};
    trace->kind = TRACE_LOG;
    interner_init(&reader->interner, trace);
    bool done = lines_read(reader) && log_finish(reader) &&
                (interner_finish(&reader->interner) || fail_memory(reader));
    ARENA_DROP(&trace->arena, reader->rows);
    interner_release(&reader->interner);
    return done;
}
