/*
 * The requests of a recording under other settings of the allocator: how much would have been reserved, whether it fits
 * into a budget, and what nothing can go below. Only to be believed where the replay is exact (analysis/model/replay.h), and
 * only of this sequence of requests: what the program would have asked for instead is not recorded. Freestanding.
 */
#pragma once

#include "analysis/model/replay.h"

/* One run of the model. */
struct whatif_case {
    struct allocator_settings settings;
    uint64_t budget_bytes; /* ALLOCATOR_UNLIMITED: none */
    uint64_t device_bytes; /* that shares of memory are of; 0: not known, and such settings have no effect */
    /* [n_columns] of the run: the most reserved in each, 0 after its end; NULL: not asked for */
    uint64_t *column;
    uint32_t n_columns;
    bool descending;  /* whether new segments lie ever lower; the address decides between equal free blocks */
    bool until_retry; /* the run ends behind its first retry */
    uint64_t until_bytes; /* and where it has reserved so much; 0: it does not */
};

/* A request that found no memory in a run. Afterwards the program would do something else, so the run ends there. */
struct whatif_oom {
    bool happened;
    /* among the recorded requests, failed ones included; -1: what is older than the recording */
    int64_t request_index;
    uint64_t requested_bytes, reserved_bytes, active_bytes;
};

struct whatif_result {
    uint64_t peak_reserved_bytes, end_reserved_bytes, n_retries;
    struct whatif_oom oom;
    bool past_recorded_oom; /* a request that failed in the recording found memory: the run ends after it */
    bool endless;           /* the searches took too long; the figures are of the part that was run */
    uint32_t n_ops;         /* operations of the program that were run */
};

/*
 * What is older than the recording is allocated first, by rising address, into an empty allocator; then the recorded
 * requests follow, with the recorded moments of frees and of calls of empty_cache. `program` may be shared by threads, each
 * with an arena of its own. O(n log n). False: no memory.
 */
bool whatif_run(struct whatif_result *result, const struct program *program, const struct whatif_case *what,
                struct arena *arena);

/* Lower bounds in bytes: no allocator needs less for the same requests. */
struct whatif_bounds {
    uint64_t requested_peak_bytes;
    uint64_t rounded_peak_bytes; /* each rounded up to 512: least for what neither moves nor shares memory */
    /* packed with all lifetimes known beforehand, as a planner could; 0: too many to pack */
    uint64_t packed_bytes;
};

/* O(n), and O(k^2) for k allocations above 1 MiB, WHATIF_PACKED_MAX at most. False: no memory. */
enum { WHATIF_PACKED_MAX = 20000 };
bool whatif_bounds_find(struct whatif_bounds *bounds, const struct program *program, bool packed,
                        struct arena *arena);

/* How much of the device this process' allocator could have had, as far as the recording shows it. */
struct whatif_budget {
    uint64_t at_least_bytes; /* it had so much */
    uint64_t at_most_bytes; /* with more, a request that was retried or failed would not have; 0: not known */
};
struct whatif_budget whatif_budget_find(const struct program *program, const struct replay *replay);

/* ---- a table of scenarios ---- */

enum { WHATIF_SCENARIOS_MAX = 16, WHATIF_NAME = 512 };

struct whatif_scenario {
    char name[WHATIF_NAME]; /* "recorded", "default", or what is added to the recorded settings */
    struct allocator_settings settings;
    uint64_t peak_min_bytes, peak_max_bytes,
        end_bytes; /* over both orders of addresses, on an unlimited device */
    bool past_recorded_oom;
    bool budgeted; /* the next three are known */
    uint64_t n_retries;
    struct whatif_oom oom;
    uint64_t smallest_budget_bytes; /* in which all of it fits, with retries; 0: not asked for */
    uint32_t same_as;               /* an earlier scenario of equal settings; its own index: none */
    bool endless;
};

/* How much the request that failed in the recording is short of, where no scenario serves it. */
struct whatif_lack {
    bool known;              /* a request failed, a budget is known, and no scenario serves it there */
    uint32_t scenario;       /* that lacks the least */
    uint64_t smallest_bytes; /* the smallest budget in which that serves it, retries allowed */
    uint64_t bytes;          /* by which that is above the most that there was */
    uint64_t at_least_bytes; /* the same of what was requested, rounded: short whatever the settings */
};

struct whatif {
    const struct program *program;
    struct replay replay;
    uint64_t recorded_peak_bytes; /* of the reserved curve, from the events */
    struct whatif_bounds bounds;
    struct whatif_budget budget;
    uint64_t gpu_bytes;      /* asked for; 0: not */
    bool find_smallest;      /* budgets, which takes some eighty runs a scenario */
    struct whatif_lack lack; /* of whatif_lack_find */
    uint32_t n_scenarios;
    struct whatif_scenario scenario[WHATIF_SCENARIOS_MAX];
};

/* Levels of a log are no requests: `bounds` are nothing then. */
static inline bool whatif_has_requests(const struct whatif *whatif) {
    return trace_has_allocations(whatif->program->trace);
}

/* A snapshot says what was reserved, if only that it was nothing; of other recordings 0 means that they do not. */
static inline bool whatif_knows_reserved(const struct whatif *whatif, uint64_t bytes) {
    return bytes != 0 || trace_has_segments(whatif->program->trace);
}

struct whatif_request {
    uint64_t gpu_bytes;
    bool find_smallest;
    bool leave_packing; /* out of the bounds: it takes longest */
    const char *const
        *set; /* "key:value" or "key=value", as PyTorch spells them; all of them are one scenario */
    uint32_t n_set;
};

/* One of the texts that are to be set alone; false: PyTorch would refuse it, or it is not one of those that are modelled. */
bool whatif_set_is_fine(const char *text);

/* Several of them as one scenario is named: as PyTorch spells them, in alphabetical order. */
void whatif_set_text(char text[WHATIF_NAME], const char *const *set, uint32_t n_set);

/*
 * Replays, and fills in all but the scenarios' figures. Where the replay is refused there are no scenarios. The texts of
 * the request are fine. False: no memory.
 */
bool whatif_init(struct whatif *whatif, const struct program *program, const struct whatif_request *request,
                 struct arena *arena);

/* The same of a program whose sizes were changed: `replay` is that of the recording they come from. */
bool whatif_init_of(struct whatif *whatif, const struct program *program, const struct replay *replay,
                    const struct whatif_request *request, struct arena *arena);

/* Fills in one scenario; several may be solved at once, each by a thread with an arena of its own. False: no memory. */
bool whatif_solve(struct whatif *whatif, uint32_t index, struct arena *arena);

/* What a scenario would have had reserved on an unlimited device, new addresses rising: `column[n_columns]` are equal parts
 * of the run's moments, with the most of each, 0 where the run had ended. False: no memory. */
bool whatif_curve(uint64_t *column, uint32_t n_columns, const struct whatif *whatif, uint32_t index,
                  struct arena *arena);

/* After all are solved: copies what scenarios of equal settings share. */
void whatif_finish(struct whatif *whatif);

/* "recorded settings" for the first, which is no record itself: nothing limits it. */
const char *whatif_scenario_title(const struct whatif_scenario *scenario);

/* The most that any scenario reserves. */
uint64_t whatif_highest_bytes(const struct whatif *whatif);

/* The budget that retries and out of memory are told for; 0: none. */
uint64_t whatif_budget_bytes(const struct whatif *whatif);

/* The most that the process may have had, which "short by" is measured from everywhere; 0: not known. */
uint64_t whatif_most_bytes(const struct whatif *whatif);

/* After whatif_finish: fills in whatif->lack. Where smallest budgets were not asked for, some eighty runs of each scenario
 * whose budget is below all before it, and one of each other. Without a failed request nothing is run. False: no memory. */
bool whatif_lack_find(struct whatif *whatif, struct arena *arena);
