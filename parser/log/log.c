#include "parser/log/log.h"

#include "base/numbers.h"
#include "base/utf8.h"
#include "parser/log/log_forms.h"

#include <string.h>

enum { STREAMS_MOST = 1024 };

bool log_recognises(const uint8_t *p, size_t nbytes) {
    size_t at = nbytes >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (; at < nbytes; at++)
        if ((p[at] < 0x20 && strchr("\t\n\v\f\r\b\x1b", p[at]) == NULL) || p[at] == 0 || p[at] == 0x7f)
            return false;
    return nbytes != 0;
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
static bool line_take(struct cursor *cursor, struct text *line) {
    (void)cursor_fill(cursor, LOG_LINE_NBYTES);
    size_t n = (size_t)(cursor->end - cursor->p);
    n = n < LOG_LINE_NBYTES ? n : LOG_LINE_NBYTES;
    const uint8_t *end = end_find(cursor->p, n);
    *line = (struct text){cursor->p, (uint32_t)(end != NULL ? (size_t)(end - cursor->p) : n)};
    return n != 0;
}

/* Moves the cursor past the end of the line, however far it is. Only line feeds count as lines. */
static void line_pass(struct log_state *state, uint32_t nbytes) {
    struct cursor *cursor = state->cursor;
    cursor->p += nbytes;
    state->n_long += nbytes == LOG_LINE_NBYTES && cursor->p < cursor->end && end_find(cursor->p, 1) == NULL;
    while (cursor_fill(cursor, 1)) {
        const uint8_t *end = end_find(cursor->p, (size_t)(cursor->end - cursor->p));
        cursor->p = end != NULL ? end + 1 : cursor->end;
        if (end == NULL)
            continue;
        state->line += *end == '\n' && state->line < UINT32_MAX;
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
static struct text line_plain(struct log_state *state, struct text line) {
    uint8_t *plain = state->plain;
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

uint32_t log_string(struct log_state *state, struct text text) {
    uint32_t id = 0;
    state->failed |= !intern_string(&state->interner, text.at, text.nbytes, &id);
    return id;
}

/* A figure that is printed only as a maximum is shown as the level of its line, and marked. */
void log_put(struct log_state *state, uint32_t index, struct log_row *row) {
    static const enum note_what pairs[][2] = {{NOTE_ALLOCATED, NOTE_MAX_ALLOCATED},
                                              {NOTE_RESERVED, NOTE_MAX_RESERVED},
                                              {NOTE_HOST_USED, NOTE_MAX_HOST}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (log_knows(row, pairs[i][1]) && !log_knows(row, pairs[i][0])) {
            log_know(row, pairs[i][0], log_number(row, pairs[i][1]));
            log_know(row, NOTE_PEAKS, log_number(row, NOTE_PEAKS) | UINT64_C(1) << pairs[i][0]);
        }
    state->failed |= !log_rows_put(&state->rows, &state->trace->arena, index, row);
    state->cursor->n_events = state->rows.count;
}

/* Puts the state of this rank's lines first. Beyond STREAMS_MOST, new ranks share the state of lines without a rank. */
static bool stream_begin(struct log_state *state, int32_t rank) {
    struct log_stream **link = &state->streams;
    rank = state->n_streams < STREAMS_MOST ? rank : RANK_UNKNOWN;
    while (*link != NULL && (*link)->rank != rank)
        link = &(*link)->next;
    struct log_stream *stream = *link;
    if (stream != NULL) {
        *link = stream->next;
    } else if ((stream = arena_alloc(&state->trace->arena, sizeof *stream)) != NULL) {
        stream->rank = rank;
        stream->device = -1;
        state->n_streams++;
    } else {
        return false;
    }
    stream->next = state->streams;
    state->streams = stream;
    return true;
}

int32_t log_rank_of(struct text line, struct text inner) {
    uint32_t rank = log_rank(line);
    rank = rank == LOG_NONE && inner.at != line.at ? log_rank(inner) : rank;
    return rank != LOG_NONE ? (int32_t)rank : RANK_UNKNOWN;
}

/* A bare "out of memory" does not count as a request of its own if another line names one, nor a signal as lack of
 * the host's memory if the device's ran out. */
static void rows_drop(struct log_state *state) {
    for (uint32_t i = 0; i < state->rows.count; i++) {
        struct log_entry *entry = &state->rows.entry[i];
        bool bare = entry->is_oom && (entry->known >> NOTE_ASKED & 1) == 0 && state->n_full != 0;
        entry->dropped |= bare && ((entry->known >> NOTE_POSSIBLE & 1) != 0 ||
                                   (entry->rank == RANK_UNKNOWN && entry->gpu != LOG_HOST));
    }
}

/* ---- a line ---- */

/* Does the line print or set expandable_segments:True, rather than advise it? */
static bool sets_expandable(const struct log_state *state, struct text line) {
    return log_form_of(&state->hits, FORM_SETTING, 0) != LOG_NONE && state->streams->oom.lines_left == 0 &&
           !log_has(line, "try setting") && !log_has(line, "fragmentation");
}

/* Reads a line that has words of a form, or belongs to an open message. True: it is understood. */
static bool line_read(struct log_state *state, struct text line) {
    struct text inner = log_unwrapped(line);
    struct log_row row = {.of = {.gpu = LOG_NO_DEVICE, .rank = log_rank_of(line, inner)}};
    row.of.has_time = log_time(line, &row.of.time_us);
    log_know(&row, NOTE_LINE, state->line);
    if (!stream_begin(state, row.of.rank))
        return !(state->failed = true);
    state->expandable |= sets_expandable(state, inner);
    bool taken = log_top_line(state, inner) || log_oom_line(state, inner, &row);
    if (state->streams->oom.lines_left != 0 && state->open_until < state->line + 2)
        state->open_until = state->line + 2;
    bool other = log_form_of(&state->hits, FORM_OTHER, 0) != LOG_NONE;
    taken = taken || (!other && (log_kill_line(state, inner, &row) || log_level_line(state, inner, &row)));
    return taken ||
           (log_form_of(&state->hits, FORM_TRACE, 0) != LOG_NONE && log_traceback_line(state, inner));
}

/* Have the words of a line a meaning where it stands? */
static bool is_of_interest(struct log_state *state, struct text line) {
    bool any = log_forms_find(state->words, line, &state->hits), sure = false;
    for (uint32_t i = 0; i < state->hits.n_forms; i++)
        sure |= (log_forms[state->hits.form[i]].flags & FLAG_INSIDE) == 0;
    return sure || (any && state->line < state->trace_until) || state->line < state->open_until ||
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

/* Reads a line's messages, each by its own words. True: any is understood. */
static bool messages_read(struct log_state *state, struct text line) {
    bool any = false;
    for (uint32_t end; line.nbytes != 0; line = text_from(line, end)) {
        end = message_end(line, log_form_of(&state->hits, FORM_ERROR, 0) != LOG_NONE);
        struct text message = {line.at, end != LOG_NONE ? end : line.nbytes};
        bool whole = message.nbytes == line.nbytes;
        if (whole || log_forms_find(state->words, message, &state->hits))
            any |= line_read(state, message);
        end = message.nbytes + (!whole && line.at[message.nbytes] == '\n');
        if (!whole && line.at[end - 1] == '\n' && is_json_tail(text_from(line, end)))
            return any;
        if (!whole)
            (void)is_of_interest(state, text_from(line, end));
    }
    return any;
}

/* Keeps the line before for forms that need it: a label, a device's number. */
static void before_keep(struct log_state *state, struct text line, bool taken) {
    state->before =
        (struct text){state->before_bytes, line.nbytes < LOG_BEFORE_NBYTES ? line.nbytes : LOG_BEFORE_NBYTES};
    memcpy(state->before_bytes, line.at, state->before.nbytes);
    state->before_is_row = taken;
}

static void lines_read(struct log_state *state) {
    struct text line;
    while (!state->failed && line_take(state->cursor, &line)) {
        uint32_t nbytes = line.nbytes;
        state->n_lines += nbytes != 0;
        if (nbytes != 0) {
            line = line_plain(state, line);
            bool taken = is_of_interest(state, line) && messages_read(state, line);
            before_keep(state, line, taken);
            state->n_understood += taken;
        }
        line_pass(state, nbytes);
    }
    for (struct log_stream *stream = state->streams; stream != NULL; stream = stream->next)
        if (stream->oom.row.of.is_oom) /* a traceback that ends without the error */
            log_oom_below(state, stream);
    rows_drop(state);
}

/* ---- the whole ---- */

/* Adds a diagnostic about the file if its first number is not 0. */
static void count_diagnose(struct log_state *state, const char *key, uint64_t first, uint64_t second,
                           uint64_t third) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {first, second, third};
    if (first != 0)
        state->failed |= !trace_diagnose(state->trace, key, ORDINAL_NONE, numbers);
}

static bool log_finish(struct log_state *state) {
    if (state->rows.count == 0)
        return cursor_fail(
            state->cursor, READ_UNKNOWN_KIND, 0,
            "this is not a memory snapshot, nor a log with figures that are known: those of PyTorch's "
            "memory errors and memory_summary(), of trainers, vLLM, SGLang, kills, nvidia-smi and its like, "
            "time -v (docs/inputs.md). Run it with \"strata run -- COMMAND\", or record a snapshot");
    state->failed |= !trace_diagnose(state->trace, "log_levels", ORDINAL_NONE, NULL);
    count_diagnose(state, "log_lines", state->n_lines, state->n_understood,
                   state->n_lines - state->n_understood);
    count_diagnose(state, "log_long_lines", state->n_long, LOG_LINE_NBYTES, 0);
    count_diagnose(state, "log_changes", state->n_changes, 0, 0);
    return !state->failed && log_build(state) && interner_finish(&state->interner);
}

bool log_read(struct cursor *cursor, struct trace *trace) {
    struct log_state *state = arena_alloc(&trace->arena, sizeof *state);
    struct log_words *words = log_words_make(&trace->arena);
    if (state == NULL || words == NULL)
        return cursor_fail_memory(cursor, 0);
    *state = (struct log_state){.cursor = cursor, .trace = trace, .words = words, .line = 1};
    trace->kind = TRACE_LOG;
    interner_init(&state->interner, trace);
    lines_read(state);
    bool done = cursor->error->code == READ_OK &&
                ((!state->failed && log_finish(state)) || cursor_fail_memory(cursor, cursor_offset(cursor)));
    ARENA_DROP(&trace->arena, state->rows.value, state->rows.entry);
    interner_release(&state->interner);
    return done;
}
