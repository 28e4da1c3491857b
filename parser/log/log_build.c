#include "parser/log/log_rows.h"

#include "base/numbers.h"
#include "base/sort.h"
#include "parser/log/log.h"
#include "parser/recorder.h"

#include <string.h>

/* The figure that the bands of a device show: the one that most of its lines have. */
static const struct {
    enum note_what what;
    const char *name;
} quantities[] = {{NOTE_ALLOCATED, "allocated, as printed"},
                  {NOTE_RESERVED, "reserved, as printed"},
                  {NOTE_DEVICE_USED, "used on the device, as printed"},
                  {NOTE_HOST_USED, "used on the host, as printed"}};

enum { N_QUANTITIES = sizeof quantities / sizeof *quantities };

/* If no line prints a level, the parts of a server's budget become bands, one after the other. The rest lies below the
 * line of the capacity. */
static const struct {
    enum note_what what;
    const char *name;
} planned[] = {{NOTE_BUDGET_NON_TORCH, "outside of PyTorch, as planned"},
               {NOTE_BUDGET_WEIGHTS, "weights, as planned"},
               {NOTE_BUDGET_ACTIVATIONS, "activations at most, as planned"},
               {NOTE_BUDGET_GRAPHS, "CUDA graphs, as planned"},
               {NOTE_BUDGET_KV_CACHE, "KV cache, as planned"}};

enum { N_PLANNED = sizeof planned / sizeof *planned, GPUS_MOST = 65536 };

struct builder {
    struct interner *interner;
    struct recorder recorder;
    const struct log_entry *entry; /* the row being applied */
    uint64_t value[NOTE_KINDS];    /* its figures; 0: unknown */
    enum note_setting setting;     /* of the whole log, where it says what holds for all errors */
    enum note_what shown;          /* the figure that the bands show */
    uint32_t stack;
    uint64_t level, reserved; /* now */
    uint64_t address;         /* of the band, made up */
    uint64_t n_bands;
    bool plans;               /* no line prints a level */
    uint64_t plan[N_PLANNED]; /* bytes of the parts, 0: none yet */
    uint64_t plan_address[N_PLANNED];
    uint64_t last_max; /* the maximum that was printed last */
    int64_t last_us;
    struct note *notes;
    uint32_t n_notes, note_capacity;
};

static struct arena *arena_of(struct builder *builder) {
    return &builder->interner->trace->arena;
}

/* ---- bands ---- */

/* Index of the quantity that most rows have; N_QUANTITIES: none has any. */
static uint32_t quantity_of(const struct log_rows *rows, const struct sort_row *order, uint32_t n) {
    uint32_t count[N_QUANTITIES] = {0}, best = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t q = 0; q < N_QUANTITIES; q++)
            count[q] += log_entry_knows(&rows->entry[order[i].value], quantities[q].what);
    for (uint32_t q = 1; q < N_QUANTITIES; q++)
        if (count[q] > count[best])
            best = q;
    return count[best] != 0 ? best : N_QUANTITIES;
}

static bool stack_make(struct builder *builder, const char *name) {
    struct frame frame = {0};
    uint32_t id;
    return intern_string(builder->interner, name, strlen(name), &frame.name) &&
           intern_frame(builder->interner, frame, &id) &&
           intern_stack(builder->interner, &id, 1, &builder->stack);
}

static bool knows(const struct builder *builder, enum note_what what) {
    return log_entry_knows(builder->entry, what);
}

/* Begins an event, at the time of the row or of the last event, whichever is later. */
static bool event_begin(struct builder *builder, struct event event) {
    event.has_time = builder->entry->has_time;
    event.time_us = builder->entry->time_us > builder->last_us || builder->recorder.device.n_events == 0
                        ? builder->entry->time_us
                        : builder->last_us;
    builder->last_us = builder->entry->has_time ? event.time_us : builder->last_us;
    return recorder_event(&builder->recorder, &event);
}

/* Ends the band, and begins one of another height, at the last event. */
static bool level_set(struct builder *builder, uint64_t level) {
    struct event end = {.action = ACTION_FREE_COMPLETED, .address = builder->address, .size = builder->level};
    if (level == builder->level)
        return true;
    if (builder->level != 0 && !recorder_join(&builder->recorder, &end))
        return false;
    builder->level = level;
    builder->address = ++builder->n_bands << 9;
    struct event begin = {
        .action = ACTION_ALLOC, .address = builder->address, .size = level, .stack = builder->stack};
    return level == 0 || recorder_join(&builder->recorder, &begin);
}

static bool reserved_set(struct builder *builder, uint64_t reserved) {
    bool more = reserved > builder->reserved;
    struct event event = {.action = more ? ACTION_SEGMENT_ALLOC : ACTION_SEGMENT_FREE,
                          .size = more ? reserved - builder->reserved : builder->reserved - reserved};
    if (reserved == builder->reserved)
        return true;
    builder->reserved = reserved;
    return recorder_join(&builder->recorder, &event);
}

/* ---- notes ---- */

static bool note_add(struct builder *builder, enum note_what what, uint32_t text, uint64_t number) {
    if (!ARENA_GROW(arena_of(builder), builder->notes, builder->note_capacity,
                    (uint64_t)builder->n_notes + 1))
        return false;
    builder->notes[builder->n_notes++] = (struct note){.event = builder->recorder.device.n_events - 1,
                                                       .text = text,
                                                       .number = number,
                                                       .what = (uint8_t)what};
    return true;
}

static bool text_note_add(struct builder *builder, enum note_what what, uint32_t text, uint64_t number) {
    return text == 0 || note_add(builder, what, text, number);
}

static bool notes_add(struct builder *builder) {
    bool done =
        note_add(builder, NOTE_LINE, 0, builder->entry->line) &&
        text_note_add(builder, NOTE_LABEL, builder->entry->label, 0) &&
        text_note_add(builder, NOTE_BACKEND, builder->entry->backend, 0) &&
        text_note_add(builder, NOTE_SETTING, builder->entry->setting,
                      builder->setting != SETTING_UNTOLD ? builder->setting : builder->value[NOTE_SETTING]) &&
        text_note_add(builder, NOTE_KILLED, builder->entry->killed, 0) &&
        text_note_add(builder, NOTE_HOST_MOST, builder->entry->most, builder->value[NOTE_HOST_MOST]) &&
        (!builder->entry->retried || note_add(builder, NOTE_RETRIED, 0, 1)) &&
        (!builder->entry->possible || note_add(builder, NOTE_POSSIBLE, 0, 1));
    for (unsigned what = 0; what < NOTE_KINDS && done; what++)
        done = !knows(builder, (enum note_what)what) || what == NOTE_SETTING || what == NOTE_HOST_MOST ||
               note_add(builder, (enum note_what)what, 0, builder->value[what]);
    return done;
}

/* ---- budgets ---- */

/* A part of the budget, as a step of its own. */
static bool plan_set(struct builder *builder, unsigned part, bool *begun) {
    uint64_t bytes = builder->value[planned[part].what];
    struct event begin = {.action = ACTION_ALLOC, .address = ++builder->n_bands << 9, .size = bytes},
                 end = {.action = ACTION_FREE_COMPLETED,
                        .address = builder->plan_address[part],
                        .size = builder->plan[part]};
    if (!knows(builder, planned[part].what) ||
        (distance_of(bytes, builder->plan[part]) <= bytes / 512 && builder->plan[part] != 0))
        return true; /* the same part again, with other decimals */
    if (*begun && (!event_begin(builder, (struct event){.action = ACTION_IGNORED}) ||
                   !note_add(builder, NOTE_LINE, 0, builder->entry->line)))
        return false;
    *begun = true;
    if (builder->plan[part] != 0 && !recorder_join(&builder->recorder, &end))
        return false;
    builder->plan[part] = bytes;
    builder->plan_address[part] = begin.address;
    if (!stack_make(builder, planned[part].name))
        return false;
    begin.stack = builder->stack;
    return bytes == 0 || recorder_join(&builder->recorder, &begin);
}

static bool plans_set(struct builder *builder) {
    bool done = true, begun = false;
    for (unsigned part = 0; part < N_PLANNED && builder->plans && done; part++)
        done = plan_set(builder, part, &begun);
    return done;
}

/* ---- rows ---- */

/* A maximum above the levels before and now was reached between the two lines. A maximum that is never reset shows
 * that only when it rises. */
static bool has_spike(const struct builder *builder) {
    uint64_t most = builder->value[NOTE_MAX_ALLOCATED];
    return builder->shown == NOTE_ALLOCATED && knows(builder, NOTE_MAX_ALLOCATED) &&
           knows(builder, NOTE_ALLOCATED) && most > builder->level && most > builder->value[NOTE_ALLOCATED] &&
           (builder->entry->max_is_reset || most > builder->last_max);
}

static bool spike_add(struct builder *builder) {
    struct event event = {.action = ACTION_IGNORED};
    if (!has_spike(builder))
        return true;
    if (!event_begin(builder, event) || !note_add(builder, NOTE_LINE, 0, builder->entry->line) ||
        !level_set(builder, builder->value[NOTE_MAX_ALLOCATED]))
        return false;
    /* The first printed reserved bytes hold from the first line on. */
    return builder->reserved != 0 || !knows(builder, NOTE_RESERVED) ||
           reserved_set(builder, builder->value[NOTE_RESERVED]);
}

static uint64_t figure_or_unknown(const struct builder *builder, enum note_what what) {
    return knows(builder, what) ? builder->value[what] : OOM_UNKNOWN;
}

static bool row_apply(struct builder *builder) {
    struct event event = {.action = ACTION_IGNORED};
    bool doubtful = knows(builder, NOTE_DEVICE_TOTAL) &&
                    builder->value[NOTE_DEVICE_FREE] > builder->value[NOTE_DEVICE_TOTAL];
    if (!spike_add(builder))
        return false;
    if (builder->entry->is_oom)
        event =
            (struct event){.action = ACTION_OOM,
                           .stack = builder->entry->stack,
                           .size = figure_or_unknown(builder, NOTE_ASKED),
                           .address = doubtful ? OOM_UNKNOWN : figure_or_unknown(builder, NOTE_DEVICE_FREE)};
    builder->last_max =
        knows(builder, NOTE_MAX_ALLOCATED) ? builder->value[NOTE_MAX_ALLOCATED] : builder->last_max;
    if (!event_begin(builder, event) || !notes_add(builder))
        return false;
    if (knows(builder, NOTE_RESERVED) && !reserved_set(builder, builder->value[NOTE_RESERVED]))
        return false;
    if (knows(builder, NOTE_DEVICE_TOTAL) &&
        builder->value[NOTE_DEVICE_TOTAL] > builder->recorder.device.capacity_bytes)
        builder->recorder.device.capacity_bytes = builder->value[NOTE_DEVICE_TOTAL];
    if (knows(builder, NOTE_BUDGET_TOTAL))
        builder->recorder.device.capacity_bytes = builder->value[NOTE_BUDGET_TOTAL];
    if (!plans_set(builder))
        return false;
    return !knows(builder, builder->shown) || level_set(builder, builder->value[builder->shown]);
}

static bool device_finish(struct builder *builder, bool has_reserved, struct device_trace *device) {
    struct segment all = {.total_size = builder->reserved};
    if (has_reserved && !recorder_segment(&builder->recorder, &all, 0, (struct pool_id){0, 0}))
        return false;
    if (!recorder_finish(&builder->recorder, device))
        return false;
    ARENA_TRIM(arena_of(builder), builder->notes, builder->note_capacity, builder->n_notes);
    device->notes = builder->notes;
    device->n_notes = builder->n_notes;
    return true;
}

static bool device_build(struct interner *interner, const struct log_rows *rows, const struct sort_row *order,
                         uint32_t n, int32_t ordinal, struct device_trace *device) {
    uint32_t quantity = quantity_of(rows, order, n), shown = quantity % N_QUANTITIES;
    struct builder builder = {.interner = interner,
                              .setting = rows->expandable ? SETTING_IS_ON
                                         : rows->windows  ? SETTING_NOT_HERE
                                                          : SETTING_UNTOLD,
                              .shown = quantities[shown].what,
                              .plans = quantity == N_QUANTITIES};
    bool has_reserved = false, done = recorder_init(&builder.recorder, interner, ordinal) &&
                                      stack_make(&builder, quantities[shown].name);
    for (uint32_t i = 0; i < n && done; i++) {
        builder.entry = &rows->entry[order[i].value];
        log_entry_figures(rows, builder.entry, builder.value);
        done = row_apply(&builder);
        has_reserved |= knows(&builder, NOTE_RESERVED);
    }
    return done && device_finish(&builder, has_reserved, device);
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

/* The rank, if all lines that name one name the same. */
static int32_t rank_of(const struct log_rows *rows) {
    int32_t rank = RANK_UNKNOWN;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->entry[i].rank < 0)
            continue;
        if (rank != RANK_UNKNOWN && rank != rows->entry[i].rank)
            return RANK_UNKNOWN;
        rank = rows->entry[i].rank;
    }
    return rank;
}

static bool devices_build(struct interner *interner, const struct log_rows *rows,
                          const struct sort_row *order, uint32_t n) {
    struct trace *trace = interner->trace;
    for (uint32_t from = 0, end; from < n; from = end) {
        for (end = from + 1; end < n && order[end].key == order[from].key;)
            end++;
        if (!device_build(interner, rows, order + from, end - from,
                          ordinal_of(&rows->entry[order[from].value]), &trace->devices[trace->n_devices]))
            return false;
        trace->n_devices++;
    }
    return true;
}

enum log_built log_build(struct interner *interner, struct log_rows *rows) {
    struct trace *trace = interner->trace;
    struct arena *arena = &trace->arena;
    struct sort_row *order = arena_column(arena, (uint64_t)rows->count * 2, sizeof *order);
    uint32_t n = 0;
    uint64_t *told = arena_bits(arena, GPUS_MOST);
    if (order == NULL || told == NULL)
        return LOG_NO_MEMORY;
    ranks_part(rows, order, told);
    ARENA_DROP(arena, told);
    for (uint32_t i = 0; i < rows->count; i++)
        if (!rows->entry[i].dropped)
            order[n++] = (struct sort_row){(uint64_t)((int64_t)ordinal_of(&rows->entry[i]) + 1), i};
    sort_rows(order, order + rows->count, n);
    uint32_t n_devices = sort_rows_keys(order, n);
    enum log_built built = n_devices > LOG_DEVICES_MOST ? LOG_TOO_MANY : LOG_NO_MEMORY;
    trace->rank = rank_of(rows);
    for (uint32_t i = 0; i < rows->count; i++)
        trace->devices_are_ranks |= rows->entry[i].rank >= 0;
    if (built != LOG_TOO_MANY &&
        (trace->devices = arena_column(arena, n_devices, sizeof *trace->devices)) != NULL &&
        devices_build(interner, rows, order, n))
        built = LOG_BUILT;
    ARENA_DROP(arena, order);
    return built;
}
