/*
 * Passes: calls of a model from code outside of every forward, by the stacks of what they allocate.
 *
 *     allocations   H F F F H F F F H F F F B B B O O    H: host's code, F: forward
 *     passes          |-0-|   |-1-|   |-2-|              of one line, or of several
 *                                     followed by its backward
 *
 * Freestanding. Allocations are numbered as in phase_runs.h.
 */
#pragma once

#include "analysis/loop/phase_runs.h"

struct pass {
    uint32_t begin;       /* the first recorded allocation after the pass before, of the host's code */
    uint32_t first, last; /* of forward, both inclusive */
    uint32_t root;        /* of the code that calls the outermost forward: equal for calls from one place */
    bool has_backward;    /* the last pass before a backward */
};

struct passes {
    uint32_t count, capacity;
    struct pass *pass;
    uint32_t *root; /* [slots of stacks] 0: not in a forward */
    uint32_t
        *inner; /* [slots of stacks] a hash of the code from the outermost forward on; 0: not in a forward */
};

/* Memory from `arena`. O(allocations + stacks of allocations times their depth). False: no memory. */
bool passes_find(struct passes *passes, const struct phase_runs *runs, const struct timeline *timeline,
                 struct arena *arena);
void passes_drop(struct passes *passes, struct arena *arena);
