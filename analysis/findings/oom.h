/*
 * The state at an out-of-memory event: what was in use, what was reserved but not in use, and how much was missing
 * even if all of that and all free memory of the device had served. All outputs take these figures from here.
 * Freestanding.
 */
#pragma once

#include "analysis/model/free_blocks.h"
#include "layout/timeline.h"

struct oom_state {
    uint32_t moment;         /* after the event */
    uint64_t live_bytes;     /* requested */
    uint64_t reserved_bytes; /* a lower bound if the file has no final segments */
    uint64_t unused_bytes;   /* reserved_bytes - live_bytes, rounding included */
    uint64_t lacking_bytes;  /* requested beyond unused_bytes and the device's free bytes; 0: nothing */
    bool reserved_known;     /* the file has final segments */
    bool free_blocks_known;  /* the next two were requested, and the file has final blocks */
    bool at_end; /* nothing has changed since, so they are exact; otherwise they are upper bounds */
    struct free_blocks_summary free_blocks;
};

/* Did the device have room for the request, so that something else refused it? Not for a recording without segments,
 * whose free bytes are not measured. O(1). */
bool oom_had_room(const struct trace *trace, const struct oom_event *event);

/* Everything but the free blocks. O(log n). */
void oom_state_of(struct oom_state *state, const struct timeline *timeline, const struct oom_event *event);

/* The free blocks, in the arena: O(allocations log allocations + blocks). False: no memory, and they are unknown. */
bool oom_free_blocks_of(struct oom_state *state, const struct device_trace *device, struct arena *arena);
