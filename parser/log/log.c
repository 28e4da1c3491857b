#include "parser/log/log.h"

#include "base/numbers.h"
#include "base/utf8.h"
#include "parser/log/log_forms.h"

#include <string.h>

/* A traceback that an error does not name may begin so many lines below it. */
enum { STREAMS_MOST = 1024, TRACEBACK_BELOW = 12, TOP_LINES = 16, TABLE_LINES = 24 };

struct reader {
    struct cursor *cursor;
    struct trace *trace;
    struct interner interner;
    struct log_state state;
    struct log_stream *streams; /* one per rank; the one that was used last comes first */
    uint32_t n_streams;
    struct log_rows rows;
    uint32_t trace_until;    /* some traceback may be open before this line */
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
    if (text_has_at(line, 0, "{\"") && memchr(line.at, '\\', line.nbytes) != NULL) {
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

/* A figure that is printed only as a maximum is shown as the level of its line, and marked. */
static bool row_add(struct reader *reader, struct log_row *row) {
    static const enum note_what pairs[][2] = {{NOTE_ALLOCATED, NOTE_MAX_ALLOCATED},
                                              {NOTE_RESERVED, NOTE_MAX_RESERVED},
                                              {NOTE_HOST_USED, NOTE_MAX_HOST}};
    uint64_t peaks = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (log_knows(row, pairs[i][1]) && !log_knows(row, pairs[i][0])) {
            log_know(row, pairs[i][0], row->value[pairs[i][1]]);
            peaks |= UINT64_C(1) << pairs[i][0];
        }
    if (peaks != 0)
        log_know(row, NOTE_PEAKS, peaks);
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
        stream->device = -1;
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
    if (text.nbytes == 0 || text.nbytes > LOG_LABEL_NBYTES)
        return true;
    return intern_string(&reader->interner, text.at, text.nbytes, label) || fail_memory(reader);
}

/* The rank of a line, RANK_UNKNOWN if it names none; `inner` is the line without wrappers. */
static int32_t rank_of_line(struct text line, struct text inner) {
    uint32_t rank = log_rank(line);
    rank = rank == LOG_NONE && inner.at != line.at ? log_rank(inner) : rank;
    return rank != LOG_NONE ? (int32_t)rank : RANK_UNKNOWN;
}

/* Finds the name of a row's moment: of see_memory_usage the line before in its rank, of Megatron-LM and verl the text
 * before the figures, of `strata run` the dump that was written. */
static bool row_label(struct reader *reader, struct text line, struct log_row *row) {
    const struct log_state *state = &reader->state;
    struct text before = log_unwrapped(state->before);
    const struct log_form *form = row->form != 0 ? &log_forms[row->form - 1] : NULL;
    unsigned flags = form != NULL ? form->flags : 0;
    uint32_t end = 0;
    if (form != NULL && form->figures[0].words == NULL)
        return label_intern(reader, text_from(line, log_find(line, 0, LOG_DUMP) + word_length(LOG_DUMP)),
                            &row->label);
    if ((flags & FLAG_LABEL) != 0 && (end = log_find(line, 0, form->needs[0])) != LOG_NONE) {
        struct text label = log_message((struct text){line.at, end});
        uint32_t colon = log_find(label, 0, ": "); /* what follows it are figures */
        return label_intern(reader, (struct text){label.at, colon < label.nbytes ? colon : label.nbytes},
                            &row->label);
    }
    if ((flags & FLAG_LABELLED) == 0)
        return true;
    row->label = state->stream->label_line != 0 ? state->stream->label : 0;
    state->stream->label_line = 0;
    if (row->label != 0 || state->before_is_row || rank_of_line(state->before, before) != row->rank)
        return true;
    return label_intern(reader, log_message(before), &row->label);
}

/* Adds the row of a line, or its figures to the table's row above it, unless that has them. */
static bool level_add(struct reader *reader, struct log_row *row) {
    struct log_stream *stream = reader->state.stream;
    bool joins = row->form != 0 && (log_forms[row->form - 1].flags & FLAG_JOINED) != 0;
    struct log_row *joined = &stream->joined;
    if (!joins)
        return row_add(reader, row);
    if (row->line < stream->joined_until && (joined->known & row->known) == 0) {
        for (unsigned what = 0; what < NOTE_KINDS; what++)
            if (log_knows(row, (enum note_what)what))
                log_know(joined, (enum note_what)what, row->value[what]);
        return log_rows_put(&reader->rows, &reader->interner, stream->joined_index, joined) ||
               fail_memory(reader);
    }
    *joined = *row;
    stream->joined_index = reader->rows.count;
    stream->joined_until = row->line + TABLE_LINES;
    return row_add(reader, row);
}

/* The figures of the other devices in a line that lists those of each: "[(1073, 25769), (8589, 25769)]". */
static bool list_add(struct reader *reader, struct text line, struct log_row *row) {
    for (uint32_t at = log_find(line, 0, "), ("); row->is_list && at != LOG_NONE;
         at = log_find(line, 0, "), (")) {
        line = text_from(line, at + 3);
        row->known = 0;
        row->gpu++;
        if (log_figures_read(line, log_forms[row->form - 1].figures, row) == 2) {
            log_row_complete(row);
            if (!row_add(reader, row))
                return false;
        }
    }
    return true;
}

/* The host's figures of a line that has a device's too. */
static bool host_add(struct reader *reader, struct text line, const struct log_row *row) {
    struct log_row host = {.rank = RANK_UNKNOWN,
                           .line = row->line,
                           .time_us = row->time_us,
                           .has_time = row->has_time,
                           .gpu = LOG_HOST};
    uint32_t form = log_form_of(&reader->state.hits, FORM_HOST, 0);
    return form == LOG_NONE || row->gpu == LOG_HOST ||
           log_figures_read(text_from(line, log_find(line, 0, log_forms[form].needs[0])),
                            log_forms[form].figures, &host) == 0 ||
           row_add(reader, &host);
}

/* ---- kills ---- */

/* Adds the row of a kill. One that names the process takes the place of one that does not; a signal's is kept until
 * a line says that memory was the reason, and gives it its name. */
static bool kill_add(struct reader *reader, struct log_row *row) {
    struct log_state *state = &reader->state;
    struct log_row *last = row->possible ? &state->signal_row : &state->kill_row;
    bool named = log_knows(row, NOTE_HOST_USED) || log_has(word_text(row->killed), "pid ");
    if (!row->possible && state->kill != 0 && named && state->kill_row.known == 0)
        reader->rows.entry[state->kill - 1].dropped = true;
    if (!row->possible && state->signal != 0) {
        if (!named && state->kill == 0)
            log_name_set(row->killed, word_text(state->signal_row.killed));
        reader->rows.entry[state->signal - 1].dropped = true;
        state->signal = 0;
    }
    *last = *row;
    if (!row_add(reader, row))
        return false;
    *(row->possible ? &state->signal : &state->kill) = reader->rows.count;
    if (log_knows(row, NOTE_PROCESS_USED)) /* Ray's table of processes may follow */
        state->top_until = state->open_until = row->line + TOP_LINES;
    return true;
}

/* A row of Ray's table: the kill's row gets the process that holds the most. */
static bool top_read(struct reader *reader, struct text line, uint32_t number, bool *taken) {
    struct log_state *state = &reader->state;
    struct log_row row = state->kill_row;
    *taken = state->top_until > number && state->kill != 0 && log_top_line(line, &row);
    if (!*taken || (log_knows(&state->kill_row, NOTE_HOST_MOST) &&
                    state->kill_row.value[NOTE_HOST_MOST] >= row.value[NOTE_HOST_MOST]))
        return true;
    state->kill_row = row;
    return log_rows_put(&reader->rows, &reader->interner, state->kill - 1, &row) || fail_memory(reader);
}

/* ---- out of memory ---- */

/* Does the row repeat the error before it in its rank? A chain of exceptions repeats it at its end; a logger repeats it
 * without the traceback or the exception's name, after or before the original, or twice in the same second. */
static bool oom_is_repeated(const struct log_row *row, const struct log_row *before, bool chained,
                            uint32_t stack) {
    bool logged = log_knows(row, NOTE_DEVICE_FREE) && stack == 0 &&
                  (before->stack != 0 || (before->is_raised && !row->is_raised));
    bool announced = before->stack == 0 && !before->is_raised && row->is_raised && stack != 0;
    bool at_once = log_knows(row, NOTE_DEVICE_FREE) && row->has_time && before->has_time &&
                   distance_of((uint64_t)row->time_us, (uint64_t)before->time_us) < 1000000;
    bool warned = before->retried && row->retried; /* at each of the tries for one request */
    return before->is_oom && (chained || logged || announced || at_once || warned) &&
           log_oom_same(before, row);
}

/* Is it the error after the last try, of a request about whose tries the allocator warned? Warnings print all bytes. */
static bool oom_was_announced(const struct log_row *row, const struct log_row *before) {
    uint64_t asked = row->value[NOTE_ASKED];
    return before->is_oom && before->retried && !row->retried && log_knows(row, NOTE_ASKED) &&
           distance_of(asked, before->value[NOTE_ASKED]) <= asked / 128;
}

/* Does torchrun repeat the error? It prints the traceback and the error again, with the rank before each line. */
static bool oom_is_launched(const struct log_row *row, const struct log_row *last, uint32_t stack) {
    return last->is_oom && stack != 0 && last->stack == stack && log_knows(row, NOTE_DEVICE_FREE) &&
           (last->rank == RANK_UNKNOWN) != (row->rank == RANK_UNKNOWN) && log_oom_same(last, row);
}

static bool oom_begin(struct reader *reader, const struct log_row *before) {
    struct log_stream *stream = reader->state.stream;
    struct log_row *row = &stream->oom.row;
    uint32_t stack;
    bool chained = stream->traceback.chained;
    if (!log_traceback_end(&stream->traceback, &reader->interner, &stack))
        return fail_memory(reader);
    row->is_own = stream->traceback.ends_own;
    bool repeated = oom_is_repeated(row, before, chained, stack);
    if (oom_was_announced(row, before))
        reader->rows.entry[stream->oom.index].dropped = true;
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
    reader->last_oom = *row;
    reader->last_index = stream->oom.index;
    return row_add(reader, row);
}

/* VS Code and some loggers print the error, then its traceback: an error without a site takes the site of the
 * traceback below it. So does one whose site is a library's, if a chain of exceptions follows. */
static bool traceback_below(struct reader *reader) {
    struct log_stream *stream = reader->state.stream;
    uint32_t stack;
    bool chained = stream->traceback.chained;
    if ((stream->oom.row.stack != 0 && (stream->oom.row.is_own || !chained)) ||
        stream->traceback.count == 0 || stream->oom.index >= reader->rows.count ||
        stream->traceback.first_line - stream->oom.row.line > TRACEBACK_BELOW + (chained ? TRACEBACK_GAP : 0))
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
    enum log_oom_seen seen = log_oom_line(&reader->state.hits, oom, line, fresh);
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

/* A bare "out of memory" does not count as a request of its own if another line names one, nor a signal as lack of
 * the host's memory if the device's ran out. */
static void rows_drop(struct reader *reader) {
    for (uint32_t i = 0; i < reader->rows.count; i++) {
        struct log_entry *entry = &reader->rows.entry[i];
        bool bare = entry->is_oom && !log_entry_knows(entry, NOTE_ASKED) && reader->n_full != 0;
        entry->dropped |=
            bare && (entry->possible || (entry->rank == RANK_UNKNOWN && entry->gpu != LOG_HOST));
    }
    reader->rows.expandable = reader->state.expandable;
}

/* ---- a line ---- */

/* Reads a level, or a kill. */
static bool form_read(struct reader *reader, struct text line, struct log_row *row, bool *seen) {
    struct log_row fresh = *row;
    enum log_seen form = log_kill_line(&reader->state, line, row);
    if (form == LOG_ROW && !kill_add(reader, row))
        return false;
    if (form == LOG_NOTHING) {
        *row = fresh;
        form = log_level_line(&reader->state, line, row);
        if (form == LOG_ROW && (!row_label(reader, line, row) || !level_add(reader, row) ||
                                !host_add(reader, line, row) || !list_add(reader, line, row)))
            return false;
    }
    *seen = form != LOG_NOTHING;
    return true;
}

/* Does the line print or set expandable_segments:True, rather than advise it? */
static bool sets_expandable(const struct reader *reader, struct text line) {
    return log_form_of(&reader->state.hits, FORM_SETTING, 0) != LOG_NONE &&
           reader->state.stream->oom.lines_left == 0 && !log_has(line, "try setting") &&
           !log_has(line, "fragmentation");
}

/* Keeps the label of the stream's next line. */
static bool label_keep(struct reader *reader, struct text line) {
    struct log_stream *stream = reader->state.stream;
    if (!log_has(line, "see_memory_usage]"))
        return true;
    stream->label_line = reader->line;
    return label_intern(reader, log_message(line), &stream->label);
}

/* Reads a line that has words of a form, or belongs to an open message. `*taken`: it is understood. */
static bool line_read(struct reader *reader, struct text line, bool *taken) {
    struct log_state *state = &reader->state;
    struct log_row row = {.line = reader->line, .gpu = LOG_NO_DEVICE};
    struct text inner = log_unwrapped(line);
    row.rank = rank_of_line(line, inner);
    row.has_time = log_time(line, &row.time_us);
    line = inner;
    struct log_stream *stream = stream_of(reader, row.rank);
    if (stream == NULL)
        return fail_memory(reader);
    state->stream = stream;
    *taken = false;
    state->expandable |= sets_expandable(reader, line);
    if (!top_read(reader, line, reader->line, taken) || (!*taken && !oom_read(reader, line, &row, taken)))
        return false;
    if (stream->oom.lines_left != 0 && state->open_until < reader->line + 2)
        state->open_until = reader->line + 2;
    if (*taken || !form_read(reader, line, &row, taken) || *taken)
        return reader->cursor->error->code == READ_OK;
    if (log_form_of(&state->hits, FORM_TRACE, 0) == LOG_NONE)
        return label_keep(reader, line);
    uint32_t gap = TRACEBACK_GAP * (reader->n_streams < 64 ? reader->n_streams : 64);
    if (!log_traceback_line(&stream->traceback, &reader->interner, line, reader->line, gap, taken))
        return fail_memory(reader);
    reader->rows.windows |= stream->traceback.windows;
    if (stream->traceback.count + stream->traceback.n_open + stream->traceback.innermost_first != 0)
        reader->trace_until = reader->line + gap;
    return label_keep(reader, line);
}

/* Have the words of a line a meaning where it stands? */
static bool is_of_interest(struct reader *reader, struct text line) {
    struct log_state *state = &reader->state;
    bool any = log_forms_find(state->words, line, &state->hits), sure = false;
    for (uint32_t i = 0; i < state->hits.n_forms; i++)
        sure |= (log_forms[state->hits.form[i]].flags & FLAG_INSIDE) == 0;
    return sure || (any && reader->line < reader->trace_until) || reader->line < state->open_until ||
           (state->n_columns != 0 && memchr(line.at, ',', line.nbytes) != NULL);
}

/* Where the first of several messages in a line ends; LOG_NONE: there is only one. Ranks that print at once lose the
 * line's end between their messages: "... 13236.0[Rank 6] (after 1 iterations) memory ...", "... see
 * PYTORCH_CUDA_ALLOC_CONFCUDA out of memory. Tried to allocate ...". A string of JSON may have several lines. */
static uint32_t message_end(struct text line, bool is_error) {
    static const char error[] = " out of memory. Tried to allocate";
    uint32_t feed = log_find(line, 0, "\n"), rank = log_find(line, 1, "[Rank "),
             first = is_error ? log_find(line, 0, error) : LOG_NONE,
             second = first != LOG_NONE ? log_find(line, first + 1, error) : LOG_NONE;
    if (rank != LOG_NONE && !text_contains((struct text){line.at, rank}, " memory ("))
        rank = LOG_NONE;
    if (second != LOG_NONE) /* after the backend's name */
        second -= text_ends((struct text){line.at, second}, "CUDA") ? 4 : 3;
    feed = feed < rank ? feed : rank;
    return feed < second ? feed : second;
}

/* Is this the rest of a line of JSON after its string: the stream and the time? */
static bool is_json_tail(struct text line) {
    return line.nbytes == 0 || text_begins(line, "\",") || text_begins(line, "\"}");
}

/* Reads a line's messages, each by its own words. */
static bool messages_read(struct reader *reader, struct text line, bool *any) {
    bool done = true, taken = false;
    for (uint32_t end; done && line.nbytes != 0; line = text_from(line, end)) {
        end = message_end(line, log_form_of(&reader->state.hits, FORM_ERROR, 0) != LOG_NONE);
        struct text message = {line.at, end != LOG_NONE ? end : line.nbytes};
        bool whole = message.nbytes == line.nbytes;
        if (whole || log_forms_find(reader->state.words, message, &reader->state.hits))
            done = line_read(reader, message, &taken);
        *any |= taken;
        end = message.nbytes + (!whole && line.at[message.nbytes] == '\n');
        if (!whole && line.at[end - 1] == '\n' && is_json_tail(text_from(line, end)))
            return done;
        if (!whole)
            (void)is_of_interest(reader, text_from(line, end));
    }
    return done;
}

/* Keeps the line before for forms that need it: a label, a device's number. */
static void before_keep(struct log_state *state, struct text line, bool taken) {
    state->before =
        (struct text){state->before_bytes, line.nbytes < LOG_BEFORE_NBYTES ? line.nbytes : LOG_BEFORE_NBYTES};
    memcpy(state->before_bytes, line.at, state->before.nbytes);
    state->before_is_row = taken;
}

static bool lines_read(struct reader *reader) {
    struct text line;
    while (line_take(reader, &line)) {
        uint32_t nbytes = line.nbytes;
        bool taken = false;
        reader->n_lines += nbytes != 0;
        if (nbytes != 0) {
            line = line_plain(reader, line);
            if (is_of_interest(reader, line) && !messages_read(reader, line, &taken))
                return false;
            before_keep(&reader->state, line, taken);
            reader->n_understood += taken;
        }
        line_pass(reader, nbytes);
    }
    for (struct log_stream *stream = reader->streams; stream != NULL; stream = stream->next) {
        reader->state.stream = stream;
        if (stream->oom.row.is_oom && !traceback_below(reader)) /* a traceback that ends without the error */
            return false;
    }
    rows_drop(reader);
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
           count_diagnose(reader, "log_changes", state->n_changes, 0, 0);
}

static bool log_finish(struct reader *reader) {
    if (reader->rows.count == 0)
        return cursor_fail(
            reader->cursor, READ_UNKNOWN_KIND, 0,
            "this is not a memory snapshot, nor a log with figures that are known: those of PyTorch's "
            "memory errors and memory_summary(), of trainers, vLLM, SGLang, kills, nvidia-smi and its like, "
            "time -v (docs/inputs.md). Run it with \"strata run -- COMMAND\", or record a snapshot");
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

/* Makes the automaton of all forms' words. */
static bool words_make(struct reader *reader) {
    const char *word[LOG_WORDS_MOST] = {NULL};
    for (uint32_t i = 0; i < 2 * log_n_forms; i++)
        word[i] = log_forms[i / 2].needs[i % 2];
    reader->state.words = log_words_make(&reader->trace->arena, word, 2 * log_n_forms);
    return reader->state.words != NULL;
}

bool log_read(struct cursor *cursor, struct trace *trace) {
    struct reader *reader = arena_alloc(&trace->arena, sizeof *reader);
    if (reader == NULL)
        return cursor_fail_memory(cursor, 0);
    *reader = (struct reader){.cursor = cursor, .trace = trace, .line = 1};
    trace->kind = TRACE_LOG;
    if (!words_make(reader))
        return fail_memory(reader);
    interner_init(&reader->interner, trace);
    bool done = lines_read(reader) && log_finish(reader) &&
                (interner_finish(&reader->interner) || fail_memory(reader));
    ARENA_DROP(&trace->arena, reader->rows.value, reader->rows.entry);
    log_words_drop(reader->state.words, &trace->arena);
    interner_release(&reader->interner);
    return done;
}
