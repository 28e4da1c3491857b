/* Lets code without threads of its own have one piece of work done in parallel by its host. A host may have no
 * thread; the results are the same. Freestanding. */
#pragma once

#include "base/arena.h"

struct beside_hooks {
    /* Starts `work` in another thread if at least `nbytes` of memory are left for both sides. False: not started.
     * At most one at a time. */
    bool (*begin)(void *context, uint64_t nbytes, void (*work)(void *argument), void *argument);
    void (*end)(void *context); /* waits until the work is done */
    void *context;
    struct arena_host host; /* memory for both sides at once; each takes it through an arena of its own */
};

/* With this much memory to spare, neither side fails because of the other. Generous: the results take less than 100
 * bytes per event or allocation on each side. */
static inline uint64_t beside_ample_nbytes(uint32_t n_events, uint32_t n_allocations) {
    return ((uint64_t)n_events + n_allocations) * 256 + (UINT64_C(64) << 20);
}

/* With fewer events, starting a thread takes as long as the work itself. */
enum { BESIDE_EVENTS_LEAST = 2000 };
