/*
 * A host's way to do one piece of work beside the rest, for code that has no threads of its own; it may do none. The
 * results are the same either way. Freestanding.
 */
#pragma once

#include "base/arena.h"

struct beside_hooks {
    /* Does `work` in another thread, where at least `nbytes` are left for both sides. False: it was not begun. At most one
     * at a time. */
    bool (*begin)(void *context, uint64_t nbytes, void (*work)(void *argument), void *argument);
    void (*end)(void *context); /* waits for the work that was begun */
    void *context;
    struct arena_host host; /* memory that both sides may take at once; each from an arena of its own */
};

/* With so much to spare, neither side fails because of the other's memory. It is generous: the results for
 * an event or an allocation take less than 100 bytes on each side. */
static inline uint64_t beside_ample_nbytes(uint32_t n_events, uint32_t n_allocations) {
    return ((uint64_t)n_events + n_allocations) * 256 + (UINT64_C(64) << 20);
}

/* Starting a thread takes as long as the work on fewer events. */
enum { BESIDE_EVENTS_LEAST = 2000 };
