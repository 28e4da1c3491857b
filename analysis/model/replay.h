/*
 * Replays the recording with the model of the allocator (analysis/model/allocator.h). The model decides alone, is
 * never corrected, and is compared with the recording at every step. Only if it agrees everywhere are its answers
 * for other settings (analysis/model/whatif.h) credible; otherwise there are none. Freestanding.
 */
#pragma once

#include "analysis/model/allocator.h"
#include "analysis/model/program.h"
#include "base/words.h"
#include "layout/segments.h"

enum replay_grade {
    REPLAY_EXACT,   /* all decisions and the reserved curve agree */
    REPLAY_NEAR,    /* 99 % of the decisions, and the curve within 0.5 % */
    REPLAY_REFUSED, /* neither, or there is nothing to replay: see the reason */
};

/* "exact", "near", "refused" */
extern const char *const replay_grade_text[]; /* by enum replay_grade */

/* Recordings with more events are replayed only on demand. */
enum { REPLAY_EVENTS_AT_ONCE = 2000000 };

/* The size of the largest free block from a moment on. */
struct replay_largest {
    uint32_t moment;
    uint64_t bytes;
};

struct replay {
    enum replay_grade grade;
    const char *reason; /* a sentence without its full stop; NULL if the grade is exact */
    uint64_t allocations, allocations_exact;     /* same block at the same address, in the same way */
    uint64_t driver_events, driver_events_exact; /* segment_alloc and segment_map */
    uint64_t releases, releases_exact;           /* segment_free and segment_unmap */
    uint64_t blocks, blocks_exact;               /* at the end */
    uint64_t reserved_max_error_bytes;
    struct allocator_settings settings; /* the recorded ones, or those that its segments show */
    bool settings_known;                /* the file has them */
    /* for each allocation: bytes of its block beyond its request rounded up to 512 bytes; a column of the arena.
     * NULL unless the grade is exact */
    uint32_t *extra;
    /* [n_largest] by moment, if requested and exact; a column of the arena */
    struct replay_largest *largest;
    uint32_t n_largest, largest_capacity;
    /* before this moment some live blocks have unknown rests: they are older, and no decision showed them */
    uint32_t guessed_until;
};

/* Replays a device. `program` must be of that device; NULL makes a temporary one. O(n log n); work that a hostile
 * recording could make endless is bounded, and refused beyond. False: no memory. */
bool replay_run(struct replay *replay, const struct trace *trace, const struct device_trace *device,
                const struct program *program, struct arena *arena);

/* The same in stretches, so that its host can do something else in between. It also follows the largest free block,
 * for devices with at most REPLAY_LISTS pools and streams. The work's memory is from `arena`. NULL: no memory. */
enum { REPLAY_LISTS = 64 };
struct replay_work;
struct replay_work *replay_begin(struct replay *replay, const struct trace *trace,
                                 const struct device_trace *device, struct arena *arena);

enum replay_progress { REPLAY_GOES_ON, REPLAY_DONE, REPLAY_NO_MEMORY };

/* Continues for about `n` operations (an allocation or a free is one); the work before the first and after the last
 * counts by its time, and is not divided. When nothing is left, the work is over and must not be used again. */
enum replay_progress replay_go_on(struct replay_work *work, uint32_t n_operations);

/* Gives up unfinished work and frees its memory besides `arena`. */
void replay_stop(struct replay_work *work);

/* "Replay check: all 1,302 allocations, all 60 driver allocations and the reserved curve are exactly as recorded." */
void replay_tell(struct words *words, const struct replay *replay);

/* Does it have segments that grow? Only expandable segments do. O(segments + their events). */
bool device_is_expandable(const struct device_trace *device);

/* Settings of a recording: those in the file, and what its segments and blocks show of the rest. */
struct allocator_settings replay_settings(const struct trace *trace, const struct device_trace *device,
                                          bool *known);
