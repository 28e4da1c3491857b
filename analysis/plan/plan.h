/*
 * The least change that lets the recorded program run within its budget: the changes that a recording can prove,
 * what each saves, and the smallest set of them that fits. docs/plan.md says how to read it.
 *
 *     recorded program --edits--> changed program --curve in use--> too much, or --replays--> served or not
 *
 * Freestanding. Everything belongs to the arena and lives as long as it; program, replay and verdicts must outlive it.
 */
#pragma once

#include "analysis/findings/verdicts.h"
#include "analysis/loop/blocks.h"
#include "analysis/model/whatif.h"
#include "analysis/plan/continued.h"
#include "analysis/plan/edit.h"
#include "base/beside.h"

enum plan_fits { PLAN_UNKNOWN, PLAN_YES, PLAN_WITH_RETRIES, PLAN_UNSURE, PLAN_NO };
enum plan_cost { COST_NONE, COST_TIME, COST_PRECISION, COST_ELSEWHERE };
enum plan_certainty { CERTAINTY_EXACT, CERTAINTY_MODEL, CERTAINTY_ESTIMATE, CERTAINTY_BOUND };

enum plan_kind {
    PLAN_SETTINGS,
    PLAN_FINDING,
    PLAN_FUSED,
    PLAN_CHECKPOINT,
    PLAN_EIGHT_BIT,
    PLAN_OFFLOAD,
    PLAN_MICRO_BATCH,
    PLAN_NO_GRAD
};

/* What a program would need. Of a bound only live_min is known. */
struct plan_figures {
    uint64_t live_min, live_max, reserved_min, reserved_max;
    uint64_t rounded_min, rounded_max; /* in use, each rounded up to 512 bytes */
    uint64_t n_retries;                /* the most of its runs within the budget */
    uint64_t rising; /* reserved in the last form with rising addresses; UINT64_MAX: endless */
    bool reserved_known;
    uint8_t fits; /* enum plan_fits */
};

enum { PLAN_CHANGES_MAX = 24, PLAN_SET_MAX = 2, PLAN_PLANS_MAX = 2, PLAN_FINDINGS_MAX = 6, PLAN_ID = 704 };

struct plan_change {
    uint8_t kind, cost, certainty; /* of the enums above */
    char id[PLAN_ID];
    struct allocator_settings settings; /* of PLAN_SETTINGS */
    const struct finding *finding;      /* of PLAN_FINDING */
    uint32_t frame;                     /* its call site; 0: none */
    uint32_t n_blocks;                  /* of PLAN_CHECKPOINT: all of them */
    struct plan_figures figures;
    struct edit form[2]; /* least and most; the second is empty where `forms` is 1 */
    uint32_t forms;
    bool
        idle; /* by itself it leaves as much in use and reserved as recorded: not listed, but tried in pairs */
};

struct plan_set {
    uint32_t change[PLAN_SET_MAX], n_changes; /* indices, rising */
    uint32_t n_blocks;                        /* the K of checkpointing; 0: not in it */
    uint8_t cost, certainty;
    struct plan_figures figures;
    uint32_t calm[PLAN_SET_MAX], n_calm,
        calm_blocks; /* if the set needs retries: a set of the same cost that needs none; 0: there is none */
};

struct plan_request {
    uint64_t gpu_bytes;    /* 0: not said */
    uint64_t keep_bytes;   /* of it, for others: in bytes, or */
    uint32_t keep_percent; /* in hundredths of it; one of the two is 0 */
    /* [n_set] "key:value" or "key=value", as PyTorch spells them, fine: all of them together are one more change */
    const char *const *set;
    uint32_t n_set;
    uint32_t without;                                     /* bits of enum plan_word */
    const struct beside_hooks *beside;                    /* NULL: one thread */
    void (*progress)(void *context, uint64_t n_replayed); /* NULL: none; called between replays */
    void *context;
    /* limit on the replayed operations: a longer search plans nothing; 0: no limit */
    uint64_t work_most;
};

/* Limit on the work of a plan that is part of another output: about a second per million events, at least one. */
static inline uint64_t plan_work_beside(const struct device_trace *device) {
    return (uint64_t)(device->n_events > 1000000 ? device->n_events : 1000000) * 16;
}

/* What would be in use if the loss were made in so many parts of its rows. Reported, never part of a plan. */
enum { PLAN_LOSS_WAYS = 3 };
extern const uint32_t plan_loss_parts[PLAN_LOSS_WAYS];
struct plan_loss {
    bool known;
    uint32_t stack; /* of its largest allocation */
    uint64_t live_min[PLAN_LOSS_WAYS], live_max[PLAN_LOSS_WAYS];
};

/* How far a plan reaches. After a failed request the rest of its step is known only if a step before made the same. */
enum plan_scope {
    PLAN_OF_RECORDING, /* to its end: nothing failed */
    PLAN_OF_STEP,      /* to the end of the step in which a request failed (analysis/plan/continued.h) */
    PLAN_OF_REQUEST    /* up to and with the request that failed; what follows is not known */
};

struct plan {
    const struct program *recorded;  /* of the recording itself */
    const struct program *program;   /* what is planned: the recording, or the recording continued */
    const struct verdicts *verdicts; /* of `program` */
    uint8_t scope;                   /* enum plan_scope */
    uint64_t listed_bytes; /* what the optimizer has yet to make, in `program` (analysis/plan/continued.h) */
    const struct replay *replay;
    struct whatif_budget seen; /* what the process had */
    uint64_t budget_bytes;     /* the budget; 0: unknown */
    uint64_t asked_bytes, keep_bytes;
    uint32_t keep_percent; /* keep_bytes as requested, in percent; 0: requested in bytes */
    bool short_search, ended_by_oom;
    bool left_out; /* the search would have taken too much: only the budget is known */
    uint64_t recorded_peak_bytes, recorded_live_bytes; /* of the reserved curve, and in use */
    struct plan_figures as_recorded;
    struct blocks blocks;
    struct plan_change *change; /* [n_changes] */
    uint32_t n_changes;
    struct plan_set plans[PLAN_PLANS_MAX];
    uint32_t n_plans;
    bool has_nearest;
    struct plan_set nearest;
    uint64_t lacking_bytes;
    struct plan_loss loss;
    bool no_checkpoint, state_unknown; /* not planned: docs/plan.md */
    bool timed;
    int64_t span_us;   /* from the first forward with blocks to the last event */
    int64_t *block_us; /* [blocks.n_forwards] median time of a block; 0: unknown */
};

/* The budget of a device that the request names; 0: it names none. */
uint64_t plan_asked_budget(const struct plan_request *request);

/* The changes that can be left out, keys of settings first. */
enum plan_word {
    WORD_EXPANDABLE,
    WORD_MAX_SPLIT,
    WORD_COLLECT,
    WORD_ROUNDUP,
    WORD_FINDINGS,
    WORD_FUSED,
    WORD_CHECKPOINT,
    WORD_EIGHT_BIT,
    WORD_OFFLOAD,
    PLAN_WORDS
};
extern const char *const plan_word_text[]; /* by enum plan_word */

/* Do other outputs include a plan? After an out-of-memory event, or if the request names a device. */
static inline bool plan_is_asked(const struct device_trace *device, const struct plan_request *request) {
    return (device->n_ooms != 0 || request->gpu_bytes != 0) && device->n_events != 0;
}

/* Otherwise only settings of the allocator are worth a replay each, up to so many events. */
enum { PLAN_SETTINGS_EVENTS_MAX = 500000 };
static const uint32_t plan_settings_alone = 1u << WORD_FINDINGS | 1u << WORD_FUSED | 1u << WORD_CHECKPOINT |
                                            1u << WORD_EIGHT_BIT | 1u << WORD_OFFLOAD;

/* Is a saving told at the head of an output? From a fifth of what is reserved on. */
static inline bool plan_saves_much(uint64_t reserved, uint64_t left) {
    return reserved > left && reserved - left >= reserved - reserved / 5 * 4;
}

/* The change of a setting under which the least would be reserved, if that saves much and memory did not run out.
 * NULL: there is none. */
const struct plan_change *plan_best_setting(const struct plan *plan);

/* As plan_find, for a timeline alone: program, replay and verdicts are made first, in the arena. */
bool plan_of_timeline(struct plan *plan, const struct timeline *timeline, const struct plan_request *request,
                      struct arena *arena);

/* If `replay` (of `recorded`) is refused, the plan is empty. `program` is `recorded`, or what continues it (`continued`). The
 * verdicts are those of `program` and have cuts. False: no memory. */
bool plan_find(struct plan *plan, const struct program *recorded, const struct program *program,
               const struct replay *replay, const struct verdicts *verdicts,
               const struct continued *continued, const struct plan_request *request, struct arena *arena);

/* What the recorded requests need under a setting, for the comparison of several recordings. */
struct plan_need {
    const char *settings; /* "recorded", or what is added to the recorded settings */
    uint64_t peak_bytes;  /* reserved on a device without a limit, over both orders of addresses */
    bool served;          /* within the budget, if there is one */
};
enum { PLAN_NEEDS = 8 };

/* For every setting that a plan may list; the same ones for every recording. False: no memory. */
bool plan_needs_find(struct plan_need need[PLAN_NEEDS], uint32_t *n_needs, const struct program *program,
                     const struct replay *replay, uint64_t budget_bytes, struct arena *arena);

/* Gives `sum` what both need: one setting must serve every recording. */
void plan_need_unite(struct plan_need *sum, const struct plan_need *need);

/* The one that is served (if none is, any) and needs least; NULL: there is none. */
const struct plan_need *plan_need_best(const struct plan_need *need, uint32_t n_needs);

/* The share of the recorded time that checkpointing `n_blocks` costs, in millionths; UINT32_MAX: unknown. */
uint32_t plan_share(const struct plan *plan, uint32_t n_blocks);

/* "yes", "with_retries"; NULL: unknown. "none", "exact": as JSON has them. */
extern const char *const plan_scope_name[];     /* by enum plan_scope */
extern const char *const plan_fits_name[];      /* by enum plan_fits */
extern const char *const plan_cost_name[];      /* by enum plan_cost */
extern const char *const plan_certainty_name[]; /* by enum plan_certainty */

/* The id of a change in a set, or with UINT32_MAX blocks as it is listed, into `text` (PLAN_ID bytes). */
void plan_change_id(const struct plan_change *change, uint32_t n_blocks, char text[PLAN_ID]);
