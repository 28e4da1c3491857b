/*
 * The recording replayed through the model of the allocator (analysis/model/allocator.h): the model decides alone, is never
 * corrected, and is compared with what was recorded at every step. Where it agrees everywhere, what it says under other
 * settings (analysis/model/whatif.h) can be believed; where it does not, nothing is said. Freestanding.
 */
#pragma once

#include "analysis/model/allocator.h"
#include "analysis/model/program.h"
#include "layout/segments.h"

enum replay_grade {
    REPLAY_EXACT,   /* every decision and the reserved curve */
    REPLAY_NEAR,    /* 99 % of the decisions, the curve within 0.5 % */
    REPLAY_REFUSED, /* neither, or there is nothing to replay: see the reason */
};

/* "exact", "near", "refused" */
const char *replay_grade_text(enum replay_grade grade);

/* Recordings of more events are replayed on demand only. */
enum { REPLAY_EVENTS_AT_ONCE = 2000000 };

/* From a moment on the largest free block has so many bytes. */
struct replay_largest {
    uint32_t moment;
    uint64_t bytes;
};

struct replay {
    enum replay_grade grade;
    const char *reason; /* a sentence without its full stop; NULL where the grade is exact */
    uint64_t allocations, allocations_exact;     /* same block at the same address, by the same way */
    uint64_t driver_events, driver_events_exact; /* segment_alloc and segment_map */
    uint64_t releases, releases_exact;           /* segment_free and segment_unmap */
    uint64_t blocks, blocks_exact;               /* at the end */
    uint64_t reserved_max_error_bytes;
    struct allocator_settings settings; /* of the recording, as it says or as its segments show */
    bool settings_known;                /* the recording says them */
    /* per allocation: what its block has beyond its request rounded up to 512 bytes; a column of the
     * arena. NULL unless the grade is exact */
    uint32_t *extra;
    /* [n_largest] by moment, where asked for and exact; a column of the arena */
    struct replay_largest *largest;
    uint32_t n_largest, largest_capacity;
    /* before this moment blocks are alive whose rests are not known: older than the recording, and no
     * decision showed them */
    uint32_t guessed_until;
};

/*
 * Replays a device. `program` is of that device; NULL makes one for the time being. O(n log n); work that a hostile
 * recording could make endless is bounded, and refused beyond. False: no memory.
 */
bool replay_run(struct replay *replay, const struct trace *trace, const struct device_trace *device,
                const struct program *program, struct arena *arena);

/*
 * The same a stretch at a time, so that who runs it can do something else in between; it follows the largest free
 * block, too, for devices of REPLAY_LISTS pools and streams at most. The work's memory is from `arena`. NULL: no memory.
 */
enum { REPLAY_LISTS = 64 };
struct replay_work;
struct replay_work *replay_begin(struct replay *replay, const struct trace *trace,
                                 const struct device_trace *device, struct arena *arena);

enum replay_progress { REPLAY_GOES_ON, REPLAY_DONE, REPLAY_NO_MEMORY };

/* Goes on for about so many operations (an allocation or a free is one); what is done before the first and after the last
 * counts by the time it takes, and is not divided. When it does not go on, the work is over and not to be used again. */
enum replay_progress replay_go_on(struct replay_work *work, uint32_t n_operations);

/* Gives up work that goes on; what it took besides `arena` is free again. */
void replay_stop(struct replay_work *work);

/* Has it segments that grow? They are there only where expandable segments are on. O(segments + their events). */
bool device_is_expandable(const struct device_trace *device);

/* Settings of a recording: what it says, and what its segments and blocks show of the rest. */
struct allocator_settings replay_settings(const struct trace *trace, const struct device_trace *device,
                                          bool *known);
