/* Shared by the files of a plan, and private to them. */
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
    } * until;               /* [blocks] where the lists of K end */
    struct known_use *known; /* [n_known] what sets were found to leave in use */
    uint32_t n_known, known_capacity;
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

/* Of the replays of a set, as many as the question takes. */
enum plan_ask {
    ASK_SERVED, /* fits, where all runs are served; else PLAN_NO or PLAN_UNSURE: the first that is not ends it */
    ASK_CALM,     /* the same of runs without any retry */
    ASK_RESERVED, /* what is reserved without a limit; fits stays */
    ASK_ALL
};

/* A set of edits (a form each) under settings. */
struct plan_case {
    const struct edit *edit[2][PLAN_CHANGES_MAX]; /* by form */
    struct edit checkpoint[2];
    uint32_t n_edits, forms;
    struct allocator_settings settings;
    bool checkpointed;
};
bool plan_in_use(struct planner *planner, const struct plan_case *what, struct plan_figures *figures);
/* `figures` have what is in use. False: no memory, as for all below. */
bool plan_solve(struct planner *planner, const struct plan_case *what, struct plan_figures *figures,
                enum plan_ask ask);

/* What a set may have: the budget, less a granule with checkpointing. */
static inline uint64_t budget_of(const struct planner *planner, bool checkpointed) {
    uint64_t budget = planner->plan->budget_bytes;
    return !checkpointed ? budget : budget > CHECKPOINT_SLACK_BYTES ? budget - CHECKPOINT_SLACK_BYTES : 0;
}

static inline bool plan_is_served(uint8_t fits) {
    return fits == PLAN_YES || fits == PLAN_WITH_RETRIES;
}

/* Can it be served, by what is in use? */
static inline bool plan_may_serve(const struct planner *planner, const struct plan_figures *figures,
                                  bool checkpointed) {
    uint64_t budget = budget_of(planner, checkpointed);
    /* What waits for another stream is let go of in a retry, so the larger form says nothing there. */
    return figures->rounded_min <= budget && (planner->lives.waits || figures->rounded_max <= budget);
}

/* The case of a set, which points into itself; of all K in [from, set->n_blocks] what leaves the least: their cuts are
 * among those of the last, their new lives have those of the first. */
void plan_case_of(const struct planner *planner, const struct plan_set *set, uint32_t from,
                  struct plan_case *what);

/* What a set leaves in use at the least with any K in [from, set->n_blocks]. Once for sets that differ in settings. */
bool plan_set_in_use(struct planner *planner, const struct plan_set *set, uint32_t from,
                     struct plan_figures *figures);

/* Figures of a set with its K. */
bool plan_set_solve(struct planner *planner, struct plan_set *set, enum plan_ask ask);

static inline bool plan_leaves_out(const struct planner *planner, enum plan_word word) {
    return (planner->request->without >> word & 1) != 0;
}

/* Fill in. False: no memory. */
bool checkpoint_make(struct planner *planner, uint32_t n_blocks);
void checkpoint_of(const struct planner *planner, uint32_t from, uint32_t n_blocks, struct edit form[2]);
bool plan_settings_find(struct planner *planner);
bool plan_edits_find(struct planner *planner);
bool plan_search(struct planner *planner);
struct plan_change *plan_change_add(struct planner *planner, enum plan_kind kind, enum plan_cost cost,
                                    enum plan_certainty certainty, const char *id);
