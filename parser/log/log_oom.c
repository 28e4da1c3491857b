/* Out-of-memory errors, read from their messages: PyTorch's allocators of every backend, those of servers on top of
 * it, and the host's. */
#include "base/numbers.h"
#include "parser/log/log_forms.h"

#include <string.h>

/* Limits for wrapped text; the hint after the last part of PyTorch's message may be wrapped. */
enum { OOM_LINES = 12, HINT_LINES = 2 };

/* Words of PyTorch since 2.1. */
static const char unallocated[] = "reserved by PyTorch but unallocated";

/* "Process 560 has 7.95 GiB memory in use.": adds up the other processes. */
static void processes_read(struct text line, struct log_row *row) {
    uint64_t number, nbytes;
    for (uint32_t at = log_find(line, 0, "Process "); at != LOG_NONE;
         at = log_find(line, at + 1, "Process ")) {
        uint32_t next = log_count(line, at + 8, &number);
        if (next == LOG_NONE || !text_has_at(line, next, " has "))
            continue;
        next = log_size(line, next + 5, 0, &nbytes);
        if (next != LOG_NONE && text_has_at(line, next, " memory in use"))
            log_know(row, NOTE_OTHERS_USED,
                     (log_knows(row, NOTE_OTHERS_USED) ? row->value[NOTE_OTHERS_USED] : 0) + nbytes);
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

static void backend_read(struct text line, struct log_row *row) {
    for (uint32_t i = 0; log_backends[i][0] != NULL && row->backend[0] == '\0'; i++)
        if (log_has(line, log_backends[i][0]))
            log_name_set(row->backend, word_text(log_backends[i][1]));
    if (strcmp(row->backend, "CPU") == 0 || strcmp(row->backend, "shm") == 0)
        row->gpu = LOG_HOST;
}

/* The variable and the hint that a line names: "PYTORCH_CUDA_ALLOC_CONF", since 2.9 "PYTORCH_ALLOC_CONF". Ascend's and
 * Cambricon's give the hint without the variable's name. */
static void setting_read(struct text line, struct log_row *row) {
    bool split = log_has(line, "max_split_size_mb"), expandable = log_has(line, "expandable_segments:True");
    for (uint32_t at = log_find(line, 0, "PYTORCH_"); at != LOG_NONE;
         at = log_find(line, at + 1, "PYTORCH_")) {
        uint32_t end = at;
        while (end < line.nbytes && ((line.at[end] >= 'A' && line.at[end] <= 'Z') || line.at[end] == '_'))
            end++;
        struct text name = {line.at + at, end - at};
        if (text_ends(name, "_ALLOC_CONF")) {
            log_name_set(row->setting, name);
            split = true;
        }
    }
    if (split || expandable)
        log_know(row, NOTE_SETTING, expandable ? SETTING_EXPANDABLE : SETTING_MAX_SPLIT);
}

/* Names the variable of a backend whose message gave the hint without it, or is of 2.1 and later and was cut. */
static void setting_complete(struct log_row *row, bool since_2_1) {
    if (row->setting[0] != '\0' || (!log_knows(row, NOTE_SETTING) && !since_2_1))
        return;
    for (size_t i = 0; log_backends[i][0] != NULL; i++)
        if (log_backends[i][2] != NULL && strcmp(row->backend, log_backends[i][1]) == 0) {
            log_name_set(row->setting, word_text(log_backends[i][2]));
            log_know_first(row, NOTE_SETTING, SETTING_EXPANDABLE);
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

static void figures_read(struct text line, struct log_row *row) {
    if (asks_beyond(line))
        log_know(row, NOTE_ASKED_BEYOND, UINT64_C(1) << 60);
    (void)log_figures_read(line, log_told, row);
    backend_read(line, row);
    gpu_read(line, row);
    processes_read(line, row);
    setting_read(line, row);
}

/* Completes the figures. Since 2.1 the reserved bytes are printed in two parts. If this process is not named among
 * the others, it is unknown which of them it is. MPS prints no reserved bytes. Free bytes above the total are
 * doubtful. */
static void row_complete(struct log_row *row, bool since_2_1) {
    const uint64_t *value = row->value;
    if (!log_knows(row, NOTE_RESERVED) && log_knows(row, NOTE_ALLOCATED) && log_knows(row, NOTE_UNALLOCATED))
        log_know(row, NOTE_RESERVED, value[NOTE_ALLOCATED] + value[NOTE_UNALLOCATED]);
    if (!log_knows(row, NOTE_UNALLOCATED) && log_knows(row, NOTE_RESERVED) &&
        log_knows(row, NOTE_ALLOCATED) && value[NOTE_RESERVED] >= value[NOTE_ALLOCATED])
        log_know(row, NOTE_UNALLOCATED, value[NOTE_RESERVED] - value[NOTE_ALLOCATED]);
    if (log_knows(row, NOTE_DEVICE_TOTAL) && log_knows(row, NOTE_DEVICE_FREE) &&
        value[NOTE_DEVICE_TOTAL] >= value[NOTE_DEVICE_FREE] &&
        (value[NOTE_DEVICE_TOTAL] != value[NOTE_DEVICE_FREE] ||
         value[NOTE_RESERVED] == 0)) /* otherwise too few decimals are printed */
        log_know(row, NOTE_DEVICE_USED, value[NOTE_DEVICE_TOTAL] - value[NOTE_DEVICE_FREE]);
    if (!log_knows(row, NOTE_PROCESS_USED))
        log_forget(row, NOTE_OTHERS_USED);
    setting_complete(row, since_2_1);
}

static void oom_show(struct log_oom *oom, const struct log_row *raw, struct text line) {
    oom->since_2_1 |= log_has(line, unallocated);
    oom->raw = oom->row = *raw;
    oom->row.is_oom = true;
    row_complete(&oom->row, oom->since_2_1);
    bool ends = log_knows(raw, NOTE_UNALLOCATED) || log_knows(raw, NOTE_RESERVED);
    oom->lines_left = log_knows(raw, NOTE_SETTING) ? 0 : ends ? HINT_LINES : OOM_LINES;
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

/* ---- messages of several lines ---- */

/* Keeps the end of a line that was wrapped within a phrase or a word, for the next line to continue. */
static void tail_keep(struct log_oom *oom, struct text line) {
    oom->tail_nbytes = line.nbytes < OOM_TAIL ? line.nbytes : OOM_TAIL;
    memcpy(oom->tail, line.at + line.nbytes - oom->tail_nbytes, oom->tail_nbytes);
}

static void request_read(struct text line, struct log_row *row) {
    static const struct log_figure request[] = {{"ried to allocate", BEHIND, NOTE_ASKED, 0},
                                                {"llocation of size", BEHIND, NOTE_ASKED, 1},
                                                {"info [size:", BEHIND, NOTE_ASKED, 1},
                                                {NULL, BEHIND, NOTE_ASKED, 0}};
    (void)log_figures_read(line, request, row);
}

/* Reads figures whose words are split between the end of the line before and the beginning of this one. */
static void seam_read(struct log_oom *oom, struct text line, struct log_row *row) {
    uint8_t seam[2 * OOM_TAIL + 1];
    line = text_from(line, log_skip(line, 0));
    uint32_t n = line.nbytes < OOM_TAIL ? line.nbytes : OOM_TAIL;
    memcpy(seam, oom->tail, oom->tail_nbytes);
    for (uint32_t blank = 0; blank < 2; blank++) {
        uint32_t begin = oom->tail_nbytes + blank;
        seam[oom->tail_nbytes] = ' ';
        memcpy(seam + begin, line.at, n);
        struct text text = {seam, begin + n};
        request_read(text, row);
        (void)log_figures_read(text, log_told, row);
        setting_read(text, row);
        oom->since_2_1 |= log_has(text, unallocated);
    }
}

static enum log_oom_seen oom_begin(struct log_oom *oom, struct text line, struct log_row *row,
                                   const struct log_form *form) {
    bool full = log_knows(row, NOTE_ASKED) || asks_beyond(line);
    if (form->name != NULL)
        log_name_set(row->backend, word_text(form->name));
    figures_read(line, row);
    row->is_raised = log_find(line, 0, "Error: ") < log_find(line, 0, "ried to allocate");
    row->retried = (form->flags & FLAG_RETRIED) != 0;
    oom->n_seen++;
    oom->n_full += full;
    oom->since_2_1 = false;
    tail_keep(oom, line);
    oom_show(oom, row, line);
    oom->lines_left = row->retried ? 0 : oom->lines_left; /* it has one line */
    return LOG_OOM_BEGINS;
}

/* Other processes may write between the lines of an error. `found` has the request, if this line names one. */
static enum log_oom_seen oom_go_on(struct log_oom *oom, struct text line, const struct log_row *found) {
    struct log_row row = oom->raw;
    if (log_knows(found, NOTE_ASKED))
        log_know_first(&row, NOTE_ASKED, found->value[NOTE_ASKED]);
    seam_read(oom, line, &row);
    request_read(line, &row);
    figures_read(line, &row);
    tail_keep(oom, line);
    if (row.known == oom->raw.known && strcmp(row.setting, oom->raw.setting) == 0) {
        oom->lines_left--;
        return LOG_OOM_NOTHING;
    }
    oom->n_full += log_knows(&row, NOTE_ASKED) && !log_knows(&oom->raw, NOTE_ASKED);
    row.label = oom->row.label;
    row.stack = oom->row.stack;
    oom_show(oom, &row, line);
    return LOG_OOM_MORE;
}

enum log_oom_seen log_oom_line(const struct log_hits *hits, struct log_oom *oom, struct text line,
                               const struct log_row *fresh) {
    struct log_row row = *fresh;
    bool open = oom->lines_left != 0, other = log_form_of(hits, FORM_OTHER, 0) != LOG_NONE;
    const struct log_form *form = other ? NULL : error_find(hits, line, &row);
    if (form == NULL && !open)
        return LOG_OOM_NOTHING;
    bool full = log_knows(&row, NOTE_ASKED) || (form != NULL && form->figures[0].words != NULL);
    gpu_read(line, &row);
    bool elsewhere = row.gpu != LOG_NO_DEVICE && oom->raw.gpu != LOG_NO_DEVICE && row.gpu != oom->raw.gpu;
    if (full && (!open || log_knows(&oom->raw, NOTE_ASKED) || elsewhere))
        return oom_begin(oom, line, &row, form);
    if (open) {
        enum log_oom_seen seen = oom_go_on(oom, line, &row);
        if (seen != LOG_OOM_NOTHING)
            return seen;
    }
    if (form == NULL)
        return LOG_OOM_NOTHING;
    return oom->n_seen != 0 && !(elsewhere && oom->n_full == 0) ? LOG_OOM_AGAIN
                                                                : oom_begin(oom, line, &row, form);
}

bool log_oom_same(const struct log_row *a, const struct log_row *b) {
    if (a->known != b->known || a->gpu != b->gpu)
        return false;
    for (unsigned what = 0; what < NOTE_KINDS; what++)
        if (log_knows(a, (enum note_what)what) && a->value[what] != b->value[what])
            return false;
    return true;
}
