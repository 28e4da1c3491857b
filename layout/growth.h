/*
 * What grows from step to step. At the end of every step the recording is at the same phase of the loop, so what is alive
 * then is carried over into the next step: parameters, optimizer state, and whatever leaks.
 *
 * A call site *rises* when, in at least GROWTH_MIN_STEPS consecutive steps up to the last one that can be judged, the bytes
 * that it carries over for good increase, and allocations of each of these steps are still there at the end. Carried over
 * for good is what outlives the next step too: gradients and batches are replaced in every step and never counted. So a
 * weight that stays is not a leak, nor is a cache that is full. Freestanding.
 */
#ifndef STRATA_LAYOUT_GROWTH_H
#define STRATA_LAYOUT_GROWTH_H

#include "layout/steps.h"

enum { GROWTH_MIN_STEPS = 3 };

struct growth_step {
    uint64_t peak_bytes;
    uint32_t peak_moment;
    uint64_t carried_bytes; /* alive when the step ends */
    bool warm_up;           /* it allocated once and for all what later steps only use */
};

enum growth_kind {
    GROWTH_RISES, /* still at the end of the recording */
    GROWTH_ROSE,  /* for as many steps, and then no more */
    GROWTH_KEPT   /* allocated in the loop's first steps and kept: optimizer state, caches */
};

struct growth_site {
    enum growth_kind kind;
    uint32_t site, stack;         /* frame id; the stack of most of its bytes at the end */
    uint32_t first_step, n_steps; /* where it rises (KEPT: where it was allocated) */
    uint64_t risen_bytes;         /* over these steps (KEPT: bytes kept) */
    uint64_t slope_bytes;         /* per step; 0 for KEPT */
    uint64_t count;               /* allocations of these steps that are there at the end */
    bool optimizer;               /* its stack is in an optimizer's code */
};

struct growth {
    struct steps steps;
    struct growth_step *step; /* [steps.count] */
    uint64_t carried_in;      /* alive when the first step begins */
    bool judged; /* there were enough steps to tell (GROWTH_MIN_STEPS + 1), and they are steps: a loop that no
                    annotation names must go forward and backward, or it may be one over layers */
    uint32_t n_sites, n_rising;
    struct growth_site *sites; /* by kind, then by falling risen_bytes */
};

/* O(lives log lives + annotations). False: no memory. */
bool growth_find(struct growth *growth, const struct timeline *timeline, struct arena *arena);

#endif
