/*
 * Summarises one rank's recording, to compare many ranks. Made by rank_profile_make from a recording, stored in the
 * sidecars of a batch, read by outliers.h. Call sites are identified by a hash of their text, so that
 * ranks of different machines can be compared. Freestanding.
 */
#pragma once

#include "analysis/findings/verdicts.h"

enum {
    RANK_STEPS_MOST = 256,
    RANK_CALLS_MOST = 512,  /* call sites in a profile */
    RANK_ENTRIES_MOST = 24, /* call sites in a table */
    RANK_TABLES_MOST = 256,
    RANK_NO_STEP = -1
};

struct rank_step {
    int64_t number;
    bool complete;
    uint64_t begin_bytes, peak_bytes, end_bytes;
    uint64_t phase_peak[3]; /* of forward, backward, optimizer; 0: the step has none */
    uint32_t from_moment, to_moment, peak_moment;
};

struct rank_call {
    uint32_t site; /* hash of its text */
    uint32_t name; /* index of its name; a frame id in a new profile */
};

enum rank_moment {
    RANK_AT_END,
    RANK_AT_FORWARD,
    RANK_AT_BACKWARD,
    RANK_AT_OPTIMIZER,
    RANK_AT_PEAK,
    RANK_AT_OOM
};

struct rank_entry {
    uint32_t call; /* index into calls */
    uint64_t bytes;
};

/* The call sites alive at a moment, by falling bytes. */
struct rank_table {
    /* step, and RANK_AT_END (its end) or RANK_AT_FORWARD .. OPTIMIZER (the highest moment of that phase);
     * RANK_NO_STEP */
    int64_t step;
    enum rank_moment at;
    uint64_t total_bytes; /* of everything alive, unlisted sites included */
    uint32_t count;
    struct rank_entry *entry;
};

struct rank_profile {
    uint32_t n_steps, n_calls, n_tables;
    struct rank_step *step; /* by rising number */
    struct rank_call *call; /* by rising hash */
    struct rank_table *table;
    int64_t oom_step;   /* step of the first out-of-memory event; RANK_NO_STEP */
    int32_t oom_phase;  /* its phase, RANK_AT_FORWARD ...; -1: unknown */
    uint64_t signature; /* of the sizes of its gradients, below 2^48; 0: unknown */
};

/* Makes the profile of a recording. Everything is in `arena`. O(allocations log allocations + steps * alive).
 * False: no memory. */
bool rank_profile_make(struct rank_profile *profile, const struct verdicts *verdicts, struct arena *arena);

/* The table of a moment; NULL: none. O(tables). */
const struct rank_table *rank_table_of(const struct rank_profile *profile, int64_t step, enum rank_moment at);

/* The step with this number; NULL: none. O(log steps). */
const struct rank_step *rank_step_of(const struct rank_profile *profile, int64_t number);

/* The number of complete steps. O(steps). */
uint32_t rank_complete_steps(const struct rank_profile *profile);

/* Number of the last complete step; RANK_NO_STEP: none. */
int64_t rank_last_step(const struct rank_profile *profile);

/* Are tables kept for the step with this index? For the first eight steps, then for two per doubling. The rule is
 * the same for every rank, so that ranks have tables of the same steps. */
bool rank_step_is_kept(uint32_t index);
