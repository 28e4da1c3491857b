#include "parser/log/log_lines.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

#include <string.h>

/* ---- TrainerMemoryTracker of transformers: what each stage added, and how far its peak lay above ---- */

/* "train_mem_gpu_alloc_delta   =      693MB", "'init_mem_gpu_alloc_delta': -241172480": of log_metrics and of the
 * dict. */
static bool stage_figure(struct text line, const char *words, uint64_t *nbytes, bool *negative) {
    uint32_t at = log_behind(line, 0, words);
    if (at != LOG_NONE && at < line.nbytes && line.at[at] == '\'')
        at = log_skip(line, at + 1);
    return log_signed_size(line, at, 1, nbytes, negative);
}

/* Each stage begins at the level where the one before it ended. Without a line with the first level, there are none. */
static enum log_seen stage_line(struct log_state *state, struct text line, struct log_row *row) {
    static const char *const added[] = {"init_mem_gpu_alloc_delta", "train_mem_gpu_alloc_delta",
                                        "eval_mem_gpu_alloc_delta", "test_mem_gpu_alloc_delta"};
    static const char *const above[] = {"init_mem_gpu_peaked_delta", "train_mem_gpu_peaked_delta",
                                        "eval_mem_gpu_peaked_delta", "test_mem_gpu_peaked_delta"};
    struct log_stream *stream = state->stream;
    uint64_t nbytes, *now = &stream->traced_nbytes;
    bool negative, whole = false, part = false;
    if (stage_figure(line, "before_init_mem_gpu", &nbytes, &negative) && !negative) {
        *now = nbytes;
        stream->staged = whole = true;
    }
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        if (stage_figure(line, added[i], &nbytes, &negative)) {
            *now = !negative ? *now + nbytes : *now > nbytes ? *now - nbytes : 0;
            part = true;
        }
        if (stage_figure(line, above[i], &nbytes, &negative) && !negative) {
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

/* ---- axolotl, bench.py: "GPU memory usage after model load: 7.565GB (+0.126GB cache, +0.788GB misc)" ---- */

/* Allocated bytes, the cache on top of them, and NVML's figure on top of both. Parts of 0 are not printed. */
static enum log_seen axolotl_line(struct text line, struct log_row *row) {
    static const struct log_figure cache = {" cache", BEFORE, NOTE_RESERVED, 0},
                                   misc = {" misc", BEFORE, NOTE_DEVICE_USED, 0};
    uint32_t open = log_find(line, 0, "GB (");
    uint64_t used, more;
    if (open == LOG_NONE || !log_has(line, " memory usage ") ||
        (log_find(line, open, "GB (+") != open && log_find(line, open, "GB ()") != open) ||
        !log_size_before(line, open + 2, &used))
        return LOG_NOTHING;
    log_know(row, NOTE_ALLOCATED, used);
    used += log_figure_find(line, &cache, &more) ? more : 0;
    log_know(row, NOTE_RESERVED, used);
    if (log_figure_find(line, &misc, &more))
        log_know(row, NOTE_DEVICE_USED, used + more);
    return LOG_ROW;
}

/* ---- mlx-lm, generate: "Peak memory: 4.381 GB" of 10^9 bytes, below the line about its speed ---- */

static enum log_seen generate_line(struct log_stream *stream, struct text line, struct log_row *row) {
    static const struct log_figure peak = {"Peak memory:", DECIMAL, NOTE_MAX_ALLOCATED, 0};
    bool generated = stream->generated;
    uint64_t nbytes;
    stream->generated = log_has(line, "Generation:") && log_has(line, "tokens-per-sec");
    if (!generated || !log_figure_find(line, &peak, &nbytes))
        return LOG_NOTHING;
    log_know(row, NOTE_MAX_ALLOCATED, nbytes);
    log_maxima_show(row);
    return LOG_ROW;
}

/* ---- a number in a line of its own, below the command that prints it: GNU time -f %M (some lines below), files of a
 * control group and of amdgpu ---- */

static const struct {
    const char *needs[2];
    enum note_what what;
    uint64_t unit;
    bool host;
} below[] = {{{"time ", "%M"}, NOTE_MAX_HOST, 1024, true},
             {{"cat ", "memory.max_usage_in_bytes"}, NOTE_MAX_HOST, 1, true},
             {{"cat ", "memory.peak"}, NOTE_MAX_HOST, 1, true},
             {{"cat ", "memory.usage_in_bytes"}, NOTE_HOST_USED, 1, true},
             {{"cat ", "memory.current"}, NOTE_HOST_USED, 1, true},
             {{"cat ", "memory.limit_in_bytes"}, NOTE_DEVICE_TOTAL, 1, true},
             {{"cat ", "memory.max"}, NOTE_DEVICE_TOTAL, 1, true},
             {{"cat ", "mem_info_vram_used"}, NOTE_DEVICE_USED, 1, false},
             {{"cat ", "mem_info_vram_total"}, NOTE_DEVICE_TOTAL, 1, false}};

static enum log_seen number_line(struct log_stream *stream, struct text line, struct log_row *row) {
    struct text message = text_from(line, log_skip(line, 0));
    uint32_t n = sizeof below / sizeof *below, i = 0, of = stream->below;
    uint64_t nbytes;
    while (text_ends(message, " "))
        message.nbytes--;
    while (i < n && !log_has_both(line, below[i].needs))
        i++;
    stream->below = i < n ? i + 1 : of;
    if (of-- == 0 || log_size(message, 0, below[of].unit, &nbytes) != message.nbytes || nbytes < MIB)
        return LOG_NOTHING;
    log_know(row, below[of].what, nbytes);
    log_maxima_show(row);
    row->gpu = below[of].host ? LOG_HOST : row->gpu;
    return LOG_ROW;
}

/* ---- torch.profiler: key_averages().table(), whose last size is what an operator allocated less what it freed ---- */

/* The last "94.79 Mb" or "0 b" of a row; below zero it is 0. */
static bool last_size(struct text line, uint64_t *nbytes) {
    static const char units[] = "KMG";
    for (uint32_t end = line.nbytes; end > 3; end--) {
        const char *unit = strchr(units, line.at[end - 2]);
        uint32_t at = end - (unit != NULL ? 3 : 2), begin = log_digits_begin(line, at, true);
        if (line.at[end - 1] != 'b' || line.at[at] != ' ')
            continue;
        uint64_t scale = UINT64_C(1) << (unit != NULL ? 10 * (unit - units + 1) : 0);
        if (log_size((struct text){line.at, at}, begin, scale, nbytes) != at)
            continue;
        *nbytes = begin > 0 && line.at[begin - 1] == '-' ? 0 : *nbytes;
        return true;
    }
    return false;
}

/* Counts the table's rows and keeps the largest figure. The first row becomes an event without a level. */
static enum log_seen operator_line(struct log_state *state, struct text line) {
    uint64_t nbytes;
    if ((log_has(line, "# of Calls") || log_has(line, "Number of Calls")) && log_has(line, " Mem ")) {
        state->stream->operators = true;
        return LOG_PART;
    }
    state->stream->operators &= !log_has(line, " time total:");
    if (!state->stream->operators || !last_size(line, &nbytes))
        return LOG_NOTHING;
    state->most_nbytes = nbytes > state->most_nbytes ? nbytes : state->most_nbytes;
    return state->n_operators++ == 0 ? LOG_ROW : LOG_PART;
}

/* ---- YOLO: "21/300      19.8G      1.468 ..." below "Epoch    GPU_mem   box_loss": reserved memory. YOLOv5, whose
 * table has an objectness loss, divides by powers of ten. ---- */

static enum log_seen yolo_line(struct log_stream *stream, struct text line, struct log_row *row) {
    uint64_t epoch, epochs, nbytes;
    if (log_has(line, "Epoch") && (log_has(line, "GPU_mem") || log_has(line, "gpu_mem"))) {
        stream->yolo_unit = log_has(line, "obj") ? GB : GIB;
        return LOG_PART;
    }
    uint32_t at = log_skip(line, 0), next = stream->yolo_unit != 0 ? log_count(line, at, &epoch) : LOG_NONE;
    if (next == LOG_NONE || line.nbytes <= next || line.at[next] != '/')
        return LOG_NOTHING;
    next = log_count(line, next + 1, &epochs);
    uint32_t number = next != LOG_NONE ? log_skip(line, next) : line.nbytes, end = number;
    while (end < line.nbytes && strchr("0123456789.", line.at[end]) != NULL)
        end++;
    if (log_size((struct text){line.at, end}, number, stream->yolo_unit, &nbytes) != end ||
        end == line.nbytes || line.at[end] != 'G')
        return LOG_NOTHING;
    log_know(row, NOTE_RESERVED, nbytes);
    return LOG_ROW;
}

/* ---- free: "Mem:   125Gi   98Gi   1.2Gi ..." below its head ---- */

/* The letter after "free -". */
static uint64_t unit_of_free(struct text line) {
    static const char letters[] = "bkmg";
    uint32_t at = log_find(line, 0, "free -");
    const char *letter = at != LOG_NONE && at + 6 < line.nbytes ? strchr(letters, line.at[at + 6]) : NULL;
    return letter != NULL && *letter != '\0' ? UINT64_C(1) << 10 * (letter - letters) : 0;
}

/* For bare numbers without the command: the unit that makes the host have at least 4 GiB. */
static uint64_t unit_of_total(uint64_t total) {
    return total >= UINT64_C(1) << 32 ? 1 : total >= 1 << 22 ? 1024 : total >= 1 << 10 ? MIB : GIB;
}

static enum log_seen free_line(struct log_state *state, struct text line, struct log_row *row) {
    struct log_stream *stream = state->stream;
    uint64_t used, total, unit = unit_of_free(line);
    bool head = stream->free_head;
    stream->free_unit = unit != 0 ? unit : stream->free_unit;
    stream->free_head = log_has(line, "total ") && log_has(line, " used ") && log_has(line, " shared ");
    uint32_t at = log_find(line, 0, "Mem:");
    if (stream->free_head)
        return LOG_PART;
    if (!head || at == LOG_NONE)
        return LOG_NOTHING;
    at = log_skip(line, at + 4);
    bool bare = log_count(line, at, &total) != LOG_NONE;
    unit = stream->free_unit != 0 || !bare ? stream->free_unit : unit_of_total(total);
    uint32_t next = log_size(line, at, unit, &total);
    if (next == LOG_NONE || log_size(line, log_skip(line, next), unit, &used) == LOG_NONE)
        return LOG_NOTHING;
    row->inferred = bare && stream->free_unit == 0;
    state->n_inferred += row->inferred;
    row->gpu = LOG_HOST;
    log_know(row, NOTE_HOST_USED, used);
    log_know(row, NOTE_DEVICE_TOTAL, total);
    return LOG_ROW;
}

enum log_seen log_tools_line(struct log_state *state, struct text line, struct log_row *row) {
    struct log_stream *stream = state->stream;
    enum log_seen seen = operator_line(state, line);
    seen = seen == LOG_NOTHING ? stage_line(state, line, row) : seen;
    seen = seen == LOG_NOTHING ? axolotl_line(line, row) : seen;
    seen = seen == LOG_NOTHING ? generate_line(stream, line, row) : seen;
    seen = seen == LOG_NOTHING ? yolo_line(stream, line, row) : seen;
    seen = seen == LOG_NOTHING ? free_line(state, line, row) : seen;
    return seen == LOG_NOTHING ? number_line(stream, line, row) : seen;
}
