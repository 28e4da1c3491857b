/* What the files of a plan share. Private to them. */
#pragma once

#include "analysis/plan/plan.h"
#include "base/numbers.h"

enum {
    CHECKPOINT_SLACK_BYTES = 20 << 20
}; /* one granule: the order of what is made again may differ by so much */

struct planner {
    struct plan *plan;
    const struct plan_request *request;
    const struct allocations *allocations;
    struct lives lives;
    struct arena *arena;
    uint8_t *event;            /* [n_events] enum event_kind, for checkpointing */
    struct edit checkpoint[2]; /* of the K that `checkpoint_blocks` says */
    uint32_t checkpoint_blocks;
    struct arena checkpoint_arena; /* of these */
    bool failed;
};

/* One run of a changed program. */
struct plan_run {
    const struct program *program;
    struct whatif_case what;
    struct whatif_result result;
};

/* Solves all, shared over two threads where there are. False: no memory. */
bool plan_runs(struct planner *planner, struct plan_run *run, uint32_t n_runs);

/* Figures of a set of edits (a form each) under settings. `full`: reserved and fits too, else fits only as far as it takes to
 * know whether all runs are served (PLAN_NO where one is not). False: no memory. */
struct plan_case {
    const struct edit *edit[2][PLAN_CHANGES_MAX]; /* by form */
    uint32_t n_edits, forms;
    struct allocator_settings settings;
    bool checkpointed;
};
bool plan_in_use(struct planner *planner, const struct plan_case *what, struct plan_figures *figures);
bool plan_solve(struct planner *planner, const struct plan_case *what, struct plan_figures *figures,
                bool full);

/* What a set may have: the budget, less a granule with checkpointing. */
static inline uint64_t budget_of(const struct planner *planner, bool checkpointed) {
    uint64_t budget = planner->plan->budget_bytes;
    return !checkpointed ? budget : budget > CHECKPOINT_SLACK_BYTES ? budget - CHECKPOINT_SLACK_BYTES : 0;
}

static inline bool plan_is_served(uint8_t fits) {
    return fits == PLAN_YES || fits == PLAN_WITH_RETRIES;
}

/* The case of a set; checkpointing of its K is made. False: no memory. */
bool plan_case_of(struct planner *planner, const struct plan_set *set, struct plan_case *what);

bool plan_leaves_out(const struct planner *planner, const char *word);

/* Fill in. False: no memory. */
bool checkpoint_make(struct planner *planner, uint32_t n_blocks);
bool plan_settings_find(struct planner *planner);
bool plan_edits_find(struct planner *planner);
bool plan_search(struct planner *planner);
struct plan_change *plan_change_add(struct planner *planner, enum plan_kind kind, enum plan_cost cost,
                                    enum plan_certainty certainty, const char *id);
