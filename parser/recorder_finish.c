#include "base/bytes.h"
#include "base/sort.h"
#include "parser/doubts.h"
#include "parser/made_text.h"
#include "parser/recorder_internal.h"

/* ---- finish ---- */

/* If no completion was recorded, the request is the end. */
static void allocations_end_at_request(struct recorder *recorder, struct allocations *allocations) {
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (allocations->request[i] >= allocations->death[i])
            continue;
        allocations->death[i] = allocations->request[i];
        if (allocations->flags[i] & ALLOCATION_REOPENED) {
            allocations->flags[i] &= (uint8_t)~ALLOCATION_REOPENED;
            recorder->n_reopened--;
        }
    }
}

/* Allocations open at the end stay alive; an address stays in the open map until a block explains it. */
static void allocations_close(struct allocations *allocations, uint32_t end) {
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (allocations->death[i] == FOREVER)
            allocations->death[i] = end;
        if (allocations->request[i] > allocations->death[i])
            allocations->request[i] = allocations->death[i];
    }
}

/* For allocations from before the recording: the index of the block that still holds one; UINT32_MAX: none does. */
struct ranks {
    uint32_t *rank;
    uint32_t capacity;
};

static bool rank_set(struct recorder *recorder, struct ranks *ranks, uint32_t allocation, uint32_t rank) {
    uint32_t old = ranks->capacity;
    if (!ARENA_GROW(recorder_arena(recorder), ranks->rank, ranks->capacity, (uint64_t)allocation + 1))
        return false;
    for (uint32_t i = old; i < ranks->capacity; i++)
        ranks->rank[i] = UINT32_MAX;
    ranks->rank[allocation] = rank;
    return true;
}

/* Does a block hold this allocation? It must be one that no event ended or, if completions were not recorded, one
 * that a pending block still holds. */
static bool block_fits(const struct recorder *recorder, const struct block *block,
                       const struct allocations *allocations, uint32_t allocation) {
    return allocations->death[allocation] == recorder->device.n_events + 1 ||
           block->state == BLOCK_PENDING_FREE;
}

static bool block_is_new(struct recorder *recorder, const struct segment *segment, uint32_t index,
                         struct ranks *ranks) {
    const struct block *block = &recorder->device.blocks[index];
    uint32_t end = recorder->device.n_events + 1;
    struct allocation_row row = {.death = end,
                                 .request = block->state == BLOCK_PENDING_FREE ? 0 : end,
                                 .stack = block->stack,
                                 .size = block->requested_size,
                                 .address = block->address,
                                 .stream = segment->stream,
                                 .pool = segment->pool,
                                 .flags = ALLOCATION_FROM_BLOCK};
    recorder->n_blocks_before++;
    recorder->blocks_before_bytes += row.size;
    return allocations_add(recorder_arena(recorder), &recorder->before, &row) &&
           rank_set(recorder, ranks, recorder->before.allocations.count - 1, index);
}

static bool block_explain(struct recorder *recorder, const struct segment *segment, uint32_t index,
                          struct ranks *ranks) {
    const struct block *block = &recorder->device.blocks[index];
    uint32_t slot = key_map_find(&recorder->open, block->address);
    if (slot == KEY_NOT_FOUND)
        return block_is_new(recorder, segment, index, ranks);
    uint32_t reference = recorder->open.slot[slot].number - 1;
    struct allocations *allocations = allocations_of(recorder, reference);
    key_map_remove(&recorder->open, slot);
    if (!block_fits(recorder, block, allocations, reference & ~BEFORE))
        return block_is_new(recorder, segment, index, ranks);
    allocations->death[reference & ~BEFORE] = recorder->device.n_events + 1;
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

/* Counts allocations left open that no block explains: a race with another thread, or a lost free. */
static void open_count(struct recorder *recorder) {
    if (recorder->device.n_blocks == 0)
        return; /* recorded without blocks: nothing to compare with */
    for (uint32_t i = 0; recorder->open.mask != 0 && i <= recorder->open.mask; i++) {
        if (recorder->open.slot[i].number == 0)
            continue;
        uint32_t reference = recorder->open.slot[i].number - 1;
        struct allocations *allocations = allocations_of(recorder, reference);
        uint32_t allocation = reference & ~BEFORE;
        if (allocations->death[allocation] != recorder->device.n_events + 1)
            continue;
        allocations->flags[allocation] |= ALLOCATION_UNMATCHED_END;
        recorder->n_unmatched_end++;
        recorder->unmatched_end_bytes += allocations->size[allocation];
    }
}

/* The order from bottom to top: allocations that outlive the recording, in the order of their blocks and then those
 * without one, then the others by falling death, so that the first to be freed lies on top and moves nothing. */
static uint64_t before_key(const struct allocations *allocations, const struct ranks *ranks,
                           uint32_t allocation, uint32_t end) {
    if (allocations->death[allocation] == end)
        return allocation < ranks->capacity ? ranks->rank[allocation] : UINT32_MAX;
    return (UINT64_C(1) << 32) + (end - allocations->death[allocation]);
}

static bool before_order(struct recorder *recorder, const struct ranks *ranks, struct sort_row **rows) {
    const struct allocations *allocations = &recorder->before.allocations;
    struct sort_row *spare = NULL;
    uint32_t capacity = 0, spare_capacity = 0;
    if (!ARENA_GROW(recorder_arena(recorder), *rows, capacity, allocations->count) ||
        !ARENA_GROW(recorder_arena(recorder), spare, spare_capacity, allocations->count))
        return false;
    for (uint32_t i = 0; i < allocations->count; i++)
        (*rows)[i] = (struct sort_row){before_key(allocations, ranks, i, recorder->device.n_events + 1), i};
    sort_rows(*rows, spare, allocations->count);
    ARENA_DROP(recorder_arena(recorder), spare);
    return true;
}

/* Moves `n_later` items up and puts those of `before` in front, in order. */
static void column_join(void *later, uint32_t n_later, const void *before, const struct sort_row *order,
                        uint32_t n_before, size_t item_nbytes) {
    uint8_t *to = later;
    const uint8_t *from = before;
    if (n_before == 0)
        return;
    bytes_move(to + n_before * item_nbytes, to, n_later * item_nbytes);
    for (uint32_t i = 0; i < n_before; i++)
        bytes_copy(to + i * item_nbytes, from + order[i].value * item_nbytes, item_nbytes);
}

/* Puts the allocations from before the recording in front of the others. */
static bool allocations_join(struct recorder *recorder, const struct ranks *ranks) {
    struct arena *arena = recorder_arena(recorder);
    struct allocations *before = &recorder->before.allocations, *later = &recorder->later.allocations;
    struct sort_row *order = NULL;
    uint32_t n_before = before->count, n_later = later->count;
    if (n_before != 0 && !before_order(recorder, ranks, &order))
        return false;
    if (!allocations_reserve(arena, &recorder->later, (uint64_t)n_before + n_later))
        return false;
    uint32_t capacity = 0;
#define COLUMN_JOIN(name)                                                                                  \
    column_join(later->name, n_later, before->name, order, n_before, sizeof *later->name);                 \
    capacity =                                                                                             \
        recorder->later.capacity; /* trimming changes one capacity, but all columns start with this one */ \
    ARENA_TRIM(arena, later->name, capacity, n_before + n_later);
    ALLOCATIONS_EACH_COLUMN(COLUMN_JOIN)
#undef COLUMN_JOIN
    ARENA_DROP(arena, order);
    later->count = n_before + n_later;
    later->preexisting = n_before;
    recorder->device.allocations = *later;
    allocations_drop(arena, &recorder->before);
    return true;
}

static bool segments_are_private(const struct device_trace *device) {
    for (uint32_t i = 0; i < device->n_segments; i++)
        if (device->segments[i].pool > 1)
            return true;
    return false;
}

/* The final segments by address. One that was made in the recording says nothing about earlier allocations there. */
struct final_segments {
    struct sort_row *rows;
    uint32_t *birth; /* moment, by index in `rows` */
    uint32_t count;
};

static bool final_segments_init(struct final_segments *final, struct recorder *recorder) {
    const struct device_trace *device = &recorder->device;
    struct arena *arena = recorder_arena(recorder);
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

/* Gives allocations whose event named no pool that of the final segment around their address. */
static bool pools_complete(struct recorder *recorder) {
    struct device_trace *device = &recorder->device;
    struct allocations *allocations = &device->allocations;
    struct final_segments final;
    if (!segments_are_private(device))
        return true;
    if (!final_segments_init(&final, recorder))
        return false;
    for (uint32_t allocation = 0; allocation < allocations->count; allocation++) {
        uint32_t at = sort_rows_seek(final.rows, final.count, allocations->address[allocation]);
        if (allocations->pool[allocation] != POOL_UNKNOWN || at == UINT32_MAX ||
            allocations->birth[allocation] < final.birth[at])
            continue;
        const struct segment *segment = &device->segments[final.rows[at].value];
        if (allocations->address[allocation] - segment->address < segment->total_size)
            allocations->pool[allocation] = segment->pool;
    }
    ARENA_DROP(recorder_arena(recorder), final.rows, final.birth);
    return true;
}

/* ---- diagnostics ---- */

static bool diagnose(struct recorder *recorder, const char *key, const uint64_t *numbers) {
    return trace_diagnose(recorder->interner->trace, key, recorder->device.ordinal, numbers);
}

/* Adds a diagnostic with a count of allocations or events and their bytes, unless the count is 0. */
static bool diagnose_count(struct recorder *recorder, const char *key, uint64_t count, uint64_t nbytes) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {count, nbytes};
    return count == 0 || diagnose(recorder, key, numbers);
}

/* Notes a recording with at most one event: the picture shows a state. */
static bool diagnose_history(struct recorder *recorder) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {recorder->device.n_events};
    bool empty = recorder->device.allocations.count == 0;
    return numbers[0] > 1 || recorder->interner->trace->kind == TRACE_LOG ||
           diagnose(recorder,
                    empty             ? "empty_device"
                    : numbers[0] == 0 ? "no_history"
                                      : "one_event",
                    numbers);
}

/* Bytes in use in the final segments: their own totals or, before torch 2.0, those of their blocks. */
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
    for (uint32_t i = 0; i < device->allocations.count; i++)
        live += device->allocations.death[i] == device->n_events + 1 ? device->allocations.size[i] : 0;
    if (live == wanted)
        return true;
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {live, wanted};
    return diagnose(recorder, live > wanted ? "live_end_differs/more" : "live_end_differs/less", numbers);
}

/* The most by which the reserved bytes, computed backwards from the final segments, would fall below zero. */
static uint64_t reserved_shortfall(const struct device_trace *device) {
    uint64_t nbytes = 0;
    int64_t lowest = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        nbytes += device->segments[i].total_size;
    for (uint32_t i = device->n_segment_events; i-- > 0;) {
        nbytes -= segment_event_delta(&device->segment_events[i]);
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
    const struct event_sums sums = {recorder->n_of_action[ACTION_FREE_REQUESTED],
                                    recorder->n_of_action[ACTION_FREE_COMPLETED], recorder->n_unrequested,
                                    recorder->rise};
    return doubts_diagnose(recorder->interner->trace, &recorder->device, &sums);
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
    struct arena *arena = recorder_arena(recorder);
    ARENA_DROP(arena, recorder->open.slot, recorder->streams.slot);
    ARENA_TRIM(arena, recorder->device.time_us, recorder->time_capacity, recorder->device.n_events);
    *device = recorder->device;
    *recorder = (struct recorder){0};
}

/* ---- texts of annotate ---- */

/* Appends a text as a line of `joined`, up to the length that a name may have. The new length. */
static uint32_t line_add(uint8_t joined[FRAME_TEXT_MAX_NBYTES], uint32_t nbytes, struct text text) {
    if (nbytes != 0 && nbytes < FRAME_TEXT_MAX_NBYTES)
        joined[nbytes++] = '\n';
    uint32_t n = text.nbytes < FRAME_TEXT_MAX_NBYTES - nbytes ? text.nbytes : FRAME_TEXT_MAX_NBYTES - nbytes;
    while (n != 0 && n < text.nbytes && (text.at[n] & 0xC0) == 0x80) /* not inside of a character */
        n--;
    bytes_copy(joined + nbytes, text.at, n);
    return nbytes + n;
}

/* Gives an allocation the lines of its texts, `row[i].value` in `noted`. The file may repeat a text by reference, so
 * `*left` bytes are the most that lines may add up to; beyond it, the first text stays alone, and the others are
 * counted. */
static bool lines_join(struct recorder *recorder, const struct sort_row *row, uint32_t count, uint64_t *left,
                       uint64_t *n_left_out) {
    struct trace *trace = recorder->interner->trace;
    uint32_t reference = (uint32_t)row->key;
    uint32_t *context = &allocations_of(recorder, reference)->context[reference & ~BEFORE];
    struct context own = trace->contexts.context[*context];
    uint8_t joined[FRAME_TEXT_MAX_NBYTES];
    bool several = count > 1 || own.user_metadata != 0;
    if (!several || *left < FRAME_TEXT_MAX_NBYTES) {
        *n_left_out += count - (own.user_metadata == 0);
        own.user_metadata = own.user_metadata != 0 ? own.user_metadata : recorder->noted[row->value].text;
        return intern_context(recorder->interner, own, context);
    }
    uint32_t nbytes = line_add(joined, 0, trace_text(trace, own.user_metadata));
    for (uint32_t i = 0; i < count && nbytes < FRAME_TEXT_MAX_NBYTES; i++)
        nbytes = line_add(joined, nbytes, trace_text(trace, recorder->noted[row[i].value].text));
    *left -= nbytes;
    return intern_string(recorder->interner, joined, nbytes, &own.user_metadata) &&
           intern_context(recorder->interner, own, context);
}

/* Each allocation's texts are joined once, at the end: one after the other they would take a new string for each. */
static bool noted_join(struct recorder *recorder) {
    struct arena *arena = recorder_arena(recorder);
    struct sort_row *row, *spare;
    /* An event takes at least as many bytes of the file. */
    uint64_t left = MADE_TEXT_NBYTES + UINT64_C(16) * MADE_TEXT_SHARE * recorder->n_noted;
    uint64_t numbers[DIAGNOSTIC_NUMBERS] = {0, MADE_TEXT_NBYTES, MADE_TEXT_SHARE};
    if (recorder->n_noted == 0)
        return true;
    bool done = ARENA_COLUMNS(arena, recorder->n_noted, row, spare);
    if (done)
        SORT_BY(row, spare, recorder->n_noted, i, recorder->noted[i].reference);
    for (uint32_t i = 0, end; done && i < recorder->n_noted; i = end) {
        end = sort_rows_end(row, recorder->n_noted, i);
        done = lines_join(recorder, row + i, end - i, &left, &numbers[0]);
    }
    ARENA_DROP(arena, row, spare, recorder->noted);
    return done && (numbers[0] == 0 || trace_diagnose(recorder->interner->trace, "texts_left_out",
                                                      recorder->device.ordinal, numbers));
}

bool recorder_finish(struct recorder *recorder, struct device_trace *device) {
    struct ranks ranks = {0};
    uint32_t end = recorder->device.n_events + 1;
    if (recorder->n_of_action[ACTION_FREE_COMPLETED] == 0 &&
        recorder->n_of_action[ACTION_FREE_REQUESTED] != 0) {
        allocations_end_at_request(recorder, &recorder->before.allocations);
        allocations_end_at_request(recorder, &recorder->later.allocations);
    }
    allocations_close(&recorder->before.allocations, end);
    allocations_close(&recorder->later.allocations, end);
    bool done = noted_join(recorder) && blocks_explain(recorder, &ranks);
    if (done) {
        open_count(recorder);
        done = allocations_join(recorder, &ranks) && pools_complete(recorder) && recorder_diagnose(recorder);
    }
    ARENA_DROP(recorder_arena(recorder), ranks.rank);
    if (done)
        device_hand_over(recorder, device);
    return done;
}
