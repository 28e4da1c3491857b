/*
 * The allocator's state at any moment: its segments, and in them the blocks that are allocated, wait for another
 * stream or are free.
 *
 * The final segments are known, so they are walked back through the segment events. What comes out are *pieces*: memory
 * with the moments between which it was there.
 *
 *     address ^  |--------- piece ---------------------------|        a segment of the end
 *             |  |--- piece ---|                                      given back by a segment_free
 *             |             |---------- piece ---------------|        mapped by a segment_map: its own moment
 *             +-------------------------------------------------> moment
 *
 * Pages of expandable segments that touch are one segment at each moment. Freestanding.
 */
#pragma once

#include "trace/trace.h"

struct segment_piece {
    uint64_t address, size;
    uint32_t birth, death; /* moments: there while birth <= m < death */
    uint32_t stack; /* of the event that brought it; of the final segment for what is older; 0: not known */
    uint16_t stream, pool; /* indices; POOL_UNKNOWN: not known (the default pool, as far as one can see) */
    uint8_t flags;         /* enum segment_flag; SEGMENT_SMALL only as far as known: see unsure */
    bool unsure;           /* nothing tells whether it serves small or large requests */
};

struct segments {
    const struct device_trace *device;
    struct segment_piece *piece; /* a column of the arena */
    uint32_t count, capacity;
    uint64_t contradicted_bytes; /* of events that the final segments contradict */
};

/* Why nothing can be said of what lies where in a device's memory, a sentence without its full stop; NULL: something can.
 * O(allocations). */
const char *segments_refusal(const struct trace *trace, const struct device_trace *device);

/* O(n log n) for n segments, segment events and, where private or expandable pools are to be told apart, allocations. False:
 * no memory. */
bool segments_init(struct segments *segments, const struct device_trace *device, struct arena *arena);

struct held_segment {
    uint64_t address, size;
    uint32_t first_block, n_blocks; /* they tile it */
    uint32_t stack, birth;          /* of its lowest piece */
    uint16_t stream, pool;
    uint8_t flags;
};

enum { ALLOCATION_NONE = UINT32_MAX };

struct held_block {
    uint64_t address, size;
    uint32_t allocation; /* ALLOCATION_NONE: free */
    uint8_t state;       /* enum block_state */
    /* its size is what its request takes at least: the rest may be part of the free block after it */
    bool guessed;
};

struct held {
    uint32_t n_segments, n_blocks;
    struct held_segment *segment; /* by address; in the arena, as the blocks */
    struct held_block *block;
    uint32_t n_outside;     /* allocations that lie in no segment, and are left out */
    uint64_t outside_bytes; /* requested */
};

/*
 * Sizes of blocks. `extra[allocation]` are a block's bytes beyond its request rounded up to 512 bytes, from a replay
 * (analysis/model/replay.h); NULL: not known. Then the final blocks give the sizes of those alive at the end; of others, a
 * rest too small to be a free block of its class belongs to the block before it, and anything else is guessed.
 */
struct block_sizes {
    const uint32_t *extra;
    const uint32_t *least;     /* without it: what rounding adds at least, by the settings; NULL: nothing */
    uint64_t whole_from_bytes; /* blocks of so much are never split (max_split_size); 0: all sizes may be */
};

/* The segments and blocks at a moment. `alive` are the allocations at that moment in any order (timeline_alive_at).
 * O(pieces + alive log alive). False: no memory. */
bool segments_at(struct held *held, const struct segments *segments, uint32_t moment, const uint32_t *alive,
                 uint32_t n_alive, struct block_sizes sizes, struct arena *arena);

/* Of a request, rounded up as the allocator does without further settings. */
static inline uint64_t segments_round(uint64_t nbytes) {
    return nbytes < 512 ? 512 : nbytes > UINT64_MAX - 511 ? nbytes : (nbytes + 511) / 512 * 512;
}
