#include "analysis/model/pool_use.h"

bool pool_is_private(const struct device_trace *device, uint16_t pool) {
    const struct pool_id *id = &device->pools[pool];
    return pool != POOL_UNKNOWN && (id->first != 0 || id->second != 0);
}

void pool_tell(struct words *words, const struct device_trace *device, uint16_t pool) {
    if (pool_is_private(device, pool))
        WORDS_TELL(words, "private pool (%d, %d)", device->pools[pool].first, device->pools[pool].second);
    else
        words_say(words, pool == POOL_UNKNOWN && device->n_pools > 1 ? "pool not recorded" : "default pool");
}

static void segment_count(struct pool_use *use, const struct device_trace *device, const struct held *held,
                          const struct held_segment *segment) {
    use->n_segments++;
    use->reserved_bytes += segment->size;
    for (uint32_t i = segment->first_block; i < segment->first_block + segment->n_blocks; i++) {
        const struct held_block *block = &held->block[i];
        if (block->allocation == ALLOCATION_NONE) {
            use->free_bytes += block->size;
            continue;
        }
        use->live_bytes += device->allocations.size[block->allocation];
        use->n_allocations++;
    }
}

bool pool_uses_find(struct pool_uses *uses, const struct device_trace *device, const struct held *held,
                    struct arena *arena) {
    uint32_t n_pools = device->n_pools > POOL_DEFAULT ? device->n_pools : POOL_DEFAULT + 1;
    *uses = (struct pool_uses){.use = arena_alloc(arena, n_pools * sizeof *uses->use)};
    if (uses->use == NULL)
        return false;
    for (uint32_t i = 0; i < held->n_segments; i++) {
        const struct held_segment *segment = &held->segment[i];
        uint16_t pool = pool_is_private(device, segment->pool) ? segment->pool : (uint16_t)POOL_DEFAULT;
        segment_count(&uses->use[pool], device, held, segment);
    }
    for (uint32_t pool = 0; pool < n_pools; pool++) {
        struct pool_use use = uses->use[pool];
        use.pool = (uint16_t)pool;
        use.is_private = pool != POOL_DEFAULT;
        if (use.n_segments != 0)
            uses->use[uses->count++] = use;
    }
    return true;
}
