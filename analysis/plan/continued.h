/*
 * The recording of a failed request, continued: the rest of its step, as the step before had it.
 *
 *     recorded    ... | F F F B B B O | F F x        x: the request that failed
 *                          |--period--------|        from the same request one step before
 *     continued   ... | F F F B B B O | F F F B B B O | F F F
 *                                           |--period--------|
 *
 * Each allocation of the period is made again, and each free of the period frees what its allocation's successor has
 * become. What is made once (parameters, gradients that stay, the optimizer's state, workspaces) is not made again.
 *
 * Where no step before made the request, but an optimizer in its first step did: what one of its lines has made for some
 * gradients, and keeps, it makes for the others too (exp_avg, exp_avg_sq; the lists of _multi_tensor_adam). Only these
 * follow then.
 *
 * Freestanding.
 */
#pragma once

#include "analysis/findings/verdicts.h"

enum continued_by { CONTINUED_NOT, CONTINUED_STEP, CONTINUED_LISTS };

struct continued {
    uint8_t by;            /* enum continued_by; CONTINUED_NOT: nothing below is set */
    uint32_t event;        /* of the failed request, which is served here */
    uint32_t period;       /* events that follow: of a step, from the same request one step before */
    uint64_t listed_bytes; /* of CONTINUED_LISTS: all that follows, the failed request included */
    /* [n_held] of CONTINUED_STEP: allocations of steps before that are there when the request fails, and no step shows
     * when they go. In `trace` they stay. */
    uint32_t *held, n_held;
    /* The recording's, but its device ends with the period and has no failed request. Memory of the arena. */
    struct trace trace;
};

/* For a device with a failed request; the first one counts. `verdicts` are of its recording, which must outlive the
 * result. O(allocations). False: no memory. */
bool continued_find(struct continued *continued, const struct verdicts *verdicts, struct arena *arena);
