#include "parser/log/log_lines.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

/* ---- nvidia-smi --query-gpu=... --format=csv ---- */

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

static unsigned column_of(struct text name) {
    static const struct {
        const char *name;
        unsigned column;
    } columns[] = {{"memory.used", COLUMN_USED},
                   {"GPU Memory Used", COLUMN_USED},
                   {"memory.total", COLUMN_TOTAL},
                   {"memory.free", COLUMN_FREE},
                   {"used_gpu_memory", COLUMN_SHARE},
                   {"used_memory", COLUMN_SHARE},
                   {"VRAM Total Used Memory (B)", COLUMN_USED | COLUMN_BYTES},
                   {"VRAM Total Memory (B)", COLUMN_TOTAL | COLUMN_BYTES}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (text_begins(name, columns[i].name))
            return columns[i].column;
    name = last_word(name);
    bool index = text_is(name, "index") || text_is(name, "DeviceId") || text_is(name, "device");
    return index ? COLUMN_INDEX : text_is(name, "pid") ? COLUMN_PID : COLUMN_NONE;
}

static enum log_seen csv_header(struct log_state *state, struct text line) {
    if (!log_has(line, "memory.used [") && !log_has(line, "DeviceId, ") &&
        !log_has(line, "used_gpu_memory [") && !log_has(line, "used_memory [") &&
        !log_has(line, ",VRAM Total Used Memory (B)"))
        return LOG_NOTHING;
    state->n_columns = 0;
    for (uint32_t at = 0; at != LOG_NONE && state->n_columns < LOG_CSV_COLUMNS;)
        state->column[state->n_columns++] = (uint8_t)column_of(csv_cell(line, &at));
    return LOG_PART;
}

static void csv_know(struct log_row *row, unsigned named, struct text cell, uint64_t *pid) {
    static const enum note_what whats[] = {[COLUMN_TOTAL] = NOTE_DEVICE_TOTAL,
                                           [COLUMN_USED] = NOTE_DEVICE_USED,
                                           [COLUMN_FREE] = NOTE_DEVICE_FREE,
                                           [COLUMN_SHARE] = NOTE_PROCESS_USED};
    uint64_t number, unit = (named & COLUMN_BYTES) != 0 ? 1 : MIB;
    enum log_column column = (enum log_column)(named & ~(unsigned)COLUMN_BYTES);
    if (column == COLUMN_PID || column == COLUMN_INDEX)
        cell = last_word(cell);
    if (text_begins(cell, "card")) /* rocm-smi */
        cell = text_from(cell, 4);
    if (column == COLUMN_PID)
        (void)log_count(cell, 0, pid);
    else if (column == COLUMN_INDEX && log_count(cell, 0, &number) == cell.nbytes)
        log_gpu_set(row, number);
    else if (column >= COLUMN_TOTAL && log_size(cell, 0, unit, &number) == cell.nbytes)
        log_know(row, whats[column], number);
}

/* The processes' use of each GPU that the rows name. The first process comes again when the query is repeated. */
static enum log_seen share_row(struct log_state *state, struct text line, struct log_row *row, uint64_t pid) {
    struct log_stream *stream = state->stream;
    uint64_t nbytes = row->value[NOTE_PROCESS_USED];
    log_forget(row, NOTE_PROCESS_USED);
    log_uuid_find(state, line, row);
    bool anew = stream->shares && pid != 0 && stream->share_pid == pid;
    bool first = anew || !stream->shares || stream->share.gpu != row->gpu;
    stream->share_pid = first ? pid : stream->share_pid;
    return log_share_add(stream, row, nbytes, anew);
}

static enum log_seen csv_row(struct log_state *state, struct text line, struct log_row *row) {
    uint32_t n = 0;
    uint64_t pid = 0;
    for (uint32_t at = 0; at != LOG_NONE; n++) {
        struct text cell = csv_cell(line, &at);
        if (n < state->n_columns)
            csv_know(row, state->column[n], cell, &pid);
    }
    if (n == state->n_columns && log_knows(row, NOTE_PROCESS_USED))
        return share_row(state, line, row, pid);
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
    log_know(row, NOTE_DEVICE_USED, used * unit);
    if (n == 2)
        log_know(row, NOTE_DEVICE_TOTAL, (size[0] < size[1] ? size[1] : size[0]) * unit);
}

/* --format=noheader: a row with only a time, an index and one or two figures in MiB. A row without units must have the
 * time as nvidia-smi writes it, because any table of numbers looks like that otherwise. */
static enum log_seen csv_guess(struct log_state *state, struct text line, struct log_row *row) {
    struct csv_plain plain = {0};
    for (uint32_t at = 0; at != LOG_NONE && plain.n_cells < 6;)
        if (!csv_plain_cell(&plain, csv_cell(line, &at)))
            return LOG_NOTHING;
    bool whole = plain.n_cells == plain.timed + plain.n_counts + plain.n_sizes && plain.n_cells >= 2;
    if (whole && plain.n_sizes >= 1 && plain.n_sizes <= 2 && plain.n_counts <= 1) {
        csv_plain_know(row, plain.size, plain.n_sizes, 1);
        if (plain.n_counts == 1)
            log_gpu_set(row, plain.count[0]);
    } else if (whole && plain.timed && plain.n_sizes == 0 && plain.n_counts == 3 && plain.count[0] < 64 &&
               plain.count[1] < SIZE_MAX >> 24 && plain.count[2] < SIZE_MAX >> 24 &&
               plain.count[1] <= plain.count[2]) {
        csv_plain_know(row, plain.count + 1, 2, MIB);
        log_gpu_set(row, plain.count[0]);
    } else {
        return LOG_NOTHING;
    }
    state->csv_guessed = true;
    return LOG_ROW;
}

enum log_seen log_csv_line(struct log_state *state, struct text line, struct log_row *row) {
    if (log_find(line, 0, ",") == LOG_NONE)
        return LOG_NOTHING;
    enum log_seen seen = csv_header(state, line);
    if (seen == LOG_NOTHING && state->n_columns != 0)
        return csv_row(state, line, row);
    return seen == LOG_NOTHING ? csv_guess(state, line, row) : seen;
}
