/*
 * What grows from step to step. At the end of every step the recording is at the same phase of the loop, so what is
 * alive then is carried over into the next step: parameters, optimizer state, and whatever leaks.
 *
 * A call site *rises* when, in at least GROWTH_MIN_STEPS consecutive steps up to the last one that can be judged, the
 * bytes that it carries over increase, in one of two ways:
 *
 *     what stays: allocations that outlive the next step too become more, and some of each of these steps are there
 *     at the end. Gradients and batches, which every step replaces, are never counted here; so a weight that stays is
 *     not a leak, nor is a cache that is full.
 *
 *     what is replaced by more: the old allocation goes and a larger one comes, as where torch.cat extends a buffer.
 *     The sum at the boundaries has never fallen since the site first carried anything, and rises up to the last
 *     boundary. A batch of varying length does that by chance for a few steps, so where one rise is more than twice
 *     another, it takes GROWTH_MIN_UNEVEN of them (one chance in 720).
 *
 * Kept beside the findings, because schema 1 of the report's JSON promises these figures, and a rule of `check` may stand
 * on them. They cannot be made of turns (analysis/loop/turns.h), which are a later and better answer: steps by period count
 * every repetition of stacks, turns those that are passes of a loop. Of 63 devices of recordings at hand 23 have other
 * boundaries by turns: 10 passes where steps are 119 layers, 6 where they are 17, none in 27 retries of a request, and one
 * that an optimizer names where nothing repeats. No finding and no advice reads this.
 *
 * Freestanding.
 */
#ifndef STRATA_ANALYSIS_GROWTH_H
#define STRATA_ANALYSIS_GROWTH_H

#include "analysis/loop/steps.h"

enum {
    GROWTH_MIN_STEPS = 3,
    GROWTH_MIN_UNEVEN = 5 /* of what is replaced by more, and by uneven amounts */
};

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
    bool replaced;                /* RISES: the old allocations go and larger ones come */
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

/* O(allocations log allocations + annotations). False: no memory. */
bool growth_find(struct growth *growth, const struct timeline *timeline, struct arena *arena);

#endif
