/*
 * Turns: the passes of the recorded loop. They are read from annotations, or else from the runs of the optimizer,
 * or else from those of backward, or else from repetition in the allocations. There may be no turns.
 *
 *     allocations  load ... | batch F F B B O | batch F F B B O | batch F F
 *                            turn 0            turn 1            turn 2, open
 *
 * Freestanding. Allocations are numbered as in phase_runs.h.
 */
#pragma once

#include "analysis/loop/phase_runs.h"

enum turns_source {
    TURNS_NONE,
    TURNS_PROFILER_STEP,   /* annotations ProfilerStep#N */
    TURNS_OPTIMIZER_MARKS, /* the ends of annotations Optimizer.step#... */
    TURNS_LINES,           /* named by a log's lines; such turns have moments only */
    TURNS_OPTIMIZER,       /* what the optimizer allocates */
    TURNS_BACKWARD,        /* backward passes: with gradient accumulation, several make a step */
    TURNS_REPETITION       /* of the allocations' stacks */
};

struct turn {
    uint32_t first, end;               /* allocations [first, end) */
    uint32_t begin_moment, end_moment; /* as moments: the turn's events are [begin - 1, end - 1) */
};

struct turns {
    enum turns_source source;
    uint32_t count;
    struct turn *turn;    /* [count], contiguous */
    bool closed;          /* the end of the last one was recorded */
    int64_t first_number; /* N of the first ProfilerStep#N; otherwise 0 */
    int64_t *number;      /* [count] rising, for TURNS_LINES; otherwise NULL */
    /* first allocation of forward, backward or a turn; n_allocations: no loop */
    uint32_t loop_first;
};

/* O(n) for the runs, O(n log n) for repetition; memory from `arena`. False: no memory. */
bool turns_find(struct turns *turns, const struct phase_runs *runs, const struct timeline *timeline,
                struct arena *arena);

/* The turn of a recorded allocation; UINT32_MAX: before the first or after the last. O(log count). */
uint32_t turns_at(const struct turns *turns, uint32_t recorded);

/* The number by which people know a turn. */
static inline int64_t turns_number(const struct turns *turns, uint32_t turn) {
    return turns->number != NULL ? turns->number[turn] : turns->first_number + turn;
}

/* "step" if an optimizer or an annotation shows that, otherwise "turn". */
static inline const char *turns_unit(const struct turns *turns) {
    return turns->source >= TURNS_BACKWARD ? "turn" : "step";
}
