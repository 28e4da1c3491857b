#include "parser/log/log_lines.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

#include <string.h>

static uint32_t bars_until(struct text line, uint32_t end) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < end; i++)
        n += line.at[i] == '|';
    return n;
}

/* "12345K" from `begin` to `end`: a figure of sacct, whose letter comes last. */
static bool rss_read(struct text line, uint32_t begin, uint32_t end, struct log_row *row) {
    static const char units[] = "KMGT";
    const char *unit = end > begin + 1 ? strchr(units, line.at[end - 1]) : NULL;
    uint64_t nbytes;
    if (unit == NULL || *unit == '\0' ||
        log_size((struct text){line.at, end - 1}, begin, KIB << 10 * (unit - units), &nbytes) != end - 1)
        return false;
    log_know(row, NOTE_MAX_HOST, nbytes);
    return true;
}

/* The column "MaxRSS" of sacct -P, whose columns are separated by bars. */
static bool sacct_bars(struct log_stream *stream, struct text line, struct log_row *row) {
    uint32_t name = log_find(line, 0, "MaxRSS|"), at = 0, left = stream->max_rss_bars;
    if (name != LOG_NONE || text_ends(line, "|MaxRSS"))
        stream->max_rss_bars = bars_until(line, name != LOG_NONE ? name : line.nbytes) + 1;
    if (left == 0 || bars_until(line, line.nbytes) + 1 < left)
        return false;
    for (; left > 1; left--)
        at = log_find(line, at, "|") + 1;
    uint32_t end = log_find(line, at, "|");
    return rss_read(line, at, end != LOG_NONE ? end : line.nbytes, row);
}

/* Tables with a column of memory: the beginning of the head, "" if anything, and the column's name; the kind of its
 * figures, and the unit of bare ones, 0 if they have one. */
static const struct {
    const char *head, *name;
    enum note_what what;
    uint64_t unit;
} columns[] = {{"", "MaxRSS", NOTE_MAX_HOST, 0},              /* sacct; the figure's letter comes last */
               {"", "MEM USAGE / LIMIT", NOTE_HOST_USED, 0},  /* docker stats, podman stats */
               {"NAME ", "MEMORY(bytes)", NOTE_HOST_USED, 0}, /* kubectl top */
               {"Line # ", "Mem usage", NOTE_HOST_USED, 0},   /* memory_profiler */
               {"GPU ", "VRAM_USED", NOTE_DEVICE_USED, 0},    /* amd-smi monitor */
               {"# gpu ", " fb ", NOTE_DEVICE_USED, MIB}};    /* nvidia-smi dmon and pmon */

static bool column_head(struct log_stream *stream, struct text line) {
    struct text rest = text_from(line, log_skip(line, 0));
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        uint32_t at = text_begins(rest, columns[i].head) ? log_find(line, 0, columns[i].name) : LOG_NONE;
        if (at == LOG_NONE)
            continue;
        stream->column = i + 1;
        stream->column_begin = at;
        stream->column_end = at + (uint32_t)strlen(columns[i].name);
        return true;
    }
    return false;
}

/* Where the word begins that stands below the column's name, however the column is aligned; LOG_NONE: none does. */
static uint32_t column_word(const struct log_stream *stream, struct text line) {
    uint32_t at = stream->column_begin;
    while (at < line.nbytes && line.at[at] == ' ')
        at++;
    if (at >= line.nbytes || at >= stream->column_end)
        return LOG_NONE;
    while (at > 0 && line.at[at - 1] != ' ')
        at--;
    return at;
}

/* A row of such a table; one of GPUs begins with the GPU's number. Rows may lack the figure ("12  def f():", "-");
 * another line ends the table, but for sacct's. */
static bool column_line(struct log_stream *stream, struct text line, struct log_row *row) {
    uint32_t first = log_skip(line, 0), i = stream->column - 1, at, next;
    uint64_t gpu, nbytes;
    if (column_head(stream, line) || stream->column == 0)
        return false;
    at = column_word(stream, line);
    if (columns[i].what == NOTE_MAX_HOST) { /* sacct */
        next = at != LOG_NONE ? log_find(line, at, " ") : at;
        return at != LOG_NONE && rss_read(line, at, next != LOG_NONE ? next : line.nbytes, row);
    }
    bool device = columns[i].what == NOTE_DEVICE_USED,
         rows = !device || log_count(line, first, &gpu) != LOG_NONE;
    next = at != LOG_NONE && rows ? log_size(line, at, columns[i].unit, &nbytes) : LOG_NONE;
    if (next == LOG_NONE) {
        bool within = first >= line.nbytes || strchr("#-0123456789", line.at[first]) != NULL;
        stream->column = within ? stream->column : 0;
        return false;
    }
    log_know(row, columns[i].what, nbytes);
    if (device)
        log_gpu_set(row, gpu);
    next = device ? log_skip(line, next) : log_find(line, next, " / ") == next ? next + 3 : line.nbytes;
    if (log_size(line, next, 0, &nbytes) != LOG_NONE)
        log_know(row, NOTE_DEVICE_TOTAL, nbytes); /* the limit; amd-smi's next column */
    return true;
}

bool log_column_line(struct log_stream *stream, struct text line, struct log_row *row) {
    return sacct_bars(stream, line, row) || column_line(stream, line, row);
}
