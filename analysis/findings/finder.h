/* What the files of findings share: finding_*.c each find one kind and say its sentences, findings.c has them in one
 * table. Private to these. */
#pragma once

#include "analysis/findings/verdicts.h"
#include "base/numbers.h"
#include "base/sort.h"

enum {
    FINDINGS_OF_KIND = 32, /* more sites than these are not told one by one */
    SAVINGS_OF_KIND =
        8 /* and the saving of so many, the largest, is computed: each is a pass over all moments */
};

struct telling;

struct finder {
    const struct verdicts *verdicts;
    const struct timeline *timeline;
    const struct allocations *allocations;
    struct arena *arena;
    const struct stack_slots *slots; /* of the verdicts' runs */
    uint32_t *key;                   /* [slots.count] inner keys (inner_keys.h), numbered from 0 on */
    uint32_t n_keys;
    uint32_t *start;                     /* [n_keys + 1] into `order`, by key */
    uint32_t *order;                     /* recorded allocations by key, then rising */
    struct removed {                     /* from the curve, between asking what that saves */
        struct sort_row *change, *spare; /* [most] moments, and which of `bytes` changes there */
        uint64_t *bytes;                 /* [most] differences, of either sign */
        uint64_t *each;       /* [n_moments + 1] differences, once there are more; NULL: never were */
        uint32_t count, most; /* count == most: those of `each` */
    } removed;
    /* what findings take out, where the verdicts ask for it; the last ones since finder_saves */
    struct finding_cut *cut;
    uint32_t n_cuts, cut_capacity, first_cut;
    uint32_t part; /* of FINDING_PARTS, of a kind that is looked for in parts */
    struct {
        struct sort_row *row;
        uint32_t count, capacity;
        uint64_t *most; /* by the low bits of a stack: the largest allocation */
    } pairs;            /* of growing buffers, from part to part */
    struct {
        struct sort_row *row; /* by size, then when it is let go */
        uint32_t count;
    } olds;              /* of leaks: allocations that are older than the recording and let go in it */
    uint8_t *blamed;     /* [frames.count] sites that a leak or a growing buffer was found at */
    uint32_t *last_turn; /* that finder_turn found */
    uint32_t made;       /* moment of the last recorded birth: what is alive after it is there at the end */
    bool has_optimizer;  /* seen by stacks or annotations */
    struct finding *finding;
    uint32_t count, capacity;
    struct {
        struct sort_row *row; /* allocations by set, in the order in which they were counted */
        uint32_t count, capacity;
        uint32_t n_sets;
    } sets;
    uint32_t looked[FINDING_KINDS]; /* as findings has it */
    uint64_t kept_seldom;           /* the same */
    bool gradients_unsure;          /* the same */
    struct finding cached;          /* found in the place of fragmentation; figure[0] 0: not found */
    bool graph_held;                /* the pass before's graph was let go of in a later forward */
    bool failed;                    /* no memory; nothing more is added */
};

/* Adds a finding. */
void finder_add(struct finder *finder, const struct finding *finding);

/* Takes an allocation out of the curve in [from, to), then asks what that saves, into the finding's `saves`, `saves_known` and
 * cuts; asking puts everything back. O(1), and O(moments) at worst: few changes are a walk over blocks of moments. */
void finder_remove(struct finder *finder, uint32_t allocation, uint32_t from, uint32_t to);
void finder_saves(struct finder *finder, struct finding *finding);

/* Counts an allocation, and puts it into the finding's set, where it is alive at the finding's at_moment. */
void finder_count(struct finder *finder, struct finding *finding, uint32_t allocation);

/* High from 10 % of the peak that is saved, medium from 3 %. */
enum finding_severity severity_of_saving(uint64_t saves, uint64_t peak);

/* By turns that show it: 2 possible, 3 likely, more certain. */
enum finding_confidence confidence_of_turns(uint32_t turns);

/* Turn of a recorded allocation; UINT32_MAX: none. O(1) for one in the turn that was asked for last or in the next, else O(log
 * turns): the allocations of a stack come turn by turn. */
static inline uint32_t finder_turn(const struct finder *finder, uint32_t allocation) {
    const struct turns *turns = &finder->verdicts->turns;
    uint32_t recorded = allocation - finder->allocations->preexisting, near = *finder->last_turn;
    if (near >= turns->count || recorded < turns->turn[near].first || recorded >= turns->turn[near].end)
        *finder->last_turn = near + 1 < turns->count && recorded >= turns->turn[near + 1].first &&
                                     recorded < turns->turn[near + 1].end
                                 ? near + 1
                                 : turns_at(turns, recorded);
    return *finder->last_turn;
}

/* First allocation of a turn that forward() makes, else the first of the forward side; turn->end: none. O(turn). */
uint32_t finder_forward(const struct finder *finder, const struct turn *turn);

/* Moment of the first allocation that forward() makes; UINT32_MAX: there is none. O(allocations). */
uint32_t finder_first_forward(const struct finder *finder);

static inline enum run_side finder_side(const struct finder *finder, uint32_t allocation) {
    return side_of_letter(finder->verdicts->runs.letter[allocation]);
}

static inline uint32_t finder_site(const struct finder *finder, uint32_t allocation) {
    return finder->timeline->site[finder->allocations->stack[allocation]];
}

/* Inner key of the stack of an allocation. */
static inline uint32_t finder_key(const struct finder *finder, uint32_t stack) {
    return finder->key[stack_slot(finder->slots, stack)];
}

static inline enum finding_unit finder_unit(const struct finder *finder) {
    return finder->verdicts->turns.source >= TURNS_BACKWARD ? UNIT_TURN : UNIT_STEP;
}

/* held_over where there are fewer than two turns, and its sentences. */
enum held_variant { HELD_IN_TURNS, HELD_ONCE };
void finder_held_once(struct finder *finder);
void tell_held_once(struct telling *telling);
void tell_held_once_more(struct telling *telling);

/* gradients_kept of the step before the recording, and its title. */
enum { KEPT_BEFORE = 2 }; /* variant */
void finder_gradients_before(struct finder *finder);

/* leak of a recording without turns, and its sentences. */
enum { LEAK_OF_HOST = 2 }; /* variant */
void finder_leak_of_host(struct finder *finder);
void tell_leak_of_host(struct telling *telling);
void tell_leak_of_host_more(struct telling *telling);

/* Why more is reserved than in use, at the moment of the largest gap. False: not known, or no memory. */
struct fragmentation;
bool finder_gap(struct finder *finder, struct fragmentation *gap);

/* The facts that a finding's sentences are made of. */
struct telling {
    const struct verdicts *verdicts;
    const struct finding *finding;
    struct words *words;
};

void tell(struct telling *telling, const char *text);
void tell_bytes(struct telling *telling, uint64_t bytes);
/* "3 MiB of them are in the peak." by the finding's bytes; where there are none, "none of them is in the peak." */
void tell_in_peak(struct telling *telling, const char *some, const char *none);
void tell_things(struct telling *telling, uint64_t count, const char *thing);
void tell_share(struct telling *telling, uint64_t part, uint64_t whole);
/* The finding's site; "n call sites" where there are several is the caller's. */
void tell_site(struct telling *telling);
void tell_frame(struct telling *telling, uint32_t frame);
/* "step" or "turn". */
const char *telling_unit(const struct telling *telling);
/* " Without it the peak would be 3.2 GiB lower (12 %)." */
void tell_saving(struct telling *telling, const char *without);
/* What to do, which the detail ends with; nothing where nothing is known to help. */
void tell_action(struct telling *telling);
/* "after event 18,204" */
void tell_moment(struct telling *telling, uint32_t moment);

/* One of each per kind; false only without memory. */
#define FINDING_FILE(kind, name)                          \
    void finding_##name##_find(struct finder *finder);    \
    void finding_##name##_title(struct telling *telling); \
    void finding_##name##_detail(struct telling *telling);

STRATA_FINDINGS(FINDING_FILE)

#undef FINDING_FILE

/* Is an allocation still there when all is made? */
static inline bool finder_keeps(const struct finder *finder, uint32_t allocation) {
    return finder->allocations->request[allocation] > finder->made;
}
