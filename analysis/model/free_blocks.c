#include "analysis/model/free_blocks.h"

#include "base/numbers.h"
#include "base/search.h"
#include "base/sort.h"

const uint64_t free_block_size_limit[FREE_BLOCK_SIZES - 1] = {MIB, 10 * MIB, 100 * MIB, 1024 * MIB,
                                                              10240 * MIB};

static uint32_t size_class(uint64_t bytes) {
    uint32_t i = 0;
    while (i < FREE_BLOCK_SIZES - 1 && bytes >= free_block_size_limit[i])
        i++;
    return i;
}

static void block_add(struct free_blocks *free_blocks, const struct block *block) {
    free_blocks->reserved_bytes += block->size;
    if (block->state == BLOCK_INACTIVE) {
        free_blocks->free_bytes += block->size;
        free_blocks->n_free_blocks++;
        if (block->size > free_blocks->largest_bytes)
            free_blocks->largest_bytes = block->size;
        return;
    }
    *(block->state == BLOCK_ALLOCATED ? &free_blocks->used_bytes : &free_blocks->pending_bytes) +=
        block->size;
    free_blocks->requested_bytes += block->requested_size;
}

/* The sums of one segment. Bytes that its blocks leave out (in a contradictory file) are free, but not a block. */
static struct free_blocks free_blocks_of_segment(const struct device_trace *device,
                                                 const struct segment *segment) {
    struct free_blocks free_blocks = {.n_segments = 1};
    for (uint32_t i = 0; i < segment->block_count; i++)
        block_add(&free_blocks, &device->blocks[segment->first_block + i]);
    if (free_blocks.reserved_bytes < segment->total_size)
        free_blocks.free_bytes += segment->total_size - free_blocks.reserved_bytes;
    free_blocks.reserved_bytes = free_blocks.used_bytes + free_blocks.pending_bytes + free_blocks.free_bytes;
    if (free_blocks.used_bytes == 0 && free_blocks.pending_bytes == 0) {
        free_blocks.empty_bytes = free_blocks.reserved_bytes;
        free_blocks.n_empty = 1;
    }
    return free_blocks;
}

static void free_blocks_add(struct free_blocks *sum, const struct free_blocks *more) {
    sum->reserved_bytes += more->reserved_bytes;
    sum->used_bytes += more->used_bytes;
    sum->pending_bytes += more->pending_bytes;
    sum->requested_bytes += more->requested_bytes;
    sum->free_bytes += more->free_bytes;
    sum->empty_bytes += more->empty_bytes;
    sum->n_segments += more->n_segments;
    sum->n_free_blocks += more->n_free_blocks;
    sum->n_empty += more->n_empty;
    if (more->largest_bytes > sum->largest_bytes)
        sum->largest_bytes = more->largest_bytes;
}

static uint64_t group_order(const struct free_blocks_group *group) {
    return (uint64_t)group->pool << 32 | (uint64_t)group->stream << 1 | group->small;
}

/* Joins groups of single segments or extents into one per pool, stream and class. False: no memory. */
static bool groups_fold(struct free_blocks_summary *summary, struct arena *arena) {
    size_t n = (size_t)summary->n_groups + 1;
    struct free_blocks_group *each = summary->groups;
    struct sort_row *rows = arena_alloc(arena, n * 2 * sizeof *rows);
    summary->groups = arena_alloc(arena, n * sizeof *summary->groups);
    if (rows == NULL || summary->groups == NULL)
        return false;
    uint32_t count = summary->n_groups;
    SORT_BY(rows, rows + n, count, i, group_order(&each[i]));
    summary->n_groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct free_blocks_group *own = &each[rows[i].value];
        if (i == 0 || rows[i].key != rows[i - 1].key)
            summary->groups[summary->n_groups++] = *own;
        else
            free_blocks_add(&summary->groups[summary->n_groups - 1].free_blocks, &own->free_blocks);
    }
    return true;
}

static void group_add(struct free_blocks_summary *summary, uint16_t pool, uint16_t stream, bool small,
                      struct free_blocks free_blocks) {
    summary->groups[summary->n_groups++] = (struct free_blocks_group){pool, stream, small, free_blocks};
    free_blocks_add(&summary->all, &free_blocks);
}

static void sizes_add(struct free_blocks_summary *summary, const struct device_trace *device) {
    for (uint32_t i = 0; i < device->n_blocks; i++) {
        if (device->blocks[i].state != BLOCK_INACTIVE)
            continue;
        uint32_t class = size_class(device->blocks[i].size);
        summary->count_of_size[class]++;
        summary->bytes_of_size[class] += device->blocks[i].size;
    }
}

bool free_blocks_find(struct free_blocks_summary *summary, const struct device_trace *device,
                      struct arena *arena) {
    *summary = (struct free_blocks_summary){
        .groups = arena_alloc(arena, (device->n_segments + (size_t)1) * sizeof *summary->groups)};
    if (summary->groups == NULL)
        return false;
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[i];
        group_add(summary, segment->pool, segment->stream, (segment->flags & SEGMENT_SMALL) != 0,
                  free_blocks_of_segment(device, segment));
    }
    sizes_add(summary, device);
    return groups_fold(summary, arena);
}

enum { GRAIN = 512 }; /* the allocator rounds requests up to this */

/* Have segments changed since? Allocations made and freed in between do not matter, because their blocks are joined
 * with their neighbours again. */
static bool changed_since(const struct device_trace *device, uint32_t moment) {
    const struct allocations *allocations = &device->allocations;
    uint32_t n = device->n_segment_events;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (allocation_is_alive(allocations, i, moment) != (allocations->death[i] > device->n_events))
            return true;
    return n != 0 && device->segment_events[n - 1].event >= moment;
}

/*
 * Finds the memory that was reserved at the moment: for each piece of the address space the first segment event
 * since then tells. Mapped or allocated: it was not there. Given back: it was. No event: it is as in the final
 * segments.
 *
 *     final segments   |-------- 1 --------|
 *     events since            |== map ==|       |== free ==|
 *     pieces           |  1   |    -    |1 |    |  event   |
 */
struct pieces {
    uint64_t *edge;  /* [count + 1], rising: piece i is [edge[i], edge[i + 1]) */
    uint32_t *owner; /* [count] 0: none; 1 + a segment; 1 + n_segments + a segment event */
    uint32_t *next;  /* [count + 1] the first piece from here on without an owner, or a step towards it */
    uint32_t count;
};

struct range {
    uint64_t from, to;
};

static struct range range_of(uint64_t address, uint64_t size) {
    return (struct range){address, size < UINT64_MAX - address ? address + size : UINT64_MAX};
}

static struct range range_of_segment(const struct segment *segment) {
    return range_of(segment->address, segment->total_size);
}

static struct range range_of_event(const struct segment_event *event) {
    return range_of(event->address, event->size);
}

static uint32_t first_event_since(const struct device_trace *device, uint32_t moment) {
    uint32_t first = device->n_segment_events;
    while (first > 0 && device->segment_events[first - 1].event >= moment)
        first--;
    return first;
}

static bool pieces_init(struct pieces *pieces, uint64_t n_ranges, struct arena *arena,
                        struct sort_row **rows) {
    uint64_t n = n_ranges * 2 + 2;
    *rows = arena_column(arena, n * 2, sizeof **rows); /* the second half is for the sort */
    return ARENA_COLUMNS(arena, n, pieces->edge, pieces->owner, pieces->next) && *rows != NULL &&
           n <= UINT32_MAX;
}

static uint32_t range_edges(struct sort_row *rows, uint32_t n, struct range range) {
    rows[n] = (struct sort_row){range.from, 0};
    rows[n + 1] = (struct sort_row){range.to, 0};
    return n + 2;
}

static void pieces_cut(struct pieces *pieces, struct sort_row *rows, uint32_t n) {
    uint32_t n_edges = 0;
    sort_rows(rows, rows + n, n);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || rows[i].key != rows[i - 1].key)
            pieces->edge[n_edges++] = rows[i].key;
    pieces->count = n_edges == 0 ? 0 : n_edges - 1;
    for (uint32_t i = 0; i <= pieces->count; i++) {
        pieces->next[i] = i;
        pieces->owner[i] = 0;
    }
}

static uint32_t piece_at(const struct pieces *pieces, uint64_t address) {
    return SEARCH(0, pieces->count, i, pieces->edge[i] < address);
}

static uint32_t piece_free_from(struct pieces *pieces, uint32_t piece) {
    uint32_t *next = pieces->next;
    while (next[piece] != piece) {
        next[piece] = next[next[piece]];
        piece = next[piece];
    }
    return piece;
}

/* The first claim on a piece counts. */
static void pieces_claim(struct pieces *pieces, struct range range, uint32_t owner) {
    uint32_t end = piece_at(pieces, range.to);
    for (uint32_t i = piece_free_from(pieces, piece_at(pieces, range.from)); i < end;
         i = piece_free_from(pieces, i)) {
        pieces->owner[i] = owner;
        pieces->next[i] = i + 1;
    }
}

/* False: no memory. */
static bool pieces_find(struct pieces *pieces, const struct device_trace *device, uint32_t moment,
                        struct arena *arena) {
    uint32_t first = first_event_since(device, moment), n = 0;
    struct sort_row *rows;
    if (!pieces_init(pieces, (uint64_t)device->n_segments + device->n_segment_events - first, arena, &rows))
        return false;
    for (uint32_t i = first; i < device->n_segment_events; i++)
        n = range_edges(rows, n, range_of_event(&device->segment_events[i]));
    for (uint32_t i = 0; i < device->n_segments; i++)
        n = range_edges(rows, n, range_of_segment(&device->segments[i]));
    pieces_cut(pieces, rows, n);
    for (uint32_t i = first; i < device->n_segment_events; i++)
        pieces_claim(pieces, range_of_event(&device->segment_events[i]), 1 + device->n_segments + i);
    for (uint32_t i = 0; i < device->n_segments; i++)
        pieces_claim(pieces, range_of_segment(&device->segments[i]), 1 + i);
    return true;
}

/* Reserved memory in which adjacent free blocks join. */
struct extent {
    struct range range;
    uint32_t owner;
    uint16_t pool, stream;
    bool small, expandable;
};

/* False: it was not reserved. */
static bool extent_of_piece(struct extent *extent, const struct pieces *pieces, uint32_t piece,
                            const struct device_trace *device) {
    uint32_t owner = pieces->owner[piece];
    *extent = (struct extent){.range = {pieces->edge[piece], pieces->edge[piece + 1]}, .owner = owner};
    if (owner == 0)
        return false;
    if (owner <= device->n_segments) {
        const struct segment *segment = &device->segments[owner - 1];
        extent->pool = segment->pool;
        extent->stream = segment->stream;
        extent->small = (segment->flags & SEGMENT_SMALL) != 0;
        extent->expandable = (segment->flags & SEGMENT_EXPANDABLE) != 0;
        return true;
    }
    const struct segment_event *event = &device->segment_events[owner - 1 - device->n_segments];
    extent->pool = POOL_UNKNOWN;
    extent->stream = event->stream;
    extent->small = event->size <= 2 * MIB; /* segments for small requests have this size */
    extent->expandable = event->change == SEGMENT_UNMAP;
    return event->change == SEGMENT_FREE || event->change == SEGMENT_UNMAP;
}

/* Adds the next piece, if free blocks of both would join. */
static bool extent_join(struct extent *extent, const struct extent *next) {
    bool one = extent->expandable && next->expandable && extent->stream == next->stream;
    if (extent->range.to != next->range.from || (extent->owner != next->owner && !one))
        return false;
    extent->range.to = next->range.to;
    if (extent->pool == POOL_UNKNOWN) { /* the rest of an expandable segment tells its pool */
        extent->pool = next->pool;
        extent->small = next->small;
    }
    return true;
}

/* Allocations that are alive at the moment, by address. NULL: no memory. */
static struct sort_row *alive_sorted(const struct device_trace *device, uint32_t moment, struct arena *arena,
                                     uint32_t *count) {
    const struct allocations *allocations = &device->allocations;
    uint32_t n = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        n += allocation_is_alive(allocations, i, moment);
    struct sort_row *rows = arena_alloc(arena, ((size_t)n + 1) * 2 * sizeof *rows);
    *count = 0;
    if (rows == NULL)
        return NULL;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (allocation_is_alive(allocations, i, moment))
            rows[(*count)++] = (struct sort_row){allocations->address[i], i};
    sort_rows(rows, rows + n, n);
    return rows;
}

/* The state of a sweep over the addresses. */
struct sweep {
    struct free_blocks_summary *summary;
    const struct allocations *allocations;
    const struct sort_row *alive;
    uint32_t n_alive, next, moment;
};

static void gap_add(struct free_blocks_summary *summary, struct free_blocks *free_blocks, uint64_t bytes) {
    if (bytes < GRAIN)
        return;
    free_blocks->free_bytes += bytes;
    free_blocks->n_free_blocks++;
    if (bytes > free_blocks->largest_bytes)
        free_blocks->largest_bytes = bytes;
    summary->count_of_size[size_class(bytes)]++;
    summary->bytes_of_size[size_class(bytes)] += bytes;
}

/* The sums of one extent. */
static struct free_blocks free_blocks_of_extent(struct sweep *sweep, const struct extent *extent) {
    const struct allocations *allocations = sweep->allocations;
    const struct sort_row *alive = sweep->alive;
    uint64_t at = extent->range.from, end = extent->range.to, reserved = end - at;
    struct free_blocks free_blocks = {.n_segments = 1, .reserved_bytes = reserved};
    while (sweep->next < sweep->n_alive && alive[sweep->next].key < at)
        sweep->next++;
    for (; sweep->next < sweep->n_alive && alive[sweep->next].key < end; sweep->next++) {
        uint64_t begin = alive[sweep->next].key, size = allocations->size[alive[sweep->next].value];
        uint64_t room = end - begin, rounded = size < room ? (size + GRAIN - 1) / GRAIN * GRAIN : room;
        gap_add(sweep->summary, &free_blocks, begin > at ? begin - at : 0);
        at = begin + rounded > at ? begin + rounded : at;
        free_blocks.requested_bytes += size;
        bool pending = allocations->request[alive[sweep->next].value] <= sweep->moment;
        *(pending ? &free_blocks.pending_bytes : &free_blocks.used_bytes) += rounded;
    }
    gap_add(sweep->summary, &free_blocks, end > at ? end - at : 0);
    free_blocks.n_empty = free_blocks.requested_bytes == 0;
    free_blocks.empty_bytes = free_blocks.n_empty != 0 ? reserved : 0;
    return free_blocks;
}

static void extent_add(struct sweep *sweep, const struct extent *extent) {
    group_add(sweep->summary, extent->pool, extent->stream, extent->small,
              free_blocks_of_extent(sweep, extent));
}

static void pieces_sweep(struct sweep *sweep, const struct pieces *pieces,
                         const struct device_trace *device) {
    struct extent open, own;
    bool is_open = false;
    for (uint32_t i = 0; i < pieces->count; i++) {
        if (!extent_of_piece(&own, pieces, i, device) || (is_open && extent_join(&open, &own)))
            continue;
        if (is_open)
            extent_add(sweep, &open);
        open = own;
        is_open = true;
    }
    if (is_open)
        extent_add(sweep, &open);
}

static bool gaps_find(struct free_blocks_summary *summary, const struct device_trace *device, uint32_t moment,
                      struct arena *arena) {
    struct pieces pieces;
    struct sweep sweep = {.summary = summary, .allocations = &device->allocations, .moment = moment};
    *summary = (struct free_blocks_summary){0};
    sweep.alive = alive_sorted(device, moment, arena, &sweep.n_alive);
    if (sweep.alive == NULL || !pieces_find(&pieces, device, moment, arena))
        return false;
    summary->groups = arena_alloc(arena, (pieces.count + (size_t)1) * sizeof *summary->groups);
    if (summary->groups == NULL)
        return false;
    pieces_sweep(&sweep, &pieces, device);
    return groups_fold(summary, arena);
}

bool free_blocks_at(struct free_blocks_summary *summary, bool *exact, const struct device_trace *device,
                    uint32_t moment, struct arena *arena) {
    *exact = !changed_since(device, moment);
    return *exact ? free_blocks_find(summary, device, arena) : gaps_find(summary, device, moment, arena);
}
