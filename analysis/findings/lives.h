/*
 * The table that questions about steps ask: what each call site made in each turn, how much of it is still alive when
 * the turn is over, and in which turn that is freed.
 *
 *     turn          0        1        2        3      | the loop's end
 *     a result   |-----------|                              row 0: kept, freed in 1
 *                         |-----------|                     row 1: kept, freed in 2
 *     a leak     |------------------------------------...   row 0: kept, freed in LIVES_NEVER
 *                         |---------------------------...   row 1: the same
 *
 * A call site is a stack here, by its slot. Rows are made when they are asked for: most allocations die in their turn.
 * Freestanding. Recorded allocations alone; what is older has no turn.
 */
#pragma once

#include "analysis/loop/turns.h"
#include "base/sort.h"

/* The turn in which something is freed that is alive at the end of the loop, whatever happens after the loop. */
#define LIVES_NEVER (UINT32_MAX - 1)

struct lives {
    const struct allocations *allocations;
    const struct phase_runs *runs;
    const struct turns *turns;
    uint32_t n_turns;     /* whose end was recorded: memory that is alive in an open turn proves nothing */
    uint32_t end;         /* moment of the last allocation that the loop makes in the last of these turns */
    uint32_t n_sites;     /* slots of stacks */
    uint32_t *start;      /* [n_sites + 2] into `order`, by slot; the last is not used */
    uint32_t *order;      /* recorded allocations by slot, then rising */
    uint64_t *floor;      /* [n_turns] the least that is alive in each, while the loop runs */
    struct sort_row *old; /* what is older than the recording and freed in it, by size */
    uint32_t n_old;
    const uint64_t *live; /* the curve */
    uint64_t *told; /* bitmap of allocations that a finding is about already: others do not count them */
    uint32_t *near; /* the result of the last lives_turn */
};

/* A row. `freed` is the latest of all that is kept; n_kept and the rest are what is freed in that turn. */
struct life {
    uint32_t turn, next; /* next: the next turn of the site; UINT32_MAX: none */
    uint32_t freed;      /* the turn itself: nothing is kept */
    uint32_t n_made, n_kept;
    uint32_t from, to;  /* into `order`: all that the turn made */
    uint32_t last_kept; /* allocation */
    uint32_t gap;       /* the recorded allocation before which that one is freed, if `freed` is a turn */
    uint64_t kept_bytes;
};

/* Memory from `arena`. False: no memory. */
bool lives_begin(struct lives *lives, const struct timeline *timeline, const struct phase_runs *runs,
                 const struct turns *turns, struct arena *arena);

/* The same table with other turns, which end with the last; both share their memory but for `floor`, and one is asked at
 * a time. */
bool lives_again(struct lives *lives, const struct lives *other, const struct turns *turns,
                 struct arena *arena);
void lives_drop(struct lives *lives, struct arena *arena);

/* The turn of a recorded allocation; UINT32_MAX: none. O(1) in the turn of the last call or the next one, otherwise
 * O(log turns): the allocations of a site come turn by turn. */
uint32_t lives_turn(const struct lives *lives, uint32_t allocation);

/* The turn in which a recorded allocation is freed: its own, a later one, or LIVES_NEVER. O(log turns). */
uint32_t lives_freed(const struct lives *lives, uint32_t allocation, uint32_t turn);

/* The next row of a site; begins with {.to = start[site]}. Allocations that are told, or of turns that were not
 * judged, are in no row. False: there is no further row. */
bool lives_next(const struct lives *lives, uint32_t site, struct life *life);
