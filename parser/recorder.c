#include "parser/recorder.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/sort.h"
#include "parser/doubts.h"

#include <stdio.h>

enum { FIRST_SLOTS = 256, MAX_STREAMS = UINT16_MAX, MAX_POOLS = 4096 };

/* References in the open map: lives older than the recording are told apart by the top bit. */
static const uint32_t BEFORE = UINT32_C(1) << 31;
static const uint32_t NOT_FOUND = UINT32_MAX;

/* ---- address map: linear probing, deletion by moving later entries back ---- */

static uint32_t address_home(const struct address_map *map, uint64_t address) {
    uint64_t mixed = address * 0x9E3779B97F4A7C15u;
    return (uint32_t)(mixed >> 32) & map->mask;
}

static void map_place(struct address_map *map, struct address_slot entry) {
    uint32_t at = address_home(map, entry.address);
    while (map->slot[at].reference != 0)
        at = (at + 1) & map->mask;
    map->slot[at] = entry;
}

static bool map_grow(struct arena *arena, struct address_map *map) {
    uint64_t n_slots = map->mask == 0 ? FIRST_SLOTS : ((uint64_t)map->mask + 1) * 2;
    struct address_map larger = {.mask = (uint32_t)(n_slots - 1), .count = map->count};
    uint32_t capacity = 0;
    if (!ARENA_GROW(arena, larger.slot, capacity, n_slots))
        return false;
    bytes_zero(larger.slot, (size_t)n_slots * sizeof *larger.slot);
    for (uint32_t i = 0; map->mask != 0 && i <= map->mask; i++)
        if (map->slot[i].reference != 0)
            map_place(&larger, map->slot[i]);
    ARENA_DROP(arena, map->slot);
    *map = larger;
    return true;
}

static uint32_t map_slot_of(const struct address_map *map, uint64_t address) {
    if (map->mask == 0)
        return NOT_FOUND;
    for (uint32_t at = address_home(map, address); map->slot[at].reference != 0; at = (at + 1) & map->mask)
        if (map->slot[at].address == address)
            return at;
    return NOT_FOUND;
}

static bool map_put(struct arena *arena, struct address_map *map, uint64_t address, uint32_t reference) {
    if (map->mask == 0 || map->count >= map->mask / 2)
        if (!map_grow(arena, map))
            return false;
    map_place(map, (struct address_slot){address, reference + 1});
    map->count++;
    return true;
}

static void map_remove(struct address_map *map, uint32_t hole) {
    uint32_t at = hole;
    for (;;) {
        at = (at + 1) & map->mask;
        if (map->slot[at].reference == 0)
            break;
        uint32_t home = address_home(map, map->slot[at].address);
        /* An entry may fill the hole unless its home lies behind the hole. */
        if (((at - home) & map->mask) >= ((at - hole) & map->mask)) {
            map->slot[hole] = map->slot[at];
            hole = at;
        }
    }
    map->slot[hole].reference = 0;
    map->count--;
}

/* ---- columns of lives ---- */

struct life_row {
    uint32_t birth, death, request, stack, context;
    uint64_t size, address;
    uint16_t stream, pool;
    uint8_t flags;
};

/* One column: where its pointer is in struct lives, and the size of an item. */
static const struct {
    size_t offset, item_nbytes;
} columns[] = {
    {offsetof(struct lives, birth), sizeof(uint32_t)},   {offsetof(struct lives, death), sizeof(uint32_t)},
    {offsetof(struct lives, request), sizeof(uint32_t)}, {offsetof(struct lives, size), sizeof(uint64_t)},
    {offsetof(struct lives, address), sizeof(uint64_t)}, {offsetof(struct lives, stack), sizeof(uint32_t)},
    {offsetof(struct lives, context), sizeof(uint32_t)}, {offsetof(struct lives, stream), sizeof(uint16_t)},
    {offsetof(struct lives, pool), sizeof(uint16_t)},    {offsetof(struct lives, flags), sizeof(uint8_t)},
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

static void **column_of(struct lives *lives, unsigned i) {
    return (void **)((char *)lives + columns[i].offset);
}

static bool lives_reserve(struct arena *arena, struct lives_builder *builder, uint64_t count) {
    if (count <= builder->capacity)
        return true;
    if (count >= BEFORE)
        return false;
    uint32_t reached =
        UINT32_MAX; /* the least that any column has room for: near the limit one may get less */
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        uint32_t capacity = builder->capacity;
        if (!arena_grow(arena, column_of(&builder->lives, i), &capacity, count, columns[i].item_nbytes))
            return false;
        reached = capacity < reached ? capacity : reached;
    }
    builder->capacity = reached;
    return true;
}

static void lives_drop(struct arena *arena, struct lives_builder *builder) {
    for (unsigned i = 0; i < N_COLUMNS; i++)
        arena_drop(arena, column_of(&builder->lives, i));
    *builder = (struct lives_builder){0};
}

static bool lives_add(struct arena *arena, struct lives_builder *builder, const struct life_row *row) {
    struct lives *lives = &builder->lives;
    if (!lives_reserve(arena, builder, (uint64_t)lives->count + 1))
        return false;
    uint32_t i = lives->count++;
    lives->birth[i] = row->birth;
    lives->death[i] = row->death;
    lives->request[i] = row->request;
    lives->size[i] = row->size;
    lives->address[i] = row->address;
    lives->stack[i] = row->stack;
    lives->context[i] = row->context;
    lives->stream[i] = row->stream;
    lives->pool[i] = row->pool;
    lives->flags[i] = row->flags;
    return true;
}

static struct lives *lives_of(struct recorder *recorder, uint32_t reference) {
    return reference & BEFORE ? &recorder->before.lives : &recorder->later.lives;
}

/* ---- streams and pools ---- */

static struct arena *arena_of(struct recorder *recorder) {
    return &recorder->interner->trace->arena;
}

/* More streams than fit are counted as the last one; nobody has 65,535. */
static bool stream_index(struct recorder *recorder, uint64_t raw, uint16_t *index) {
    struct device_trace *device = &recorder->device;
    *index = 0;
    if (raw == 0)
        return true;
    uint32_t slot = map_slot_of(&recorder->streams, raw);
    if (slot != NOT_FOUND) {
        *index = (uint16_t)(recorder->streams.slot[slot].reference - 1);
        return true;
    }
    if (device->n_streams == MAX_STREAMS) {
        *index = MAX_STREAMS - 1;
        return true;
    }
    if (!ARENA_GROW(arena_of(recorder), device->streams, recorder->stream_capacity,
                    (uint64_t)device->n_streams + 1) ||
        !map_put(arena_of(recorder), &recorder->streams, raw, device->n_streams))
        return false;
    *index = (uint16_t)device->n_streams;
    device->streams[device->n_streams++] = raw;
    return true;
}

static bool pool_equal(struct pool_id a, struct pool_id b) {
    return a.first == b.first && a.second == b.second;
}

/* Pools are few and come in runs, so the last one is tried first. More than fit are "unknown". */
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
        if (!ARENA_GROW(arena_of(recorder), device->pools, recorder->pool_capacity, (uint64_t)i + 1))
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
    struct arena *arena = arena_of(recorder);
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

static const uint32_t FOREVER = UINT32_MAX; /* death and request until the end is known */

static void life_complete(struct recorder *recorder, uint32_t slot, uint32_t moment) {
    uint32_t reference = recorder->open.slot[slot].reference - 1;
    struct lives *lives = lives_of(recorder, reference);
    uint32_t i = reference & ~BEFORE;
    lives->death[i] = moment;
    recorder->n_unrequested += !(reference & BEFORE) && lives->request[i] == FOREVER;
    /* A completion that follows its request at once is the ordinary free, not a wait for another stream. */
    if (lives->request[i] == FOREVER || lives->request[i] + 1 >= moment)
        lives->request[i] = moment;
    map_remove(&recorder->open, slot);
}

/* Its address is allocated again although no free was recorded. */
static void life_reopen(struct recorder *recorder, uint32_t slot, uint32_t moment) {
    uint32_t reference = recorder->open.slot[slot].reference - 1;
    struct lives *lives = lives_of(recorder, reference);
    lives->death[reference & ~BEFORE] = moment;
    lives->flags[reference & ~BEFORE] |= LIFE_REOPENED;
    recorder->n_reopened++;
    map_remove(&recorder->open, slot);
}

static bool event_row(struct recorder *recorder, const struct event *event, struct life_row *row) {
    *row = (struct life_row){.death = FOREVER,
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
    uint32_t slot = map_slot_of(&recorder->open, event->address);
    if (slot != NOT_FOUND)
        life_reopen(recorder, slot, moment);
    struct life_row row;
    if (!event_row(recorder, event, &row))
        return false;
    row.birth = moment;
    uint32_t reference = recorder->later.lives.count;
    return lives_add(arena_of(recorder), &recorder->later, &row) &&
           map_put(arena_of(recorder), &recorder->open, event->address, reference);
}

/* A free of what was never allocated in the recording: it was there before. Its stack is all that is known.
 */
static bool record_orphan(struct recorder *recorder, const struct event *event, uint32_t moment,
                          bool completed) {
    struct life_row row;
    if (!event_row(recorder, event, &row))
        return false;
    row.flags = event->stack != 0 ? LIFE_STACK_OF_FREE : 0;
    row.request = moment;
    if (completed)
        row.death = moment;
    recorder->n_orphan_frees++;
    recorder->orphan_free_bytes += event->size;
    uint32_t reference = recorder->before.lives.count | BEFORE;
    return lives_add(arena_of(recorder), &recorder->before, &row) &&
           (completed || map_put(arena_of(recorder), &recorder->open, event->address, reference));
}

static bool record_free(struct recorder *recorder, const struct event *event, uint32_t moment,
                        bool completed) {
    uint32_t slot = map_slot_of(&recorder->open, event->address);
    if (slot == NOT_FOUND)
        return record_orphan(recorder, event, moment, completed);
    if (completed) {
        life_complete(recorder, slot, moment);
        return true;
    }
    uint32_t reference = recorder->open.slot[slot].reference - 1;
    uint32_t *request = &lives_of(recorder, reference)->request[reference & ~BEFORE];
    if (*request == FOREVER)
        *request = moment;
    return true;
}

static bool record_segment_change(struct recorder *recorder, const struct event *event,
                                  enum segment_change change) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(arena_of(recorder), device->segment_events, recorder->segment_event_capacity,
                    (uint64_t)device->n_segment_events + 1))
        return false;
    struct segment_event *row = &device->segment_events[device->n_segment_events++];
    *row = (struct segment_event){.event = device->n_events,
                                  .stack = event->stack,
                                  .address = event->address,
                                  .size = event->size,
                                  .change = (uint8_t)change};
    return stream_index(recorder, event->stream, &row->stream);
}

static bool record_oom(struct recorder *recorder, const struct event *event) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(arena_of(recorder), device->ooms, recorder->oom_capacity, (uint64_t)device->n_ooms + 1))
        return false;
    device->ooms[device->n_ooms++] = (struct oom_event){
        .event = device->n_events, .stack = event->stack, .size = event->size, .device_free = event->address};
    return true;
}

static bool record_snapshot(struct recorder *recorder, const struct event *event) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(arena_of(recorder), device->snapshots, recorder->snapshot_capacity,
                    (uint64_t)device->n_snapshots + 1))
        return false;
    device->snapshots[device->n_snapshots++] =
        (struct snapshot_event){.event = device->n_events, .size = event->size};
    return true;
}

/* Text for a live allocation; several add up, a line each. */
static bool record_annotate(struct recorder *recorder, const struct event *event) {
    uint32_t slot = map_slot_of(&recorder->open, event->address);
    struct trace *trace = recorder->interner->trace;
    uint32_t text = trace->contexts.context[event->context].user_metadata;
    if (slot == NOT_FOUND || text == 0)
        return true;
    uint32_t reference = recorder->open.slot[slot].reference - 1;
    uint32_t *context = &lives_of(recorder, reference)->context[reference & ~BEFORE];
    struct context merged = trace->contexts.context[*context];
    if (merged.user_metadata != 0) {
        uint32_t old_nbytes, new_nbytes, joined_nbytes;
        (void)trace_string(trace, merged.user_metadata, &old_nbytes);
        (void)trace_string(trace, text, &new_nbytes);
        joined_nbytes = old_nbytes + 1 + new_nbytes;
        void *joined = NULL;
        uint32_t capacity = 0;
        if (!arena_grow(&trace->arena, &joined, &capacity, joined_nbytes, 1))
            return false;
        bytes_copy(joined, trace_string(trace, merged.user_metadata, &old_nbytes), old_nbytes);
        ((uint8_t *)joined)[old_nbytes] = '\n';
        bytes_copy((uint8_t *)joined + old_nbytes + 1, trace_string(trace, text, &new_nbytes), new_nbytes);
        bool interned = intern_string(recorder->interner, joined, joined_nbytes, &text);
        arena_drop(&trace->arena, &joined);
        if (!interned)
            return false;
    }
    merged.user_metadata = text;
    return intern_context(recorder->interner, merged, context);
}

/* Times are kept for all events or for none; one without a time repeats the one before it. */
static bool record_time(struct recorder *recorder, const struct event *event) {
    struct device_trace *device = &recorder->device;
    if (!event->has_time && !recorder->has_times)
        return true;
    bool first = !recorder->has_times;
    recorder->has_times = true;
    if (!ARENA_GROW(arena_of(recorder), device->time_us, recorder->time_capacity,
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
    /* Moments are 32-bit and two above the last event must still be numbers. */
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
    struct life_row row;
    uint32_t reference = recorder->before.lives.count | BEFORE;
    return event_row(recorder, event, &row) && lives_add(arena_of(recorder), &recorder->before, &row) &&
           map_put(arena_of(recorder), &recorder->open, event->address, reference);
}

/* ---- final segments ---- */

bool recorder_segment(struct recorder *recorder, const struct segment *segment, uint64_t stream,
                      struct pool_id pool) {
    struct device_trace *device = &recorder->device;
    if (!ARENA_GROW(arena_of(recorder), device->segments, recorder->segment_capacity,
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
    if (!ARENA_GROW(arena_of(recorder), device->blocks, recorder->block_capacity,
                    (uint64_t)device->n_blocks + 1))
        return false;
    device->blocks[device->n_blocks++] = *block;
    device->segments[device->n_segments - 1].block_count++;
    return true;
}

/* ---- finish ---- */

/* Where recording skipped every completion, the request is the end. */
static void lives_end_at_request(struct recorder *recorder, struct lives *lives) {
    for (uint32_t i = 0; i < lives->count; i++) {
        if (lives->request[i] >= lives->death[i])
            continue;
        lives->death[i] = lives->request[i];
        if (lives->flags[i] & LIFE_REOPENED) {
            lives->flags[i] &= (uint8_t)~LIFE_REOPENED;
            recorder->n_reopened--;
        }
    }
}

/* What stands open at the end is there for good; an address stays in the open map until a block explains it.
 */
static void lives_close(struct lives *lives, uint32_t end) {
    for (uint32_t i = 0; i < lives->count; i++) {
        if (lives->death[i] == FOREVER)
            lives->death[i] = end;
        if (lives->request[i] > lives->death[i])
            lives->request[i] = lives->death[i];
    }
}

/* Ranks of the lives before the recording: file order of the blocks that still hold them, UINT32_MAX without
 * one. */
struct ranks {
    uint32_t *rank;
    uint32_t capacity;
};

static bool rank_set(struct recorder *recorder, struct ranks *ranks, uint32_t life, uint32_t rank) {
    uint32_t old = ranks->capacity;
    if (!ARENA_GROW(arena_of(recorder), ranks->rank, ranks->capacity, (uint64_t)life + 1))
        return false;
    for (uint32_t i = old; i < ranks->capacity; i++)
        ranks->rank[i] = UINT32_MAX;
    ranks->rank[life] = rank;
    return true;
}

/* A life that no event ended, or, where completions were skipped, one that a pending block shows to be still there. */
static bool block_fits(const struct recorder *recorder, const struct block *block, const struct lives *lives,
                       uint32_t life) {
    return lives->death[life] == recorder->device.n_events + 1 || block->state == BLOCK_PENDING_FREE;
}

static bool block_is_new(struct recorder *recorder, const struct segment *segment, uint32_t index,
                         struct ranks *ranks) {
    const struct block *block = &recorder->device.blocks[index];
    uint32_t end = recorder->device.n_events + 1;
    struct life_row row = {.death = end,
                           .request = block->state == BLOCK_PENDING_FREE ? 0 : end,
                           .stack = block->stack,
                           .size = block->requested_size,
                           .address = block->address,
                           .stream = segment->stream,
                           .pool = segment->pool,
                           .flags = LIFE_FROM_BLOCK};
    recorder->n_blocks_before++;
    recorder->blocks_before_bytes += row.size;
    return lives_add(arena_of(recorder), &recorder->before, &row) &&
           rank_set(recorder, ranks, recorder->before.lives.count - 1, index);
}

static bool block_explain(struct recorder *recorder, const struct segment *segment, uint32_t index,
                          struct ranks *ranks) {
    const struct block *block = &recorder->device.blocks[index];
    uint32_t slot = map_slot_of(&recorder->open, block->address);
    if (slot == NOT_FOUND)
        return block_is_new(recorder, segment, index, ranks);
    uint32_t reference = recorder->open.slot[slot].reference - 1;
    struct lives *lives = lives_of(recorder, reference);
    map_remove(&recorder->open, slot);
    if (!block_fits(recorder, block, lives, reference & ~BEFORE))
        return block_is_new(recorder, segment, index, ranks);
    lives->death[reference & ~BEFORE] = recorder->device.n_events + 1;
    return !(reference & BEFORE) || rank_set(recorder, ranks, reference & ~BEFORE, index);
}

static bool blocks_explain(struct recorder *recorder, struct ranks *ranks) {
    const struct device_trace *device = &recorder->device;
    for (uint32_t s = 0; s < device->n_segments; s++) {
        const struct segment *segment = &device->segments[s];
        for (uint32_t b = 0; b < segment->block_count; b++)
            if (device->blocks[segment->first_block + b].state != BLOCK_INACTIVE &&
                !block_explain(recorder, segment, segment->first_block + b, ranks))
                return false;
    }
    return true;
}

/* What the trace left open and no block explains: a race with another thread, or a lost free. */
static void open_count(struct recorder *recorder) {
    if (recorder->device.n_blocks == 0)
        return; /* recorded without blocks: nothing to compare with */
    for (uint32_t i = 0; recorder->open.mask != 0 && i <= recorder->open.mask; i++) {
        if (recorder->open.slot[i].reference == 0)
            continue;
        uint32_t reference = recorder->open.slot[i].reference - 1;
        struct lives *lives = lives_of(recorder, reference);
        uint32_t life = reference & ~BEFORE;
        if (lives->death[life] != recorder->device.n_events + 1)
            continue;
        lives->flags[life] |= LIFE_UNMATCHED_END;
        recorder->n_unmatched_end++;
        recorder->unmatched_end_bytes += lives->size[life];
    }
}

/* Bottom to top: what outlives the recording in the order of the blocks, the rest of that, then by falling
 * death, so that what is freed first lies on top and moves nothing. */
static uint64_t before_key(const struct lives *lives, const struct ranks *ranks, uint32_t life,
                           uint32_t end) {
    if (lives->death[life] == end)
        return life < ranks->capacity ? ranks->rank[life] : UINT32_MAX;
    return (UINT64_C(1) << 32) + (end - lives->death[life]);
}

static bool before_order(struct recorder *recorder, const struct ranks *ranks, struct sort_row **rows) {
    const struct lives *lives = &recorder->before.lives;
    struct sort_row *spare = NULL;
    uint32_t capacity = 0, spare_capacity = 0;
    if (!ARENA_GROW(arena_of(recorder), *rows, capacity, lives->count) ||
        !ARENA_GROW(arena_of(recorder), spare, spare_capacity, lives->count))
        return false;
    for (uint32_t i = 0; i < lives->count; i++)
        (*rows)[i] = (struct sort_row){before_key(lives, ranks, i, recorder->device.n_events + 1), i};
    sort_rows(*rows, spare, lives->count);
    ARENA_DROP(arena_of(recorder), spare);
    return true;
}

static void column_permute(uint8_t *to, const uint8_t *from, const struct sort_row *order, uint32_t count,
                           size_t item_nbytes) {
    for (uint32_t i = 0; i < count; i++)
        bytes_copy(to + i * item_nbytes, from + order[i].value * item_nbytes, item_nbytes);
}

/* Puts the lives of before the recording in front of the others. */
static bool lives_join(struct recorder *recorder, const struct ranks *ranks) {
    struct arena *arena = arena_of(recorder);
    struct lives *before = &recorder->before.lives, *later = &recorder->later.lives;
    struct sort_row *order = NULL;
    uint32_t n_before = before->count, n_later = later->count;
    if (n_before != 0 && !before_order(recorder, ranks, &order))
        return false;
    if (!lives_reserve(arena, &recorder->later, (uint64_t)n_before + n_later))
        return false;
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        uint8_t *column = *column_of(later, i);
        size_t item = columns[i].item_nbytes;
        if (n_before != 0) {
            bytes_move(column + n_before * item, column, n_later * item);
            column_permute(column, *column_of(before, i), order, n_before, item);
        }
        uint32_t capacity = recorder->later.capacity;
        arena_trim(arena, column_of(later, i), &capacity, n_before + n_later, item);
    }
    ARENA_DROP(arena, order);
    later->count = n_before + n_later;
    later->preexisting = n_before;
    recorder->device.lives = *later;
    lives_drop(arena, &recorder->before);
    return true;
}

static bool segments_are_private(const struct device_trace *device) {
    for (uint32_t i = 0; i < device->n_segments; i++)
        if (device->segments[i].pool > 1)
            return true;
    return false;
}

/* The final segments by address. Those that were made in the recording say nothing of what lay there before. */
struct final_segments {
    struct sort_row *rows;
    uint32_t *birth; /* moment, by place in `rows` */
    uint32_t count;
};

static bool final_segments_init(struct final_segments *final, struct recorder *recorder) {
    const struct device_trace *device = &recorder->device;
    struct arena *arena = arena_of(recorder);
    uint32_t n = device->n_segments;
    *final = (struct final_segments){.rows = arena_column(arena, (uint64_t)n * 2, sizeof *final->rows),
                                     .birth = arena_column(arena, n, sizeof *final->birth),
                                     .count = n};
    if (final->rows == NULL || final->birth == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        final->rows[i] = (struct sort_row){device->segments[i].address, i};
        final->birth[i] = 0;
    }
    sort_rows(final->rows, final->rows + n, n);
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        uint32_t at = sort_rows_seek(final->rows, final->count, event->address);
        if (event->change == SEGMENT_ALLOC && at != UINT32_MAX && final->rows[at].key == event->address)
            final->birth[at] = event->event + 1;
    }
    return true;
}

/* The pool of an allocation whose event did not name it: that of the final segment around its address. */
static bool pools_complete(struct recorder *recorder) {
    struct device_trace *device = &recorder->device;
    struct lives *lives = &device->lives;
    struct final_segments final;
    if (!segments_are_private(device))
        return true;
    if (!final_segments_init(&final, recorder))
        return false;
    for (uint32_t life = 0; life < lives->count; life++) {
        uint32_t at = sort_rows_seek(final.rows, final.count, lives->address[life]);
        if (lives->pool[life] != POOL_UNKNOWN || at == UINT32_MAX || lives->birth[life] < final.birth[at])
            continue;
        const struct segment *segment = &device->segments[final.rows[at].value];
        if (lives->address[life] - segment->address < segment->total_size)
            lives->pool[life] = segment->pool;
    }
    ARENA_DROP(arena_of(recorder), final.rows);
    ARENA_DROP(arena_of(recorder), final.birth);
    return true;
}

/* ---- diagnostics ---- */

static bool diagnose(struct recorder *recorder, const char *key, const uint64_t *numbers) {
    return trace_diagnose(recorder->interner->trace, key, recorder->device.ordinal, numbers);
}

/* A diagnostic of so many allocations or events and their bytes; none where there are none. */
static bool diagnose_count(struct recorder *recorder, const char *key, uint64_t count, uint64_t nbytes) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {count, nbytes};
    return count == 0 || diagnose(recorder, key, numbers);
}

/* A recording without events, or with one: what is shown is a state. */
static bool diagnose_history(struct recorder *recorder) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {recorder->device.n_events};
    bool empty = recorder->device.lives.count == 0;
    return numbers[0] > 1 || diagnose(recorder,
                                      empty             ? "empty_device"
                                      : numbers[0] == 0 ? "no_history"
                                                        : "one_event",
                                      numbers);
}

/* What the final segments say of the bytes that are in use: their own totals, or, before torch 2.0, the blocks'. */
static uint64_t segments_requested(const struct device_trace *device) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        nbytes += device->segments[i].requested_size;
    if (nbytes != 0)
        return nbytes;
    for (uint32_t i = 0; i < device->n_blocks; i++)
        nbytes += device->blocks[i].requested_size;
    return nbytes;
}

static bool diagnose_live_end(struct recorder *recorder) {
    const struct device_trace *device = &recorder->device;
    if (device->n_blocks == 0)
        return true; /* nothing to compare with */
    uint64_t wanted = segments_requested(device), live = 0;
    for (uint32_t i = 0; i < device->lives.count; i++)
        live += device->lives.death[i] == device->n_events + 1 ? device->lives.size[i] : 0;
    if (live == wanted)
        return true;
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {live, wanted};
    return diagnose(recorder, live > wanted ? "live_end_differs/more" : "live_end_differs/less", numbers);
}

static uint64_t segment_delta(const struct segment_event *event) {
    return event->change == SEGMENT_ALLOC || event->change == SEGMENT_MAP ? event->size : 0 - event->size;
}

/* How far the reserved bytes, walked back from the final segments, would fall below zero. */
static uint64_t reserved_shortfall(const struct device_trace *device) {
    uint64_t nbytes = 0;
    int64_t lowest = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        nbytes += device->segments[i].total_size;
    for (uint32_t i = device->n_segment_events; i-- > 0;) {
        nbytes -= segment_delta(&device->segment_events[i]);
        lowest = (int64_t)nbytes < lowest ? (int64_t)nbytes : lowest;
    }
    return 0 - (uint64_t)lowest;
}

static bool diagnose_reserved(struct recorder *recorder) {
    const struct device_trace *device = &recorder->device;
    if (device->n_segments == 0 && device->n_segment_events != 0)
        return diagnose(recorder, "reserved_shift/unknown", NULL);
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {reserved_shortfall(device)};
    return numbers[0] == 0 || diagnose(recorder, "reserved_shift", numbers);
}

static bool recorder_doubt(struct recorder *recorder) {
    const struct free_counts frees = {recorder->n_of_action[ACTION_FREE_REQUESTED],
                                      recorder->n_of_action[ACTION_FREE_COMPLETED], recorder->n_unrequested};
    return doubts_diagnose(recorder->interner->trace, &recorder->device, &frees);
}

static bool recorder_diagnose(struct recorder *recorder) {
    return diagnose_history(recorder) && diagnose_live_end(recorder) && diagnose_reserved(recorder) &&
           diagnose_count(recorder, "orphan_frees", recorder->n_orphan_frees, recorder->orphan_free_bytes) &&
           diagnose_count(recorder, "baseline_blocks", recorder->n_blocks_before,
                          recorder->blocks_before_bytes) &&
           diagnose_count(recorder, "reopened_addresses", recorder->n_reopened, 0) &&
           diagnose_count(recorder, "unmatched_end", recorder->n_unmatched_end,
                          recorder->unmatched_end_bytes) &&
           diagnose_count(recorder, "unknown_actions", recorder->n_of_action[ACTION_UNKNOWN], 0) &&
           recorder_doubt(recorder);
}

static void device_hand_over(struct recorder *recorder, struct device_trace *device) {
    struct arena *arena = arena_of(recorder);
    ARENA_DROP(arena, recorder->open.slot);
    ARENA_DROP(arena, recorder->streams.slot);
    ARENA_TRIM(arena, recorder->device.time_us, recorder->time_capacity, recorder->device.n_events);
    *device = recorder->device;
    *recorder = (struct recorder){0};
}

bool recorder_finish(struct recorder *recorder, struct device_trace *device) {
    struct ranks ranks = {0};
    uint32_t end = recorder->device.n_events + 1;
    if (recorder->n_of_action[ACTION_FREE_COMPLETED] == 0 &&
        recorder->n_of_action[ACTION_FREE_REQUESTED] != 0) {
        lives_end_at_request(recorder, &recorder->before.lives);
        lives_end_at_request(recorder, &recorder->later.lives);
    }
    lives_close(&recorder->before.lives, end);
    lives_close(&recorder->later.lives, end);
    bool done = blocks_explain(recorder, &ranks);
    if (done) {
        open_count(recorder);
        done = lives_join(recorder, &ranks) && pools_complete(recorder) && recorder_diagnose(recorder);
    }
    ARENA_DROP(arena_of(recorder), ranks.rank);
    if (done)
        device_hand_over(recorder, device);
    return done;
}
