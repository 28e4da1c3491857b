/* Levels, budgets and tables of tools: what the rows of log_table.c read, and the two forms that need more than a row:
 * changes from stage to stage, and columns that a head names. */
#include "base/numbers.h"
#include "parser/log/log_forms.h"

#include <string.h>

enum { TABLE_LINES = 24 };

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
static bool stage_line(struct log_state *state, struct text line, struct log_row *row, bool *adds) {
    static const char *const stages[] = {"init_mem_gpu", "train_mem_gpu", "eval_mem_gpu", "test_mem_gpu"};
    struct log_stream *stream = state->streams;
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
            log_know(row, NOTE_MAX_ALLOCATED, larger_of(log_number(row, NOTE_MAX_ALLOCATED), *now + nbytes));
            whole = true;
        }
    }
    *adds = stream->staged ? whole : (whole || part) && state->n_changes++ == 0;
    if (*adds && stream->staged) { /* without the first level, the first becomes an event without a level */
        log_know(row, NOTE_ALLOCATED, *now);
        row->of.max_is_reset = true;
    }
    return whole || part;
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

static void csv_head(struct log_state *state, struct text line) {
    state->n_columns = 0;
    for (uint32_t at = 0; at != LOG_NONE && state->n_columns < LOG_CSV_COLUMNS;) {
        struct text name = csv_cell(line, &at);
        state->column[state->n_columns++] = text_contains(name, "memory.used")    ? COLUMN_USED
                                            : text_contains(name, "memory.total") ? COLUMN_TOTAL
                                            : text_contains(name, "memory.free")  ? COLUMN_FREE
                                            : text_ends(name, "index")            ? COLUMN_INDEX
                                                                                  : COLUMN_NONE;
    }
}

/* A row must have a cell for each column of the head, and figures in MiB where the head says so. */
static bool csv_row(const struct log_state *state, struct text line, struct log_row *row) {
    static const enum note_what whats[] = {[COLUMN_TOTAL] = NOTE_DEVICE_TOTAL,
                                           [COLUMN_USED] = NOTE_DEVICE_USED,
                                           [COLUMN_FREE] = NOTE_DEVICE_FREE};
    uint32_t n = 0;
    uint64_t number;
    for (uint32_t at = 0; at != LOG_NONE; n++) {
        struct text cell = csv_cell(line, &at);
        unsigned column = n < state->n_columns ? state->column[n] : COLUMN_NONE;
        /* a logger may put a prefix before the first cell */
        if (column == COLUMN_INDEX &&
            log_count(cell, log_digits_begin(cell, cell.nbytes), &number) == cell.nbytes)
            log_gpu_set(row, number);
        else if (column >= COLUMN_TOTAL && log_size(cell, 0, MIB, &number) == cell.nbytes)
            log_know(row, whats[column], number);
        else if (column != COLUMN_NONE)
            return false;
    }
    return n == state->n_columns && log_knows(row, NOTE_DEVICE_USED);
}

/* ---- rows of log_table.c ---- */

/* The number that begins a line of a tool's table: "|   0  NVIDIA H100 80GB HBM3          On  |". Where a second one
 * follows, it is the chip's own: "| 1     3                   | 0000:9F:00.0". Returns how many there are. */
static unsigned table_numbers(struct text line, uint64_t *number) {
    unsigned n = 0;
    uint32_t at = log_find(line, 0, "|");
    for (at = at != LOG_NONE ? at + 1 : line.nbytes; n < 2; n++)
        if ((at = log_count(line, log_skip(line, at), number)) == LOG_NONE)
            break;
    return n;
}

/* Finds the device of a line: it names one, "GPU[0]" of rocm-smi, "strata-device gpu=0", " on cuda:1"; or an earlier
 * line of its table does. */
static void gpu_find(const struct log_state *state, unsigned flags, struct text line, struct log_row *row) {
    static const char *const words[] = {"GPU[", "strata-device gpu=", "on cuda:", "mem_get_info(", "GPU "};
    uint64_t number, second;
    log_gpu_find(line, words, 4 + log_has(line, "memory (MB)"), row);
    if ((flags & FLAG_CARRIED) != 0 && state->streams->device >= 0)
        row->of.gpu = state->streams->device;
    if ((flags & FLAG_BEFORE) != 0 && table_numbers(log_unwrapped(state->before), &number) != 0)
        log_gpu_set(row, table_numbers(line, &second) == 2 ? second : number);
}

/* Adds what is used, of free and total. */
static void row_complete(struct log_row *row) {
    uint64_t free = log_number(row, NOTE_DEVICE_FREE), total = log_number(row, NOTE_DEVICE_TOTAL);
    if (log_knows(row, NOTE_DEVICE_FREE) && log_knows(row, NOTE_DEVICE_TOTAL) && free <= total)
        log_know_first(row, NOTE_DEVICE_USED, total - free);
}

static bool figures_line(const struct log_state *state, enum log_kind kind, struct text line,
                         struct log_row *row) {
    for (uint32_t i = log_form_of(&state->hits, kind, 0); i != LOG_NONE;
         i = log_form_of(&state->hits, kind, i + 1)) {
        const struct log_form *form = &log_forms[i];
        bool dump = kind == FORM_HOST && form->figures[0].words == NULL; /* a moment; its name is the label */
        if (!dump && log_figures_read(line, form->figures, row) == 0)
            continue;
        row->form = (uint16_t)(i + 1);
        row->of.max_is_reset = (form->flags & FLAG_RESET) != 0;
        row->is_list = (form->flags & FLAG_PAIRS) != 0 && log_has(line, "), (");
        if (kind == FORM_HOST)
            row->of.gpu = LOG_HOST;
        else if (row->is_list)
            row->of.gpu = 0;
        else
            gpu_find(state, form->flags, line, row);
        row_complete(row);
        return true;
    }
    return false;
}

/* "PyTorch CUDA memory summary, device ID 1", "| Device ID                   | 0": the device of the lines below. */
static void device_line(struct log_stream *stream, struct text line) {
    uint64_t number;
    uint32_t at = log_behind(line, "evice ID");
    at = at < line.nbytes && line.at[at] == '|' ? log_skip(line, at + 1) : at;
    if (at != LOG_NONE && log_count(line, at, &number) != LOG_NONE && number < 65536)
        stream->device = (int32_t)number;
    stream->joined_until = 0;
}

/* ---- rows ---- */

static uint32_t label_of(struct log_state *state, struct text text) {
    while (text.nbytes > 0 && strchr(": |,", text.at[text.nbytes - 1]) != NULL)
        text.nbytes--;
    return text.nbytes != 0 && text.nbytes <= LOG_LABEL_NBYTES ? log_string(state, text) : 0;
}

/* The name of a row's moment: of see_memory_usage the line before in its rank, of Megatron-LM and verl the text before
 * the figures, of `strata run` the dump that was written. 0: none. */
static uint32_t row_label(struct log_state *state, struct text line, const struct log_row *row) {
    struct log_stream *stream = state->streams;
    struct text before = log_unwrapped(state->before);
    const struct log_form *form = row->form != 0 ? &log_forms[row->form - 1] : NULL;
    unsigned flags = form != NULL ? form->flags : 0;
    uint32_t end = 0, label = 0;
    if (form != NULL && form->figures[0].words == NULL)
        return label_of(state, text_from(line, log_find(line, 0, LOG_DUMP) + word_length(LOG_DUMP)));
    if ((flags & FLAG_LABEL) != 0 && (end = log_find(line, 0, form->needs[0])) != LOG_NONE) {
        struct text text = log_message((struct text){line.at, end});
        uint32_t colon = log_find(text, 0, ": "); /* what follows it are figures */
        return label_of(state, (struct text){text.at, colon < text.nbytes ? colon : text.nbytes});
    }
    if ((flags & FLAG_LABELLED) == 0)
        return 0;
    label = stream->label_line != 0 ? stream->label : 0;
    stream->label_line = 0;
    bool apart = state->before_is_row || log_rank_of(state->before, before) != row->of.rank;
    return label != 0 || apart ? label : label_of(state, log_message(before));
}

/* Adds the row of a line, or its figures to the table's row above it, unless that has them. */
static void level_add(struct log_state *state, struct log_row *row) {
    struct log_stream *stream = state->streams;
    struct log_row *joined = &stream->joined;
    bool joins = row->form != 0 && (log_forms[row->form - 1].flags & FLAG_JOINED) != 0;
    if (joins && state->line < stream->joined_until && (log_figures_of(joined) & log_figures_of(row)) == 0) {
        for (unsigned what = NOTE_LINE + 1; what < NOTE_KINDS; what++)
            if (log_knows(row, (enum note_what)what))
                log_know(joined, (enum note_what)what, log_number(row, (enum note_what)what));
        log_put(state, stream->joined_index, joined);
        return;
    }
    if (joins) {
        *joined = *row;
        stream->joined_index = state->rows.count;
        stream->joined_until = state->line + TABLE_LINES;
    }
    log_put(state, state->rows.count, row);
}

/* The figures of the other devices in a line that lists those of each: "[(1073, 25769), (8589, 25769)]". */
static void list_add(struct log_state *state, struct text line, const struct log_row *first) {
    struct log_row row = *first;
    for (uint32_t at = log_find(line, 0, "), ("); at != LOG_NONE; at = log_find(line, 0, "), (")) {
        line = text_from(line, at + 3);
        row.of.known &= ~log_figures_of(&row);
        row.of.gpu++;
        if (log_figures_read(line, log_forms[row.form - 1].figures, &row) == 2) {
            row_complete(&row);
            log_put(state, state->rows.count, &row);
        }
    }
}

/* The host's figures of a line that has a device's too. */
static void host_add(struct log_state *state, struct text line, const struct log_row *fresh) {
    struct log_row host = *fresh;
    uint32_t form = log_form_of(&state->hits, FORM_HOST, 0);
    host.of.rank = RANK_UNKNOWN;
    host.of.gpu = LOG_HOST;
    if (form != LOG_NONE && log_figures_read(text_from(line, log_find(line, 0, log_forms[form].needs[0])),
                                             log_forms[form].figures, &host) != 0)
        log_put(state, state->rows.count, &host);
}

bool log_level_line(struct log_state *state, struct text line, const struct log_row *fresh) {
    const struct log_hits *hits = &state->hits;
    struct log_row row = *fresh;
    bool csv = log_has(line, ","), taken = false, adds = true;
    if (csv && log_form_of(hits, FORM_CSV, 0) != LOG_NONE)
        return csv_head(state, line), true;
    if (log_form_of(hits, FORM_DEVICE, 0) != LOG_NONE)
        return device_line(state->streams, line), true;
    if (csv && state->n_columns != 0 && !(taken = csv_row(state, line, &row)))
        row = *fresh;
    if (!taken && log_form_of(hits, FORM_STAGE, 0) != LOG_NONE)
        taken = stage_line(state, line, &row, &adds);
    for (unsigned kind = FORM_LEVEL; kind <= FORM_HOST && !taken; kind++)
        taken = figures_line(state, (enum log_kind)kind, line, &row);
    if (taken && adds) {
        log_step_find(line, &row);
        uint32_t label = row_label(state, line, &row);
        if (label != 0)
            log_know_text(&row, NOTE_LABEL, label);
        if (log_knows(&row, NOTE_HOST_LIMIT))
            state->host_limit = log_number(&row, NOTE_HOST_LIMIT);
        level_add(state, &row);
        if (row.of.gpu != LOG_HOST)
            host_add(state, line, fresh);
        if (row.is_list)
            list_add(state, line, &row);
    } else if (!taken && log_form_of(hits, FORM_LABEL, 0) != LOG_NONE) {
        state->streams->label_line = state->line;
        state->streams->label = label_of(state, log_message(line));
    }
    return taken;
}
