/*
 * The allocator's state at a moment, as a picture: one row for each segment, addresses from left to right, one
 * scale.
 *
 *     default pool, stream 0, above 1 MiB      <- a group: what serves the same requests
 *     |#####|####|     free     |##|#|         <- a segment: its blocks, free ones too
 *     |########|   |
 *     |##| |# | |##|  |#|                      <- small ones stand side by side
 *
 * A few expandable segments may continue in further rows. Freestanding, integer arithmetic only.
 */
#pragma once

#include "layout/segments.h"

enum map_order {
    MAP_BY_SIZE,
    MAP_BY_ADDRESS,
    MAP_BY_FREE, /* by free share, falling */
    MAP_BY_AGE,
    MAP_BY_HOLE, /* by largest hole, falling; a wholly free segment has none */
    MAP_ORDERS
};

/* "size", "address", "free", "age", "hole" */
extern const char *const map_order_name[MAP_ORDERS];

/* In pixels. */
struct map_grid {
    uint32_t width;                  /* at least 1 */
    uint32_t row, row_gap, side_gap; /* height of a row; gap below it, and between neighbours in it */
    uint32_t heading;                /* height of a group's heading */
    uint32_t narrow;                 /* segments narrower than this stand side by side */
    uint32_t room;                   /* available height, over which a few expandable segments are spread */
};

/* The part of a segment in one row: its bytes [from, to). */
struct map_part {
    uint32_t segment; /* index into the held segments */
    uint32_t x, width, y;
    uint64_t from, to;
};

/* Segments of one pool, stream and size class. */
struct map_group {
    uint32_t first_part, n_parts, y; /* y of its heading */
    uint32_t n_segments, n_free_blocks;
    uint64_t bytes, free_bytes, live_bytes; /* live: whole blocks that are in use or waiting */
    uint16_t pool, stream;
    bool small; /* serves requests up to 1 MiB */
};

struct memory_map {
    const struct held *held;
    struct map_grid grid;
    uint32_t n_parts, n_groups, height; /* height in pixels of the whole map */
    uint64_t row_bytes;                 /* bytes per full row */
    struct map_part *part; /* group by group, from top to bottom and from left to right; in the arena */
    struct map_group *group;
    uint32_t *first_part; /* [held->n_segments] the first part of each segment; its others follow */
};

/* `held` must outlive the map. O(blocks + segments log segments). False: no memory. */
bool memory_map_make(struct memory_map *map, const struct held *held, enum map_order order,
                     struct map_grid grid, struct arena *arena);

/* The first part whose row ends below `y`; n_parts if there is none. O(log parts). */
uint32_t memory_map_part_from(const struct memory_map *map, uint32_t y);

/* Finds the segment and the block at a pixel. False: none. O(parts of the row + log blocks). */
bool memory_map_pick(const struct memory_map *map, uint32_t x, uint32_t y, uint32_t *segment,
                     uint32_t *block);

/* The place of the nth part of a block, in 1/256 px from left to right. False: it has fewer parts. */
struct map_place {
    uint32_t x_q8, end_q8, y;
};
bool memory_map_place(const struct memory_map *map, uint32_t segment, uint32_t block, uint32_t nth,
                      struct map_place *place);

/* The place of byte `at` of a part, in 1/256 px from its left edge. */
uint32_t map_part_q8(const struct map_part *part, uint64_t at);

/* The first block of a segment that ends after `address`. */
uint32_t held_block_from(const struct held *held, const struct held_segment *segment, uint64_t address);

/* Is nothing in a segment in use? Its free bytes are then no hole. O(its blocks). */
bool held_segment_is_free(const struct held *held, const struct held_segment *segment);

/* The segment that contains an address; ALLOCATION_NONE: none does. O(log segments). */
uint32_t held_segment_at(const struct held *held, uint64_t address);
