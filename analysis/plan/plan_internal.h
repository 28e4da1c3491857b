/* Shared by the files of a plan, and private to them. */
#pragma once

#include "analysis/plan/plan.h"

/* The order of recomputed allocations moves what is reserved: up by one granule at most in the simulator's trainings,
 * down by 72 MiB at most in those of the real PyTorch (a GPT of 6 blocks in bf16). */
enum { CHECKPOINT_SLACK_BYTES = 20 << 20, CHECKPOINT_BELOW_BYTES = 80 << 20 };

/* Facts that a stack's frames tell. */
enum plan_stack_bit { PLAN_STACK_FOREACH = 1, PLAN_STACK_COMPILED = 2 };

struct planner {
    struct plan *plan;
    const struct plan_request *request;
    const struct allocations *allocations;
    struct lives lives;
    struct edit held; /* the least that the steps before may still hold; of PLAN_OF_STEP */
    struct arena *arena;
    uint8_t *stack_bits;       /* [stacks.count] enum plan_stack_bit */
    uint8_t *event;            /* [n_events] enum event_kind, for checkpointing */
    struct edit checkpoint[2]; /* of all blocks; the first K are the first of both lists */
    struct checkpoint_end {
        uint32_t n_cuts[2], n_lives[2];
    } * until;               /* [blocks] where the lists of K end */
    struct known_use *known; /* [n_known] sets whose memory in use is known */
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

/* The question that the replays of a set answer; they stop once it is answered. */
enum plan_ask {
    ASK_SERVED, /* sets `fits`: are all runs served? PLAN_NO or PLAN_UNSURE from the first run that is not */
    ASK_CALM,   /* the same, without a retry in any run */
    ASK_RESERVED, /* sets the reserved bytes without a limit; `fits` stays */
    ASK_ALL
};

/* A set of edits (a form each) under settings. */
struct plan_case {
    const struct edit *edit[2][PLAN_SET_MAX + 1]; /* by form */
    struct edit checkpoint[2];
    uint32_t n_edits[2], forms;
    struct allocator_settings settings;
    bool checkpointed;
};
bool plan_in_use(struct planner *planner, const struct plan_case *what, struct plan_figures *figures);
/* `figures` has the memory in use already. False: no memory, as for all functions below. */
bool plan_solve(struct planner *planner, const struct plan_case *what, struct plan_figures *figures,
                enum plan_ask ask);

/* The budget of a set: one granule less with checkpointing, and where a step continues the recording, because the
 * order of what follows is not its own. */
static inline uint64_t budget_of(const struct planner *planner, bool checkpointed) {
    uint64_t budget = planner->plan->budget_bytes;
    return !checkpointed && planner->plan->scope != PLAN_OF_STEP ? budget
           : budget > CHECKPOINT_SLACK_BYTES                     ? budget - CHECKPOINT_SLACK_BYTES
                                                                 : 0;
}

static inline bool plan_is_served(uint8_t fits) {
    return fits == PLAN_YES || fits == PLAN_WITH_RETRIES;
}

static inline uint64_t parts_of(uint64_t bytes, uint64_t by) {
    return bytes / by + (bytes % by != 0);
}

/* Does the memory in use fit the budget? */
static inline bool plan_may_serve(const struct planner *planner, const struct plan_figures *figures,
                                  bool checkpointed) {
    uint64_t budget = budget_of(planner, checkpointed);
    /* A retry releases blocks that wait for another stream, so the larger form proves nothing then. */
    return figures->rounded_min <= budget && (planner->lives.waits || figures->rounded_max <= budget);
}

/* The case of a set; it points into itself. Over all K in [from, set->n_blocks] it is a lower bound: the last K has
 * all cuts, and the first K has the fewest new lives. */
void plan_case_of(const struct planner *planner, const struct plan_set *set, uint32_t from,
                  struct plan_case *what);

/* The least memory in use of a set with any K in [from, set->n_blocks]. Computed once for sets that differ in
 * settings only. */
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
bool loss_find(struct planner *planner);
struct plan_change *plan_change_add(struct planner *planner, enum plan_kind kind, enum plan_cost cost,
                                    enum plan_certainty certainty, const char *id);
