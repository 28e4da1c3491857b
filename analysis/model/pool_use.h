/*
 * Who may use which memory: what each pool of the allocator holds at a moment. CUDA graphs and MemPools have private pools; what
 * is free in one of them serves nothing else. Freestanding.
 */
#pragma once

#include "layout/segments.h"

struct pool_use {
    uint16_t pool; /* index; the default pool stands for what nothing tells */
    bool is_private;
    uint32_t n_segments, n_allocations;
    uint64_t live_bytes;     /* requested, what waits for another stream included */
    uint64_t reserved_bytes; /* of its segments */
    uint64_t free_bytes;     /* in its free blocks: of a private pool, kept from all others */
};

struct pool_uses {
    uint32_t count;
    struct pool_use *use; /* the default pool first, then by index; in the arena */
};

/* `held` is the state of a device. O(blocks + pools). False: no memory. */
bool pool_uses_find(struct pool_uses *uses, const struct device_trace *device, const struct held *held,
                    struct arena *arena);

/* Is it neither the default pool nor unknown? */
bool pool_is_private(const struct device_trace *device, uint16_t pool);
