#include "layout/memory_map.h"

#include "base/search.h"
#include "base/sort.h"

const char *const map_order_name[MAP_ORDERS] = {[MAP_BY_SIZE] = "size",
                                                [MAP_BY_ADDRESS] = "address",
                                                [MAP_BY_FREE] = "free",
                                                [MAP_BY_AGE] = "age",
                                                [MAP_BY_HOLE] = "hole"};

enum { WRAPPED_ROWS_MAX = 4096 };

/* part / whole of `width`, rounded down; whole is not 0 and part is at most whole. Both lose low bits until the
 * product fits 64 bits. */
static uint64_t share_of(uint64_t part, uint64_t whole, uint64_t width) {
    unsigned bits = 64 - (unsigned)__builtin_clzll(whole);
    unsigned shift = bits > 40 ? bits - 40 : 0;
    return (part >> shift) * width / (whole >> shift);
}

static uint64_t free_bytes_in(const struct held *held, const struct held_segment *segment,
                              uint32_t *n_free_blocks) {
    uint64_t bytes = 0;
    for (uint32_t i = segment->first_block; i < segment->first_block + segment->n_blocks; i++)
        if (held->block[i].allocation == ALLOCATION_NONE) {
            bytes += held->block[i].size;
            *n_free_blocks += 1;
        }
    return bytes;
}

bool held_segment_is_free(const struct held *held, const struct held_segment *segment) {
    uint32_t n_free_blocks = 0;
    free_bytes_in(held, segment, &n_free_blocks);
    return n_free_blocks == segment->n_blocks;
}

static uint64_t largest_hole_in(const struct held *held, const struct held_segment *segment) {
    uint64_t largest = 0;
    for (uint32_t i = segment->first_block; i < segment->first_block + segment->n_blocks; i++)
        if (held->block[i].allocation == ALLOCATION_NONE && held->block[i].size > largest)
            largest = held->block[i].size;
    return held_segment_is_free(held, segment) ? 0 : largest;
}

/* ---- order ---- */

static uint64_t order_key(const struct held *held, const struct held_segment *segment, enum map_order order) {
    uint32_t n_free_blocks = 0;
    switch (order) {
    case MAP_BY_SIZE: return ~segment->size;
    case MAP_BY_FREE: return ~share_of(free_bytes_in(held, segment, &n_free_blocks), segment->size, 1u << 20);
    case MAP_BY_AGE: return segment->birth;
    case MAP_BY_HOLE: return ~largest_hole_in(held, segment);
    case MAP_BY_ADDRESS:
    case MAP_ORDERS: break;
    }
    return segment->address;
}

/* An unknown pool counts as the default one. */
static uint16_t pool_of(const struct held_segment *segment) {
    return segment->pool == POOL_UNKNOWN ? (uint16_t)POOL_DEFAULT : segment->pool;
}

static uint64_t group_key(const struct held_segment *segment) {
    return (uint64_t)pool_of(segment) << 17 | (uint64_t)segment->stream << 1 |
           ((segment->flags & SEGMENT_SMALL) != 0);
}

static struct sort_row *sorted(const struct held *held, enum map_order order, struct arena *arena) {
    uint32_t count = held->n_segments;
    struct sort_row *rows = arena_column(arena, (uint64_t)count * 2 + 2, sizeof *rows);
    if (rows == NULL)
        return NULL;
    SORT_BY(rows, rows + count, count, i, order_key(held, &held->segment[i], order));
    SORT_AGAIN(rows, rows + count, count, own, group_key(&held->segment[own]));
    return rows;
}

/* ---- scale ---- */

static uint64_t rows_of(uint64_t size, uint64_t row_bytes) {
    return size / row_bytes + (size % row_bytes != 0);
}

static uint64_t rows_at(const struct held *held, uint64_t row_bytes) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < held->n_segments; i++)
        rows += rows_of(held->segment[i].size, row_bytes);
    return rows;
}

/* The largest segment fills a row; an expandable one as many rows as there is room for. */
static uint64_t row_bytes_of(const struct held *held, const struct map_grid *grid) {
    uint64_t most = 1, rows = grid->room / (grid->row + grid->row_gap);
    bool expandable = false;
    for (uint32_t i = 0; i < held->n_segments; i++)
        if (held->segment[i].size > most) {
            most = held->segment[i].size;
            expandable = (held->segment[i].flags & SEGMENT_EXPANDABLE) != 0;
        }
    rows = rows < WRAPPED_ROWS_MAX ? rows : WRAPPED_ROWS_MAX;
    for (unsigned halved = 0; expandable && halved < 12 && most > 2 && rows_at(held, most / 2 + 1) <= rows;
         halved++)
        most = most / 2 + 1;
    return most;
}

/* ---- places ---- */

struct placing {
    struct memory_map *map;
    uint32_t x, y;  /* the place of the next narrow segment */
    bool row_begun; /* the row at y has a segment */
    bool row_full;  /* one segment takes the whole row */
};

static void row_next(struct placing *placing) {
    if (placing->row_begun)
        placing->y += placing->map->grid.row + placing->map->grid.row_gap;
    placing->x = 0;
    placing->row_begun = placing->row_full = false;
}

static void part_put(struct placing *placing, uint32_t segment, uint64_t from, uint64_t to, uint32_t width) {
    struct memory_map *map = placing->map;
    map->part[map->n_parts++] = (struct map_part){
        .segment = segment, .x = placing->x, .width = width, .y = placing->y, .from = from, .to = to};
    placing->x += width + map->grid.side_gap;
    placing->row_begun = true;
}

static uint32_t width_of(const struct memory_map *map, uint64_t bytes) {
    uint32_t width = (uint32_t)share_of(bytes, map->row_bytes, map->grid.width);
    return width == 0 ? 1 : width;
}

static void segment_place(struct placing *placing, uint32_t index) {
    struct memory_map *map = placing->map;
    uint64_t size = map->held->segment[index].size;
    map->first_part[index] = map->n_parts;
    uint32_t width = size < map->row_bytes ? width_of(map, size) : map->grid.width;
    bool narrow = width < map->grid.narrow;
    if (!narrow || placing->row_full || placing->x + width > map->grid.width)
        row_next(placing);
    for (uint64_t from = 0; from < size;) {
        uint64_t to = size - from > map->row_bytes ? from + map->row_bytes : size;
        if (from != 0)
            row_next(placing);
        part_put(placing, index, from, to, width_of(map, to - from));
        from = to;
    }
    placing->row_full = !narrow;
}

static void group_count(struct map_group *group, const struct held *held,
                        const struct held_segment *segment) {
    uint64_t free_bytes = free_bytes_in(held, segment, &group->n_free_blocks);
    group->n_segments++;
    group->bytes += segment->size;
    group->free_bytes += free_bytes;
    group->live_bytes += segment->size - free_bytes;
}

static void group_open(struct placing *placing, const struct held_segment *segment) {
    struct memory_map *map = placing->map;
    row_next(placing);
    if (map->n_groups != 0)
        placing->y += map->grid.row_gap * 2;
    map->group[map->n_groups++] = (struct map_group){.first_part = map->n_parts,
                                                     .y = placing->y,
                                                     .pool = pool_of(segment),
                                                     .stream = segment->stream,
                                                     .small = (segment->flags & SEGMENT_SMALL) != 0};
    placing->y += map->grid.heading;
}

static void all_place(struct memory_map *map, const struct sort_row *rows) {
    struct placing placing = {.map = map};
    const struct held *held = map->held;
    for (uint32_t i = 0; i < held->n_segments; i++) {
        const struct held_segment *segment = &held->segment[rows[i].value];
        if (i == 0 || rows[i].key != rows[i - 1].key)
            group_open(&placing, segment);
        struct map_group *group = &map->group[map->n_groups - 1];
        segment_place(&placing, rows[i].value);
        group->n_parts = map->n_parts - group->first_part;
        group_count(group, held, segment);
    }
    row_next(&placing);
    map->height = placing.y;
}

bool memory_map_make(struct memory_map *map, const struct held *held, enum map_order order,
                     struct map_grid grid, struct arena *arena) {
    *map = (struct memory_map){.held = held, .grid = grid};
    map->row_bytes = row_bytes_of(held, &grid);
    uint64_t n_parts = rows_at(held, map->row_bytes) + 1, n_segments = (uint64_t)held->n_segments + 1;
    struct sort_row *rows = sorted(held, order, arena);
    map->part = arena_column(arena, n_parts, sizeof *map->part);
    if (!ARENA_COLUMNS(arena, n_segments, map->group, map->first_part) || rows == NULL || map->part == NULL)
        return false;
    all_place(map, rows);
    ARENA_DROP(arena, rows);
    return true;
}

/* ---- what is at a place ---- */

uint32_t memory_map_part_from(const struct memory_map *map, uint32_t y) {
    return SEARCH(0, map->n_parts, i, map->part[i].y + map->grid.row <= y);
}

uint32_t held_block_from(const struct held *held, const struct held_segment *segment, uint64_t address) {
    return SEARCH(segment->first_block, segment->first_block + segment->n_blocks, i,
                  held->block[i].address + held->block[i].size <= address);
}

uint32_t held_segment_at(const struct held *held, uint64_t address) {
    uint32_t low =
        SEARCH(0, held->n_segments, i, held->segment[i].address + held->segment[i].size <= address);
    return low < held->n_segments && held->segment[low].address <= address ? low : ALLOCATION_NONE;
}

uint32_t map_part_q8(const struct map_part *part, uint64_t at) {
    if (at <= part->from)
        return 0;
    uint64_t bytes = part->to - part->from, inside = at < part->to ? at - part->from : bytes;
    return (uint32_t)share_of(inside, bytes, (uint64_t)part->width << 8);
}

/* The bytes of a part up to a point, in 1/256 px from its left edge. */
static uint64_t bytes_at(const struct map_part *part, uint64_t x_q8) {
    uint64_t bytes = part->to - part->from, width_q8 = (uint64_t)part->width << 8;
    return bytes / width_q8 * x_q8 + bytes % width_q8 * x_q8 / width_q8;
}

bool memory_map_pick(const struct memory_map *map, uint32_t x, uint32_t y, uint32_t *segment,
                     uint32_t *block) {
    for (uint32_t i = memory_map_part_from(map, y); i < map->n_parts && map->part[i].y <= y; i++) {
        const struct map_part *part = &map->part[i];
        if (x < part->x || x - part->x >= part->width)
            continue;
        const struct held_segment *held = &map->held->segment[part->segment];
        uint64_t at = part->from + bytes_at(part, ((uint64_t)(x - part->x) << 8) + 128);
        *segment = part->segment;
        *block = held_block_from(map->held, held, held->address + at);
        return *block < held->first_block + held->n_blocks;
    }
    return false;
}

bool memory_map_place(const struct memory_map *map, uint32_t segment, uint32_t block, uint32_t nth,
                      struct map_place *place) {
    const struct held_segment *held = &map->held->segment[segment];
    uint64_t from = map->held->block[block].address - held->address, to = from + map->held->block[block].size;
    for (uint32_t i = map->first_part[segment]; i < map->n_parts && map->part[i].segment == segment; i++) {
        const struct map_part *part = &map->part[i];
        if (part->to <= from || nth-- != 0)
            continue;
        if (part->from >= to)
            return false;
        *place = (struct map_place){(part->x << 8) + map_part_q8(part, from),
                                    (part->x << 8) + map_part_q8(part, to), part->y};
        return true;
    }
    return false;
}
