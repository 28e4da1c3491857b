/* Levels, budgets and tables of tools: what the rows of log_table.c read, and the two forms that need more than a row:
 * changes from stage to stage, and columns that a head names. */
#include "base/numbers.h"
#include "parser/log/log_forms.h"

#include <string.h>

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
            log_know(row, NOTE_MAX_ALLOCATED, larger_of(row->value[NOTE_MAX_ALLOCATED], *now + nbytes));
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
        struct text name = csv_cell(line, &at);
        state->column[state->n_columns++] = text_contains(name, "memory.used")    ? COLUMN_USED
                                            : text_contains(name, "memory.total") ? COLUMN_TOTAL
                                            : text_contains(name, "memory.free")  ? COLUMN_FREE
                                            : text_is(last_word(name), "index")   ? COLUMN_INDEX
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

/* ---- rows of log_table.c ---- */

/* The number that begins a line of a tool's table: "|   0  NVIDIA H100 80GB HBM3          On  |". Where a second one
 * follows, it is the chip's own: "| 1     3                   | 0000:9F:00.0". False: there is none. */
static bool table_number(struct text line, uint64_t *number) {
    uint64_t second;
    uint32_t bar = log_find(line, 0, "|"), at = bar != LOG_NONE ? log_skip(line, bar + 1) : line.nbytes,
             next = log_count(line, at, number);
    if (next != LOG_NONE && log_count(line, log_skip(line, next), &second) != LOG_NONE)
        *number = second;
    return next != LOG_NONE;
}

/* Finds the device of a line: it names one, "GPU[0]" of rocm-smi, "strata-device gpu=0", " on cuda:1"; or an earlier
 * line of its table does. */
static void gpu_find(const struct log_state *state, unsigned flags, struct text line, struct log_row *row) {
    static const char *const words[] = {"GPU[", "strata-device gpu=", "on cuda:", "mem_get_info(", "GPU "};
    uint64_t number, second;
    log_gpu_find(line, words, 4 + log_has(line, "memory (MB)"), row);
    if ((flags & FLAG_CARRIED) != 0 && state->stream->device >= 0)
        row->gpu = state->stream->device;
    if ((flags & FLAG_BEFORE) == 0 || !table_number(log_unwrapped(state->before), &number))
        return;
    uint32_t bar = log_find(line, 0, "|"), next = log_count(line, log_skip(line, bar + 1), &second);
    bool chip = next != LOG_NONE && log_count(line, log_skip(line, next), &second) != LOG_NONE;
    log_gpu_set(row, chip ? second : number);
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
        row->form = (uint16_t)(i + 1);
        row->max_is_reset = (form->flags & FLAG_RESET) != 0;
        row->is_list = (form->flags & FLAG_PAIRS) != 0 && log_has(line, "), (");
        if (kind == FORM_HOST)
            row->gpu = LOG_HOST;
        else if (row->is_list)
            row->gpu = 0;
        else
            gpu_find(state, form->flags, line, row);
        log_row_complete(row);
        return LOG_ROW;
    }
    return LOG_NOTHING;
}

/* "PyTorch CUDA memory summary, device ID 1", "| Device ID                   | 0": the device of the lines below. */
static enum log_seen device_line(struct log_stream *stream, struct text line) {
    uint64_t number;
    uint32_t at = log_behind(line, "evice ID");
    at = at < line.nbytes && line.at[at] == '|' ? log_skip(line, at + 1) : at;
    if (at != LOG_NONE && log_count(line, at, &number) != LOG_NONE && number < 65536)
        stream->device = (int32_t)number;
    stream->joined_until = 0;
    return LOG_PART;
}

enum log_seen log_level_line(struct log_state *state, struct text line, struct log_row *row) {
    enum log_seen seen = LOG_NOTHING;
    if (log_form_of(&state->hits, FORM_OTHER, 0) != LOG_NONE)
        return LOG_NOTHING;
    if (log_form_of(&state->hits, FORM_CSV, 0) != LOG_NONE && log_has(line, ","))
        return csv_head(state, line);
    if (log_form_of(&state->hits, FORM_DEVICE, 0) != LOG_NONE)
        return device_line(state->stream, line);
    const struct log_row fresh = *row;
    if (state->n_columns != 0 && log_has(line, ",") && (seen = csv_row(state, line, row)) == LOG_NOTHING)
        *row = fresh;
    if (seen == LOG_NOTHING && log_form_of(&state->hits, FORM_STAGE, 0) != LOG_NONE)
        seen = stage_line(state, line, row);
    for (unsigned kind = FORM_LEVEL; kind <= FORM_HOST && seen == LOG_NOTHING; kind++)
        seen = figures_line(state, (enum log_kind)kind, line, row);
    if (seen == LOG_ROW) {
        log_step_find(line, row);
        if (log_knows(row, NOTE_HOST_LIMIT))
            state->host_limit = row->value[NOTE_HOST_LIMIT];
    }
    return seen;
}
