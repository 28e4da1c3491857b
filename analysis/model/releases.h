/*
 * Why the allocator gave memory back to the driver. It does so in groups, a run of segment_free and segment_unmap
 * events without another event in between:
 *
 *     ... | free free unmap |  segment_alloc  alloc     a request found no memory: retried after giving all back
 *     ... | free free free  |  alloc                    the program called empty_cache()
 *
 * Freestanding.
 */
#pragma once

#include "trace/trace.h"

enum release_cause {
    RELEASE_EXPLICIT,  /* empty_cache(), or a pool that was given up */
    RELEASE_RETRY,     /* the driver had no memory for a request: nearly out of memory */
    RELEASE_COLLECTED, /* garbage_collection_threshold */
    RELEASE_UNKNOWN,   /* no stacks were recorded: RELEASE_EXPLICIT or RELEASE_RETRY */
};

struct release_group {
    uint32_t first, count; /* of the device's segment events */
    uint32_t event;        /* index of the first one */
    uint32_t stack;        /* of the first one */
    uint64_t bytes;        /* given back */
    uint64_t taken_bytes;  /* taken by the segment_alloc or segment_maps directly after it; 0: none */
    uint8_t cause;         /* enum release_cause */
    bool out_of_memory;    /* an out-of-memory event follows directly: giving back was not enough */
};

struct releases {
    uint32_t count;
    struct release_group *group; /* by event, in the arena */
    uint32_t n_of_cause[4];
    uint64_t bytes_of_cause[4];
};

/* O(segment events + frames + stacks). False: no memory. */
bool releases_find(struct releases *releases, const struct trace *trace, const struct device_trace *device,
                   struct arena *arena);
