/*
 * Turns the events of one device, in the order of the file, into allocations (trace/trace.h), and joins them with
 * the final segments. Events are not kept, only their times and their effects on allocations.
 *
 * docs/architecture.md, "From events to allocations", states the rules, which are those of PyTorch's allocator: which
 * free ends an allocation, what an orphan free means, how final blocks complete the picture.
 */
#pragma once

#include "parser/intern.h"

enum action {
    ACTION_ALLOC,
    ACTION_FREE_REQUESTED,
    ACTION_FREE_COMPLETED,
    ACTION_SEGMENT_ALLOC,
    ACTION_SEGMENT_FREE,
    ACTION_SEGMENT_MAP,
    ACTION_SEGMENT_UNMAP,
    ACTION_SNAPSHOT,
    ACTION_OOM,
    ACTION_ANNOTATE,
    ACTION_IGNORED, /* known, but without effect on memory */
    ACTION_UNKNOWN,
    ACTION_COUNT
};

struct event {
    enum action action;
    bool has_time, has_pool;
    uint32_t stack, context;
    uint64_t address; /* for `oom`: what the driver had left */
    uint64_t size;
    uint64_t stream; /* raw handle */
    int64_t time_us;
    struct pool_id pool;
};

struct allocations_builder {
    struct allocations allocations;
    uint32_t capacity;
};

/* One device under construction. */
struct recorder {
    struct interner *interner;
    struct device_trace device;
    struct allocations_builder later;  /* allocations born in the recording */
    struct allocations_builder before; /* allocations older than the recording */
    struct key_map open;    /* address -> allocation + 1; the top bit of the former tells the builder */
    uint32_t last_slot;     /* slot of `open` found by the last free */
    struct key_map streams; /* raw handle -> index + 1 */
    bool has_times;
    uint32_t time_capacity, segment_event_capacity, oom_capacity, oom_place_capacity, snapshot_capacity,
        segment_capacity, block_capacity, stream_capacity, pool_capacity;
    struct noted {
        uint32_t reference, text; /* string */
    } * noted; /* texts of `annotate`, in order; recorder_finish joins those of an allocation */
    uint32_t n_noted, noted_capacity;
    uint32_t last_pool;
    uint64_t n_of_action[ACTION_COUNT];
    uint64_t n_orphan_frees, orphan_free_bytes;
    uint64_t n_blocks_before, blocks_before_bytes; /* allocations known from final blocks only */
    uint64_t n_reopened, n_unmatched_end, unmatched_end_bytes;
    int64_t above,
        rise; /* alive minus reserved bytes, less its value before the first event: now, and the most so far */
    uint64_t n_unrequested; /* completions without a request, for allocations made in the recording */
};

/* An empty device. Memory from the trace of `interner`. False: no memory. */
bool recorder_init(struct recorder *recorder, struct interner *interner, int32_t ordinal);

/* Fetches the slot of an address that the next event will look for. */
static inline void recorder_expect(const struct recorder *recorder, uint64_t address) {
    if (recorder->open.slot != NULL)
        __builtin_prefetch(&recorder->open.slot[key_home(&recorder->open, address)]);
}

/* Records the next event. O(1) on average. False: no memory. */
bool recorder_event(struct recorder *recorder, const struct event *event);

/* Adds another change to the last event, at its moment, for inputs whose events change several allocations at once.
 * It must not free what the same event allocates. Not before the first event. */
bool recorder_join(struct recorder *recorder, const struct event *event);

/* Adds an allocation from before the first event that is known by other means than its free or a block. Events may
 * free it. */
bool recorder_before(struct recorder *recorder, const struct event *event);

/* Adds a final segment, in the order of the file; `segment` without stream and pool index. Its blocks follow. */
bool recorder_segment(struct recorder *recorder, const struct segment *segment, uint64_t stream,
                      struct pool_id pool);
bool recorder_block(struct recorder *recorder, const struct block *block);

/* Ends the recording: completes the allocations, adds the diagnostics to the trace, and hands the device over. The
 * recorder is empty afterwards. */
bool recorder_finish(struct recorder *recorder, struct device_trace *device);
