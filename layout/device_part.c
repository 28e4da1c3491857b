#include "layout/device_part.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "layout/phases.h"
#include "trace/id_slots.h"
#include "trace/trace_check.h"

/* Gives the device rows of its own, whose stacks are then renumbered. False: no memory. */
static bool device_renumber(struct device_trace *device, struct id_slots *slots, struct arena *arena) {
#define COPY(rows, n)                                                              \
    do {                                                                           \
        const void *whole = device->rows;                                          \
        device->rows = arena_column(arena, device->n, sizeof *device->rows);       \
        if (device->rows == NULL)                                                  \
            return false;                                                          \
        bytes_copy(device->rows, whole, (size_t)device->n * sizeof *device->rows); \
    } while (0)
    COPY(allocations.stack, allocations.count);
    COPY(segment_events, n_segment_events);
    COPY(ooms, n_ooms);
    COPY(segments, n_segments);
    COPY(blocks, n_blocks);
#undef COPY
    id_slots_renumber_device(slots, device);
    return true;
}

/* ---- frames and stacks ---- */

/* Copies the items of the ids in use. NULL: `items` is NULL, or there is no memory and `*done` becomes false. */
static void *items_part(const void *items, size_t nbytes, const struct id_slots *ids, struct arena *arena,
                        bool *done) {
    uint8_t *part = items != NULL ? arena_column(arena, ids->count, nbytes) : NULL;
    for (uint32_t i = 0, n = 0; part != NULL && i < ids->n_ids; i = id_slots_next(ids, i + 1), n++)
        bytes_copy(part + n * nbytes, (const uint8_t *)items + i * nbytes, nbytes);
    *done &= part != NULL || items == NULL;
    return part;
}

static bool frames_part(struct frame_table *part, const struct frame_table *frames,
                        const struct id_slots *ids, struct arena *arena) {
    uint32_t *whole = arena_column(arena, ids->count, sizeof *whole);
    bool done = whole != NULL;
    *part = (struct frame_table){.count = ids->count,
                                 .capacity = ids->count,
                                 .frame = items_part(frames->frame, sizeof *frames->frame, ids, arena, &done),
                                 .owner = items_part(frames->owner, sizeof *frames->owner, ids, arena, &done),
                                 .rank = items_part(frames->rank, sizeof *frames->rank, ids, arena, &done),
                                 .bits = items_part(frames->bits, sizeof *frames->bits, ids, arena, &done),
                                 .whole = whole};
    for (uint32_t i = 0, n = 0; whole != NULL && i < ids->n_ids; i = id_slots_next(ids, i + 1))
        whole[n++] = i;
    return done;
}

static bool stacks_part(struct trace *part, const struct trace *trace, const struct id_slots *ids,
                        struct arena *arena) {
    const struct stack_table *stacks = &trace->stacks;
    struct id_slots frames;
    if (!id_slots_begin(&frames, trace->frames.count, arena))
        return false;
    for (uint32_t i = 1; (i = id_slots_next(ids, i)) < stacks->count; i++)
        id_slots_use(&frames, stacks->frame[i]);
    id_slots_number(&frames);
    part->stacks = (struct stack_table){0};
    bool done = stack_table_add(&part->stacks, arena, 0, 0);
    for (uint32_t i = 1; done && (i = id_slots_next(ids, i)) < stacks->count; i++)
        done = stack_table_add(&part->stacks, arena, id_slot(ids, stack_parent(stacks, i)),
                               id_slot(&frames, stacks->frame[i]));
    return done && frames_part(&part->frames, &trace->frames, &frames, arena);
}

/* ---- annotations ---- */

/* A chain of marks such as steps: a step lasts from its mark to the next one. Its mark may lie before a device's
 * events, and the mark that ends it after them. So each mark matters from the begin of the one before it to the
 * begin of the next. */
struct mark_chain {
    const char *word;
    int64_t before_us;   /* begin of the mark before the last */
    uint32_t begin, end; /* the last mark's annotations; UINT32_MAX: no mark yet, not yet ended */
};

static void span_reach(struct annotation_span *span, int64_t from_us, int64_t to_us) {
    span->from_us = from_us < span->from_us ? from_us : span->from_us;
    span->to_us = to_us > span->to_us ? to_us : span->to_us;
}

/* Lets the last mark of a chain matter until `to_us`. */
static void chain_reach(const struct mark_chain *chain, struct annotation_span *spans, int64_t to_us) {
    if (chain->begin != UINT32_MAX)
        span_reach(&spans[chain->begin], chain->before_us, to_us);
    if (chain->end != UINT32_MAX)
        span_reach(&spans[chain->end], chain->before_us, to_us);
}

static void chain_begin(struct mark_chain *chain, const struct trace *trace, struct annotation_span *spans,
                        uint32_t begin) {
    if (!text_begins(trace_text(trace, trace->annotations[begin].name), chain->word))
        return;
    chain_reach(chain, spans, trace->annotations[begin].time_us);
    chain->before_us = chain->begin != UINT32_MAX ? trace->annotations[chain->begin].time_us : INT64_MIN;
    chain->begin = begin;
    chain->end = UINT32_MAX;
}

enum { CHAINS = 2 };

struct span_keeper {
    const struct trace *trace;
    struct annotation_span *spans;
    struct mark_chain chain[CHAINS];
    uint32_t open[PHASE_OPEN_MAX], depth; /* annotations that have begun, nested as by phases_find */
};

static void keeper_begin(struct span_keeper *keeper, uint32_t i) {
    if (keeper->depth == PHASE_OPEN_MAX)
        return;
    keeper->spans[i] = (struct annotation_span){keeper->trace->annotations[i].time_us, INT64_MAX};
    keeper->open[keeper->depth++] = i;
    for (uint32_t c = 0; c < CHAINS; c++)
        chain_begin(&keeper->chain[c], keeper->trace, keeper->spans, i);
}

/* An end closes the innermost open annotation of its name, and those still open inside it. */
static void keeper_end(struct span_keeper *keeper, uint32_t i) {
    const struct annotation *annotations = keeper->trace->annotations;
    uint32_t at = keeper->depth;
    while (at > 0 &&
           !trace_strings_equal(keeper->trace, annotations[keeper->open[at - 1]].name, annotations[i].name))
        at--;
    if (at == 0)
        return;
    keeper->spans[i] =
        (struct annotation_span){annotations[keeper->open[at - 1]].time_us, annotations[i].time_us};
    for (; keeper->depth >= at; keeper->depth--) {
        uint32_t begin = keeper->open[keeper->depth - 1];
        keeper->spans[begin].to_us = annotations[i].time_us;
        for (uint32_t c = 0; c < CHAINS; c++)
            if (keeper->chain[c].begin == begin)
                *(keeper->depth == at ? &keeper->chain[c].end : &keeper->chain[c].begin) =
                    keeper->depth == at ? i : UINT32_MAX; /* an outer annotation's end closes it */
    }
}

/* Do all annotations belong to the process, and are they in order of time? */
static bool annotations_are_plain(const struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        if (trace->annotations[i].device != ORDINAL_NONE ||
            (i != 0 && trace->annotations[i].time_us < trace->annotations[i - 1].time_us))
            return false;
    return true;
}

bool annotations_keep(struct trace *trace) {
    if (trace->n_devices < 2 || trace->n_annotations == 0 || !annotations_are_plain(trace))
        return true;
    struct span_keeper keeper = {.trace = trace,
                                 .spans =
                                     arena_column(&trace->arena, trace->n_annotations, sizeof *keeper.spans),
                                 .chain = {{"ProfilerStep#", INT64_MIN, UINT32_MAX, UINT32_MAX},
                                           {"Optimizer.step#", INT64_MIN, UINT32_MAX, UINT32_MAX}}};
    if (keeper.spans == NULL)
        return false;
    for (uint32_t i = 0; i < trace->n_annotations; i++) {
        keeper.spans[i] = (struct annotation_span){INT64_MAX, INT64_MIN}; /* nothing begins or ends by it */
        if (trace->annotations[i].stage == ANNOTATION_START)
            keeper_begin(&keeper, i);
        else
            keeper_end(&keeper, i);
    }
    for (uint32_t c = 0; c < CHAINS; c++)
        chain_reach(&keeper.chain[c], keeper.spans, INT64_MAX);
    trace->spans = keeper.spans;
    return true;
}

static bool span_is_seen(const struct annotation_span *span, int64_t first_us, int64_t last_us) {
    return span->from_us <= last_us && span->to_us >= first_us;
}

/* Keeps the annotations whose spans overlap the device's events. Marks of one device count for all. */
static bool annotations_part(struct trace *part, const struct trace *trace, const struct device_trace *device,
                             struct arena *arena) {
    int64_t first_us = INT64_MAX, last_us = INT64_MIN;
    uint32_t n = 0;
    for (uint32_t i = 0; device->time_us != NULL && i < device->n_events; i++) {
        first_us = device->time_us[i] < first_us ? device->time_us[i] : first_us;
        last_us = device->time_us[i] > last_us ? device->time_us[i] : last_us;
    }
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        n += span_is_seen(&trace->spans[i], first_us, last_us);
    part->annotations = arena_column(arena, n, sizeof *part->annotations);
    part->n_annotations = 0;
    part->spans = NULL;
    for (uint32_t i = 0; part->annotations != NULL && part->n_annotations < n; i++)
        if (span_is_seen(&trace->spans[i], first_us, last_us))
            part->annotations[part->n_annotations++] = trace->annotations[i];
    return part->annotations != NULL;
}

bool device_part_share(struct trace *part, const struct trace *trace, uint32_t index, struct arena *arena) {
    *part = *trace;
    return trace->spans == NULL || annotations_part(part, trace, &trace->devices[index], arena);
}

/* Pinned memory holds copies of a GPU's data, so its stacks are reported together with the GPU's. */
static bool is_of_part(const struct trace *trace, uint32_t device, uint32_t index) {
    return device == index || trace->devices[device].ordinal == ORDINAL_HOST;
}

bool device_part_init(struct trace *part, const struct trace *trace, uint32_t index, struct arena *arena) {
    struct id_slots ids;
    if (!device_part_share(part, trace, index, arena) || trace->n_devices < 2)
        return trace->n_devices < 2;
    part->devices = arena_column(arena, trace->n_devices, sizeof *part->devices);
    if (part->devices == NULL || !id_slots_begin(&ids, trace->stacks.count, arena))
        return false;
    bytes_copy(part->devices, trace->devices, trace->n_devices * sizeof *part->devices);
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (is_of_part(trace, i, index))
            id_slots_use_device(&ids, &part->devices[i]);
    id_slots_use_parents(&ids, &trace->stacks);
    id_slots_number(&ids);
    bool done = true;
    for (uint32_t i = 0; done && i < trace->n_devices; i++)
        done = !is_of_part(trace, i, index) || device_renumber(&part->devices[i], &ids, arena);
    done = done && stacks_part(part, trace, &ids, arena);
    assert(!done || device_check(part, &part->devices[index]) == NULL);
    return done;
}
