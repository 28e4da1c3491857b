/*
 * The timeline of a device's recording: curves, peak, and the index that finds the allocations alive at a moment or
 * in a window. Built once, then only read; any number of scenes may use one timeline.
 *
 * Freestanding. Memory comes from the arena given to timeline_init and lives as long as that.
 */
#pragma once

#include "base/beside.h"
#include "trace/trace.h"

enum { LIFETIME_BUCKETS = 33 }; /* bucket k: lifetimes of 2^k .. 2^(k+1) - 1 moments */

enum { SITE_COLORS = 12, SITE_REST = SITE_COLORS };

struct timeline {
    const struct trace *trace;
    const struct device_trace *device;
    uint32_t n_moments; /* n_events + 1 */

    uint64_t *live; /* [n_moments] requested bytes alive; exact at every moment */
    /* moment of the maximum of each 64 moments, so that a range maximum needs no scan */
    uint32_t *block_peak;
    uint64_t *block_bytes; /* their totals, contiguous because a search reads them in order */
    uint64_t *block_least; /* the fewest bytes alive at any moment of the block */
    uint32_t peak_moment;  /* first moment of the maximum */
    uint32_t live_at_peak; /* number of allocations alive at it */
    uint64_t peak_bytes, start_bytes, end_bytes;

    /* Reserved bytes: `reserved_bytes[i]` holds from moment `reserved_moment[i]` on; [0] is at moment 0. */
    uint32_t n_reserved;
    uint32_t *reserved_moment;
    uint64_t *reserved_bytes;
    uint32_t reserved_peak_moment; /* its first moment, settled (timeline_reserved_settled) */
    uint64_t reserved_start, reserved_peak, reserved_end;
    /* added to all, because the curve would be negative without it or, if the final segments are unknown, below
     * what was alive; 0: consistent */
    uint64_t reserved_shift;

    /* When moments begin, read by timeline_start_us: the recording's own times if they never fall, otherwise
     * corrected ones. NULL: the file has no times. */
    const int64_t *clock; /* [n_events] */
    int64_t clock_from;   /* time of event 0 in `clock` */
    int64_t before_us;    /* moment 0 begins a hundredth of the span earlier */
    int64_t first_us;     /* time of event 0 since the Unix epoch */
    int64_t end_us;       /* assumed end of the last moment, since the first event */

    /* Allocations by bucket of lifetime, in each by birth. */
    uint32_t *by_lifetime;                       /* [allocations.count] allocation ids */
    uint32_t bucket_start[LIFETIME_BUCKETS + 1]; /* into by_lifetime */

    uint8_t *frame_rank; /* [trace->frames.count] how well a frame names a call site (layout/site.h) */
    uint32_t *site;      /* [trace->stacks.count] call site of a stack: a frame id, 0: no stack */

    /* [trace->frames.count] both. The colour of a call site: 0 .. SITE_COLORS - 1 for the 24 largest, SITE_REST for
     * all others. And 1 for the second site of a colour, which has stripes (layout/timeline_sites.h). */
    uint8_t *slot, *twin;
    struct site_walk *walk; /* that finds them; NULL: not now */

    /* The order of births of allocations older than the recording is unknown, so in the stack they lie by call
     * site: the one with the most bytes at the bottom, and in each the last to be freed. [allocations.preexisting]
     * both: the allocation at a place of the stack, and the place of an allocation. For all others the place is the
     * allocation's number. */
    uint32_t *oldest, *oldest_place;
};

/* An allocation's place in the stack, and the allocation at a place. */
static inline uint32_t timeline_place_of(const struct timeline *timeline, uint32_t allocation) {
    return allocation < timeline->device->allocations.preexisting ? timeline->oldest_place[allocation]
                                                                  : allocation;
}

static inline uint32_t timeline_allocation_at(const struct timeline *timeline, uint32_t place) {
    return place < timeline->device->allocations.preexisting ? timeline->oldest[place] : place;
}

/* The time of a device's first event, and the beginning and end of what is drawn, relative to it; zeros: its events
 * have no times. O(events), or O(1) if they are known to rise. */
struct run_us {
    int64_t first, from, to;
};
struct run_us run_us_of(const struct device_trace *device);

/* Builds everything for device `index` (into trace->devices). O(events + allocations + stacks). False: no memory.
 */
bool timeline_init(struct timeline *timeline, const struct trace *trace, uint32_t index, struct arena *arena);

/* The same with half of the work in another thread, if `beside` (NULL: none) has one for it. `arena` must then have
 * the host of `beside`; `side` takes what is made there, and must live as long as the timeline. With `drawn` false
 * call sites get no colour: `slot` and `twin` are NULL. */
bool timeline_init_beside(struct timeline *timeline, const struct trace *trace, uint32_t index,
                          const struct beside_hooks *beside, bool drawn, struct arena *side,
                          struct arena *arena);

/* The same in steps, from 0 on, for a host that has other things to do in between. After a failure start with step
 * 0 again. */
enum {
    TIMELINE_LIVE_STEPS = 9,
    SITE_SLOTS_STEPS = 3,
    TIMELINE_STEPS = TIMELINE_LIVE_STEPS + 4 + SITE_SLOTS_STEPS
};
bool timeline_init_step(struct timeline *timeline, const struct trace *trace, uint32_t index, uint32_t step,
                        struct arena *arena);

/* Makes a timeline of the one device of `trace`, which has times, segment events and stacks of the device of
 * `whole` but other allocations, in steps like those above. It shares clock, call sites and colours with `whole`,
 * which must outlive it. All steps: O(events + allocations). False: no memory. */
enum { TIMELINE_LIKE_STEPS = TIMELINE_LIVE_STEPS + 1 };
bool timeline_like_step(struct timeline *timeline, const struct timeline *whole, const struct trace *trace,
                        uint32_t step, struct arena *arena);

/*
 * The same device as if only the allocations with a bit in `keep[allocations.count / 64 + 1]` had been recorded:
 * live bytes, peak and what is alive at a moment are theirs. It shares reserved bytes, times and call sites with
 * `whole`, which must outlive it. A scene of it needs the bitmap as its `keep` too. Made in steps, from 0 on: the
 * page shows a frame between two. O(events + allocations). False: no memory.
 */
enum { TIMELINE_SOME_STEPS = TIMELINE_LIVE_STEPS + 1 };
bool timeline_some_step(struct timeline *timeline, const struct timeline *whole, const uint64_t *keep,
                        uint32_t step, struct arena *arena);

/* Does the file have the times of its events? */
static inline bool timeline_timed(const struct timeline *timeline) {
    return timeline->clock != NULL;
}

/* When a moment begins, in microseconds since the first event; never falls from moment to moment. Needs times.
 * O(1). */
static inline int64_t timeline_start_us(const struct timeline *timeline, uint32_t moment) {
    return moment == 0 ? timeline->before_us : timeline->clock[moment - 1] - timeline->clock_from;
}

/* Is the frame a line of the user's own code? O(1). */
bool timeline_frame_is_user(const struct timeline *timeline, uint32_t frame);

/* First moment of the highest total in [from, to), from < to <= n_moments. O(64 + (to - from) / 64). */
uint32_t timeline_peak_in(const struct timeline *timeline, uint32_t from, uint32_t to);

/* Reserved bytes at a moment. O(log n). */
uint64_t timeline_reserved_at(const struct timeline *timeline, uint32_t moment);

/* The reserved bytes before the first event, as far as segments and their events tell; never so low that the curve
 * falls below zero. O(segments + their events). */
uint64_t timeline_reserved_before(const struct device_trace *device);

/* Without final segments only changes of the reserved bytes are known, and the curve is a lower bound. */
static inline bool timeline_reserved_is_bound(const struct device_trace *device) {
    return device->n_segments == 0 && device->n_segment_events != 0;
}

/* The most that is reserved but not in use in the moments [from, to), from < to <= n_moments. O(moments + log n). */
uint64_t timeline_unused_in(const struct timeline *timeline, uint32_t from, uint32_t to);

/* A segment is reserved one event before the allocation that needs it, and in between it looks unused. For such a
 * `moment` returns the next one, with the same reserved bytes; otherwise `moment`. Files that state reserved bytes
 * after each event instead of segments (address 0) have no such moments. O(log n). */
uint32_t timeline_reserved_settled(const struct timeline *timeline, uint32_t moment);

/* Last moment that begins at or before `us` (since the first event); 0 if none does. Needs times. O(log
 * n). */
uint32_t timeline_moment_at(const struct timeline *timeline, int64_t us);

/* Finds the allocations made at or before a moment that end at `least_death` or later, which is the moment, or the
 * next one for those alive at it. In no particular order. Begins as {.moment = ..., .least_death = ...}. */
struct alive_walk {
    uint32_t moment, least_death;
    uint32_t allocation; /* the last one found */
    uint32_t bucket, at, end;
    uint64_t visited; /* allocations looked at: about three times as many as are found */
};

/* False: there are no more. */
bool alive_walk_next(const struct timeline *timeline, struct alive_walk *walk);

/* The number of allocations alive at a moment. O(that). */
uint32_t timeline_alive_count(const struct timeline *timeline, uint32_t moment);

/* The allocations alive at a moment, in stack order (bottom first): ids in a column of `arena`. NULL: no memory, and
 * *n_alive is 0. O(their number + allocations / 64). */
uint32_t *timeline_alive(const struct timeline *timeline, uint32_t moment, struct arena *arena,
                         uint32_t *n_alive);
