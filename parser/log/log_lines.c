#include "parser/log/log_lines.h"

#include "base/numbers.h"
#include "parser/log/log_text.h"

#include <string.h>

enum { OOM_LINES = 12, SUMMARY_LINES = 24 };

static void know(struct log_row *row, enum note_what what, uint64_t value) {
    row->value[what] = value;
    row->known |= UINT32_C(1) << what;
}

/* ---- pieces of forms ---- */

/* "WORD 12.5 GB": the figure after a word, blanks, colons and equals signs between them. */
static bool size_behind(struct text line, const char *word, uint64_t unit, struct log_row *row,
                        enum note_what what) {
    uint64_t nbytes;
    uint32_t at = log_find(line, 0, word);
    if (at == LOG_NONE)
        return false;
    at = log_skip(line, at + (uint32_t)strlen(word));
    if (log_size(line, at, unit, &nbytes) == LOG_NONE)
        return false;
    know(row, what, nbytes);
    return true;
}

static bool size_in_front(struct text line, const char *words, struct log_row *row, enum note_what what) {
    uint64_t nbytes;
    uint32_t at = log_find(line, 0, words);
    if (at == LOG_NONE || !log_size_before(line, at, &nbytes))
        return false;
    know(row, what, nbytes);
    return true;
}

/* "WORD 12" */
static bool count_behind(struct text line, const char *word, uint64_t *count) {
    uint32_t at = log_find(line, 0, word);
    return at != LOG_NONE && log_count(line, log_skip(line, at + (uint32_t)strlen(word)), count) != LOG_NONE;
}

static void step_find(struct text line, struct log_row *row) {
    static const char *const words[] = {"(after ",    "step:",      "step=", "step ",
                                        "iteration ", "iteration:", "Step ", "iter "};
    uint64_t step;
    for (size_t i = 0; i < sizeof words / sizeof *words && !log_knows(row, NOTE_STEP); i++)
        if (count_behind(line, words[i], &step))
            know(row, NOTE_STEP, step);
}

static void gpu_set(struct log_row *row, uint64_t number) {
    if (number < 65536)
        row->gpu = (int32_t)number;
}

/* ---- see_memory_usage of DeepSpeed and those that copied it ---- */

/* "MA", which also ends "Max_MA". */
static uint32_t whole_word(struct text line, const char *word) {
    for (uint32_t at = log_find(line, 0, word); at != LOG_NONE; at = log_find(line, at + 1, word))
        if (at == 0 || strchr(" |\t]:,", line.at[at - 1]) != NULL)
            return at;
    return LOG_NONE;
}

static bool word_size(struct text line, const char *word, struct log_row *row, enum note_what what) {
    uint64_t nbytes;
    uint32_t at = whole_word(line, word);
    if (at == LOG_NONE || log_size(line, log_skip(line, at + (uint32_t)strlen(word)), 0, &nbytes) == LOG_NONE)
        return false;
    know(row, what, nbytes);
    return true;
}

static enum log_seen deepspeed_line(struct log_state *state, struct text line, struct log_row *row) {
    (void)state;
    if (!word_size(line, "MA ", row, NOTE_ALLOCATED))
        return LOG_NOTHING;
    (void)word_size(line, "Max_MA ", row, NOTE_MAX_ALLOCATED);
    (void)word_size(line, "CA ", row, NOTE_RESERVED);
    (void)word_size(line, "Max_CA ", row, NOTE_MAX_RESERVED);
    (void)word_size(line, "NV ", row, NOTE_DEVICE_USED);
    row->max_is_reset = row->label_before = true;
    return LOG_ROW;
}

bool log_line_host(struct text line, struct log_row *row) {
    uint32_t at = log_find(line, 0, "CPU Virtual Memory:");
    if (at == LOG_NONE)
        return false;
    struct text rest = {line.at + at, line.nbytes - at};
    row->rank = ORDINAL_CPU;
    return size_behind(rest, "used", 0, row, NOTE_HOST_USED);
}

/* ---- Megatron-LM: [Rank 0] (after 10 iterations) memory (MB) | allocated: 1.5 | max allocated: ... ---- */

static enum log_seen megatron_line(struct log_state *state, struct text line, struct log_row *row) {
    (void)state;
    if (log_find(line, 0, "memory (MB)") == LOG_NONE ||
        !size_behind(line, "| allocated:", MIB, row, NOTE_ALLOCATED))
        return LOG_NOTHING;
    (void)size_behind(line, "| max allocated:", MIB, row, NOTE_MAX_ALLOCATED);
    if (!size_behind(line, "| reserved:", MIB, row, NOTE_RESERVED))
        (void)size_behind(line, "| cached:", MIB, row, NOTE_RESERVED);
    if (!size_behind(line, "| max reserved:", MIB, row, NOTE_MAX_RESERVED))
        (void)size_behind(line, "| max cached:", MIB, row, NOTE_MAX_RESERVED);
    (void)size_behind(line, "| total device memory used:", MIB, row, NOTE_DEVICE_USED);
    return LOG_ROW;
}

/* ---- TorchTracemalloc of Accelerate's and PEFT's examples: whole MiB before, after and at the most of a stretch ---- */

/* The figure after the colon that follows these words; it may be negative, as a difference. */
static bool traced_figure(struct text line, const char *words, uint64_t *nbytes, bool *negative) {
    uint32_t at = log_find(line, 0, words);
    at = at != LOG_NONE ? log_find(line, at, ": ") : LOG_NONE;
    at = at != LOG_NONE ? log_skip(line, at) : LOG_NONE;
    *negative = at != LOG_NONE && at < line.nbytes && line.at[at] == '-';
    return at != LOG_NONE && log_size(line, at + *negative, MIB, nbytes) != LOG_NONE;
}

static enum log_seen traced_line(struct log_state *state, struct text line, struct log_row *row) {
    uint64_t nbytes, now = state->traced_nbytes;
    bool negative;
    if (log_find(line, 0, "CPU ") != LOG_NONE)
        return LOG_NOTHING;
    if (traced_figure(line, "Memory before entering the ", &nbytes, &negative) && !negative) {
        know(row, NOTE_ALLOCATED, nbytes);
        state->traced = TRACED_BEGIN;
        state->traced_nbytes = nbytes;
        return LOG_ROW;
    }
    if (state->traced == TRACED_BEGIN && log_find(line, 0, "(end-begin)") != LOG_NONE &&
        traced_figure(line, "Memory consumed at the end of the ", &nbytes, &negative)) {
        state->traced = TRACED_END;
        state->traced_nbytes = !negative ? now + nbytes : now > nbytes ? now - nbytes : 0;
        return LOG_PART;
    }
    if (state->traced != TRACED_END)
        return LOG_NOTHING;
    if (traced_figure(line, "Total Peak Memory consumed during the ", &nbytes, &negative) && !negative) {
        know(row, NOTE_ALLOCATED, now);
        know(row, NOTE_MAX_ALLOCATED, nbytes);
        row->max_is_reset = true;
        state->traced = TRACED_NOTHING;
        return LOG_ROW;
    }
    return traced_figure(line, "Peak Memory consumed during the ", &nbytes, &negative) ? LOG_PART
                                                                                       : LOG_NOTHING;
}

/* ---- torchtitan: step: 1 loss: 8.1 memory: 2.47GiB(3.12%) tps: 3,502 ---- */

/* What it prints is the most that was reserved since its line before. */
static enum log_seen titan_line(struct log_state *state, struct text line, struct log_row *row) {
    static const char *const words[] = {"memory:", "memory usage for model:"};
    uint64_t nbytes;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t at = log_find(line, 0, words[i]);
        if (at == LOG_NONE)
            continue;
        uint32_t next = log_size(line, log_skip(line, at + (uint32_t)strlen(words[i])), 0, &nbytes);
        if (next == LOG_NONE || next >= line.nbytes || line.at[next] != '(' ||
            log_find(line, next, "%)") == LOG_NONE)
            continue;
        know(row, NOTE_RESERVED, nbytes);
        return LOG_ROW;
    }
    return LOG_NOTHING;
}

/* ---- GPU 0: allocated 5.2 GB, reserved 6.1 GB ---- */

static bool is_max(struct text line, uint32_t at) {
    struct text before = {line.at, at};
    static const char *const words[] = {"max ",  "max_",        "Max ",       "peak ",
                                        "Peak ", "max_memory_", "max memory "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_ends(before, words[i]))
            return true;
    return false;
}

/* A figure after the word at `at`, of which `word` is all but the first letter, or in front of it: "reserved: 6.1 GB",
 * "6.1 GB reserved". */
static bool size_beside(struct text line, uint32_t at, const char *word, uint64_t *nbytes) {
    uint32_t behind = log_skip(line, at + 1 + (uint32_t)strlen(word));
    struct text rest = {line.at + behind, line.nbytes - behind};
    if (text_begins(rest, "memory"))
        behind = log_skip(line, behind + 6);
    return log_size(line, behind, 0, nbytes) != LOG_NONE || log_size_before(line, at, nbytes);
}

static void level_beside(struct text line, const char *word, struct log_row *row, enum note_what now,
                         enum note_what most) {
    uint64_t nbytes;
    for (uint32_t at = log_find(line, 1, word); at != LOG_NONE; at = log_find(line, at + 1, word)) {
        enum note_what what = is_max(line, at - 1) ? most : now; /* words lack their first letter */
        if (!log_knows(row, what) && size_beside(line, at - 1, word, &nbytes))
            know(row, what, nbytes);
    }
}

static enum log_seen gpu_line(struct log_state *state, struct text line, struct log_row *row) {
    static const char *const words[] = {"GPU ", "GPU:", "GPU", "cuda:", "Device "};
    uint64_t number;
    uint32_t next = LOG_NONE;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words && next == LOG_NONE; i++) {
        uint32_t at = log_find(line, 0, words[i]);
        next = at == LOG_NONE ? at : log_count(line, at + (uint32_t)strlen(words[i]), &number);
    }
    if (next == LOG_NONE)
        return LOG_NOTHING;
    struct text rest = {line.at + next, line.nbytes - next};
    level_beside(rest, "llocated", row, NOTE_ALLOCATED, NOTE_MAX_ALLOCATED);
    level_beside(rest, "eserved", row, NOTE_RESERVED, NOTE_MAX_RESERVED);
    if (!log_knows(row, NOTE_RESERVED))
        level_beside(rest, "ached", row, NOTE_RESERVED, NOTE_MAX_RESERVED);
    if (!log_knows(row, NOTE_ALLOCATED) && !log_knows(row, NOTE_RESERVED))
        return LOG_NOTHING;
    gpu_set(row, number);
    return LOG_ROW;
}

/* ---- out of memory ---- */

static void add_process(struct log_row *row, uint64_t nbytes) {
    uint64_t before = log_knows(row, NOTE_OTHERS_USED) ? row->value[NOTE_OTHERS_USED] : 0;
    know(row, NOTE_OTHERS_USED, before + nbytes);
}

/* "Process 560 has 7.95 GiB memory in use." once for each of the others. */
static void processes_read(struct text line, struct log_row *row) {
    uint64_t number, nbytes;
    for (uint32_t at = log_find(line, 0, "Process "); at != LOG_NONE;
         at = log_find(line, at + 1, "Process ")) {
        uint32_t next = log_count(line, at + 8, &number);
        if (next == LOG_NONE || log_find(line, next, " has ") != next)
            continue;
        next = log_size(line, next + 5, 0, &nbytes);
        if (next != LOG_NONE && log_find(line, next, " memory in use") == next)
            add_process(row, nbytes);
    }
}

static void gpu_read(struct text line, struct log_row *row) {
    uint64_t number;
    uint32_t at = log_find(line, 0, "(GPU ");
    if (at == LOG_NONE)
        at = log_find(line, 0, " GPU ");
    if (at != LOG_NONE && log_count(line, at + 5, &number) != LOG_NONE)
        gpu_set(row, number);
}

/* "GPU 0 has a total capacity of 14.56 GiB of which 111.81 MiB is free." 2.1 wrote "capacty". */
static void capacity_read(struct text line, struct log_row *row) {
    uint32_t at = log_find(line, 0, "has a total capac");
    if (at == LOG_NONE)
        return;
    struct text rest = {line.at + at, line.nbytes - at};
    (void)size_behind(rest, "ty of", 0, row, NOTE_DEVICE_TOTAL);
    (void)size_behind(rest, "of which", 0, row, NOTE_DEVICE_FREE);
}

/* Whatever of the message stands in this line. */
static void oom_read(struct text line, struct log_row *row) {
    (void)size_behind(line, "Tried to allocate", 0, row, NOTE_ASKED);
    gpu_read(line, row);
    capacity_read(line, row);
    processes_read(line, row);
    (void)size_behind(line, "this process has", 0, row, NOTE_PROCESS_USED);
    (void)size_in_front(line, " allowed;", row, NOTE_ALLOWED);
    (void)size_in_front(line, " is allocated by PyTorch", row, NOTE_ALLOCATED);
    (void)size_in_front(line, " is reserved by PyTorch but unallocated", row, NOTE_UNALLOCATED);
    (void)size_in_front(line, " total capacity", row, NOTE_DEVICE_TOTAL);
    (void)size_in_front(line, " already allocated", row, NOTE_ALLOCATED);
    (void)size_in_front(line, " free;", row, NOTE_DEVICE_FREE);
    (void)size_in_front(line, " reserved in total by PyTorch", row, NOTE_RESERVED);
    (void)size_in_front(line, " cached)", row, NOTE_UNALLOCATED); /* before 1.5: what was not in use of it */
}

static bool oom_is_complete(const struct log_row *row) {
    return log_knows(row, NOTE_UNALLOCATED) || log_knows(row, NOTE_RESERVED);
}

/* Since 2.1 what is reserved is said in two parts. Where this process is not named among the others, nobody knows which of
 * them it is. */
static bool oom_finish(struct log_row *row) {
    if (!log_knows(row, NOTE_RESERVED) && log_knows(row, NOTE_ALLOCATED) && log_knows(row, NOTE_UNALLOCATED))
        know(row, NOTE_RESERVED, row->value[NOTE_ALLOCATED] + row->value[NOTE_UNALLOCATED]);
    if (!log_knows(row, NOTE_UNALLOCATED) && log_knows(row, NOTE_RESERVED) &&
        log_knows(row, NOTE_ALLOCATED) && row->value[NOTE_RESERVED] >= row->value[NOTE_ALLOCATED])
        know(row, NOTE_UNALLOCATED, row->value[NOTE_RESERVED] - row->value[NOTE_ALLOCATED]);
    if (log_knows(row, NOTE_DEVICE_TOTAL) && log_knows(row, NOTE_DEVICE_FREE) &&
        row->value[NOTE_DEVICE_TOTAL] >= row->value[NOTE_DEVICE_FREE])
        know(row, NOTE_DEVICE_USED, row->value[NOTE_DEVICE_TOTAL] - row->value[NOTE_DEVICE_FREE]);
    if (!log_knows(row, NOTE_PROCESS_USED))
        row->known &= ~(UINT32_C(1) << NOTE_OTHERS_USED);
    row->is_oom = log_knows(row, NOTE_ASKED) || log_knows(row, NOTE_ALLOCATED);
    return row->is_oom;
}

static enum log_seen oom_line(struct log_state *state, struct text line, struct log_row *row) {
    if (log_find(line, 0, "out of memory") == LOG_NONE)
        return LOG_NOTHING;
    oom_read(line, row);
    if (oom_is_complete(row))
        return oom_finish(row) ? LOG_ROW : LOG_NOTHING;
    state->row = *row;
    state->open = LOG_IN_OOM;
    state->lines_left = OOM_LINES;
    return LOG_PART;
}

/* ---- torch.cuda.memory_summary() ---- */

/* "| Allocated memory      |   8388 KiB |  12582 KiB | ..." */
static bool summary_cells(struct text line, const char *name, struct log_row *row, enum note_what now,
                          enum note_what most) {
    uint64_t nbytes;
    uint32_t at = log_find(line, 0, name);
    if (at == LOG_NONE)
        return false;
    for (unsigned cell = 0; cell < 2; cell++) {
        at = log_find(line, at + 1, "|");
        if (at == LOG_NONE || log_size(line, log_skip(line, at + 1), 0, &nbytes) == LOG_NONE)
            return cell > 0;
        know(row, cell == 0 ? now : most, nbytes);
    }
    return true;
}

static enum log_seen summary_line(struct log_state *state, struct text line, struct log_row *row) {
    uint64_t device = 0;
    if (log_find(line, 0, "CUDA memory summary") == LOG_NONE)
        return LOG_NOTHING;
    if (count_behind(line, "device ID", &device))
        gpu_set(row, device);
    state->row = *row;
    state->open = LOG_IN_SUMMARY;
    state->lines_left = SUMMARY_LINES;
    return LOG_PART;
}

static bool summary_read(struct text line, struct log_row *row) {
    (void)summary_cells(line, "| Allocated memory", row, NOTE_ALLOCATED, NOTE_MAX_ALLOCATED);
    return summary_cells(line, "| GPU reserved memory", row, NOTE_RESERVED, NOTE_MAX_RESERVED);
}

/* ---- nvidia-smi --query-gpu=... --format=csv ---- */

/* The next cell, blanks cut off. `*at`: where it begins, then what follows its comma; LOG_NONE: it was the last. */
static struct text csv_cell(struct text line, uint32_t *at) {
    uint32_t begin = *at, end = log_find(line, begin, ",");
    *at = end == LOG_NONE ? LOG_NONE : end + 1;
    end = end == LOG_NONE ? line.nbytes : end;
    while (begin < end && line.at[begin] == ' ')
        begin++;
    while (end > begin && line.at[end - 1] == ' ')
        end--;
    return (struct text){line.at + begin, end - begin};
}

static enum log_column column_of(struct text name) {
    return text_begins(name, "memory.used")    ? COLUMN_USED
           : text_begins(name, "memory.total") ? COLUMN_TOTAL
           : text_begins(name, "memory.free")  ? COLUMN_FREE
           : text_is(name, "index")            ? COLUMN_INDEX
                                               : COLUMN_NONE;
}

static enum log_seen csv_header(struct log_state *state, struct text line) {
    if (log_find(line, 0, "memory.used") == LOG_NONE)
        return LOG_NOTHING;
    state->n_columns = 0;
    for (uint32_t at = 0; at != LOG_NONE && state->n_columns < LOG_CSV_COLUMNS;)
        state->column[state->n_columns++] = (uint8_t)column_of(csv_cell(line, &at));
    return LOG_PART;
}

static void csv_know(struct log_row *row, enum log_column column, struct text cell) {
    static const enum note_what whats[] = {[COLUMN_TOTAL] = NOTE_DEVICE_TOTAL,
                                           [COLUMN_USED] = NOTE_DEVICE_USED,
                                           [COLUMN_FREE] = NOTE_DEVICE_FREE};
    uint64_t number;
    if (column == COLUMN_INDEX && log_count(cell, 0, &number) == cell.nbytes)
        gpu_set(row, number);
    else if (column >= COLUMN_TOTAL && log_size(cell, 0, MIB, &number) == cell.nbytes)
        know(row, whats[column], number);
}

static enum log_seen csv_row(const struct log_state *state, struct text line, struct log_row *row) {
    uint32_t n = 0;
    for (uint32_t at = 0; at != LOG_NONE; n++) {
        struct text cell = csv_cell(line, &at);
        if (n < state->n_columns)
            csv_know(row, (enum log_column)state->column[n], cell);
    }
    return n == state->n_columns && log_knows(row, NOTE_DEVICE_USED) ? LOG_ROW : LOG_NOTHING;
}

/* Cells in MiB of a row without a header, in their order, and a first cell that is an index. */
struct csv_plain {
    uint64_t size[3];
    uint32_t n_sizes, n_counts, n_cells;
    uint64_t count[3];
    bool timed;
};

static bool csv_plain_cell(struct csv_plain *plain, struct text cell) {
    uint64_t number;
    int64_t us;
    bool is_count = cell.nbytes != 0 && log_count(cell, 0, &number) == cell.nbytes;
    bool is_size = !is_count && text_ends(cell, "MiB") && log_size(cell, 0, 0, &number) == cell.nbytes;
    plain->n_cells++;
    plain->timed |= plain->n_cells == 1 && cell.nbytes >= 19 && cell.nbytes <= 24 && log_time(cell, &us);
    if ((is_count && plain->n_counts == 3) || (is_size && plain->n_sizes == 3))
        return false;
    if (is_count)
        plain->count[plain->n_counts++] = number;
    if (is_size)
        plain->size[plain->n_sizes++] = number;
    return true;
}

/* Two figures are used and total, in either order; one alone is used. */
static void csv_plain_know(struct log_row *row, const uint64_t *size, uint32_t n, uint64_t unit) {
    uint64_t used = n == 1 || size[0] < size[1] ? size[0] : size[1];
    know(row, NOTE_DEVICE_USED, used * unit);
    if (n == 2)
        know(row, NOTE_DEVICE_TOTAL, (size[0] < size[1] ? size[1] : size[0]) * unit);
}

/*
 * noheader: a row of nothing but a time, an index and one or two figures in MiB; without units too only with the time
 * that nvidia-smi writes, since any table of numbers looks like that else.
 */
static enum log_seen csv_guess(struct log_state *state, struct text line, struct log_row *row) {
    struct csv_plain plain = {0};
    for (uint32_t at = 0; at != LOG_NONE && plain.n_cells < 6;)
        if (!csv_plain_cell(&plain, csv_cell(line, &at)))
            return LOG_NOTHING;
    bool whole = plain.n_cells == plain.timed + plain.n_counts + plain.n_sizes && plain.n_cells >= 2;
    if (whole && plain.n_sizes >= 1 && plain.n_sizes <= 2 && plain.n_counts <= 1) {
        csv_plain_know(row, plain.size, plain.n_sizes, 1);
        if (plain.n_counts == 1)
            gpu_set(row, plain.count[0]);
    } else if (whole && plain.timed && plain.n_sizes == 0 && plain.n_counts == 3 && plain.count[0] < 64 &&
               plain.count[1] < SIZE_MAX >> 24 && plain.count[2] < SIZE_MAX >> 24 &&
               plain.count[1] <= plain.count[2]) {
        csv_plain_know(row, plain.count + 1, 2, MIB);
        gpu_set(row, plain.count[0]);
    } else {
        return LOG_NOTHING;
    }
    state->csv_guessed = true;
    return LOG_ROW;
}

static enum log_seen csv_line(struct log_state *state, struct text line, struct log_row *row) {
    if (log_find(line, 0, ",") == LOG_NONE)
        return LOG_NOTHING;
    enum log_seen seen = csv_header(state, line);
    if (seen == LOG_NOTHING && state->n_columns != 0)
        return csv_row(state, line, row);
    return seen == LOG_NOTHING ? csv_guess(state, line, row) : seen;
}

/* ---- all of them ---- */

/* In this order: the first that understands a line takes it. */
static enum log_seen (*const forms[])(struct log_state *state, struct text line, struct log_row *row) = {
    oom_line, deepspeed_line, megatron_line, traced_line, titan_line, summary_line, gpu_line, csv_line,
};

static enum log_seen open_end(struct log_state *state, struct log_row *row) {
    return log_line_end(state, row) ? LOG_ROW : LOG_NOTHING;
}

static enum log_seen forms_try(struct log_state *state, struct text line, struct log_row *row) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        enum log_seen seen = forms[i](state, line, row);
        if (seen == LOG_ROW)
            step_find(line, row);
        if (seen != LOG_NOTHING)
            return seen;
        row->known = 0;
        row->gpu = LOG_NO_DEVICE;
    }
    return LOG_NOTHING;
}

static enum log_seen summary_go_on(struct log_state *state, struct text line, struct log_row *row) {
    if (!summary_read(line, &state->row) && --state->lines_left > 0)
        return LOG_PART;
    return open_end(state, row);
}

/* Other processes may write between the lines of an error. */
static enum log_seen oom_go_on(struct log_state *state, struct text line, struct log_row *row) {
    uint32_t known = state->row.known;
    oom_read(line, &state->row);
    if (oom_is_complete(&state->row))
        return open_end(state, row);
    if (state->row.known != known)
        return LOG_PART;
    enum log_seen seen = forms_try(state, line, row);
    state->lines_left -= state->lines_left > 0;
    return seen == LOG_NOTHING && state->lines_left == 0 ? open_end(state, row) : seen;
}

bool log_line_end(struct log_state *state, struct log_row *row) {
    bool oom = state->open == LOG_IN_OOM, open = state->open != LOG_IDLE;
    state->open = LOG_IDLE;
    if (!open)
        return false;
    *row = state->row;
    return oom ? oom_finish(row) : log_knows(row, NOTE_ALLOCATED) || log_knows(row, NOTE_RESERVED);
}

enum log_seen log_line(struct log_state *state, struct text line, struct log_row *row) {
    if (state->open == LOG_IN_SUMMARY)
        return summary_go_on(state, line, row);
    if (state->open == LOG_IN_OOM && log_find(line, 0, "out of memory") == LOG_NONE)
        return oom_go_on(state, line, row);
    state->open = LOG_IDLE;
    return forms_try(state, line, row);
}
