#include "parser/log/log_forms.h"
#include "trace/own_code.h"

#include <string.h>

static struct text between(struct text line, uint32_t from, uint32_t end) {
    return (struct text){line.at + from, end > from ? end - from : 0};
}

/* Are these two lines of one function? Then they belong to two tracebacks, unless the function calls itself. */
static bool lines_part(const struct frame_table *frames, uint32_t a, uint32_t b) {
    const struct frame *one = &frames->frame[a], *other = &frames->frame[b];
    return one->file == other->file && one->name == other->name && one->line != other->line;
}

/* Does an open traceback of another process have the frame already? Of several, own lines count, each once. */
static bool frame_is_known(struct log_traceback *traceback, const struct frame_table *frames, uint32_t id) {
    for (uint32_t i = 0; i < traceback->count; i++) {
        traceback->parted |= lines_part(frames, traceback->frame[i], id);
        if (traceback->frame[i] != id)
            continue;
        traceback->n_begun += i == 0;
        return true;
    }
    return false;
}

static void frame_add(struct log_state *state, struct log_traceback *traceback, struct text file,
                      struct text name, uint64_t number) {
    struct frame frame = {.file = log_string(state, file),
                          .name = log_string(state, name),
                          .line = number < UINT32_MAX ? (uint32_t)number : 0};
    uint32_t id;
    bool own = file_is_own(file), full = traceback->count == TRACEBACK_FRAMES;
    if (!intern_frame(&state->interner, frame, &id)) {
        state->failed = true;
        return;
    }
    state->windows |= file.nbytes > 2 && file.at[1] == ':' && file.at[2] == '\\';
    if (traceback->n_open > 1 && (!own || frame_is_known(traceback, &state->trace->frames, id)))
        return;
    if (full && traceback->own[traceback->count - 1] && !own)
        return; /* the innermost own line matters, and what it calls does not */
    traceback->count -= full;
    traceback->n_begun += traceback->count == 0;
    traceback->own[traceback->count] = own;
    traceback->frame[traceback->count++] = id;
}

/* A function's name up to its arguments, or to blanks before the edge of a box. */
static struct text name_at(struct text line, uint32_t at) {
    uint32_t end = at;
    while (end < line.nbytes && strchr(" ()[]{}\t,'\"", line.at[end]) == NULL && line.at[end] < 0x80)
        end++;
    return between(line, at, end);
}

/* File "train.py", line 41, in forward */
static bool frame_of_python(struct text line, struct text *file, struct text *name, uint64_t *number) {
    uint32_t at = log_find(line, 0, "File \""),
             end = at != LOG_NONE ? log_find(line, at + 6, "\", line ") : LOG_NONE;
    uint32_t next = end != LOG_NONE ? log_count(line, end + 8, number) : LOG_NONE;
    if (next == LOG_NONE)
        return false;
    *file = between(line, at + 6, end);
    *name = (struct text){line.at, 0};
    if (!text_has_at(line, next, ", in "))
        return true;
    uint32_t stop = log_find(line, next, " [repeated "); /* Ray, of lines that several actors print */
    stop = stop != LOG_NONE ? stop : line.nbytes;
    while (stop > next && strchr(" \t\r", line.at[stop - 1]) != NULL)
        stop--;
    *name = between(line, next + 5, stop);
    return true;
}

static bool ends_as_python(struct text file) {
    return text_ends(file, ".py") || text_ends(file, ">");
}

/* PATH.py:41 in forward, PATH.py:41, in forward(x): after "File ", a rich box's edge, or at the beginning. */
static bool frame_of_colon(struct text line, struct text *file, struct text *name, uint64_t *number) {
    uint32_t colon = log_find(line, 0, ".py:");
    uint32_t next = colon != LOG_NONE ? log_count(line, colon + 4, number) : LOG_NONE;
    if (next == LOG_NONE)
        return false;
    uint32_t in = next < line.nbytes && line.at[next] == ',' ? next + 1 : next, begin = colon;
    if (!text_has_at(line, in, " in "))
        return false;
    while (begin > 0 && line.at[begin - 1] != ' ' && line.at[begin - 1] < 0x80)
        begin--;
    *file = between(line, begin, colon + 3);
    *name = name_at(line, in + 4);
    return file->nbytes > 3;
}

/* Cell In[5], line 3, in step(batch) */
static bool frame_of_cell(struct text line, struct text *file, struct text *name, uint64_t *number) {
    uint32_t at = log_find(line, 0, "Cell In"), end;
    end = at != LOG_NONE ? log_find(line, at, "]") : LOG_NONE;
    if (end == LOG_NONE || end - at > 24)
        return false;
    uint32_t cell = log_find(line, end, "line");
    if (cell == LOG_NONE || log_count(line, log_skip(line, cell + 4), number) == LOG_NONE)
        return false;
    *file = between(line, at, end + 1);
    uint32_t in = log_find(line, end, ", in ");
    *name = in != LOG_NONE && in > cell ? name_at(line, in + 5) : (struct text){line.at, 0};
    return true;
}

/* ~/work/train.py in forward(x): the line's number is below. */
static bool frame_of_ipython(struct text line, struct text *file, struct text *name) {
    uint32_t in = log_find(line, 0, " in ");
    if (in == LOG_NONE || in == 0 || in + 4 >= line.nbytes || line.at[0] == ' ')
        return false;
    *file = between(line, 0, in);
    *name = name_at(line, in + 4);
    return ends_as_python(*file) && log_find(*file, 0, " ") == LOG_NONE && name->nbytes != 0;
}

/* "---> 41     x = model(x)" */
static void line_of_ipython(struct log_state *state, struct log_traceback *traceback, struct text line) {
    uint64_t number;
    uint32_t at = 0;
    while (at < line.nbytes && line.at[at] == '-')
        at++;
    if (at < 2 || at + 2 >= line.nbytes || line.at[at] != '>' || traceback->count == 0 ||
        log_count(line, log_skip(line, at + 1), &number) == LOG_NONE)
        return;
    uint32_t *last = &traceback->frame[traceback->count - 1];
    struct frame frame = state->trace->frames.frame[*last];
    frame.line = number < UINT32_MAX ? (uint32_t)number : 0;
    traceback->waits_for_line = false;
    state->failed |= !intern_frame(&state->interner, frame, last);
}

static bool begins_chain(const struct log_hits *hits) {
    bool chain = false;
    for (uint32_t i = 0; i < hits->n_forms; i++)
        chain |= (log_forms[hits->form[i]].flags & FLAG_CHAIN) != 0;
    return chain;
}

/* The line that an error ends with: "ValueError: ...". */
static bool ends_traceback(struct text line) {
    static const char *const words[] = {"Error:", "Exception:", "Warning:"};
    struct text message = log_message(line);
    uint32_t end = message.nbytes < 120 ? message.nbytes : 120;
    struct text head = {message.at, end};
    /* after "RuntimeError: Caught RuntimeError in replica 0 on device 0." the "Original Traceback" follows */
    return head.nbytes != 0 && !text_contains(head, ": Caught ") && head.at[0] >= 'A' && head.at[0] <= 'z' &&
           text_contains_any(head, words, sizeof words / sizeof *words);
}

static void traceback_drop(struct log_traceback *traceback) {
    *traceback = (struct log_traceback){.chained = traceback->chained,
                                        .last_line = traceback->last_line,
                                        .shared = traceback->shared,
                                        .n_shared = traceback->n_shared};
}

/* Begins a traceback. If the error of the last one has not come yet, two processes print at once: their own lines are
 * one list. */
static void traceback_begin(struct log_traceback *traceback, uint32_t number) {
    uint32_t n = 0, n_open = traceback->n_open;
    if (n_open == 0 || number - traceback->last_line >= 6) {
        traceback_drop(traceback);
        traceback->n_open = 1;
        return;
    }
    for (uint32_t i = 0; i < traceback->count && n_open == 1; i++)
        if (traceback->own[i]) {
            traceback->frame[n] = traceback->frame[i];
            traceback->own[n++] = true;
        }
    traceback->count = n_open == 1 ? n : traceback->count;
    traceback->n_begun = n_open == 1 ? n != 0 : traceback->n_begun;
    traceback->n_open++;
}

/* Reads the frame that a line is, in whichever shape. False: it is none. */
static bool frame_read(struct log_traceback *traceback, struct text line, struct text *file,
                       struct text *name, uint64_t *number) {
    if (frame_of_python(line, file, name, number))
        return true;
    bool begun = traceback->n_open != 0 || log_find(line, 0, "File ") == log_skip(line, 0);
    if (begun && (frame_of_cell(line, file, name, number) || frame_of_colon(line, file, name, number)))
        return true;
    *number = 0;
    return traceback->n_open != 0 && frame_of_ipython(line, file, name) && (traceback->waits_for_line = true);
}

/* Reads a line while no more than `gap` other lines came since the last one of the traceback. */
static bool line_read(struct log_state *state, struct log_traceback *traceback, struct text line,
                      uint32_t gap) {
    struct text file, name;
    uint64_t at = 0;
    bool open = traceback->n_open + traceback->count != 0,
         head = log_find(line, 0, "raceback (most") != LOG_NONE;
    if (open && state->line - traceback->last_line > gap)
        traceback_drop(traceback);
    if (head && (traceback->count == 0 || log_find(line, 0, "Original Traceback") == LOG_NONE))
        traceback_begin(traceback, state->line);
    if (log_find(line, 0, "Exception has occurred: ") != LOG_NONE) {
        traceback_drop(traceback);
        traceback->innermost_first = head = true;
    }
    traceback->last_line = head ? state->line : traceback->last_line;
    if (head)
        return true;
    if (begins_chain(&state->hits)) {
        traceback_drop(traceback);
        traceback->chained = true;
        return false;
    }
    if (traceback->waits_for_line)
        line_of_ipython(state, traceback, line);
    if (frame_read(traceback, line, &file, &name, &at)) {
        traceback->first_line = traceback->count == 0 ? state->line : traceback->first_line;
        traceback->last_line = state->line;
        frame_add(state, traceback, file, name, at);
        return true;
    }
    if (ends_traceback(line) && !traceback->innermost_first)
        traceback_drop(traceback);
    return false;
}

bool log_traceback_line(struct log_state *state, struct text line) {
    struct log_traceback *traceback = &state->streams->traceback;
    uint32_t gap = TRACEBACK_GAP * (state->n_streams < 64 ? state->n_streams : 64);
    bool taken = line_read(state, traceback, line, gap);
    if (traceback->count + traceback->n_open + traceback->innermost_first != 0)
        state->trace_until = state->line + gap;
    return taken;
}

uint32_t log_traceback_end(struct log_state *state, struct log_traceback *traceback) {
    struct log_traceback old = *traceback;
    uint32_t innermost_first[TRACEBACK_FRAMES];
    /* below the head "Exception has occurred" comes the error, then the frames */
    *traceback = (struct log_traceback){.innermost_first = old.innermost_first && old.count == 0,
                                        .first_line = old.first_line,
                                        .ends_own = old.ends_own,
                                        .shared = old.shared,
                                        .n_shared = old.n_shared != 0 ? old.n_shared - 1 : 0};
    if (old.n_shared != 0)
        return old.shared;
    /* of several, the list is known if each began with its first line, and none went another way */
    bool known = old.n_open <= 1 || (old.n_begun == old.n_open && !old.parted), own = false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < old.count && known; i++) {
        uint32_t at = old.innermost_first ? i : old.count - 1 - i;
        n = old.own[at] && !own ? 0 : n; /* what an own line calls does not matter */
        own |= old.own[at];
        innermost_first[n++] = old.frame[at];
    }
    traceback->ends_own = own;
    traceback->shared = 0;
    if (n != 0)
        state->failed |= !intern_stack(&state->interner, innermost_first, n, &traceback->shared);
    traceback->n_shared = old.n_open > 1 ? old.n_open - 1 : 0;
    return traceback->shared;
}
