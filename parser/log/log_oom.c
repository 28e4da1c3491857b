/* Out-of-memory errors, read from their messages: PyTorch's allocators of every backend, those of servers on top of
 * it, and the host's. */
#include "base/numbers.h"
#include "parser/log/log_forms.h"

#include <string.h>

/* Limits for wrapped text; the hint after the last part of PyTorch's message may be wrapped. */
enum { OOM_LINES = 12, HINT_LINES = 2 };

/* A traceback that an error does not name may begin so many lines below it. */
enum { TRACEBACK_BELOW = 12 };

/* Figures are printed with two decimals of a GiB, so three of them together may be off by this much. */
enum { PRINTED_SLACK = 16 << 20 };

/* Words of PyTorch since 2.1. */
static const char unallocated[] = "reserved by PyTorch but unallocated";

/* "Process 560 has 7.95 GiB memory in use.": adds up the other processes. */
static void processes_read(struct text line, struct log_row *row) {
    uint64_t pid, nbytes;
    for (uint32_t at = log_find(line, 0, "Process "), next; at != LOG_NONE;
         at = log_find(line, at + 1, "Process ")) {
        next = log_match(line, at, "Process # has ", NULL, &pid);
        if (next != LOG_NONE && (next = log_size(line, next, 0, &nbytes)) != LOG_NONE &&
            text_has_at(line, next, " memory in use"))
            log_know(row, NOTE_OTHERS_USED, log_number(row, NOTE_OTHERS_USED) + nbytes);
    }
}

/* "(GPU 0;", " GPU 3 has", "(NPU  7;", "on device 0 would"; of NCCL "host:1:2 [3] include/alloc.h:178 NCCL WARN" */
static void gpu_read(struct text line, struct log_row *row) {
    static const char *const words[] = {
        "(GPU ",       " GPU ",         "(NPU ", "(MLU ",       "(XPU ",
        "(MUSA ",      "(GCU ",         "(HPU ", "(MTIA ",      "MTIA device ",
        " on device ", " device cuda:", "cuda:", "device xpu:", "device npu:"};
    static const char *const nccl[] = {" ["};
    if (log_has(line, " NCCL WARN "))
        log_gpu_find(line, nccl, 1, row);
    log_gpu_find(line, words, sizeof words / sizeof *words, row);
}

/* "MemoryError", "numpy.core._exceptions._ArrayMemoryError: ...", but not "OutOfMemoryError" and its like. */
static bool is_python(struct text line) {
    struct text name = log_message(line);
    uint32_t colon = log_find(name, 0, ":");
    name.nbytes = colon != LOG_NONE ? colon : name.nbytes;
    return text_is(name, "MemoryError") ||
           (log_find(name, 0, " ") == LOG_NONE &&
            (text_ends(name, "._ArrayMemoryError") || text_ends(name, ".MemoryError")));
}

static void backend_set(struct log_state *state, const char *backend, struct log_row *row) {
    if (log_knows(row, NOTE_BACKEND))
        return;
    log_know_text(row, NOTE_BACKEND, log_string(state, word_text(backend)));
    if (strcmp(backend, "CPU") == 0 || strcmp(backend, "shm") == 0)
        row->of.gpu = LOG_HOST;
}

/* The variable and the hint that a line names: "PYTORCH_CUDA_ALLOC_CONF", since 2.9 "PYTORCH_ALLOC_CONF". Ascend's and
 * Cambricon's give the hint without the variable's name. */
static void setting_read(struct log_state *state, struct text line, struct log_row *row) {
    bool split = log_has(line, "max_split_size_mb"), expandable = log_has(line, "expandable_segments:True");
    for (uint32_t at = log_find(line, 0, "PYTORCH_"); at != LOG_NONE;
         at = log_find(line, at + 1, "PYTORCH_")) {
        uint32_t end = at;
        while (end < line.nbytes && ((line.at[end] >= 'A' && line.at[end] <= 'Z') || line.at[end] == '_'))
            end++;
        struct text name = {line.at + at, end - at};
        if (text_ends(name, "_ALLOC_CONF")) {
            row->value[NOTE_SETTING].text = log_string(state, name);
            split = true;
        }
    }
    if (split || expandable)
        log_know(row, NOTE_SETTING, expandable ? SETTING_EXPANDABLE : SETTING_MAX_SPLIT);
}

/* Names the variable of a backend whose message gave the hint without it, or is of 2.1 and later and was cut. */
static void setting_complete(struct log_state *state, struct log_row *row, bool since_2_1) {
    struct text backend = trace_text(state->trace, row->value[NOTE_BACKEND].text);
    if (row->value[NOTE_SETTING].text != 0 || (!log_knows(row, NOTE_SETTING) && !since_2_1))
        return;
    for (size_t i = 0; log_backends[i][0] != NULL; i++)
        if (log_backends[i][2] != NULL && text_is(backend, log_backends[i][1])) {
            row->value[NOTE_SETTING].text = log_string(state, word_text(log_backends[i][2]));
            log_know_first(row, NOTE_SETTING, SETTING_EXPANDABLE);
            return; /* a new string may have moved the backend's */
        }
}

/* 1 EiB or more was requested: "you tried to allocate 4611686018427387904 bytes", "more than 1EB". */
static bool asks_beyond(struct text line) {
    uint32_t at = log_behind(line, "ried to allocate"), n = 0;
    while (at != LOG_NONE && at + n < line.nbytes && is_digit(line.at[at + n]))
        n++;
    return n > 19 || (n == 19 && memcmp(line.at + at, "1152921504606846976", n) >= 0) ||
           log_has(line, "ried to allocate more than 1EB") || log_has(line, " EiB for an array");
}

static void figures_read(struct log_state *state, struct text line, struct log_row *row) {
    if (asks_beyond(line))
        log_know(row, NOTE_ASKED_BEYOND, UINT64_C(1) << 60);
    (void)log_figures_read(line, log_told, row);
    for (uint32_t i = 0; log_backends[i][0] != NULL && !log_knows(row, NOTE_BACKEND); i++)
        if (log_has(line, log_backends[i][0]))
            backend_set(state, log_backends[i][1], row);
    gpu_read(line, row);
    processes_read(line, row);
    setting_read(state, line, row);
}

/* Shows the figures as they are printed, and those that follow. Since 2.1 the reserved bytes are printed in two parts.
 * If this process is not named among the others, it is unknown which of them it is. MPS prints no reserved bytes. Free
 * bytes above the total are doubtful. */
static void oom_show(struct log_state *state, struct log_oom *oom, const struct log_row *raw,
                     struct text line) {
    struct log_row *row = &oom->row;
    oom->since_2_1 |= log_has(line, unallocated);
    oom->raw = *row = *raw;
    row->of.is_oom = true;
    uint64_t total = log_number(row, NOTE_DEVICE_TOTAL), free = log_number(row, NOTE_DEVICE_FREE),
             reserved = log_number(row, NOTE_RESERVED), allocated = log_number(row, NOTE_ALLOCATED);
    bool told = log_knows(row, NOTE_RESERVED), rest = log_knows(row, NOTE_UNALLOCATED);
    if (!told && rest && log_knows(row, NOTE_ALLOCATED))
        log_know(row, NOTE_RESERVED, allocated + log_number(row, NOTE_UNALLOCATED));
    if (told && !rest && log_knows(row, NOTE_ALLOCATED) && reserved >= allocated)
        log_know(row, NOTE_UNALLOCATED, reserved - allocated);
    if (log_knows(row, NOTE_DEVICE_TOTAL) && log_knows(row, NOTE_DEVICE_FREE) && total >= free &&
        (total != free || log_number(row, NOTE_RESERVED) == 0)) /* otherwise too few decimals are printed */
        log_know(row, NOTE_DEVICE_USED, total - free);
    if (log_number(row, NOTE_PROCESS_USED) + PRINTED_SLACK < log_number(row, NOTE_RESERVED))
        log_forget(row, NOTE_PROCESS_USED); /* "this process has 0 bytes": where the driver does not tell */
    if (!log_knows(row, NOTE_PROCESS_USED))
        log_forget(row, NOTE_OTHERS_USED);
    setting_complete(state, row, oom->since_2_1);
    oom->lines_left = log_knows(raw, NOTE_SETTING) ? 0 : told || rest ? HINT_LINES : OOM_LINES;
}

/* ---- which lines are errors ---- */

/* The words as the text of an error, not in a sentence: "RuntimeError: XPU out of memory", "CUDA error: out of memory",
 * "Cuda failure 2 'out of memory'", "CUDA out of memory." at the line's beginning. */
static bool is_errors_text(struct text line) {
    static const char *const ends[] = {"CUDA error:",  "HIP error:",   "CUDA driver error:",  "XPU error:",
                                       "Cuda failure", "CUDA failure", "runtime error (2) :", "error=2 :"};
    struct text message = log_message(line);
    uint32_t at = log_find(message, 0, "out of memory");
    struct text head = {message.at, at != LOG_NONE ? at : 0};
    while (text_ends(head, " ") || text_ends(head, "'") || text_ends(head, " 2"))
        head.nbytes--;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_ends(head, ends[i])) {
            uint32_t begin = head.nbytes - word_length(ends[i]);
            return begin == 0 || strchr("'\"`", head.at[begin - 1]) == NULL; /* somebody quotes it */
        }
    uint32_t letters = head.nbytes;
    while (head.nbytes > 0 && head.at[head.nbytes - 1] >= 'A' && head.at[head.nbytes - 1] <= 'Z')
        head.nbytes--;
    bool backend = letters - head.nbytes >= 3 || text_ends(head, "MPS backend"),
         ends_there = at + 13 >= message.nbytes || strchr(".\n", message.at[at + 13]) != NULL;
    return backend && (head.nbytes == 0 || text_ends(head, "Error: ")) && ends_there;
}

/* Do the words of a form count in this line? */
static bool counts(const struct log_form *form, struct text line) {
    return (form->flags & FLAG_ALONE) == 0 ||
           (strcmp(form->needs[0], "MemoryError") == 0 ? is_python(line) : is_errors_text(line));
}

/* The form of an error in the line, with its request in the row if it names one. NULL: none. */
static const struct log_form *error_find(const struct log_hits *hits, struct text line, struct log_row *row) {
    const struct log_form *bare = NULL;
    for (uint32_t i = log_form_of(hits, FORM_ERROR, 0); i != LOG_NONE;
         i = log_form_of(hits, FORM_ERROR, i + 1)) {
        const struct log_form *form = &log_forms[i];
        bool asks = form->figures[0].words != NULL;
        if (asks && (log_figures_read(line, form->figures, row) != 0 || asks_beyond(line)))
            return form;
        if (!asks && bare == NULL && counts(form, line))
            bare = form;
    }
    return bare;
}

/* ---- repetitions ---- */

/* Have both rows the same figures and the same device? */
static bool is_same(const struct log_row *a, const struct log_row *b) {
    bool same = log_figures_of(a) == log_figures_of(b) && a->of.gpu == b->of.gpu;
    for (unsigned what = 0; what < NOTE_KINDS && same; what++)
        same = (log_figures_of(a) >> what & 1) == 0 ||
               log_number(a, (enum note_what)what) == log_number(b, (enum note_what)what);
    return same;
}

/* Does the row repeat the error before it in its rank? A chain of exceptions repeats it at its end; a logger repeats it
 * without the traceback or the exception's name, after or before the original, or twice in the same second. */
static bool is_repeated(const struct log_row *row, const struct log_row *before, bool chained,
                        uint32_t stack) {
    bool logged = log_knows(row, NOTE_DEVICE_FREE) && stack == 0 &&
                  (before->of.stack != 0 || (before->is_raised && !row->is_raised));
    bool announced = before->of.stack == 0 && !before->is_raised && row->is_raised && stack != 0;
    bool at_once = log_knows(row, NOTE_DEVICE_FREE) && row->of.has_time && before->of.has_time &&
                   distance_of((uint64_t)row->of.time_us, (uint64_t)before->of.time_us) < 1000000;
    bool warned = log_knows(before, NOTE_RETRIED) && log_knows(row, NOTE_RETRIED); /* at each try */
    return before->of.is_oom && (chained || logged || announced || at_once || warned) && is_same(before, row);
}

/* Is it the error after the last try, of a request about whose tries the allocator warned? Warnings print all bytes. */
static bool was_announced(const struct log_row *row, const struct log_row *before) {
    uint64_t asked = log_number(row, NOTE_ASKED);
    return before->of.is_oom && log_knows(before, NOTE_RETRIED) && !log_knows(row, NOTE_RETRIED) &&
           log_knows(row, NOTE_ASKED) && distance_of(asked, log_number(before, NOTE_ASKED)) <= asked / 128;
}

/* Does torchrun repeat the error? It prints the traceback and the error again, with the rank before each line. */
static bool is_launched(const struct log_row *row, const struct log_row *last, uint32_t stack) {
    return last->of.is_oom && stack != 0 && last->of.stack == stack && log_knows(row, NOTE_DEVICE_FREE) &&
           (last->of.rank == RANK_UNKNOWN) != (row->of.rank == RANK_UNKNOWN) && is_same(last, row);
}

/* Adds the error of the current stream, or gives the one before it, which it repeats, its stack. */
static void oom_add(struct log_state *state, const struct log_row *before) {
    struct log_stream *stream = state->streams;
    struct log_oom *oom = &stream->oom;
    struct log_row *row = &oom->row;
    bool chained = stream->traceback.chained;
    uint32_t stack = log_traceback_end(state, &stream->traceback);
    row->is_own = stream->traceback.ends_own;
    bool repeated = is_repeated(row, before, chained, stack);
    if (was_announced(row, before))
        state->rows.entry[oom->index].dropped = true;
    bool kept = repeated && (stack == 0 || before->is_own || (before->of.stack != 0 && !row->is_own));
    row->of.stack = kept ? before->of.stack : stack;
    row->is_own = kept ? before->is_own : row->is_own;
    if (repeated) {
        log_know(row, NOTE_LINE, log_number(before, NOTE_LINE));
        if (!kept)
            log_put(state, oom->index, row);
        return;
    }
    bool launched = is_launched(row, &state->last_oom, stack);
    oom->index = launched ? state->last_index : state->rows.count;
    if (launched)
        return;
    state->n_full += log_knows(row, NOTE_ASKED);
    state->last_oom = *row;
    state->last_index = oom->index;
    log_put(state, oom->index, row);
}

void log_oom_below(struct log_state *state, struct log_stream *stream) {
    struct log_row *row = &stream->oom.row;
    struct log_traceback *traceback = &stream->traceback;
    bool chained = traceback->chained;
    if ((row->of.stack != 0 && (row->is_own || !chained)) || traceback->count == 0 ||
        stream->oom.index >= state->rows.count ||
        traceback->first_line - (uint32_t)log_number(row, NOTE_LINE) >
            TRACEBACK_BELOW + (chained ? TRACEBACK_GAP : 0))
        return;
    uint32_t stack = log_traceback_end(state, traceback);
    if (row->of.stack != 0 && !traceback->ends_own)
        return;
    row->of.stack = stack;
    row->is_own = traceback->ends_own;
    log_put(state, stream->oom.index, row);
}

/* ---- messages of several lines ---- */

/* Keeps the end of a line that was wrapped within a phrase or a word, for the next line to continue. */
static void tail_keep(struct log_oom *oom, struct text line) {
    oom->tail_nbytes = line.nbytes < OOM_TAIL ? line.nbytes : OOM_TAIL;
    memcpy(oom->tail, line.at + line.nbytes - oom->tail_nbytes, oom->tail_nbytes);
}

/* Reads figures whose words are split between the end of the line before and the beginning of this one. */
static void seam_read(struct log_state *state, struct log_oom *oom, struct text line, struct log_row *row) {
    uint8_t seam[2 * OOM_TAIL + 1];
    line = text_from(line, log_skip(line, 0));
    uint32_t n = line.nbytes < OOM_TAIL ? line.nbytes : OOM_TAIL;
    memcpy(seam, oom->tail, oom->tail_nbytes);
    for (uint32_t blank = 0; blank < 2; blank++) {
        uint32_t begin = oom->tail_nbytes + blank;
        seam[oom->tail_nbytes] = ' ';
        memcpy(seam + begin, line.at, n);
        struct text text = {seam, begin + n};
        (void)log_figures_read(text, log_told, row);
        setting_read(state, text, row);
        oom->since_2_1 |= log_has(text, unallocated);
    }
}

static void oom_begin(struct log_state *state, struct text line, struct log_row *row,
                      const struct log_form *form) {
    struct log_oom *oom = &state->streams->oom;
    struct log_row before = oom->row;
    bool full = log_knows(row, NOTE_ASKED) || asks_beyond(line);
    if (form->name != NULL)
        backend_set(state, form->name, row);
    figures_read(state, line, row);
    row->is_raised = log_find(line, 0, "Error: ") < log_find(line, 0, "ried to allocate");
    if ((form->flags & FLAG_RETRIED) != 0)
        log_know(row, NOTE_RETRIED, 1);
    oom->n_seen++;
    oom->n_full += full;
    oom->since_2_1 = false;
    tail_keep(oom, line);
    oom_show(state, oom, row, line);
    oom->lines_left = log_knows(row, NOTE_RETRIED) ? 0 : oom->lines_left; /* it has one line */
    oom_add(state, &before);
}

/* Other processes may write between the lines of an error. `found` has the request, if this line names one. False: the
 * line says nothing new. */
static bool oom_go_on(struct log_state *state, struct text line, const struct log_row *found) {
    struct log_oom *oom = &state->streams->oom;
    struct log_row row = oom->raw;
    if (log_knows(found, NOTE_ASKED))
        log_know_first(&row, NOTE_ASKED, log_number(found, NOTE_ASKED));
    seam_read(state, oom, line, &row);
    figures_read(state, line, &row);
    tail_keep(oom, line);
    if (log_figures_of(&row) == log_figures_of(&oom->raw) &&
        row.value[NOTE_SETTING].text == oom->raw.value[NOTE_SETTING].text) {
        oom->lines_left--;
        return false;
    }
    bool asks = log_knows(&row, NOTE_ASKED) && !log_knows(&oom->raw, NOTE_ASKED);
    oom->n_full += asks;
    state->n_full += asks;
    row.of.stack = oom->row.of.stack;
    oom_show(state, oom, &row, line);
    log_put(state, oom->index, &oom->row);
    return true;
}

bool log_oom_line(struct log_state *state, struct text line, const struct log_row *fresh) {
    struct log_stream *stream = state->streams;
    struct log_oom *oom = &stream->oom;
    bool open = oom->lines_left != 0, other = log_form_of(&state->hits, FORM_OTHER, 0) != LOG_NONE;
    if (!open && log_form_of(&state->hits, FORM_ERROR, 0) == LOG_NONE)
        return false;
    struct log_row row = *fresh;
    const struct log_form *form = other ? NULL : error_find(&state->hits, line, &row);
    if (form == NULL && !open)
        return false;
    bool full = log_knows(&row, NOTE_ASKED) || (form != NULL && form->figures[0].words != NULL);
    gpu_read(line, &row);
    bool elsewhere =
        row.of.gpu != LOG_NO_DEVICE && oom->raw.of.gpu != LOG_NO_DEVICE && row.of.gpu != oom->raw.of.gpu;
    bool begins = full && (!open || log_knows(&oom->raw, NOTE_ASKED) || elsewhere);
    if (!begins && open && oom_go_on(state, line, &row))
        return true;
    if (form == NULL)
        return false;
    if (begins || oom->n_seen == 0 || (elsewhere && oom->n_full == 0))
        oom_begin(state, line, &row, form);
    else
        log_oom_below(state, stream);
    return true;
}
