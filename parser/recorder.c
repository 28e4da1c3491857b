#include "parser/recorder_internal.h"

#include "base/bytes.h"

enum { MAX_STREAMS = UINT16_MAX, MAX_POOLS = 4096 };

/* ---- columns of allocations ---- */

bool allocations_reserve(struct arena *arena, struct allocations_builder *builder, uint64_t count) {
    if (count <= builder->capacity)
        return true;
    if (count >= BEFORE)
        return false;
    uint32_t capacity = 0,
             reached = UINT32_MAX; /* the least capacity of any column: near the limit one may get less */
#define COLUMN_RESERVE(name)                                            \
    capacity = builder->capacity;                                       \
    if (!ARENA_GROW(arena, builder->allocations.name, capacity, count)) \
        return false;                                                   \
    reached = capacity < reached ? capacity : reached;
    ALLOCATIONS_EACH_COLUMN(COLUMN_RESERVE)
#undef COLUMN_RESERVE
    builder->capacity = reached;
    return true;
}

void allocations_drop(struct arena *arena, struct allocations_builder *builder) {
#define COLUMN_DROP(name) ARENA_DROP(arena, builder->allocations.name);
    ALLOCATIONS_EACH_COLUMN(COLUMN_DROP)
#undef COLUMN_DROP
    *builder = (struct allocations_builder){0};
}

bool allocations_add(struct arena *arena, struct allocations_builder *builder,
                     const struct allocation_row *row) {
    struct allocations *allocations = &builder->allocations;
    if (!allocations_reserve(arena, builder, (uint64_t)allocations->count + 1))
        return false;
    uint32_t i = allocations->count++;
    allocations->birth[i] = row->birth;
    allocations->death[i] = row->death;
    allocations->request[i] = row->request;
    allocations->size[i] = row->size;
    allocations->address[i] = row->address;
    allocations->stack[i] = row->stack;
    allocations->context[i] = row->context;
    allocations->stream[i] = row->stream;
    allocations->pool[i] = row->pool;
    allocations->flags[i] = row->flags;
    return true;
}

struct allocations *allocations_of(struct recorder *recorder, uint32_t reference) {
    return reference & BEFORE ? &recorder->before.allocations : &recorder->later.allocations;
}

/* ---- streams and pools ---- */

struct arena *recorder_arena(struct recorder *recorder) {
    return &recorder->interner->trace->arena;
}

/* The index of a stream. More streams than fit count as the last one; no program has 65,535. */
static bool stream_index(struct recorder *recorder, uint64_t raw, uint16_t *index) {
    struct device_trace *device = &recorder->device;
    *index = 0;
    if (raw == 0)
        return true;
    uint32_t slot = key_map_find(&recorder->streams, raw);
    if (slot != KEY_NOT_FOUND) {
        *index = (uint16_t)(recorder->streams.slot[slot].number - 1);
        return true;
    }
    if (device->n_streams == MAX_STREAMS) {
        *index = MAX_STREAMS - 1;
        return true;
    }
    if (!ARENA_GROW(recorder_arena(recorder), device->streams, recorder->stream_capacity,
                    (uint64_t)device->n_streams + 1) ||
        !key_map_add(&recorder->streams, recorder_arena(recorder), raw, device->n_streams + 1))
        return false;
    *index = (uint16_t)device->n_streams;
    device->streams[device->n_streams++] = raw;
    return true;
}

static bool pool_equal(struct pool_id a, struct pool_id b) {
    return a.first == b.first && a.second == b.second;
}

/* The index of a pool. Pools are few and come in runs, so the last one is tried first. More than fit are
 * "unknown". */
static bool pool_index(struct recorder *recorder, struct pool_id pool, uint16_t *index) {
    struct device_trace *device = &recorder->device;
    if (recorder->last_pool != POOL_UNKNOWN && pool_equal(device->pools[recorder->last_pool], pool)) {
        *index = (uint16_t)recorder->last_pool;
        return true;
    }
    uint32_t i = POOL_UNKNOWN + 1;
    while (i < device->n_pools && !pool_equal(device->pools[i], pool))
        i++;
    if (i == MAX_POOLS) {
        *index = POOL_UNKNOWN;
        return true;
    }
    if (i == device->n_pools) {
        if (!ARENA_GROW(recorder_arena(recorder), device->pools, recorder->pool_capacity, (uint64_t)i + 1))
            return false;
        device->pools[device->n_pools++] = pool;
    }
    recorder->last_pool = i;
    *index = (uint16_t)i;
    return true;
}

bool recorder_init(struct recorder *recorder, struct interner *interner, int32_t ordinal) {
    *recorder = (struct recorder){.interner = interner, .device = {.ordinal = ordinal}};
    struct device_trace *device = &recorder->device;
    struct arena *arena = recorder_arena(recorder);
    if (!ARENA_GROW(arena, device->streams, recorder->stream_capacity, 1) ||
        !ARENA_GROW(arena, device->pools, recorder->pool_capacity, 2))
        return false;
    device->streams[0] = 0;
    device->n_streams = 1;
    device->pools[POOL_UNKNOWN] = device->pools[1] = (struct pool_id){0, 0};
    device->n_pools = 2;
    return true;
}

/* ---- events ---- */

/* Marks functions for rare events, kept apart so that the common ones need not save registers. */
#define RARE __attribute__((noinline, cold))

/* Adds to the difference of alive and reserved bytes; `nbytes` modulo 2^64. */
static void above_add(struct recorder *recorder, uint64_t nbytes) {
    recorder->above = (int64_t)((uint64_t)recorder->above + nbytes);
    recorder->rise = recorder->above > recorder->rise ? recorder->above : recorder->rise;
}

static void allocation_complete(struct recorder *recorder, uint32_t slot, uint32_t moment) {
    uint32_t reference = recorder->open.slot[slot].number - 1;
    struct allocations *allocations = allocations_of(recorder, reference);
    uint32_t i = reference & ~BEFORE;
    allocations->death[i] = moment;
    above_add(recorder, 0 - allocations->size[i]);
    recorder->n_unrequested += !(reference & BEFORE) && allocations->request[i] == FOREVER;
    /* A completion directly after its request is an ordinary free, not a wait for another stream. */
    if (allocations->request[i] == FOREVER || allocations->request[i] + 1 >= moment)
        allocations->request[i] = moment;
    key_map_remove(&recorder->open, slot);
}

/* The address is allocated again although no free was recorded. */
static RARE void allocation_reopen(struct recorder *recorder, uint32_t slot, uint32_t moment) {
    uint32_t reference = recorder->open.slot[slot].number - 1;
    struct allocations *allocations = allocations_of(recorder, reference);
    above_add(recorder, 0 - allocations->size[reference & ~BEFORE]);
    allocations->death[reference & ~BEFORE] = moment;
    allocations->flags[reference & ~BEFORE] |= ALLOCATION_REOPENED;
    recorder->n_reopened++;
    key_map_remove(&recorder->open, slot);
}

static bool event_row(struct recorder *recorder, const struct event *event, struct allocation_row *row) {
    *row = (struct allocation_row){.death = FOREVER,
                                   .request = FOREVER,
                                   .stack = event->stack,
                                   .context = event->context,
                                   .size = event->size,
                                   .address = event->address,
                                   .pool = POOL_UNKNOWN};
    return stream_index(recorder, event->stream, &row->stream) &&
           (!event->has_pool || pool_index(recorder, event->pool, &row->pool));
}

static bool record_alloc(struct recorder *recorder, const struct event *event, uint32_t moment) {
    uint32_t slot = key_map_find(&recorder->open, event->address);
    if (slot != KEY_NOT_FOUND)
        allocation_reopen(recorder, slot, moment);
    struct allocation_row row;
    if (!event_row(recorder, event, &row))
        return false;
    row.birth = moment;
    above_add(recorder, row.size);
    uint32_t reference = recorder->later.allocations.count;
    return allocations_add(recorder_arena(recorder), &recorder->later, &row) &&
           key_map_add(&recorder->open, recorder_arena(recorder), event->address, reference + 1);
}

/* A free of an address that the recording never allocated: the allocation is older. Only the free's stack is
 * known. */
static RARE bool record_orphan(struct recorder *recorder, const struct event *event, uint32_t moment,
                               bool completed) {
    struct allocation_row row;
    if (!event_row(recorder, event, &row))
        return false;
    row.flags = event->stack != 0 ? ALLOCATION_STACK_OF_FREE : 0;
    row.request = moment;
    if (completed) {
        row.death = moment;
        above_add(recorder, 0 - row.size);
    }
    recorder->n_orphan_frees++;
    recorder->orphan_free_bytes += event->size;
    uint32_t reference = recorder->before.allocations.count | BEFORE;
    return allocations_add(recorder_arena(recorder), &recorder->before, &row) &&
           (completed ||
            key_map_add(&recorder->open, recorder_arena(recorder), event->address, reference + 1));
}

/* A completion mostly follows its request and finds the same slot. An address is in the map once. */
static uint32_t open_slot(struct recorder *recorder, uint64_t address) {
    const struct key_map *open = &recorder->open;
    uint32_t last = recorder->last_slot;
    if (last <= open->mask && open->mask != 0 && open->slot[last].number != 0 &&
        open->slot[last].key == address)
        return last;
    recorder->last_slot = key_map_find(open, address);
    return recorder->last_slot;
}

static bool record_free(struct recorder *recorder, const struct event *event, uint32_t moment,
                        bool completed) {
    uint32_t slot = open_slot(recorder, event->address);
    if (slot == KEY_NOT_FOUND)
        return record_orphan(recorder, event, moment, completed);
    if (completed) {
        allocation_complete(recorder, slot, moment);
        return true;
    }
    uint32_t reference = recorder->open.slot[slot].number - 1;
    uint32_t *request = &allocations_of(recorder, reference)->request[reference & ~BEFORE];
    if (*request == FOREVER)
        *request = moment;
    return true;
}

static RARE bool record_segment_change(struct recorder *recorder, const struct event *event,
                                       enum segment_change change) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(recorder_arena(recorder), device->segment_events, recorder->segment_event_capacity,
                    (uint64_t)device->n_segment_events + 1))
        return false;
    struct segment_event *row = &device->segment_events[device->n_segment_events++];
    *row = (struct segment_event){.event = device->n_events,
                                  .stack = event->stack,
                                  .address = event->address,
                                  .size = event->size,
                                  .change = (uint8_t)change};
    bool grows = change == SEGMENT_ALLOC || change == SEGMENT_MAP;
    above_add(recorder, grows ? 0 - row->size : row->size);
    return stream_index(recorder, event->stream, &row->stream);
}

static RARE bool record_oom_place(struct recorder *recorder, const struct event *event) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(recorder_arena(recorder), device->oom_places, recorder->oom_place_capacity,
                    (uint64_t)device->n_oom_places + 1))
        return false;
    struct oom_place *place = &device->oom_places[device->n_oom_places++];
    *place = (struct oom_place){0};
    return stream_index(recorder, event->stream, &place->stream) &&
           (!event->has_pool || pool_index(recorder, event->pool, &place->pool));
}

static RARE bool record_oom(struct recorder *recorder, const struct event *event) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(recorder_arena(recorder), device->ooms, recorder->oom_capacity,
                    (uint64_t)device->n_ooms + 1))
        return false;
    device->ooms[device->n_ooms++] = (struct oom_event){
        .event = device->n_events, .stack = event->stack, .size = event->size, .device_free = event->address};
    return !trace_has_segments(recorder->interner->trace) || record_oom_place(recorder, event);
}

static RARE bool record_snapshot(struct recorder *recorder, const struct event *event) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(recorder_arena(recorder), device->snapshots, recorder->snapshot_capacity,
                    (uint64_t)device->n_snapshots + 1))
        return false;
    device->snapshots[device->n_snapshots++] =
        (struct snapshot_event){.event = device->n_events, .size = event->size};
    return true;
}

/* Notes a text for a live allocation. */
static RARE bool record_annotate(struct recorder *recorder, const struct event *event) {
    uint32_t slot = key_map_find(&recorder->open, event->address);
    uint32_t text = recorder->interner->trace->contexts.context[event->context].user_metadata;
    if (slot == KEY_NOT_FOUND || text == 0)
        return true;
    if (!ARENA_GROW(recorder_arena(recorder), recorder->noted, recorder->noted_capacity,
                    (uint64_t)recorder->n_noted + 1))
        return false;
    recorder->noted[recorder->n_noted++] = (struct noted){recorder->open.slot[slot].number - 1, text};
    return true;
}

/* Times are kept for all events or for none; an event without one repeats the time before it. */
static bool record_time(struct recorder *recorder, const struct event *event) {
    struct device_trace *device = &recorder->device;
    if (event->has_time && recorder->has_times && device->n_events < recorder->time_capacity) {
        device->time_us[device->n_events] = event->time_us;
        return true;
    }
    if (!event->has_time && !recorder->has_times)
        return true;
    bool first = !recorder->has_times;
    recorder->has_times = true;
    if (!ARENA_GROW(recorder_arena(recorder), device->time_us, recorder->time_capacity,
                    (uint64_t)device->n_events + 1))
        return false;
    if (first)
        for (uint32_t i = 0; i < device->n_events; i++)
            device->time_us[i] = event->time_us;
    device->time_us[device->n_events] =
        event->has_time ? event->time_us : device->time_us[device->n_events - 1];
    return true;
}

static bool record_action(struct recorder *recorder, const struct event *event) {
    uint32_t moment = recorder->device.n_events + 1;
    switch (event->action) {
    case ACTION_ALLOC: return record_alloc(recorder, event, moment);
    case ACTION_FREE_REQUESTED: return record_free(recorder, event, moment, false);
    case ACTION_FREE_COMPLETED: return record_free(recorder, event, moment, true);
    case ACTION_SEGMENT_ALLOC: return record_segment_change(recorder, event, SEGMENT_ALLOC);
    case ACTION_SEGMENT_FREE: return record_segment_change(recorder, event, SEGMENT_FREE);
    case ACTION_SEGMENT_MAP: return record_segment_change(recorder, event, SEGMENT_MAP);
    case ACTION_SEGMENT_UNMAP: return record_segment_change(recorder, event, SEGMENT_UNMAP);
    case ACTION_SNAPSHOT: return record_snapshot(recorder, event);
    case ACTION_OOM: return record_oom(recorder, event);
    case ACTION_ANNOTATE: return record_annotate(recorder, event);
    default: return true;
    }
}

bool recorder_event(struct recorder *recorder, const struct event *event) {
    /* Moments are 32-bit, and two beyond the last event must still be valid numbers. */
    if (recorder->device.n_events >= UINT32_MAX - 4) {
        recorder->interner->trace->arena.full = true;
        return false;
    }
    if (!record_time(recorder, event) || !record_action(recorder, event))
        return false;
    recorder->n_of_action[event->action]++;
    recorder->device.n_events++;
    return true;
}

bool recorder_join(struct recorder *recorder, const struct event *event) {
    recorder->device.n_events--; /* back to the moment of the event before */
    bool done = record_action(recorder, event);
    recorder->device.n_events++;
    recorder->n_of_action[event->action]++;
    return done;
}

bool recorder_before(struct recorder *recorder, const struct event *event) {
    struct allocation_row row;
    uint32_t reference = recorder->before.allocations.count | BEFORE;
    return event_row(recorder, event, &row) &&
           allocations_add(recorder_arena(recorder), &recorder->before, &row) &&
           key_map_add(&recorder->open, recorder_arena(recorder), event->address, reference + 1);
}

/* ---- final segments ---- */

bool recorder_segment(struct recorder *recorder, const struct segment *segment, uint64_t stream,
                      struct pool_id pool) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(recorder_arena(recorder), device->segments, recorder->segment_capacity,
                    (uint64_t)device->n_segments + 1))
        return false;
    struct segment *row = &device->segments[device->n_segments++];
    *row = *segment;
    row->first_block = device->n_blocks;
    row->block_count = 0;
    return stream_index(recorder, stream, &row->stream) && pool_index(recorder, pool, &row->pool);
}

bool recorder_block(struct recorder *recorder, const struct block *block) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(recorder_arena(recorder), device->blocks, recorder->block_capacity,
                    (uint64_t)device->n_blocks + 1))
        return false;
    device->blocks[device->n_blocks++] = *block;
    device->segments[device->n_segments - 1].block_count++;
    return true;
}
