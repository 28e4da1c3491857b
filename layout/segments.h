/*
 * The allocator's state at any moment: its segments, and in them the blocks that are allocated, wait for another
 * stream or are free.
 *
 * The file has the final segments, which are walked back through the segment events. The result is *pieces*:
 * stretches of memory, each with the moments between which it existed.
 *
 *     address ^  |--------- piece ---------------------------|        a segment of the end
 *             |  |--- piece ---|                                      given back by a segment_free
 *             |             |---------- piece ---------------|        mapped by a segment_map: its own moment
 *             +-------------------------------------------------> moment
 *
 * Adjacent pages of expandable segments form one segment at each moment. Freestanding.
 */
#pragma once

#include "trace/trace.h"

struct segment_piece {
    uint64_t address, size;
    uint32_t birth, death; /* moments: exists while birth <= m < death */
    uint32_t stack; /* of the event that mapped it, or of the final segment if it is older; 0: unknown */
    uint16_t stream, pool; /* indices; POOL_UNKNOWN: unknown (as far as can be seen, the default pool) */
    uint8_t flags;         /* enum segment_flag; SEGMENT_SMALL only as far as known: see `unsure` */
    bool unsure;           /* it is unknown whether it serves small or large requests */
};

/* Do two pieces that exist at one moment belong to one segment: adjacent pages of one stream, pool and size class? */
bool segment_pieces_join(const struct segment_piece *low, const struct segment_piece *high);

struct segments {
    const struct device_trace *device;
    struct segment_piece *piece; /* a column of the arena */
    uint32_t count, capacity;
    uint64_t contradicted_bytes; /* bytes of events that contradict the final segments */
};

/* Why the places of a device's memory are unknown, as a sentence without its full stop; NULL: they are known.
 * O(allocations). */
const char *segments_refusal(const struct trace *trace, const struct device_trace *device);

/* O(n log n) in segments, segment events and, if private or expandable pools must be told apart, allocations.
 * False: no memory. */
bool segments_init(struct segments *segments, const struct device_trace *device, struct arena *arena);

struct held_segment {
    uint64_t address, size;
    uint32_t first_block, n_blocks; /* its blocks, which cover it without gaps */
    uint32_t stack, birth;          /* of its lowest piece */
    uint16_t stream, pool;
    uint8_t flags;
};

enum { ALLOCATION_NONE = UINT32_MAX };

struct held_block {
    uint64_t address, size;
    uint32_t allocation; /* ALLOCATION_NONE: free */
    uint8_t state;       /* enum block_state */
    /* its size is the least that its request takes: the rest may belong to the free block after it */
    bool guessed;
};

struct held {
    uint32_t n_segments, n_blocks;
    struct held_segment *segment; /* by address; in the arena, as are the blocks */
    struct held_block *block;
    uint32_t n_outside;     /* allocations left out because they lie in no segment */
    uint64_t outside_bytes; /* requested */
};

/*
 * Sizes of blocks. `extra[allocation]` are a block's bytes beyond its request rounded up to 512 bytes, from a
 * replay (analysis/model/replay.h); NULL: unknown. Without it the final blocks give the sizes of allocations alive
 * at the end. For others, a rest too small for a free block of its class belongs to the block before it, and
 * anything else is guessed.
 */
struct block_sizes {
    const uint32_t *extra;
    /* if `extra` is NULL: what rounding adds at least, given the settings; NULL: nothing */
    const uint32_t *least;
    /* blocks of at least this size are never split (max_split_size); 0: all may be */
    uint64_t whole_from_bytes;
};

/* Finds the segments and blocks at a moment. `alive` are the allocations at that moment in any order
 * (timeline_alive). O(pieces + alive log alive). False: no memory. */
bool segments_at(struct held *held, const struct segments *segments, uint32_t moment, const uint32_t *alive,
                 uint32_t n_alive, struct block_sizes sizes, struct arena *arena);

/* Rounds a request up as the allocator does by default. */
static inline uint64_t segments_round(uint64_t nbytes) {
    return nbytes < 512 ? 512 : nbytes > UINT64_MAX - 511 ? nbytes : (nbytes + 511) / 512 * 512;
}
