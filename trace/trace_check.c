#include "trace/trace_check.h"

/* Returns from the function if a promise is broken. */
#ifdef __wasm__
#define BROKEN(words) "" /* the page asks whether one is broken, and every page would carry the words */
#else
#define BROKEN(words) words
#endif
#define PROMISE(holds, words)     \
    do {                          \
        if (!(holds))             \
            return BROKEN(words); \
    } while (0)

/* Returns from the function if one that it calls found something. */
#define PROMISES(check)               \
    do {                              \
        const char *broken = (check); \
        if (broken != NULL)           \
            return broken;            \
    } while (0)

static const char *strings_check(const struct string_table *strings) {
    bool ok = strings->count >= 1 && strings->start[0] == 0 && strings->start[1] == 0;
    for (uint32_t i = 0; ok && i < strings->count; i++)
        ok = strings->start[i] <= strings->start[i + 1];
    PROMISE(ok, "strings follow one another, the empty one first");
    return NULL;
}

/* True if every field of every row is a string; a row consists of ids. */
static bool ids_are_strings(const struct trace *trace, const void *rows, uint32_t n_ids) {
    const uint32_t *id = rows;
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n_ids; i++)
        largest = id[i] > largest ? id[i] : largest;
    return n_ids == 0 || largest < trace->strings.count;
}

static bool name_fits(const struct trace *trace, uint32_t string) {
    return string < trace->strings.count && trace_text(trace, string).nbytes <= FRAME_TEXT_MAX_NBYTES;
}

static const char *tables_check(const struct trace *trace) {
    const struct stack_table *stacks = &trace->stacks;
    PROMISES(strings_check(&trace->strings));
    PROMISE(trace->frames.count >= 1 && trace->fx.count >= 1 && stacks->count >= 1 &&
                trace->contexts.count >= 1,
            "every table has the row of none");
    PROMISE(ids_are_strings(trace, trace->fx.fx, trace->fx.count * (sizeof *trace->fx.fx / sizeof(uint32_t))),
            "what torch.fx adds to a frame is a string");
    PROMISE(ids_are_strings(trace, trace->contexts.context,
                            trace->contexts.count * (sizeof *trace->contexts.context / sizeof(uint32_t))),
            "a context consists of strings");
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        const struct frame *frame = &trace->frames.frame[i];
        PROMISE(name_fits(trace, frame->file) && name_fits(trace, frame->name),
                "names of a frame are strings of a limited length");
        PROMISE(frame->fx < trace->fx.count, "a frame's row of torch.fx exists");
        PROMISE(trace->frames.owner == NULL || trace->frames.owner[i] <= OWNER_USER,
                "an owner is one of three");
    }
    for (uint32_t i = 0; i < stacks->count; i++)
        PROMISE(stacks->frame[i] < trace->frames.count && (i == 0 || stack_parent(stacks, i) < i),
                "a stack has a frame and a smaller parent");
    PROMISE(trace->settings < trace->strings.count && trace->meta < trace->strings.count,
            "settings and meta are strings");
    PROMISE(trace->kind < TRACE_KINDS && trace->rank >= RANK_UNKNOWN, "kind and rank exist");
    return NULL;
}

static const char *words_check(const struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        PROMISE(name_fits(trace, trace->annotations[i].name) && trace->annotations[i].stage <= ANNOTATION_END,
                "an annotation has a name of a limited length and begins or ends");
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        const struct diagnostic *diagnostic = &trace->diagnostics[i];
        const uint32_t ids[] = {diagnostic->code, diagnostic->message, diagnostic->key};
        PROMISE(ids_are_strings(trace, ids, 3), "a diagnostic's texts are strings");
    }
    return NULL;
}

/* One loop for the moments, whose order the layout relies on, and one for the ids. Neither branches on a row. */
static const char *allocations_check(const struct trace *trace, const struct device_trace *device) {
    const struct allocations *allocations = &device->allocations;
    const uint32_t count = allocations->count, older = allocations->preexisting;
    bool order = older <= count, lives = true, ids = true;
    for (uint32_t i = 0; order && i < count; i++) {
        uint32_t birth = allocations->birth[i], death = allocations->death[i],
                 request = allocations->request[i];
        order = (i < older) == (birth == 0) && (i == 0 || birth >= allocations->birth[i - 1]) &&
                (i == 0 || i >= older || death <= allocations->death[i - 1]);
        lives &= birth < death && death <= device->n_events + 1 && birth <= request && request <= death;
    }
    PROMISE(order, "allocations are in stack order");
    PROMISE(lives, "an allocation is requested back and ends after it began, within the recording");
    for (uint32_t i = 0; i < count; i++)
        ids &= (allocations->stack[i] < trace->stacks.count) &
               (allocations->context[i] < trace->contexts.count) &
               (allocations->stream[i] < device->n_streams) & (allocations->pool[i] < device->n_pools) &
               (allocations->flags[i] < 2 * ALLOCATION_UNMATCHED_END);
    PROMISE(ids, "an allocation's stack, context, stream, pool and flags exist");
    for (uint32_t i = 0; allocations->merged != NULL && i < count; i++)
        PROMISE(allocations->merged[i] != 0, "a row stands for at least one allocation");
    return NULL;
}

/* Are the events of rows in order and of the device? `rows` points at the number of the first row's event. */
static bool events_rise(const void *rows, uint32_t n_rows, size_t row_nbytes, uint32_t n_events) {
    const uint8_t *at = rows;
    uint32_t last = 0;
    for (uint32_t i = 0; i < n_rows; i++, at += row_nbytes) {
        uint32_t event;
        __builtin_memcpy(&event, at, sizeof event);
        if (event < last || event >= n_events)
            return false;
        last = event;
    }
    return true;
}

static const char *events_check(const struct trace *trace, const struct device_trace *device) {
    const uint32_t n_events = device->n_events, n_stacks = trace->stacks.count;
    PROMISE(events_rise(device->segment_events, device->n_segment_events, sizeof *device->segment_events,
                        n_events) &&
                events_rise(device->ooms, device->n_ooms, sizeof *device->ooms, n_events) &&
                events_rise(device->snapshots, device->n_snapshots, sizeof *device->snapshots, n_events) &&
                events_rise(device->notes, device->n_notes, sizeof *device->notes, n_events),
            "events are in order and within the recording");
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        PROMISE(event->stack < n_stacks && event->stream < device->n_streams &&
                    event->change <= SEGMENT_UNMAP,
                "a segment event's stack, stream and change exist");
    }
    for (uint32_t i = 0; i < device->n_ooms; i++)
        PROMISE(device->ooms[i].stack < n_stacks, "an out-of-memory event's stack exists");
    PROMISE(device->n_oom_places <= device->n_ooms, "places belong to out-of-memory events");
    for (uint32_t i = 0; i < device->n_oom_places; i++)
        PROMISE(device->oom_places[i].stream < device->n_streams &&
                    device->oom_places[i].pool < device->n_pools,
                "an out-of-memory event's stream and pool exist");
    for (uint32_t i = 0; i < device->n_notes; i++)
        PROMISE(device->notes[i].text < trace->strings.count && device->notes[i].what < NOTE_KINDS,
                "a note's text and kind exist");
    for (uint32_t i = 1; device->times_rise && device->time_us != NULL && i < n_events; i++)
        PROMISE(device->time_us[i] >= device->time_us[i - 1], "times rise where they are said to");
    return NULL;
}

static const char *segments_check(const struct trace *trace, const struct device_trace *device) {
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[i];
        PROMISE(segment->stack < trace->stacks.count && segment->stream < device->n_streams &&
                    segment->pool < device->n_pools && segment->flags <= (SEGMENT_EXPANDABLE | SEGMENT_SMALL),
                "a segment's stack, stream, pool and flags exist");
        PROMISE((uint64_t)segment->first_block + segment->block_count <= device->n_blocks,
                "a segment's blocks exist");
    }
    for (uint32_t i = 0; i < device->n_blocks; i++)
        PROMISE(device->blocks[i].stack < trace->stacks.count &&
                    device->blocks[i].state <= BLOCK_PENDING_FREE,
                "a block's stack and state exist");
    return NULL;
}

const char *device_check(const struct trace *trace, const struct device_trace *device) {
    PROMISE(device->name < trace->strings.count, "a device's name is a string");
    PROMISE(device->n_events <= UINT32_MAX - 2, "two moments beyond the last event are numbers");
    PROMISE(device->n_streams <= 1 << 16 && device->n_pools <= 1 << 16,
            "streams and pools have 16-bit numbers");
    PROMISE(device->n_streams == 0 || device->streams[0] == 0, "stream 0 is the default");
    PROMISE(device->n_pools <= POOL_DEFAULT ||
                (device->pools[POOL_DEFAULT].first == 0 && device->pools[POOL_DEFAULT].second == 0),
            "pool 1 is the default");
    PROMISES(allocations_check(trace, device));
    PROMISES(events_check(trace, device));
    return segments_check(trace, device);
}

const char *trace_check(const struct trace *trace) {
    PROMISES(tables_check(trace));
    PROMISES(words_check(trace));
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        PROMISE(i == 0 || trace->devices[i].ordinal > trace->devices[i - 1].ordinal, "devices are in order");
        PROMISES(device_check(trace, &trace->devices[i]));
    }
    PROMISE(trace_oversized_device(trace) == ORDINAL_NONE, "no sum of sizes exceeds 8 EiB");
    return NULL;
}
