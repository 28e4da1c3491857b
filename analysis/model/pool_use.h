/* What each pool of the allocator holds at a moment. CUDA graphs and MemPools have private pools; free memory in
 * one of them serves nothing else. Freestanding. */
#pragma once

#include "base/words.h"
#include "layout/segments.h"

struct pool_use {
    uint16_t pool; /* index; memory of unknown pool counts as the default pool's */
    bool is_private;
    uint32_t n_segments, n_allocations;
    uint64_t live_bytes;     /* requested, including what waits for another stream */
    uint64_t reserved_bytes; /* of its segments */
    uint64_t free_bytes;     /* in its free blocks; other pools cannot use those of a private pool */
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

/* Adds its name in all outputs: "default pool", "private pool (0, 1)", or, beside others, "pool not recorded". */
void pool_tell(struct words *words, const struct device_trace *device, uint16_t pool);
