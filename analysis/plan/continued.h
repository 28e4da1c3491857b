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
 * Freestanding.
 */
#pragma once

#include "analysis/findings/verdicts.h"

struct continued {
    bool known; /* an earlier step made the same request after the same others; else nothing else is set */
    uint32_t event;  /* of the failed request, which is served here */
    uint32_t period; /* events from the same request one step before; as many follow */
    /* The recording's, but its device ends with the period and has no failed request. Memory of the arena. */
    struct trace trace;
};

/* For a device with a failed request; the first one counts. `verdicts` are of its recording, which must outlive the
 * result. O(allocations). False: no memory. */
bool continued_find(struct continued *continued, const struct verdicts *verdicts, struct arena *arena);
