#include "parser/log/log_lines.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

#include <string.h>

enum { SUMMARY_LINES = 24 };

/* ---- see_memory_usage of DeepSpeed and those that copied it ---- */

static enum log_seen deepspeed_line(struct log_state *state, struct text line, struct log_row *row) {
    static const struct log_figure figures[] = {
        {"MA ", WHOLE, NOTE_ALLOCATED, 0},   {"Max_MA ", WHOLE, NOTE_MAX_ALLOCATED, 0},
        {"CA ", WHOLE, NOTE_RESERVED, 0},    {"Max_CA ", WHOLE, NOTE_MAX_RESERVED, 0},
        {"NV ", WHOLE, NOTE_DEVICE_USED, 0}, {NULL, WHOLE, NOTE_LINE, 0}};
    (void)state;
    if (!log_has(line, figures[0].words) || log_figures_read(line, figures, row) == 0 ||
        !log_knows(row, NOTE_ALLOCATED))
        return LOG_NOTHING;
    row->max_is_reset = row->label_before = true;
    return LOG_ROW;
}

bool log_line_host(struct text line, struct log_row *row) {
    static const struct log_figure used[] = {{"used", BEHIND, NOTE_HOST_USED, 0},
                                             {NULL, BEHIND, NOTE_LINE, 0}};
    uint32_t at = log_find(line, 0, "CPU Virtual Memory:");
    row->gpu = LOG_HOST;
    return at != LOG_NONE && log_figures_read(text_from(line, at), used, row) != 0;
}

/* ---- Megatron-LM: [Rank 0] (after 10 iterations) memory (MB) | allocated: 1.5 | max allocated: ... ---- */

static enum log_seen megatron_line(struct log_state *state, struct text line, struct log_row *row) {
    static const struct log_figure figures[] = {
        {"| allocated:", BEHIND, NOTE_ALLOCATED, MIB},
        {"| max allocated:", BEHIND, NOTE_MAX_ALLOCATED, MIB},
        {"| reserved:", BEHIND, NOTE_RESERVED, MIB},
        {"| cached:", BEHIND, NOTE_RESERVED, MIB},
        {"| max reserved:", BEHIND, NOTE_MAX_RESERVED, MIB},
        {"| max cached:", BEHIND, NOTE_MAX_RESERVED, MIB},
        {"| total device memory used:", BEHIND, NOTE_DEVICE_USED, MIB},
        {NULL, BEHIND, NOTE_LINE, 0}};
    (void)state;
    if (!log_has(line, "memory (MB)") && !log_has(line, "memory (MiB)"))
        return LOG_NOTHING;
    (void)log_figures_read(line, figures, row);
    return log_knows(row, NOTE_ALLOCATED) ? LOG_ROW : LOG_NOTHING;
}

/* ---- TorchTracemalloc of Accelerate and PEFT: whole MiB before, after and at the peak of a stretch ---- */

/* The figure after the colon that follows these words; it may be negative, as a difference. */
static bool traced_figure(struct text line, const char *words, uint64_t *nbytes, bool *negative) {
    uint32_t at = log_behind(line, log_find(line, 0, words), ": ");
    return log_signed_size(line, at, MIB, nbytes, negative);
}

static enum log_seen traced_line(struct log_state *state, struct text line, struct log_row *row) {
    uint64_t nbytes, now = state->stream->traced_nbytes;
    bool negative;
    if (log_find(line, 0, "CPU ") != LOG_NONE)
        return LOG_NOTHING;
    if (traced_figure(line, "Memory before entering the ", &nbytes, &negative) && !negative) {
        log_know(row, NOTE_ALLOCATED, nbytes);
        state->stream->traced = TRACED_BEGIN;
        state->stream->traced_nbytes = nbytes;
        return LOG_ROW;
    }
    if (state->stream->traced == TRACED_BEGIN && log_find(line, 0, "(end-begin)") != LOG_NONE &&
        traced_figure(line, "Memory consumed at the end of the ", &nbytes, &negative)) {
        state->stream->traced = TRACED_END;
        state->stream->traced_nbytes = !negative ? now + nbytes : now > nbytes ? now - nbytes : 0;
        return LOG_PART;
    }
    if (state->stream->traced != TRACED_END)
        return LOG_NOTHING;
    if (traced_figure(line, "Total Peak Memory consumed during the ", &nbytes, &negative) && !negative) {
        log_know(row, NOTE_ALLOCATED, now);
        log_know(row, NOTE_MAX_ALLOCATED, nbytes);
        row->max_is_reset = true;
        state->stream->traced = TRACED_NOTHING;
        return LOG_ROW;
    }
    return traced_figure(line, "Peak Memory consumed during the ", &nbytes, &negative) ? LOG_PART
                                                                                       : LOG_NOTHING;
}

/* ---- torchtitan: step: 1 loss: 8.1 memory: 2.47GiB(3.12%) tps: 3,502 ---- */

/* It prints the most that was reserved since its previous line. */
static enum log_seen titan_line(struct log_state *state, struct text line, struct log_row *row) {
    static const char *const words[] = {"memory:", "memory usage for model:"};
    uint64_t nbytes;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t at = log_behind(line, 0, words[i]);
        uint32_t next = at != LOG_NONE ? log_size(line, at, 0, &nbytes) : LOG_NONE;
        if (next == LOG_NONE || next >= line.nbytes || line.at[next] != '(' ||
            log_find(line, next, "%)") == LOG_NONE)
            continue;
        log_know(row, NOTE_RESERVED, nbytes);
        log_know(row, NOTE_MAX_RESERVED, nbytes);
        return LOG_ROW;
    }
    return LOG_NOTHING;
}

/* ---- GPU 0: allocated 5.2 GB, reserved 6.1 GB ---- */

static bool is_max(struct text line, uint32_t at) {
    struct text before = {line.at, at};
    static const char *const words[] = {"max ",  "max_",        "Max ",        "peak ",
                                        "Peak ", "max_memory_", "max memory ", "Max Memory "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_ends(before, words[i]))
            return true;
    return false;
}

/* The figure after or before the word at `at`: "reserved: 6.1 GB", "6.1 GB reserved". `word` lacks its first letter,
 * which may be a capital. */
static bool size_beside(struct text line, uint32_t at, const char *word, uint64_t *nbytes) {
    uint32_t behind = log_skip(line, at + 1 + (uint32_t)strlen(word));
    if (text_has_at(line, behind, "memory"))
        behind = log_skip(line, behind + 6);
    return log_size(line, behind, 0, nbytes) != LOG_NONE || log_size_before(line, at, nbytes);
}

static void level_beside(struct text line, const char *word, struct log_row *row, enum note_what now,
                         enum note_what most) {
    uint64_t nbytes;
    for (uint32_t at = log_find(line, 1, word); at != LOG_NONE; at = log_find(line, at + 1, word)) {
        enum note_what what = is_max(line, at - 1) ? most : now; /* words lack their first letter */
        if (!log_knows(row, what) && size_beside(line, at - 1, word, &nbytes))
            log_know(row, what, nbytes);
    }
}

static enum log_seen gpu_line(struct log_state *state, struct text line, struct log_row *row) {
    uint32_t next = log_gpu_find(line, row);
    (void)state;
    if (next == LOG_NONE)
        return LOG_NOTHING;
    struct text rest = text_from(line, next);
    level_beside(rest, "llocated", row, NOTE_ALLOCATED, NOTE_MAX_ALLOCATED);
    level_beside(rest, "eserved", row, NOTE_RESERVED, NOTE_MAX_RESERVED);
    if (!log_knows(row, NOTE_RESERVED))
        level_beside(rest, "ached", row, NOTE_RESERVED, NOTE_MAX_RESERVED);
    log_maxima_show(row);
    return log_knows(row, NOTE_ALLOCATED) || log_knows(row, NOTE_RESERVED) ? LOG_ROW : LOG_NOTHING;
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
        log_know(row, cell == 0 ? now : most, nbytes);
    }
    return true;
}

static bool summary_read(struct text line, struct log_row *row) {
    static const struct log_figure counts[] = {{"CUDA OOMs", COUNTED, NOTE_OOM_COUNT, 0},
                                               {"cudaMalloc retries", COUNTED, NOTE_RETRIES, 0},
                                               {NULL, BEHIND, NOTE_LINE, 0}};
    (void)log_figures_read(line, counts, row);
    (void)summary_cells(line, "| Allocated memory", row, NOTE_ALLOCATED, NOTE_MAX_ALLOCATED);
    return summary_cells(line, "| GPU reserved memory", row, NOTE_RESERVED, NOTE_MAX_RESERVED);
}

static enum log_seen summary_line(struct log_state *state, struct text line, struct log_row *row) {
    uint64_t device = 0;
    bool row_of_it = log_find(line, log_skip(line, 0), "| Allocated memory ") == log_skip(line, 0);
    if (log_find(line, 0, "CUDA memory summary") == LOG_NONE && !row_of_it)
        return LOG_NOTHING;
    if (log_count_behind(line, "device ID", &device))
        log_gpu_set(row, device);
    state->stream->row = *row;
    state->stream->open = LOG_IN_SUMMARY;
    state->stream->lines_left = SUMMARY_LINES;
    if (row_of_it) /* its head was cut off */
        (void)summary_read(line, &state->stream->row);
    return LOG_PART;
}

/* ---- strata run ---- */

/* "... strata-host resident=123 processes=4 cgroup=... cgroup_limit=456": the host's level and limit. */
static enum log_seen run_line(struct log_state *state, struct text line, struct log_row *row) {
    static const struct log_figure figures[] = {{" strata-host resident=", BEHIND, NOTE_HOST_USED, 1},
                                                {" cgroup_limit=", BEHIND, NOTE_DEVICE_TOTAL, 1},
                                                {NULL, BEHIND, NOTE_LINE, 0}};
    (void)state;
    row->gpu = LOG_HOST;
    if (log_has(line, log_dump)) /* a moment of the host; its name is the label */
        return LOG_ROW;
    if (!log_has(line, figures[0].words))
        return LOG_NOTHING;
    (void)log_figures_read(line, figures, row);
    return log_knows(row, NOTE_HOST_USED) ? LOG_ROW : LOG_NOTHING;
}

/* "... strata-device gpu=0 used=123 total=456": as nvidia-smi. */
static enum log_seen device_line(struct log_state *state, struct text line, struct log_row *row) {
    static const struct log_figure figures[] = {{" used=", BEHIND, NOTE_DEVICE_USED, 1},
                                                {" total=", BEHIND, NOTE_DEVICE_TOTAL, 1},
                                                {NULL, BEHIND, NOTE_LINE, 0}};
    uint64_t gpu;
    (void)state;
    if (!log_has(line, " strata-device gpu=") || !log_has(line, " total=") ||
        !log_count_behind(line, "strata-device gpu=", &gpu))
        return LOG_NOTHING;
    log_gpu_set(row, gpu);
    (void)log_figures_read(line, figures, row);
    return log_knows(row, NOTE_DEVICE_USED) ? LOG_ROW : LOG_NOTHING;
}

/* ---- sums over several processes ---- */

bool log_share_end(struct log_stream *stream, struct log_row *row) {
    bool open = stream->shares;
    stream->shares = false;
    if (open)
        *row = stream->share;
    return open;
}

enum log_seen log_share_add(struct log_stream *stream, struct log_row *row, uint64_t nbytes, bool anew) {
    struct log_row begun = *row;
    bool ends = (anew || stream->share.gpu != row->gpu) && log_share_end(stream, row);
    if (!stream->shares) {
        log_know(&begun, NOTE_DEVICE_USED, 0);
        stream->share = begun;
        stream->shares = true;
    }
    stream->share.value[NOTE_DEVICE_USED] += nbytes;
    return ends ? LOG_ROW : LOG_PART;
}

void log_uuid_find(struct log_state *state, struct text line, struct log_row *row) {
    uint64_t uuid = 0;
    uint32_t at = log_find(line, 0, "GPU-"), digits = 0, i = 0;
    for (at = at != LOG_NONE ? at + 4 : line.nbytes; at < line.nbytes && digits < 16; at++) {
        const char *hex = "0123456789abcdef", *digit = strchr(hex, line.at[at] | 0x20);
        if (digit == NULL && line.at[at] != '-')
            break;
        uuid = digit != NULL ? uuid << 4 | (uint64_t)(digit - hex) : uuid;
        digits += digit != NULL;
    }
    while (digits >= 8 && i < state->n_uuids && state->uuid[i] != uuid)
        i++;
    if (digits < 8 || i == LOG_UUIDS)
        return;
    state->uuid[i] = uuid;
    state->n_uuids += i == state->n_uuids;
    log_gpu_set(row, i);
}

/* ---- all of them ---- */

/* In this order: the first that understands a line takes it. */
static enum log_seen (*const forms[])(struct log_state *state, struct text line, struct log_row *row) = {
    deepspeed_line, megatron_line, traced_line,    log_tools_line, titan_line,   summary_line,      run_line,
    device_line,    gpu_line,      log_table_line, log_smi_line,   log_csv_line, log_inferred_line,
};

static enum log_seen forms_try(struct log_state *state, struct text line, struct log_row *row) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        enum log_seen seen = forms[i](state, line, row);
        if (seen == LOG_ROW)
            log_step_find(line, row);
        if (seen != LOG_NOTHING)
            return seen;
        row->known = 0;
        row->gpu = LOG_NO_DEVICE;
    }
    return LOG_NOTHING;
}

static enum log_seen summary_go_on(struct log_state *state, struct text line, struct log_row *row) {
    if (!summary_read(line, &state->stream->row) && --state->stream->lines_left > 0)
        return LOG_PART;
    return log_line_end(state->stream, row) ? LOG_ROW : LOG_NOTHING;
}

bool log_line_end(struct log_stream *stream, struct log_row *row) {
    bool open = stream->open != LOG_IDLE;
    if (!open)
        return log_share_end(stream, row);
    stream->open = LOG_IDLE;
    *row = stream->row;
    return log_knows(row, NOTE_ALLOCATED) || log_knows(row, NOTE_RESERVED);
}

enum log_seen log_line(struct log_state *state, struct text line, struct log_row *row) {
    return state->stream->open == LOG_IN_SUMMARY ? summary_go_on(state, line, row)
                                                 : forms_try(state, line, row);
}
