#include "layout/holes.h"

#include "trace/sort.h"

#define MIB (UINT64_C(1) << 20)

const uint64_t holes_size_limit[HOLE_SIZES - 1] = {MIB, 10 * MIB, 100 * MIB, 1024 * MIB, 10240 * MIB};

static uint32_t size_class(uint64_t bytes) {
    uint32_t i = 0;
    while (i < HOLE_SIZES - 1 && bytes >= holes_size_limit[i])
        i++;
    return i;
}

static void block_add(struct holes *holes, const struct block *block) {
    holes->reserved_bytes += block->size;
    if (block->state == BLOCK_INACTIVE) {
        holes->free_bytes += block->size;
        holes->n_holes++;
        if (block->size > holes->largest_bytes)
            holes->largest_bytes = block->size;
        return;
    }
    *(block->state == BLOCK_ALLOCATED ? &holes->used_bytes : &holes->pending_bytes) += block->size;
    holes->requested_bytes += block->requested_size;
}

/* The segment alone. What its blocks leave out (a file that contradicts itself) counts as free, but is no hole. */
static struct holes holes_of_segment(const struct device_trace *device, const struct segment *segment) {
    struct holes holes = {.n_segments = 1};
    for (uint32_t i = 0; i < segment->block_count; i++)
        block_add(&holes, &device->blocks[segment->first_block + i]);
    if (holes.reserved_bytes < segment->total_size)
        holes.free_bytes += segment->total_size - holes.reserved_bytes;
    holes.reserved_bytes = holes.used_bytes + holes.pending_bytes + holes.free_bytes;
    if (holes.used_bytes == 0 && holes.pending_bytes == 0) {
        holes.empty_bytes = holes.reserved_bytes;
        holes.n_empty = 1;
    }
    return holes;
}

static void holes_add(struct holes *sum, const struct holes *more) {
    sum->reserved_bytes += more->reserved_bytes;
    sum->used_bytes += more->used_bytes;
    sum->pending_bytes += more->pending_bytes;
    sum->requested_bytes += more->requested_bytes;
    sum->free_bytes += more->free_bytes;
    sum->empty_bytes += more->empty_bytes;
    sum->n_segments += more->n_segments;
    sum->n_holes += more->n_holes;
    sum->n_empty += more->n_empty;
    if (more->largest_bytes > sum->largest_bytes)
        sum->largest_bytes = more->largest_bytes;
}

static uint64_t group_key(const struct segment *segment) {
    return (uint64_t)segment->pool << 32 | (uint64_t)segment->stream << 1 |
           ((segment->flags & SEGMENT_SMALL) != 0);
}

/* The segments' indices by the key of their group. NULL: no memory. */
static struct sort_row *segments_sorted(const struct device_trace *device, struct arena *arena) {
    uint64_t n = device->n_segments == 0 ? 1 : device->n_segments;
    struct sort_row *rows = arena_alloc(arena, n * sizeof *rows),
                    *spare = arena_alloc(arena, n * sizeof *spare);
    if (rows == NULL || spare == NULL)
        return NULL;
    for (uint32_t i = 0; i < device->n_segments; i++)
        rows[i] = (struct sort_row){group_key(&device->segments[i]), i};
    sort_rows(rows, spare, device->n_segments);
    return rows;
}

static uint32_t keys_count(const struct sort_row *rows, uint32_t count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += i == 0 || rows[i].key != rows[i - 1].key;
    return n;
}

static void sizes_add(struct holes_summary *summary, const struct device_trace *device) {
    for (uint32_t i = 0; i < device->n_blocks; i++) {
        if (device->blocks[i].state != BLOCK_INACTIVE)
            continue;
        uint32_t class = size_class(device->blocks[i].size);
        summary->count_of_size[class]++;
        summary->bytes_of_size[class] += device->blocks[i].size;
    }
}

bool holes_find(struct holes_summary *summary, const struct device_trace *device, struct arena *arena) {
    *summary = (struct holes_summary){0};
    struct sort_row *rows = segments_sorted(device, arena);
    if (rows == NULL)
        return false;
    uint32_t n_groups = keys_count(rows, device->n_segments);
    summary->groups = arena_alloc(arena, (n_groups + (size_t)1) * sizeof *summary->groups);
    if (summary->groups == NULL)
        return false;
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[rows[i].value];
        struct holes holes = holes_of_segment(device, segment);
        if (i == 0 || rows[i].key != rows[i - 1].key)
            summary->groups[summary->n_groups++] =
                (struct holes_group){.pool = segment->pool,
                                     .stream = segment->stream,
                                     .small = (segment->flags & SEGMENT_SMALL) != 0};
        holes_add(&summary->groups[summary->n_groups - 1].holes, &holes);
        holes_add(&summary->all, &holes);
    }
    sizes_add(summary, device);
    return true;
}
