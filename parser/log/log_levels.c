/* Levels, budgets and tables of tools: what is read by the rows of log_table.c alone, and the forms whose lines
 * belong together. */
#include "base/numbers.h"
#include "parser/log/log_forms.h"

#include <string.h>

enum { SUMMARY_LINES = 24, QUERY_LINES = 6 };

/* ---- torch.cuda.memory_summary() ---- */

/* "| Allocated memory      |   8388 KiB |  12582 KiB | ..." */
static void summary_cells(struct text line, const char *name, struct log_row *row, enum note_what now,
                          enum note_what most) {
    uint64_t nbytes;
    uint32_t at = log_find(line, 0, name);
    for (unsigned cell = 0; cell < 2 && at != LOG_NONE; cell++) {
        at = log_find(line, at + 1, "|");
        if (at == LOG_NONE || log_size(line, log_skip(line, at + 1), 0, &nbytes) == LOG_NONE)
            return;
        log_know(row, cell == 0 ? now : most, nbytes);
    }
}

bool log_summary_end(struct log_stream *stream, struct log_row *row) {
    bool open = stream->summary_until != 0;
    stream->summary_until = 0;
    *row = stream->summary;
    return open && (log_knows(row, NOTE_ALLOCATED) || log_knows(row, NOTE_RESERVED));
}

/* The table ends with the row of reserved memory, or with the head of another one. */
static enum log_seen summary_line(struct log_state *state, struct text line, struct log_row *row) {
    static const struct log_figure counts[] = {{"CUDA OOMs", COUNTED, NOTE_OOM_COUNT, 0},
                                               {"cudaMalloc retries", COUNTED, NOTE_RETRIES, 0},
                                               {NULL, BEHIND, NOTE_LINE, 0}};
    struct log_stream *stream = state->stream;
    uint64_t device;
    bool head = log_has(line, "memory summary, device ID"), first = log_has(line, "| Allocated memory ");
    if (stream->summary_until < row->line && (head || first)) {
        stream->summary = *row;
        stream->summary_until = row->line + SUMMARY_LINES;
    }
    if (stream->summary_until < row->line)
        return LOG_NOTHING;
    struct log_row *table = &stream->summary;
    if (head && log_count_behind(line, "device ID", &device))
        log_gpu_set(table, device);
    (void)log_figures_read(line, counts, table);
    if (!log_knows(table, NOTE_ALLOCATED))
        summary_cells(line, "| Allocated memory", table, NOTE_ALLOCATED, NOTE_MAX_ALLOCATED);
    summary_cells(line, "| GPU reserved memory", table, NOTE_RESERVED, NOTE_MAX_RESERVED);
    return log_knows(table, NOTE_RESERVED) && log_summary_end(stream, row) ? LOG_ROW : LOG_PART;
}

/* ---- transformers' TrainerMemoryTracker: what each stage added, and how far its peak lay above ---- */

/* "train_mem_gpu_alloc_delta   =      693MB", "'init_mem_gpu_alloc_delta': -241172480": of log_metrics and of the
 * dict. */
static bool stage_figure(struct text line, const char *stage, const char *words, uint64_t *nbytes,
                         bool *negative) {
    uint32_t at = log_find(line, 0, stage), length = word_length(stage);
    while (at != LOG_NONE && !text_has_at(line, at + length, words))
        at = log_find(line, at + 1, stage);
    if (at == LOG_NONE)
        return false;
    at += length + word_length(words);
    at = log_skip(line, at < line.nbytes && line.at[at] == '\'' ? at + 1 : at);
    *negative = at < line.nbytes && line.at[at] == '-';
    return log_size(line, at + *negative, 1, nbytes) != LOG_NONE;
}

/* Each stage begins at the level where the one before it ended. Without a line with the first level, there are none. */
static enum log_seen stage_line(struct log_state *state, struct text line, struct log_row *row) {
    static const char *const stages[] = {"init_mem_gpu", "train_mem_gpu", "eval_mem_gpu", "test_mem_gpu"};
    struct log_stream *stream = state->stream;
    uint64_t nbytes, *now = &stream->stage_nbytes;
    bool negative, whole = false, part = false;
    if (stage_figure(line, "before_init_mem_gpu", "", &nbytes, &negative) && !negative) {
        *now = nbytes;
        stream->staged = whole = true;
    }
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (stage_figure(line, stages[i], "_alloc_delta", &nbytes, &negative)) {
            *now = !negative ? *now + nbytes : *now > nbytes ? *now - nbytes : 0;
            part = true;
        }
        if (stage_figure(line, stages[i], "_peaked_delta", &nbytes, &negative) && !negative) {
            if (!log_knows(row, NOTE_MAX_ALLOCATED) || row->value[NOTE_MAX_ALLOCATED] < *now + nbytes)
                log_know(row, NOTE_MAX_ALLOCATED, *now + nbytes);
            whole = true;
        }
    }
    if (!whole && !part)
        return LOG_NOTHING;
    if (!stream->staged) /* the first becomes an event without a level */
        return state->n_changes++ == 0 ? LOG_ROW : LOG_PART;
    if (!whole)
        return LOG_PART;
    log_know(row, NOTE_ALLOCATED, *now);
    row->max_is_reset = true;
    return LOG_ROW;
}

/* ---- nvidia-smi, npu-smi, xpu-smi: tables with the device's number in the line before ---- */

/* "|   0  NVIDIA H100 80GB HBM3          On  |", "| Device ID                   | 0" */
static void table_gpu(struct log_stream *stream, struct text line) {
    uint64_t number;
    uint32_t bar = log_find(line, 0, "|"), at = bar != LOG_NONE ? log_skip(line, bar + 1) : line.nbytes,
             cell = log_find(line, at, "Device ID") == at ? log_find(line, at, "| ") : bar;
    uint32_t next = cell != LOG_NONE ? log_count(line, log_skip(line, cell + 1), &number) : LOG_NONE;
    if (next != LOG_NONE && number < 65536 && (next == line.nbytes || line.at[next] == ' '))
        stream->table_gpu = (int32_t)number;
}

/* The figures around the last stroke of the line: "70123MiB /  81559MiB", "3352 / 65536" in MiB if `npu`. */
static bool used_of_total(struct text line, bool npu, struct log_row *row) {
    uint64_t used = 0, total = 0;
    bool found = false;
    for (uint32_t at = log_find(line, 0, "/"); at != LOG_NONE && (npu || !found);
         at = log_find(line, at + 1, "/")) {
        uint32_t end = at;
        while (end > 0 && line.at[end - 1] == ' ')
            end--;
        bool sized = npu ? log_size(line, log_digits_begin(line, end), MIB, &used) == end
                         : log_size_before(line, at, &used);
        found = sized && log_size(line, log_skip(line, at + 1), npu ? MIB : 0, &total) != LOG_NONE &&
                used <= total && total != 0;
    }
    if (found) {
        log_know(row, NOTE_DEVICE_USED, used);
        log_know(row, NOTE_DEVICE_TOTAL, total);
    }
    return found;
}

/* The memory of parts of GPUs (MIG) and of processes is part of what the GPU's own row has. */
static enum log_seen smi_line(struct log_state *state, struct text line, struct log_row *row) {
    struct log_stream *stream = state->stream;
    uint64_t gpu;
    bool npu = log_has(line, "| 0000:");
    stream->phy_ids |= log_has(line, "| Chip  Phy-ID ");
    if (log_has(line, "| Device ID "))
        table_gpu(stream, line);
    if (log_has(line, "MIG devices:") || log_has(line, "Processes:"))
        stream->mig = log_has(line, "MIG devices:");
    if (log_has(line, "FB Memory Usage")) { /* of nvidia-smi -q; its figures are in the next lines */
        stream->query_until = row->line + QUERY_LINES;
        stream->query_total = 0;
        stream->n_queried++;
        state->open_until = stream->query_until;
        return LOG_PART;
    }
    if (log_find(line, 0, "|") != log_skip(line, 0) || stream->mig || !used_of_total(line, npu, row))
        return LOG_NOTHING;
    stream->table_gpu = -1;
    table_gpu(stream, log_unwrapped(state->before));
    if (npu && stream->phy_ids &&
        log_count(line, log_skip(line, log_count(line, log_skip(line, 1), &gpu)), &gpu) != LOG_NONE)
        log_gpu_set(row, gpu);
    else if (stream->table_gpu >= 0)
        row->gpu = stream->table_gpu;
    return LOG_ROW;
}

/* "        Total                             : 24576 MiB", "        Used                              : 5 MiB" */
static enum log_seen query_line(struct log_stream *stream, struct text line, struct log_row *row) {
    static const struct log_figure used[] = {{"Used  ", BEHIND, NOTE_DEVICE_USED, 0},
                                             {NULL, BEHIND, NOTE_LINE, 0}},
                                   total[] = {{"Total  ", BEHIND, NOTE_DEVICE_TOTAL, 0},
                                              {NULL, BEHIND, NOTE_LINE, 0}};
    if (log_figures_read(line, total, row) != 0) {
        stream->query_total = row->value[NOTE_DEVICE_TOTAL];
        return LOG_PART;
    }
    if (log_figures_read(line, used, row) == 0)
        return LOG_NOTHING;
    stream->query_until = 0;
    log_know(row, NOTE_DEVICE_TOTAL, stream->query_total);
    log_gpu_set(row, stream->n_queried - 1);
    return LOG_ROW;
}

/* ---- nvidia-smi --query-gpu=... --format=csv ---- */

enum column { COLUMN_NONE, COLUMN_INDEX, COLUMN_TOTAL, COLUMN_USED, COLUMN_FREE };

/* The next cell without blanks around it. `*at`: where it begins, then the place after its comma; LOG_NONE: it was
 * the last. */
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

/* The last word of a cell, because a logger may put a prefix before the first cell. */
static struct text last_word(struct text cell) {
    uint32_t at = cell.nbytes;
    while (at > 0 && cell.at[at - 1] != ' ' && cell.at[at - 1] != ':')
        at--;
    return text_from(cell, at);
}

static enum log_seen csv_head(struct log_state *state, struct text line) {
    state->n_columns = 0;
    for (uint32_t at = 0; at != LOG_NONE && state->n_columns < LOG_CSV_COLUMNS;) {
        struct text name = csv_cell(line, &at), word = last_word(name);
        state->column[state->n_columns++] = text_contains(name, "memory.used")    ? COLUMN_USED
                                            : text_contains(name, "memory.total") ? COLUMN_TOTAL
                                            : text_contains(name, "memory.free")  ? COLUMN_FREE
                                            : text_is(word, "index")              ? COLUMN_INDEX
                                                                                  : COLUMN_NONE;
    }
    return LOG_PART;
}

/* A row must have a cell for each column of the head, and figures in MiB where the head says so. */
static enum log_seen csv_row(const struct log_state *state, struct text line, struct log_row *row) {
    static const enum note_what whats[] = {[COLUMN_TOTAL] = NOTE_DEVICE_TOTAL,
                                           [COLUMN_USED] = NOTE_DEVICE_USED,
                                           [COLUMN_FREE] = NOTE_DEVICE_FREE};
    uint32_t n = 0;
    uint64_t number;
    for (uint32_t at = 0; at != LOG_NONE; n++) {
        struct text cell = csv_cell(line, &at);
        unsigned column = n < state->n_columns ? state->column[n] : COLUMN_NONE;
        if (column == COLUMN_INDEX &&
            log_count(cell, cell.nbytes - last_word(cell).nbytes, &number) == cell.nbytes)
            log_gpu_set(row, number);
        else if (column >= COLUMN_TOTAL && log_size(cell, 0, MIB, &number) == cell.nbytes)
            log_know(row, whats[column], number);
        else if (column != COLUMN_NONE)
            return LOG_NOTHING;
    }
    return n == state->n_columns && log_knows(row, NOTE_DEVICE_USED) ? LOG_ROW : LOG_NOTHING;
}

/* ---- all of them ---- */

/* "GPU[0]" of rocm-smi, "strata-device gpu=0", " on cuda:1"; of xpu-smi's table an earlier line. */
static void gpu_find(const struct log_stream *stream, struct text line, struct log_row *row) {
    static const char *const words[] = {"GPU[", "strata-device gpu=", "on cuda:", "mem_get_info(", "GPU "};
    log_gpu_find(line, words, 4 + log_has(line, "memory (MB)"), row);
    if (row->gpu == LOG_NO_DEVICE && log_has(line, "| GPU Memory Used"))
        row->gpu = stream->table_gpu >= 0 ? stream->table_gpu : row->gpu;
}

void log_row_complete(struct log_row *row) {
    const uint64_t *value = row->value;
    if (log_knows(row, NOTE_DEVICE_FREE) && log_knows(row, NOTE_DEVICE_TOTAL) &&
        value[NOTE_DEVICE_FREE] <= value[NOTE_DEVICE_TOTAL])
        log_know_first(row, NOTE_DEVICE_USED, value[NOTE_DEVICE_TOTAL] - value[NOTE_DEVICE_FREE]);
}

static enum log_seen figures_line(const struct log_state *state, enum log_kind kind, struct text line,
                                  struct log_row *row) {
    for (uint32_t i = log_form_of(&state->hits, kind, 0); i != LOG_NONE;
         i = log_form_of(&state->hits, kind, i + 1)) {
        const struct log_form *form = &log_forms[i];
        bool dump = kind == FORM_HOST && form->figures[0].words == NULL; /* a moment; its name is the label */
        if (!dump && log_figures_read(line, form->figures, row) == 0)
            continue;
        row->max_is_reset = (form->flags & FLAG_RESET) != 0;
        row->label_before = (form->flags & FLAG_LABELLED) != 0;
        row->label_words = (form->flags & FLAG_LABEL) != 0 ? form->needs[0] : NULL;
        row->is_list = (form->flags & FLAG_PAIRS) != 0 && log_has(line, "), (");
        if (kind == FORM_HOST)
            row->gpu = LOG_HOST;
        else if (row->is_list)
            row->gpu = 0;
        else
            gpu_find(state->stream, line, row);
        log_row_complete(row);
        return LOG_ROW;
    }
    return LOG_NOTHING;
}

enum log_seen log_level_line(struct log_state *state, struct text line, struct log_row *row) {
    static enum log_seen (*const readers[])(struct log_state *, struct text, struct log_row *) = {
        [FORM_SUMMARY] = summary_line, [FORM_TOOL] = smi_line, [FORM_STAGE] = stage_line};
    const struct log_row fresh = *row;
    struct log_stream *stream = state->stream;
    enum log_seen seen = LOG_NOTHING;
    if (log_form_of(&state->hits, FORM_OTHER, 0) != LOG_NONE)
        return LOG_NOTHING;
    if (log_form_of(&state->hits, FORM_CSV, 0) != LOG_NONE && log_has(line, ","))
        return csv_head(state, line);
    if (stream->query_until > row->line)
        seen = query_line(stream, line, row);
    if (seen == LOG_NOTHING && state->n_columns != 0 && log_has(line, ","))
        seen = csv_row(state, line, row);
    for (unsigned kind = FORM_SUMMARY; kind <= FORM_HOST && seen == LOG_NOTHING; kind++) {
        *row = fresh;
        if (log_form_of(&state->hits, (enum log_kind)kind, 0) == LOG_NONE)
            continue;
        if (kind == FORM_LEVEL || kind == FORM_HOST)
            seen = figures_line(state, (enum log_kind)kind, line, row);
        else if (kind < sizeof readers / sizeof *readers && readers[kind] != NULL)
            seen = readers[kind](state, line, row);
    }
    if (seen == LOG_ROW) {
        log_step_find(line, row);
        if (log_knows(row, NOTE_HOST_LIMIT))
            state->host_limit = row->value[NOTE_HOST_LIMIT];
    }
    return seen;
}
