#include "parser/log/log_forms.h"

#include "base/numbers.h"
#include "base/sort.h"
#include "parser/log/log.h"
#include "parser/recorder.h"

#include <string.h>

/* What bands show: the figure that most lines of a device have, or, if no line prints a level, the parts of a server's
 * budget one above the other; the rest lies below the line of the capacity. */
static const struct {
    enum note_what what;
    const char *name;
} shown[] = {{NOTE_ALLOCATED, "allocated, as printed"},
             {NOTE_RESERVED, "reserved, as printed"},
             {NOTE_DEVICE_USED, "used on the device, as printed"},
             {NOTE_HOST_USED, "used on the host, as printed"},
             {NOTE_BUDGET_NON_TORCH, "outside of PyTorch, as planned"},
             {NOTE_BUDGET_WEIGHTS, "weights, as planned"},
             {NOTE_BUDGET_ACTIVATIONS, "activations at most, as planned"},
             {NOTE_BUDGET_GRAPHS, "CUDA graphs, as planned"},
             {NOTE_BUDGET_KV_CACHE, "KV cache, as planned"}};

enum { N_LEVELS = 4, N_BANDS = sizeof shown / sizeof *shown, GPUS_MOST = 65536 };

struct builder {
    struct interner *interner;
    struct recorder recorder;
    struct log_row row;        /* being applied */
    enum note_setting setting; /* of the whole log, where it says what holds for all errors */
    uint32_t level;            /* the band of the level; N_LEVELS: no line prints one */
    struct {
        uint64_t size, address; /* the address is made up */
    } band[N_BANDS];
    uint64_t n_addresses;
    uint64_t reserved; /* now */
    uint64_t last_max; /* the maximum that was printed last */
    int64_t last_us;
    struct note *notes;
    uint32_t n_notes, note_capacity;
    bool failed; /* no memory: nothing that follows counts */
};

/* ---- bands ---- */

/* The level that most rows have; N_LEVELS: none has any. */
static uint32_t level_of(const struct log_rows *rows, const struct sort_row *order, uint32_t n) {
    uint32_t count[N_LEVELS + 1] = {0}, best = N_LEVELS;
    for (uint32_t level = 0; level < N_LEVELS; level++) {
        for (uint32_t i = 0; i < n; i++)
            if (rows->entry[order[i].value].known >> shown[level].what & 1)
                count[level]++;
        best = count[level] > count[best] ? level : best;
    }
    return best;
}

static bool knows(const struct builder *builder, enum note_what what) {
    return log_knows(&builder->row, what);
}

static uint64_t number(const struct builder *builder, enum note_what what) {
    return log_number(&builder->row, what);
}

static void note_add(struct builder *builder, enum note_what what, struct log_value value) {
    builder->failed = builder->failed || !ARENA_GROW(&builder->interner->trace->arena, builder->notes,
                                                     builder->note_capacity, (uint64_t)builder->n_notes + 1);
    if (!builder->failed)
        builder->notes[builder->n_notes++] = (struct note){.event = builder->recorder.device.n_events - 1,
                                                           .text = value.text,
                                                           .number = value.number,
                                                           .what = (uint8_t)what};
}

/* Begins an event, at the time of the row or of the last event, whichever is later. */
static void event_begin(struct builder *builder, struct event event) {
    event.has_time = builder->row.of.has_time;
    event.time_us = builder->row.of.time_us > builder->last_us || builder->recorder.device.n_events == 0
                        ? builder->row.of.time_us
                        : builder->last_us;
    builder->last_us = event.has_time ? event.time_us : builder->last_us;
    builder->failed = builder->failed || !recorder_event(&builder->recorder, &event);
    note_add(builder, NOTE_LINE, builder->row.value[NOTE_LINE]);
}

static void event_join(struct builder *builder, struct event event) {
    builder->failed = builder->failed || !recorder_join(&builder->recorder, &event);
}

static uint32_t stack_of(struct builder *builder, const char *name) {
    struct frame frame = {0};
    uint32_t id, stack = 0;
    bool done = intern_string(builder->interner, name, strlen(name), &frame.name) &&
                intern_frame(builder->interner, frame, &id) &&
                intern_stack(builder->interner, &id, 1, &stack);
    builder->failed |= !done;
    return stack;
}

/* Ends a band, and begins one of another height, at the last event. */
static void band_set(struct builder *builder, unsigned i, uint64_t size) {
    uint64_t before = builder->band[i].size, address = builder->band[i].address;
    if (size == before)
        return;
    if (before != 0)
        event_join(builder,
                   (struct event){.action = ACTION_FREE_COMPLETED, .address = address, .size = before});
    builder->band[i].size = size;
    builder->band[i].address = ++builder->n_addresses << 9;
    if (size != 0)
        event_join(builder, (struct event){.action = ACTION_ALLOC,
                                           .address = builder->band[i].address,
                                           .size = size,
                                           .stack = stack_of(builder, shown[i].name)});
}

static void reserved_set(struct builder *builder) {
    uint64_t now = number(builder, NOTE_RESERVED), before = builder->reserved;
    if (!knows(builder, NOTE_RESERVED) || now == before)
        return;
    builder->reserved = now;
    event_join(builder, (struct event){.action = now > before ? ACTION_SEGMENT_ALLOC : ACTION_SEGMENT_FREE,
                                       .size = distance_of(now, before)});
}

/* ---- rows ---- */

static void notes_add(struct builder *builder) {
    struct log_value *setting = &builder->row.value[NOTE_SETTING];
    if (setting->text == 0)
        log_forget(&builder->row, NOTE_SETTING);
    else if (builder->setting != SETTING_UNTOLD)
        setting->number = builder->setting;
    for (unsigned what = NOTE_LINE + 1; what < NOTE_KINDS; what++)
        if (knows(builder, (enum note_what)what))
            note_add(builder, (enum note_what)what, builder->row.value[what]);
}

/* The parts of a budget that a line tells, each as an event of its own. */
static void budget_set(struct builder *builder) {
    bool begun = false;
    for (unsigned i = N_LEVELS; i < N_BANDS; i++) {
        uint64_t bytes = number(builder, shown[i].what), before = builder->band[i].size;
        if (!knows(builder, shown[i].what) || (before != 0 && distance_of(bytes, before) <= bytes / 512))
            continue; /* the same part again, with other decimals */
        if (begun)
            event_begin(builder, (struct event){.action = ACTION_IGNORED});
        begun = true;
        band_set(builder, i, bytes);
    }
}

/* A maximum above the levels before and now was reached between the two lines. A maximum that is never reset shows
 * that only when it rises. */
static void spike_add(struct builder *builder) {
    uint64_t most = number(builder, NOTE_MAX_ALLOCATED);
    if (builder->level != 0 || !knows(builder, NOTE_MAX_ALLOCATED) || !knows(builder, NOTE_ALLOCATED) ||
        most <= builder->band[0].size || most <= number(builder, NOTE_ALLOCATED) ||
        (!builder->row.of.max_is_reset && most <= builder->last_max))
        return;
    event_begin(builder, (struct event){.action = ACTION_IGNORED});
    band_set(builder, 0, most);
    if (builder->reserved == 0) /* the first printed reserved bytes hold from the first line on */
        reserved_set(builder);
}

static uint64_t figure_or_unknown(const struct builder *builder, enum note_what what) {
    return knows(builder, what) ? number(builder, what) : OOM_UNKNOWN;
}

static void row_apply(struct builder *builder) {
    uint64_t total = number(builder, NOTE_DEVICE_TOTAL), *capacity = &builder->recorder.device.capacity_bytes;
    bool doubtful = knows(builder, NOTE_DEVICE_TOTAL) && number(builder, NOTE_DEVICE_FREE) > total;
    struct event event = {.action = ACTION_IGNORED};
    spike_add(builder);
    if (builder->row.of.is_oom)
        event =
            (struct event){.action = ACTION_OOM,
                           .stack = builder->row.of.stack,
                           .size = figure_or_unknown(builder, NOTE_ASKED),
                           .address = doubtful ? OOM_UNKNOWN : figure_or_unknown(builder, NOTE_DEVICE_FREE)};
    if (knows(builder, NOTE_MAX_ALLOCATED))
        builder->last_max = number(builder, NOTE_MAX_ALLOCATED);
    event_begin(builder, event);
    notes_add(builder);
    reserved_set(builder);
    *capacity = larger_of(*capacity, total);
    if (knows(builder, NOTE_BUDGET_TOTAL))
        *capacity = number(builder, NOTE_BUDGET_TOTAL);
    if (builder->level == N_LEVELS)
        budget_set(builder);
    else if (knows(builder, shown[builder->level].what))
        band_set(builder, builder->level, number(builder, shown[builder->level].what));
}

static bool device_build(struct log_state *state, const struct sort_row *order, uint32_t n, int32_t ordinal,
                         struct device_trace *device) {
    struct builder builder = {.interner = &state->interner,
                              .setting = state->expandable ? SETTING_IS_ON
                                         : state->windows  ? SETTING_NOT_HERE
                                                           : SETTING_UNTOLD,
                              .level = level_of(&state->rows, order, n)};
    struct segment all = {0};
    bool has_reserved = false;
    builder.failed = !recorder_init(&builder.recorder, &state->interner, ordinal);
    for (uint32_t i = 0; i < n && !builder.failed; i++) {
        log_rows_get(&state->rows, order[i].value, &builder.row);
        row_apply(&builder);
        has_reserved |= knows(&builder, NOTE_RESERVED);
    }
    all.total_size = builder.reserved;
    if (builder.failed ||
        (has_reserved && !recorder_segment(&builder.recorder, &all, 0, (struct pool_id){0, 0})) ||
        !recorder_finish(&builder.recorder, device))
        return false;
    ARENA_TRIM(&state->trace->arena, builder.notes, builder.note_capacity, builder.n_notes);
    device->notes = builder.notes;
    device->n_notes = builder.n_notes;
    return true;
}

/* ---- devices ---- */

static int32_t ordinal_of(const struct log_entry *row) {
    return row->gpu == LOG_HOST ? ORDINAL_CPU : row->rank >= 0 ? row->rank : row->gpu >= 0 ? row->gpu : 0;
}

/* If the lines of one rank name several GPUs (a table of nvidia-smi that rank 0 prints), each GPU becomes a device,
 * and the lines belong to no rank. The same goes for lines of a rank that name another GPU. `order`: room for all
 * rows twice; `told`: bits by GPU. */
static void ranks_part(struct log_rows *rows, struct sort_row *order, uint64_t *told) {
    uint32_t n = 0;
    bool any = false;
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->entry[i].rank >= 0 && rows->entry[i].gpu >= 0)
            order[n++] = (struct sort_row){(uint64_t)rows->entry[i].rank, i};
    sort_rows(order, order + rows->count, n);
    for (uint32_t from = 0, end; from < n; from = end) {
        bool several = false;
        for (end = from; end < n && order[end].key == order[from].key; end++)
            several |= rows->entry[order[end].value].gpu != rows->entry[order[from].value].gpu;
        for (uint32_t i = from; i < end && several; i++) {
            struct log_entry *entry = &rows->entry[order[i].value];
            entry->rank = RANK_UNKNOWN;
            told[entry->gpu / 64] |= UINT64_C(1) << entry->gpu % 64;
        }
        any |= several;
    }
    for (uint32_t i = 0; i < n && any; i++) {
        struct log_entry *entry = &rows->entry[order[i].value];
        if ((told[entry->gpu / 64] >> entry->gpu % 64 & 1) == 0)
            entry->rank = RANK_UNKNOWN;
    }
}

/* Sorts the rows by device; those that are dropped are left out. Returns their number. */
static uint32_t rows_sort(const struct log_state *state, struct sort_row *order) {
    const struct log_rows *rows = &state->rows;
    struct trace *trace = state->trace;
    uint32_t n = 0;
    bool several = false;
    trace->rank = RANK_UNKNOWN;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct log_entry *entry = &rows->entry[i];
        if (entry->rank >= 0) {
            several |= trace->devices_are_ranks && trace->rank != entry->rank;
            trace->rank = several ? RANK_UNKNOWN : entry->rank;
            trace->devices_are_ranks = true;
        }
        if (!entry->dropped)
            order[n++] = (struct sort_row){(uint64_t)((int64_t)ordinal_of(entry) + 1), i};
    }
    sort_rows(order, order + rows->count, n);
    return n;
}

bool log_build(struct log_state *state) {
    struct trace *trace = state->trace;
    struct arena *arena = &trace->arena;
    struct sort_row *order = arena_column(arena, (uint64_t)state->rows.count * 2, sizeof *order);
    uint64_t *told = arena_bits(arena, GPUS_MOST);
    if (order == NULL || told == NULL)
        return false;
    ranks_part(&state->rows, order, told);
    ARENA_DROP(arena, told);
    uint32_t n = rows_sort(state, order), n_devices = sort_rows_keys(order, n);
    if (n_devices > LOG_DEVICES_MOST)
        return cursor_fail(state->cursor, READ_LIMIT, 0, "the log names more than %d ranks or GPUs",
                           LOG_DEVICES_MOST);
    trace->devices = arena_column(arena, n_devices, sizeof *trace->devices);
    bool done = trace->devices != NULL;
    for (uint32_t from = 0, end; from < n && done; from = end) {
        for (end = from + 1; end < n && order[end].key == order[from].key;)
            end++;
        done =
            device_build(state, order + from, end - from, ordinal_of(&state->rows.entry[order[from].value]),
                         &trace->devices[trace->n_devices]);
        trace->n_devices += done;
    }
    ARENA_DROP(arena, order);
    return done;
}
