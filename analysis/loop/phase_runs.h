/*
 * Which part of a training step each allocation was made in, read from its stack and smoothed over its neighbours, and
 * the runs of one side:
 *
 *     allocations   H F F F H  B B B B B B  O O O O  H F F F
 *     runs          |-forward-|-backward---|-optim.-|-forward
 *
 * Freestanding. Allocations made in the recording have numbers of their own, in order of birth: `recorded` k is row
 * `preexisting + k` of the device's.
 */
#pragma once

#include "layout/timeline.h"
#include "trace/id_slots.h"

enum phase_letter {
    /* code outside of every forward: loading, batches, losses; on the forward side with the next */
    PHASE_HOST,
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_OPTIMIZER,
    PHASE_UNKNOWN /* no stack; none is left once phases are known */
};

enum run_side { SIDE_FORWARD, SIDE_BACKWARD, SIDE_OPTIMIZER };

/* Which frames the stacks of the recorded allocations have. */
enum stack_kind {
    STACKS_NONE,   /* fewer than a tenth have a stack */
    STACKS_PYTHON, /* fewer than one in 20 has a C++ frame */
    STACKS_NATIVE, /* fewer than one in 20 has a Python frame */
    STACKS_MIXED
};

struct phase_run {
    uint32_t first, last;   /* recorded allocations, both inclusive */
    uint32_t next_backward; /* index of the next backward run after this one; UINT32_MAX: none */
    uint8_t side;           /* enum run_side */
    bool has_forward;       /* a forward side in which forward() made something */
};

struct phase_runs {
    enum stack_kind stacks;
    uint32_t *frame_bits;  /* [frames.count] enum frame_bit */
    uint32_t *stack_bits;  /* [stacks.count] enum frame_bit; in verdicts only until findings are found */
    struct id_slots slots; /* of the allocations' stacks */
    /* [allocations.count] enum phase_letter; older memory: by its own stack, or unknown */
    uint8_t *letter;
    uint32_t n_allocations, first_allocation; /* recorded allocations, and the id of the first */
    const uint32_t *birth;                    /* of the recorded allocations, as the device has them */
    uint32_t *born; /* [n_moments / 16 + 2] recorded allocations that are born before each 16th moment */
    uint32_t n_moments;
    uint32_t count;
    /* [count] rising, sides alternate; without stacks a single forward side without a forward() */
    struct phase_run *run;
};

/* Memory from `arena`. O(allocations + stacks + annotations + length of all names). False: no memory. */
bool phase_runs_find(struct phase_runs *runs, const struct timeline *timeline, struct arena *arena);

static inline enum run_side side_of_letter(uint8_t letter) {
    return letter == PHASE_BACKWARD    ? SIDE_BACKWARD
           : letter == PHASE_OPTIMIZER ? SIDE_OPTIMIZER
                                       : SIDE_FORWARD;
}

/* Is there a run of a side, or of forward()? O(runs). */
bool phase_runs_has(const struct phase_runs *runs, enum run_side side);
bool phase_runs_has_forward(const struct phase_runs *runs);

/* First recorded allocation that is born at or after a moment; n_allocations: none is. O(1), for one birth a moment. */
uint32_t recorded_from(const struct phase_runs *runs, uint32_t moment);

/* The side of a recorded allocation's run. O(1). */
static inline enum run_side phase_runs_side(const struct phase_runs *runs, uint32_t recorded) {
    return side_of_letter(runs->letter[runs->first_allocation + recorded]);
}

/* Index of the run of an allocation. O(log runs). */
uint32_t phase_runs_at(const struct phase_runs *runs, uint32_t recorded);
