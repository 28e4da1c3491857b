#include "parser/log/log.h"

#include "base/utf8.h"
#include "parser/log/log_lines.h"
#include "parser/log/log_text.h"

#include <string.h>

enum { LABEL_NBYTES = 80, STREAMS_MOST = 1024 };

struct reader {
    struct cursor *cursor;
    struct trace *trace;
    struct interner interner;
    struct log_state state;
    struct log_stream *streams; /* one per rank; the one that was used last comes first */
    uint32_t n_streams;
    struct log_rows rows;
    uint32_t killed;         /* the first line that says "Killed"; 0: none */
    uint32_t unknown;        /* the first line about memory that has no known form; 0: none */
    uint32_t n_full;         /* out-of-memory errors that name a request, over all ranks */
    struct log_row last_oom; /* the last out-of-memory error of any rank */
    uint32_t last_index;     /* its index among the rows */
    uint32_t line;           /* from 1 */
    uint64_t n_lines, n_understood, n_long;
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

/* The next line without its end; of a long line the beginning. False: none. */
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

/* Moves the cursor past the end of the line, however far it is. Only line feeds count as lines. */
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

/* Decodes the character after a backslash to UTF-8 in `to`; characters beyond the first plane stay as meaningless
 * halves. */
static uint32_t unescape(struct text line, uint32_t *at, uint8_t *to) {
    static const char names[] = "nrtbf", bytes[] = "\n\n \b\f";
    uint32_t code = 0, digits = 0, i = *at + 1;
    const char *hex = "0123456789abcdef", *name = strchr(names, line.at[i]), *digit;
    *at = i;
    if (line.at[i] == 'u') {
        for (i++; digits < 4 && i < line.nbytes && (digit = strchr(hex, line.at[i] | 0x20)) != NULL;
             i++, digits++)
            code = code << 4 | (uint32_t)(digit - hex);
        if (digits == 4 && code != 0) {
            *at = i - 1;
            return (uint32_t)utf8_put(code, (char *)to);
        }
    }
    *to = name != NULL ? (uint8_t)bytes[name - names] : line.at[*at];
    return 1;
}

/* Removes colours and other terminal sequences: ESC [ ... letter. In a line of JSON, decodes escapes. */
static struct text line_plain(struct reader *reader, struct text line) {
    uint8_t *plain = reader->plain;
    uint32_t n = 0;
    if (log_find(line, 0, "{\"") == 0 && memchr(line.at, '\\', line.nbytes) != NULL) {
        for (uint32_t i = 0; i < line.nbytes; i++)
            if (line.at[i] == '\\' && i + 1 < line.nbytes)
                n += unescape(line, &i, plain + n);
            else
                plain[n++] = line.at[i];
        line = (struct text){plain, n};
        n = 0;
    }
    if (memchr(line.at, 0x1b, line.nbytes) == NULL)
        return line;
    for (uint32_t i = 0; i < line.nbytes; i++) {
        if (line.at[i] != 0x1b)
            plain[n++] = line.at[i];
        else if (i + 1 < line.nbytes && line.at[i + 1] == '[')
            for (i += 2; i < line.nbytes && (line.at[i] < '@' || line.at[i] > '~');)
                i++;
    }
    return (struct text){plain, n};
}

/* ---- rows ---- */

static bool row_add(struct reader *reader, const struct log_row *row) {
    if (!log_rows_add(&reader->rows, &reader->interner, row))
        return fail_memory(reader);
    reader->cursor->n_events = reader->rows.count;
    return true;
}

/* The state of this rank's lines. Beyond STREAMS_MOST, new ranks share the state of lines without a rank. */
static struct log_stream *stream_of(struct reader *reader, int32_t rank) {
    struct log_stream **link = &reader->streams;
    rank = reader->n_streams < STREAMS_MOST ? rank : RANK_UNKNOWN;
    while (*link != NULL && (*link)->rank != rank)
        link = &(*link)->next;
    struct log_stream *stream = *link;
    if (stream == NULL) {
        stream = arena_alloc(&reader->trace->arena, sizeof *stream);
        if (stream == NULL)
            return NULL;
        stream->rank = rank;
        stream->table_gpu = -1;
        reader->n_streams++;
    } else {
        *link = stream->next;
    }
    stream->next = reader->streams;
    reader->streams = stream;
    return stream;
}

static bool label_intern(struct reader *reader, struct text text, uint32_t *label) {
    *label = 0;
    while (text.nbytes > 0 && strchr(": |,", text.at[text.nbytes - 1]) != NULL)
        text.nbytes--;
    if (text.nbytes == 0 || text.nbytes > LABEL_NBYTES)
        return true;
    return intern_string(&reader->interner, text.at, text.nbytes, label) || fail_memory(reader);
}

/* Finds the name of a row's moment: of see_memory_usage the line before, of Megatron the text before the figures, of
 * `strata run` the dump that was written. */
static bool row_label(struct reader *reader, struct text line, struct log_row *row) {
    uint32_t end = log_find(line, 0, " memory (MB)"), dump = log_find(line, 0, log_dump);
    row->label = row->label_before ? reader->state.stream->last_label : 0;
    if (dump != LOG_NONE) {
        dump += (uint32_t)strlen(log_dump);
        return label_intern(reader, text_from(line, dump), &row->label);
    }
    if (end == LOG_NONE)
        return true;
    struct text before = {line.at, end};
    struct text label = log_message(before);
    return label_intern(reader, label, &row->label);
}

static bool host_add(struct reader *reader, struct text line, const struct log_row *row) {
    struct log_row host = {
        .rank = RANK_UNKNOWN, .line = row->line, .time_us = row->time_us, .has_time = row->has_time};
    return !log_line_host(line, &host) || row_add(reader, &host);
}

/* ---- out of memory ---- */

/* Does the row repeat the error before it in its rank? A chain of exceptions repeats it at its end; a logger repeats it
 * without the traceback or the exception's name, after or before the original. */
static bool oom_is_repeated(const struct log_row *row, const struct log_row *before, bool chained,
                            uint32_t stack) {
    bool logged = log_knows(row, NOTE_DEVICE_FREE) && stack == 0 &&
                  (before->stack != 0 || (before->is_raised && !row->is_raised));
    bool announced = before->stack == 0 && !before->is_raised && row->is_raised && stack != 0;
    return before->is_oom && (chained || logged || announced) && log_oom_same(before, row);
}

/* Does torchrun repeat the error? It prints the traceback and the error again, with the rank before each line. */
static bool oom_is_launched(const struct log_row *row, const struct log_row *last, uint32_t stack) {
    return last->is_oom && stack != 0 && last->stack == stack && log_knows(row, NOTE_DEVICE_FREE) &&
           (last->rank == RANK_UNKNOWN) != (row->rank == RANK_UNKNOWN) && log_oom_same(last, row);
}

static bool oom_begin(struct reader *reader, const struct log_row *before) {
    struct log_stream *stream = reader->state.stream;
    struct log_row *row = &stream->oom.row;
    uint32_t stack, n_full = stream->oom.n_full;
    bool chained = stream->traceback.chained;
    if (!log_traceback_end(&stream->traceback, &reader->interner, &stack))
        return fail_memory(reader);
    row->is_own = stream->traceback.ends_own;
    bool repeated = oom_is_repeated(row, before, chained, stack);
    bool kept = repeated && (stack == 0 || before->is_own || (before->stack != 0 && !row->is_own));
    row->stack = kept ? before->stack : stack;
    row->is_own = kept ? before->is_own : row->is_own;
    if (repeated) {
        row->line = before->line;
        return kept || log_rows_put(&reader->rows, &reader->interner, stream->oom.index, row) ||
               fail_memory(reader);
    }
    bool launched = oom_is_launched(row, &reader->last_oom, stack);
    stream->oom.index = launched ? reader->last_index : reader->rows.count;
    if (launched)
        return true;
    reader->n_full += log_knows(row, NOTE_ASKED);
    stream->oom.n_full = n_full;
    reader->last_oom = *row;
    reader->last_index = stream->oom.index;
    return row_add(reader, row);
}

/* ComfyUI prints the error, then its traceback: an error without a site takes the site of the traceback below it.
 * So does one whose site is a library's, if a chain of exceptions follows. */
static bool traceback_below(struct reader *reader) {
    struct log_stream *stream = reader->state.stream;
    uint32_t stack;
    bool chained = stream->traceback.chained;
    if ((stream->oom.row.stack != 0 && (stream->oom.row.is_own || !chained)) ||
        stream->traceback.count == 0 || stream->oom.index >= reader->rows.count)
        return true;
    if (!log_traceback_end(&stream->traceback, &reader->interner, &stack))
        return fail_memory(reader);
    if (stream->oom.row.stack != 0 && !stream->traceback.ends_own)
        return true;
    stream->oom.row.stack = stack;
    stream->oom.row.is_own = stream->traceback.ends_own;
    return log_rows_put(&reader->rows, &reader->interner, stream->oom.index, &stream->oom.row) ||
           fail_memory(reader);
}

/* Reads a line of an out-of-memory error of the stream's rank. `*taken`: it was one. */
static bool oom_read(struct reader *reader, struct text line, const struct log_row *fresh, bool *taken) {
    struct log_oom *oom = &reader->state.stream->oom;
    struct log_row before = oom->row;
    uint32_t n_full = oom->n_full;
    enum log_oom_seen seen = log_oom_line(oom, line, fresh);
    *taken = seen != LOG_OOM_NOTHING;
    if (seen == LOG_OOM_BEGINS)
        return oom_begin(reader, &before);
    if (seen == LOG_OOM_AGAIN)
        return traceback_below(reader);
    if (seen != LOG_OOM_MORE)
        return true;
    reader->n_full += oom->n_full > n_full;
    return log_rows_put(&reader->rows, &reader->interner, oom->index, &oom->row) || fail_memory(reader);
}

/* A bare "out of memory" does not count as a request of its own if another line names one. */
static void bare_ooms_drop(struct reader *reader) {
    for (uint32_t i = 0; i < reader->rows.count; i++) {
        struct log_entry *entry = &reader->rows.entry[i];
        entry->dropped = entry->is_oom && entry->rank == RANK_UNKNOWN && entry->gpu != LOG_HOST &&
                         reader->n_full != 0 && (entry->known >> NOTE_ASKED & 1) == 0;
    }
}

/* ---- a line ---- */

static bool form_read(struct reader *reader, struct text line, struct log_row *row, bool *seen) {
    const struct log_row fresh = *row;
    uint32_t n_before = reader->rows.count;
    enum log_seen form = log_line(&reader->state, line, row);
    if (form == LOG_ROW && (!row_label(reader, line, row) || !row_add(reader, row)))
        return false;
    if (!host_add(reader, line, &fresh))
        return false;
    *seen = form != LOG_NOTHING || reader->rows.count != n_before;
    if (form == LOG_ROW)
        reader->state.stream->last_label = 0;
    reader->state.stream->about_before = form != LOG_NOTHING;
    return true;
}

/* "Killed", "zsh: killed     python train.py", "run.sh: line 3: 1234 Killed    python train.py" */
static bool says_killed(struct text line) {
    static const char *const words[] = {"zsh: killed", "SIGKILL",         "signal: Killed",
                                        "Killed: 9",   "exit code 137",   "exit code (137)",
                                        "  killed  ",  "return code = -9"};
    struct text message = log_message(line);
    return text_is(message, "Killed") || text_begins(message, "killed  ") || text_ends(message, "]Killed") ||
           text_ends(message, "/it] Killed") ||
           ((text_contains(message, ": line ") || text_begins(message, "+ ")) &&
            text_contains(message, " Killed  ")) ||
           text_contains_any(message, words, sizeof words / sizeof *words);
}

static bool says_memory(struct text line) {
    static const char *const words[] = {"memory",      "Memory", "VRAM",     "vram",
                                        "buffer size", "OOM",    "allocated"};
    return text_contains_any(line, words, sizeof words / sizeof *words);
}

static bool line_read(struct reader *reader, struct text line) {
    struct log_row row = {.line = reader->line, .rank = RANK_UNKNOWN, .gpu = LOG_NO_DEVICE};
    struct text inner = log_unwrapped(line);
    uint32_t rank = log_rank(line);
    bool taken = false;
    rank = rank == LOG_NONE && inner.at != line.at ? log_rank(inner) : rank;
    row.rank = rank != LOG_NONE ? (int32_t)rank : RANK_UNKNOWN;
    row.has_time = log_time(line, &row.time_us);
    line = inner;
    struct log_stream *stream = stream_of(reader, row.rank);
    if (stream == NULL)
        return fail_memory(reader);
    reader->state.stream = stream;
    if (stream->open == LOG_IDLE && !oom_read(reader, line, &row, &taken))
        return false;
    if (!taken && !form_read(reader, line, &row, &taken))
        return false;
    reader->n_understood += taken;
    if (taken)
        return true;
    reader->killed = reader->killed == 0 && says_killed(line) ? reader->line : reader->killed;
    reader->unknown = reader->unknown == 0 && says_memory(line) ? reader->line : reader->unknown;
    if (!log_traceback_line(&stream->traceback, &reader->interner, line, &taken))
        return fail_memory(reader);
    struct text message = log_message(line);
    stream->about_before = message.nbytes <= LABEL_NBYTES && log_is_about_memory(message);
    return taken || label_intern(reader, message, &stream->last_label);
}

/* Where the first of several messages in a line ends; LOG_NONE: there is only one. Ranks that print at once lose the
 * line's end between their messages: "... 13236.0[Rank 6] (after 1 iterations) memory ...", "... see
 * PYTORCH_CUDA_ALLOC_CONFCUDA out of memory. Tried to allocate ...". A string of JSON may have several lines. */
static uint32_t message_end(struct text line) {
    static const char error[] = " out of memory. Tried to allocate";
    uint32_t feed = log_find(line, 0, "\n"), figures = log_find(line, 0, " memory ("),
             rank = figures != LOG_NONE ? log_find(line, figures, "[Rank ") : LOG_NONE,
             first = log_find(line, 0, error),
             second = first != LOG_NONE ? log_find(line, first + 1, error) : LOG_NONE;
    if (second != LOG_NONE) /* after the backend's name */
        second -= text_ends((struct text){line.at, second}, "CUDA") ? 4 : 3;
    feed = feed < rank ? feed : rank;
    return feed < second ? feed : second;
}

/* Is this the rest of a line of JSON after its string: the stream and the time? */
static bool is_json_tail(struct text line) {
    return line.nbytes == 0 || text_begins(line, "\",") || text_begins(line, "\"}");
}

static bool messages_read(struct reader *reader, struct text line) {
    uint64_t n_before = reader->n_understood;
    bool done = true;
    for (uint32_t end; done && (end = message_end(line)) != LOG_NONE;) {
        done = line_read(reader, (struct text){line.at, end});
        end += line.at[end] == '\n';
        line = text_from(line, end);
        if (line.at[-1] == '\n' && is_json_tail(line))
            line.nbytes = 0;
    }
    if (!done || (line.nbytes != 0 && !line_read(reader, line)))
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
    for (struct log_stream *stream = reader->streams; stream != NULL; stream = stream->next) {
        struct log_row row;
        reader->state.stream = stream;
        if (stream->oom.row.is_oom && !traceback_below(reader)) /* a traceback that ends without the error */
            return false;
        for (unsigned i = 0; i < 2; i++) /* a summary, and the processes' use */
            if (log_line_end(stream, &row) && !row_add(reader, &row))
                return false;
    }
    bare_ooms_drop(reader);
    return reader->cursor->error->code == READ_OK;
}

/* ---- the whole ---- */

/* Adds a diagnostic about the file if its first number is not 0. */
static bool count_diagnose(struct reader *reader, const char *key, uint64_t first, uint64_t second,
                           uint64_t third) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {first, second, third};
    return first == 0 || trace_diagnose(reader->trace, key, ORDINAL_NONE, numbers) || fail_memory(reader);
}

static bool log_diagnose(struct reader *reader) {
    const struct log_state *state = &reader->state;
    struct trace *trace = reader->trace;
    uint64_t unread = reader->n_lines - reader->n_understood;
    if (!trace_diagnose(trace, "log_levels", ORDINAL_NONE, NULL))
        return fail_memory(reader);
    return count_diagnose(reader, "log_lines", reader->n_lines, reader->n_understood, unread) &&
           count_diagnose(reader, "log_long_lines", reader->n_long, LOG_LINE_NBYTES, 0) &&
           count_diagnose(reader, "log_inferred", state->n_inferred, 0, 0) &&
           count_diagnose(reader, "log_operators", state->n_operators, state->most_nbytes, 0) &&
           count_diagnose(reader, "log_killed", state->killed ? 0 : reader->killed, 0, 0) &&
           count_diagnose(reader, "log_changes", state->n_changes, 0, 0) &&
           (!state->csv_guessed || trace_diagnose(trace, "log_csv_guessed", ORDINAL_NONE, NULL) ||
            fail_memory(reader));
}

static bool log_finish(struct reader *reader) {
    if (reader->rows.count == 0 && reader->killed != 0)
        return cursor_fail(
            reader->cursor, READ_NO_DATA, 0,
            "the log says \"Killed\" and nothing about memory: by whom and why is not known; run it with "
            "\"strata run -- COMMAND\", which watches the host's memory");
    if (reader->rows.count == 0 && reader->unknown != 0)
        return cursor_fail(reader->cursor, READ_UNKNOWN_KIND, 0,
                           "this is not a memory snapshot, but a log of no known form: line %u is about "
                           "memory, and no line has a figure that is known",
                           reader->unknown);
    if (reader->rows.count == 0)
        return cursor_fail(reader->cursor, READ_UNKNOWN_KIND, 0,
                           "this is not a memory snapshot: it is neither a pickle nor JSON, a page, a zip or "
                           "gzip, zstd or xz, nor a log with lines about memory");
    if (!log_diagnose(reader))
        return false;
    switch (log_build(&reader->interner, &reader->rows)) {
    case LOG_BUILT: return true;
    case LOG_TOO_MANY:
        return cursor_fail(reader->cursor, READ_LIMIT, 0, "the log names more than %d ranks or GPUs",
                           LOG_DEVICES_MOST);
    default: return fail_memory(reader);
    }
}

bool log_read(struct cursor *cursor, struct trace *trace) {
    struct reader *reader = arena_alloc(&trace->arena, sizeof *reader);
    if (reader == NULL)
        return cursor_fail_memory(cursor, 0);
    *reader = (struct reader){.cursor = cursor, .trace = trace, .line = 1};
    trace->kind = TRACE_LOG;
    interner_init(&reader->interner, trace);
    bool done = lines_read(reader) && log_finish(reader) &&
                (interner_finish(&reader->interner) || fail_memory(reader));
    ARENA_DROP(&trace->arena, reader->rows.value);
    ARENA_DROP(&trace->arena, reader->rows.entry);
    interner_release(&reader->interner);
    return done;
}
