#include "analysis/model/free_blocks.h"

#include "base/numbers.h"
#include "base/sort.h"
#include "layout/segments.h"

const uint64_t free_block_size_limit[FREE_BLOCK_SIZES - 1] = {MIB, 10 * MIB, 100 * MIB, 1024 * MIB,
                                                              10240 * MIB};

static uint32_t size_class(uint64_t bytes) {
    uint32_t i = 0;
    while (i < FREE_BLOCK_SIZES - 1 && bytes >= free_block_size_limit[i])
        i++;
    return i;
}

/* Counts a block of a segment whose sums are `sums`. */
static void block_count(struct free_blocks_summary *summary, struct free_blocks *sums, struct block block) {
    if (block.state != BLOCK_INACTIVE) {
        *(block.state == BLOCK_ALLOCATED ? &sums->used_bytes : &sums->pending_bytes) += block.size;
        sums->requested_bytes += block.requested_size;
        return;
    }
    uint32_t class = size_class(block.size);
    summary->count_of_size[class]++;
    summary->bytes_of_size[class] += block.size;
    sums->free_bytes += block.size;
    sums->n_free_blocks++;
    if (block.size > sums->largest_bytes)
        sums->largest_bytes = block.size;
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

/* Adds a segment's sums as a group. Bytes that its blocks leave out (in a contradictory file) are free, but not a
 * block. */
static void segment_add(struct free_blocks_summary *summary, struct free_blocks_group group, uint64_t size) {
    struct free_blocks *sums = &group.free_blocks;
    uint64_t in_use = sums->used_bytes + sums->pending_bytes;
    if (in_use + sums->free_bytes < size)
        sums->free_bytes = size - in_use;
    sums->reserved_bytes = in_use + sums->free_bytes;
    sums->n_segments = 1;
    sums->n_empty = in_use == 0;
    sums->empty_bytes = in_use == 0 ? sums->reserved_bytes : 0;
    summary->groups[summary->n_groups++] = group;
    free_blocks_add(&summary->all, sums);
}

static uint64_t group_order(const struct free_blocks_group *group) {
    return (uint64_t)group->pool << 32 | (uint64_t)group->stream << 1 | group->small;
}

/* Joins groups of single segments into one per pool, stream and class. False: no memory. */
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

static bool summary_init(struct free_blocks_summary *summary, uint32_t n_segments, struct arena *arena) {
    *summary = (struct free_blocks_summary){
        .groups = arena_column(arena, n_segments + (uint64_t)1, sizeof *summary->groups)};
    return summary->groups != NULL;
}

bool free_blocks_find(struct free_blocks_summary *summary, const struct device_trace *device,
                      struct arena *arena) {
    if (!summary_init(summary, device->n_segments, arena))
        return false;
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[i];
        struct free_blocks_group group = {
            segment->pool, segment->stream, (segment->flags & SEGMENT_SMALL) != 0, {0}};
        for (uint32_t j = 0; j < segment->block_count; j++)
            block_count(summary, &group.free_blocks, device->blocks[segment->first_block + j]);
        segment_add(summary, group, segment->total_size);
    }
    return groups_fold(summary, arena);
}

/* ---- at a moment ---- */

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

/* The segments of the moment, in which a block is no larger than its rounded request. False: no memory. */
static bool held_at(struct held *held, const struct device_trace *device, uint32_t moment,
                    struct arena *arena) {
    const struct allocations *allocations = &device->allocations;
    struct segments segments;
    uint32_t n_alive = 0, *alive, *no_extra;
    uint64_t n = allocations->count + (uint64_t)1;
    if (!ARENA_ZEROS(arena, n, alive, no_extra) || !segments_init(&segments, device, arena))
        return false;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (allocation_is_alive(allocations, i, moment))
            alive[n_alive++] = i;
    bool done =
        segments_at(held, &segments, moment, alive, n_alive, (struct block_sizes){.extra = no_extra}, arena);
    ARENA_DROP(arena, segments.piece, alive, no_extra);
    return done;
}

static bool gaps_find(struct free_blocks_summary *summary, const struct device_trace *device, uint32_t moment,
                      struct arena *arena) {
    struct held held;
    if (!held_at(&held, device, moment, arena) || !summary_init(summary, held.n_segments, arena))
        return false;
    for (uint32_t i = 0; i < held.n_segments; i++) {
        const struct held_segment *segment = &held.segment[i];
        struct free_blocks_group group = {
            segment->pool, segment->stream, (segment->flags & SEGMENT_SMALL) != 0, {0}};
        for (uint32_t j = 0; j < segment->n_blocks; j++) {
            const struct held_block *own = &held.block[segment->first_block + j];
            struct block block = {.size = own->size, .state = BLOCK_INACTIVE};
            if (own->allocation != ALLOCATION_NONE) {
                block.requested_size = device->allocations.size[own->allocation];
                block.state = own->state;
            }
            block_count(summary, &group.free_blocks, block);
        }
        segment_add(summary, group, segment->size);
    }
    return groups_fold(summary, arena);
}

bool free_blocks_at(struct free_blocks_summary *summary, bool *exact, const struct device_trace *device,
                    uint32_t moment, struct arena *arena) {
    *exact = !changed_since(device, moment);
    return *exact ? free_blocks_find(summary, device, arena) : gaps_find(summary, device, moment, arena);
}
