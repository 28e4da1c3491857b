/*
 * Runs the requests of a recording under other settings of the allocator: how much would be reserved, whether it
 * fits into a budget, and the least that any setting needs. Credible only if the replay is exact
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
    /* [n_columns] of the run: the most reserved in each, 0 after its end; NULL: not requested */
    uint64_t *column;
    uint32_t n_columns;
    /* do new segments get ever lower addresses? The address decides between equal free blocks */
    bool descending;
    bool until_retry;     /* end the run after its first retry */
    uint64_t until_bytes; /* end the run once it has reserved this much; 0: do not */
};

/* A request that found no memory in a run. The program would then do something else, so the run ends there. */
struct whatif_oom {
    bool happened;
    /* among the recorded requests, failed ones included; -1: it is older than the recording */
    int64_t request_index;
    uint64_t requested_bytes, reserved_bytes, active_bytes;
};

struct whatif_result {
    uint64_t peak_reserved_bytes, end_reserved_bytes, n_retries;
    struct whatif_oom oom;
    bool past_recorded_oom; /* a request that failed in the recording found memory: the run ends after it */
    bool endless;           /* the searches took too long; the figures cover the part that was run */
    uint32_t n_ops;         /* operations that were run */
};

/*
 * First allocates older memory, by rising address, in an empty allocator; then makes the recorded requests, with
 * the recorded moments of frees and of calls of empty_cache. Threads, each with an arena of its own, may share
 * `program`. O(n log n). False: no memory.
 */
bool whatif_run(struct whatif_result *result, const struct program *program, const struct whatif_case *what,
                struct arena *arena);

/* Lower bounds in bytes: no allocator needs less for the same requests. */
struct whatif_bounds {
    uint64_t requested_peak_bytes;
    /* each rounded up to 512 bytes: the least without moving or sharing memory */
    uint64_t rounded_peak_bytes;
    /* packed with all lifetimes known in advance, as by a planner; 0: too many to pack */
    uint64_t packed_bytes;
};

/* O(n), and O(k^2) for k allocations above 1 MiB, WHATIF_PACKED_MAX at most. False: no memory. */
enum { WHATIF_PACKED_MAX = 20000 };
bool whatif_bounds_find(struct whatif_bounds *bounds, const struct program *program, bool packed,
                        struct arena *arena);

/* How much of the device this process's allocator could have had, as far as the recording shows it. */
struct whatif_budget {
    uint64_t at_least_bytes; /* it had this much */
    uint64_t at_most_bytes;  /* with more, a request that was retried or failed would not have; 0: unknown */
};
struct whatif_budget whatif_budget_find(const struct program *program,
                                        const struct allocator_settings *recorded);

/* ---- a table of scenarios ---- */

enum { WHATIF_SCENARIOS_MAX = 16, WHATIF_NAME = 512, WHATIF_USUAL = 8, WHATIF_USUAL_OTHER = 2 };

/* Settings that are always tried. From WHATIF_USUAL_OTHER on more than the kind of segments changes. */
extern const char *const whatif_usual[WHATIF_USUAL];

struct whatif_scenario {
    char name[WHATIF_NAME]; /* "recorded", "default", or what is added to the recorded settings */
    struct allocator_settings settings;
    uint64_t peak_min_bytes, peak_max_bytes,
        end_bytes; /* over both orders of addresses, on an unlimited device */
    bool past_recorded_oom;
    bool budgeted; /* the next three are known */
    uint64_t n_retries;
    struct whatif_oom oom;
    uint64_t smallest_budget_bytes; /* in which everything fits, with retries; 0: not requested */
    uint32_t same_as;               /* an earlier scenario with equal settings; its own index: none */
    bool endless;
};

/* By how much the request that failed in the recording is short, if no scenario serves it. */
struct whatif_lack {
    bool known;              /* a request failed, a budget is known, and no scenario serves it there */
    uint32_t scenario;       /* the scenario that lacks the least */
    uint64_t smallest_bytes; /* the smallest budget in which that scenario serves it, retries allowed */
    uint64_t bytes;          /* this budget less the most that there was */
    uint64_t at_least_bytes; /* the same for the requested bytes, rounded: missing under any settings */
};

struct whatif {
    const struct program *program;
    struct replay replay;
    uint64_t recorded_peak_bytes; /* of the reserved curve, from the events */
    struct whatif_bounds bounds;
    struct whatif_budget budget;
    uint64_t gpu_bytes;      /* requested by the user; 0: not */
    bool find_smallest;      /* find smallest budgets, which takes some eighty runs per scenario */
    struct whatif_lack lack; /* of whatif_lack_find */
    uint32_t n_scenarios;
    struct whatif_scenario scenario[WHATIF_SCENARIOS_MAX];
};

/* Does the recording have requests? A log has levels instead, and then `bounds` mean nothing. */
static inline bool whatif_has_requests(const struct whatif *whatif) {
    return trace_has_allocations(whatif->program->trace);
}

/* A snapshot has reserved bytes, even if they are 0; in other recordings 0 means unknown. */
static inline bool whatif_knows_reserved(const struct whatif *whatif, uint64_t bytes) {
    return bytes != 0 || trace_has_segments(whatif->program->trace);
}

struct whatif_request {
    uint64_t gpu_bytes;
    bool find_smallest;
    bool leave_packing; /* leave it out of the bounds, because it takes longest */
    const char *const
        *set; /* "key:value" or "key=value", spelt as by PyTorch; all of them together are one scenario */
    uint32_t n_set;
};

/* May this text be set? False: PyTorch would refuse it, or it is not modelled. */
bool whatif_set_is_fine(const char *text);

/* Names a scenario of several settings: spelt as by PyTorch, in alphabetical order. */
void whatif_set_text(char text[WHATIF_NAME], const char *const *set, uint32_t n_set);

/* Replays, and fills in everything but the scenarios' figures. If the replay is refused there are no scenarios. The
 * request's texts must be fine. False: no memory. */
bool whatif_init(struct whatif *whatif, const struct program *program, const struct whatif_request *request,
                 struct arena *arena);

/* The same for a program with changed sizes; `replay` is that of the original recording. */
bool whatif_init_of(struct whatif *whatif, const struct program *program, const struct replay *replay,
                    const struct whatif_request *request, struct arena *arena);

/* Solves one scenario; several threads, each with an arena of its own, may solve different ones. False: no
 * memory. */
bool whatif_solve(struct whatif *whatif, uint32_t index, struct arena *arena);

/* The reserved bytes of a scenario on an unlimited device, with rising addresses: `column[n_columns]` are equal
 * parts of the run's moments, with the most in each, 0 after the run's end. False: no memory. */
bool whatif_curve(uint64_t *column, uint32_t n_columns, const struct whatif *whatif, uint32_t index,
                  struct arena *arena);

/* Call it when all are solved: copies the results of scenarios with equal settings. */
void whatif_finish(struct whatif *whatif);

/* "recorded settings" for the first scenario, which is not the recording itself, because nothing limits it. */
const char *whatif_scenario_title(const struct whatif_scenario *scenario);

/* The most that any scenario reserves. */
uint64_t whatif_highest_bytes(const struct whatif *whatif);

/* The budget that retries and out-of-memory refer to; 0: none. */
uint64_t whatif_budget_bytes(const struct whatif *whatif);

/* The most that the process may have had, from which every output measures "short by"; 0: unknown. */
uint64_t whatif_most_bytes(const struct whatif *whatif);

/* Call it after whatif_finish: fills in whatif->lack. If smallest budgets were not requested, it makes some eighty
 * runs of each scenario whose budget is below all before it, and one run of each other. Without a failed request it
 * runs nothing. False: no memory. */
bool whatif_lack_find(struct whatif *whatif, struct arena *arena);
