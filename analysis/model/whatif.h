/*
 * Runs the requests of a recording under other settings of the allocator: how much would be reserved, and whether it
 * fits into a budget. Credible only if the replay is exact
 * (analysis/model/replay.h), and only for this sequence of requests: what the program would have requested instead
 * is not recorded. Freestanding.
 */
#pragma once

#include "analysis/model/replay.h"

/* One run of the model. */
struct whatif_case {
    struct allocator_settings settings;
    uint64_t budget_bytes; /* ALLOCATOR_UNLIMITED: none */
    /* device memory that shares refer to; 0: unknown, and such settings have no effect */
    uint64_t device_bytes;
    /* do new segments get ever lower addresses? The address decides between equal free blocks */
    bool descending;
    bool until_retry;     /* end the run after its first retry */
    uint64_t until_bytes; /* end the run once it has reserved this much; 0: do not */
};

struct whatif_result {
    uint64_t peak_reserved_bytes, n_retries;
    bool
        out_of_memory; /* a request found no memory; the program would then do something else, so the run ends */
    bool endless;      /* the searches took too long; the figures cover the part that was run */
    uint32_t n_ops;    /* operations that were run */
};

/*
 * First allocates older memory, by rising address, in an empty allocator; then makes the recorded requests, with
 * the recorded moments of frees and of calls of empty_cache. Threads, each with an arena of its own, may share
 * `program`. O(n log n). False: no memory.
 */
bool whatif_run(struct whatif_result *result, const struct program *program, const struct whatif_case *what,
                struct arena *arena);

/* How much of the device this process's allocator could have, as far as the recording shows it. */
struct whatif_budget {
    /* What every output measures from: what was reserved when the first request failed, and what the device had free
     * then; without a failed request, the most that was reserved, if a retry shows a limit. 0: no limit is shown. */
    uint64_t bytes;
    uint64_t at_least_bytes; /* it had this much once */
    uint64_t at_most_bytes;  /* with more, a request that was retried or failed would not have; 0: unknown */
};
struct whatif_budget whatif_budget_find(const struct program *program,
                                        const struct allocator_settings *recorded);
