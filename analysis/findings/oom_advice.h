/* What follows from an out-of-memory event: kinds with their figures, which outputs put into sentences. Native
 * only, because it may run the allocator's model. */
#pragma once

#include "analysis/findings/oom.h"
#include "analysis/findings/verdicts.h"
#include "analysis/model/replay.h"

/* Kinds, each with the code that outputs print (its spelling never changes) and the meaning of bytes[0..2]. */
#define STRATA_OOM_ADVICE(X)                                                                           \
    X(NOTHING_IN_USE, "nothing_in_use")             /* requested, free on the device */                \
    X(ALL_ROUNDING, "fragmented")                   /* unused, with nothing in free blocks */          \
    X(FREE_PARTS, "fragmented")                     /* unused, in free blocks */                       \
    X(FREE_PARTS_AT_MOST, "fragmented")             /* the same; the second is an upper bound */       \
    X(NO_BLOCK_LARGE, "fragmented")                 /* unused */                                       \
    X(NO_BLOCK_SERVES, "fragmented")                /* unused; a larger block serves other requests */ \
    X(FREE_ENOUGH, "free_enough")                   /* free on the device, at least what was asked */  \
    X(REQUEST_TOO_LARGE, "memory_in_use")           /* reserved and free on the device */              \
    X(LACKING, "memory_in_use")                     /* lacking */                                      \
    X(NOT_IN_ONE_PIECE, "not_in_one_piece")         /* unused and free on the device */                \
    X(FITS, "enable_expandable_segments")           /* modelled: the least that is enough, budget */   \
    X(FITS_FROM, "enable_expandable_segments")      /* the same, and the first beyond the second */    \
    X(OFF, "enable_expandable_segments")            /* unused */                                       \
    X(OFF_LACKING, "enable_expandable_segments")    /* unused, lacking */                              \
    X(UNSAID, "enable_expandable_segments")         /* unused */                                       \
    X(UNSAID_LACKING, "enable_expandable_segments") /* unused, lacking */                              \
    X(ON_ALREADY, "expandable_segments_on")         /* unused */                                       \
    X(SPLIT_UNSET, "set_max_split_size")            /* free in parts of segments */                    \
    X(PRIVATE_POOLS, "private_pools")               /* free in private pools */                        \
    X(PENDING, "pending_frees")                     /* freed, waiting for other streams */             \
    X(ROUNDING, "rounding")                         /* rounding and remainders */                      \
    X(HELD_BY_OTHERS, "held_by_others")             /* neither free nor reserved, capacity */          \
    X(GROWTH, "growth")                             /* risen, more each step */

enum oom_advice_kind {
#define OOM_ADVICE_NUMBER(KIND, code) OOM_ADVICE_##KIND,
    STRATA_OOM_ADVICE(OOM_ADVICE_NUMBER)
#undef OOM_ADVICE_NUMBER
        OOM_ADVICE_KINDS
};

struct oom_advice {
    enum oom_advice_kind kind;
    uint64_t bytes[3];
};
enum { OOM_ADVICE_MOST = 12 };

/* Computed once for a device, for all of its events. */
struct oom_ground {
    const struct verdicts *verdicts;
    const struct free_blocks_summary *free_blocks; /* at the end of the recording */
    struct allocator_settings settings;            /* the recorded settings */
    uint64_t risen_bytes, slope_bytes;             /* of all growing call sites */
    uint64_t *pending_bytes;   /* [n_ooms] bytes freed at the event's moment but waiting for other streams */
    bool modelled;             /* the next two are known, for the first event */
    uint64_t budget_bytes;     /* what the process had of the device */
    uint64_t expandable_bytes; /* the least that would have been enough with expandable segments */
};

/* For a device with such events; keeps `free_blocks`. O((allocations + events) log events). False: no memory. */
bool oom_ground_find(struct oom_ground *ground, const struct verdicts *verdicts,
                     const struct free_blocks_summary *free_blocks, struct arena *arena);

/* If the replay is exact, asks the model what expandable segments would have done at the first event. False: no
 * memory. */
bool oom_ground_model(struct oom_ground *ground, const struct replay *replay, struct arena *arena);

/* Fills the advice for the event of `state`; [OOM_ADVICE_MOST]. Returns how many. O(blocks). */
uint32_t oom_advise(const struct oom_ground *ground, const struct oom_event *event,
                    const struct oom_state *state, struct oom_advice advice[OOM_ADVICE_MOST]);

/* "enable_expandable_segments" */
extern const char *const oom_advice_code[]; /* by enum oom_advice_kind */
