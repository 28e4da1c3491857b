/*
 * The recorded program with changes: lives are cut, recomputed, added or resized. The memory in use is computed
 * from the differences alone; for a replay the changed program is merged from two sorted lists.
 *
 *     recorded   a.. b.. c..     .c  .b  .a         positions (event, 0, 0)
 *     inserted        .b      b..                   (event, 1, number): behind an event
 *
 * Freestanding. What is made belongs to the arena that is given.
 */
#pragma once

#include "analysis/model/program.h"
#include "base/sort.h"

/* A position: moment, before or after the moment's event, number. Two bits below it order deaths before births. */
enum { POSITION_ORDER_BITS = 2, POSITION_NUMBER_BITS = 29 };
#define POSITION_NEVER UINT64_MAX
/* Limit on the events of recordings, so that insertions can be numbered. */
#define POSITION_EVENTS_MAX (UINT32_C(1) << (POSITION_NUMBER_BITS - 1))

/* The position of a recorded operation at a moment. */
static inline uint64_t position_at(uint32_t moment) {
    return (uint64_t)moment << 32;
}

/* The position of an operation inserted after the event of a moment. */
static inline uint64_t position_behind(uint32_t moment, uint32_t number) {
    return (uint64_t)moment << 32 | UINT64_C(1) << 31 | (uint64_t)number << POSITION_ORDER_BITS;
}

/* An allocation is gone from `from` on and made again at `to`. */
struct plan_cut {
    uint32_t allocation;
    uint32_t part; /* of its edit, from 1 */
    uint64_t from, to;
};

/* A new allocation, like a recorded one. */
struct plan_life {
    uint32_t like;
    uint64_t birth, death;
};

/* One form of a change. */
struct edit {
    struct plan_cut *cut;
    struct plan_life *life;
    uint32_t n_cuts, cut_capacity, n_lives, life_capacity;
    const uint64_t *size;            /* [allocations.count] new sizes; NULL: unchanged */
    const struct edit_steps *sorted; /* NULL: not sorted yet */
};

/* Add to an edit. False: no memory. Nothing is added where `from` is not before `to`. */
bool edit_cut(struct edit *edit, uint32_t allocation, uint64_t from, uint64_t to, struct arena *arena);
bool edit_life(struct edit *edit, uint32_t like, uint64_t birth, uint64_t death, struct arena *arena);

/* In use: as requested, and rounded up to 512 bytes each. */
struct in_use {
    uint64_t requested, rounded;
};

/* The recorded program up to and including the first request that failed, and its memory in use. */
struct lives {
    const struct program *program;
    uint32_t n;             /* states: 0 is the beginning, then one after each operation */
    bool waits;             /* does a free wait for another stream? */
    uint64_t *position;     /* [n] with its order bits */
    struct in_use *curve;   /* [n] */
    struct in_use *highest; /* of each 64 states */
};

/* O(operations). False: no memory. */
bool lives_init(struct lives *lives, const struct program *program, struct arena *arena);

/* Sorts an edit's changes once, for all sets that it is in: the functions below merge sorted edits that touch
 * nothing in common. Afterwards n_cuts and n_lives may be reduced if every cut is of another allocation. O(edit log
 * edit). False: no memory. */
bool edit_sort(struct edit *edit, const struct lives *lives, struct arena *arena);

/* Peaks of a program with edits, which are applied together; cuts of one life are united. O(edits log edits, or
 * edits where all are sorted and apart, + states / 64 at worst for each). False: no memory. */
bool changed_curve(struct in_use *peak, const struct lives *lives, const struct edit *const *edits,
                   uint32_t n_edits, struct arena *arena);

/* The program itself, for whatif_run; it belongs to `arena`. O(operations + edits log edits). False: no memory. */
bool changed_program(struct program *program, const struct lives *lives, const struct edit *const *edits,
                     uint32_t n_edits, struct arena *arena);
