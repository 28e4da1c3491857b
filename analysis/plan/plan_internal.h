/* What the files of a plan share. Private to them. */
#pragma once

#include "analysis/plan/plan.h"
#include "base/numbers.h"

enum {
    CHECKPOINT_SLACK_BYTES = 20 << 20
}; /* one granule: the order of what is made again may differ by so much */

/* What a frame of a stack says. */
enum plan_stack_bit { PLAN_STACK_CAST = 1, PLAN_STACK_FOREACH = 2, PLAN_STACK_COMPILED = 4 };

struct planner {
    struct plan *plan;
    const struct plan_request *request;
    const struct allocations *allocations;
    struct lives lives;
    struct arena *arena;
    uint8_t *stack_bits;       /* [stacks.count] enum plan_stack_bit */
    uint8_t *event;            /* [n_events] enum event_kind, for checkpointing */
    struct edit checkpoint[2]; /* of all blocks; the first K are the first of both lists */
    struct checkpoint_end {
        uint32_t n_cuts[2], n_lives[2];
    } * until;           /* [blocks] where the lists of K end */
    uint64_t n_replayed; /* operations */
    bool gave_up;        /* that is more than the request allows */
};

/* One run of a changed program. */
struct plan_run {
    const struct program *program;
    struct whatif_case what;
    struct whatif_result result;
};

/* Solves all, shared over two threads where there are. False: no memory, or it gave up. */
bool plan_runs(struct planner *planner, struct plan_run *run, uint32_t n_runs);

/* Figures of a set of edits (a form each) under settings. `full`: reserved and fits too, else fits only as far as it takes to
 * know whether all runs are served (PLAN_NO where one is not). False: no memory. */
struct plan_case {
    const struct edit *edit[2][PLAN_CHANGES_MAX]; /* by form */
    struct edit checkpoint[2];
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

/* The case of a set, which points into itself. */
void plan_case_of(const struct planner *planner, const struct plan_set *set, struct plan_case *what);

/* Figures of a set with its K: all of them, or what plan_solve needs to know whether it is served. False: no memory. */
bool plan_set_solve(struct planner *planner, struct plan_set *set, bool full);

static inline bool plan_leaves_out(const struct planner *planner, enum plan_word word) {
    return (planner->request->without >> word & 1) != 0;
}

/* Fill in. False: no memory. */
bool checkpoint_make(struct planner *planner, uint32_t n_blocks);
void checkpoint_of(const struct planner *planner, uint32_t n_blocks, struct edit form[2]);
bool plan_settings_find(struct planner *planner);
bool plan_edits_find(struct planner *planner);
bool plan_search(struct planner *planner);
struct plan_change *plan_change_add(struct planner *planner, enum plan_kind kind, enum plan_cost cost,
                                    enum plan_certainty certainty, const char *id);
