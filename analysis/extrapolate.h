/*
 * A program recorded at two sizes (batch, length of a sequence), told at a third: which of its allocations grow with the
 * size, and how, shows from two recordings of the same sequence of requests. Uses 128-bit products, so it is not compiled
 * for the page.
 */
#ifndef STRATA_ANALYSIS_EXTRAPOLATE_H
#define STRATA_ANALYSIS_EXTRAPOLATE_H

#include "analysis/whatif.h"

struct extrapolation {
    const char
        *refused; /* a sentence without its full stop; NULL: it is done, and what follows is filled in */
    uint64_t n_constant, n_linear,
        n_quadratic; /* allocations of equal size in both; growing with the size; with its square */
    struct device_trace device; /* the first recording's, with sizes at the third */
    struct program program;     /* of that; its operations are the first recording's */
};

/* The recordings at sizes x0 and x1 (x0 < x1), asked for x. `a` and `b` outlive the result. O(n). False: no memory. */
bool extrapolate(struct extrapolation *extrapolation, const struct program *a, uint64_t x0,
                 const struct program *b, uint64_t x1, uint64_t x, struct arena *arena);

#endif
