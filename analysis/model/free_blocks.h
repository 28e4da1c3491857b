/*
 * Fragmentation: memory that the allocator holds but nobody uses, at the end of the recording from the final
 * segments, and at another moment from the addresses of what is alive. Adjacent free blocks count as one, because
 * the allocator joins them. A free block serves only requests of its own memory pool, stream and size class (small:
 * up to 1 MiB), so sums are by those. Freestanding.
 */
#pragma once

#include "trace/trace.h"

/* All in bytes of blocks, rounded up by the allocator, except requested_bytes. */
struct free_blocks {
    uint64_t reserved_bytes; /* used_bytes + pending_bytes + free_bytes */
    uint64_t used_bytes, pending_bytes;
    uint64_t requested_bytes; /* of used and pending blocks */
    uint64_t free_bytes;
    uint64_t largest_bytes; /* the largest of them */
    uint64_t empty_bytes;   /* segments without a block in use: empty_cache() would give them back */
    uint32_t n_segments, n_free_blocks, n_empty;
};

/* Bytes lost to rounding up: the size of used and pending blocks less the requested bytes. */
static inline uint64_t free_blocks_rounding(const struct free_blocks *free_blocks) {
    uint64_t blocks = free_blocks->used_bytes + free_blocks->pending_bytes;
    return blocks > free_blocks->requested_bytes ? blocks - free_blocks->requested_bytes : 0;
}

struct free_blocks_group {
    uint16_t pool, stream; /* indices into the device's pools and streams */
    bool small;
    struct free_blocks free_blocks;
};

/* Size classes: class i is below free_block_size_limit[i] and at least the limit before; the last has no limit. */
enum { FREE_BLOCK_SIZES = 6 };
extern const uint64_t free_block_size_limit[FREE_BLOCK_SIZES - 1];

struct free_blocks_summary {
    struct free_blocks all;
    uint32_t n_groups;
    struct free_blocks_group *groups; /* by pool, stream, large before small; in the arena */
    uint32_t count_of_size[FREE_BLOCK_SIZES];
    uint64_t bytes_of_size[FREE_BLOCK_SIZES];
};

/* O(blocks + segments). False: no memory. */
bool free_blocks_find(struct free_blocks_summary *summary, const struct device_trace *device,
                      struct arena *arena);

/*
 * The free blocks at a moment of a device with final segments. `*exact`: nothing has changed since, so they are
 * those of free_blocks_find. Otherwise they are the gaps between what is alive, in the segments of that moment:
 *
 *     segment      |-------------------------------------------|
 *     alive             [requested][rounding]     [requested]
 *     gaps         |---|                     |---|            |-|
 *
 * A block may be larger than its request rounded up to 512 bytes (the rest was not worth splitting off), so a gap
 * is at least its free block: sums, counts and the largest of each group are upper bounds. The pool of a segment
 * that was given back since is unknown (POOL_UNKNOWN). O(allocations log allocations + segments + segment events).
 * False: no memory.
 */
bool free_blocks_at(struct free_blocks_summary *summary, bool *exact, const struct device_trace *device,
                    uint32_t moment, struct arena *arena);
