/*
 * Extrapolates a program recorded at two sizes to a third.
 *
 * Size of a batch or a sequence: two recordings of the same sequence of requests show which allocations grow with
 * the size, and how. Number of layers: the additional requests of the larger program repeat those before them
 * (analysis/model/alignment.h), and are repeated as often as the third number needs.
 *
 * Uses 128-bit products, so it is not compiled for the page.
 */
#pragma once

#include "analysis/model/whatif.h"

/* The part of a program that repeats with the number of layers. */
struct layers {
    bool found;             /* the sizes are numbers of layers */
    uint64_t each;          /* layers in one repeat: 1, or more if different layers alternate */
    uint64_t n_places;      /* places in the sequence where repeats are inserted */
    uint64_t n_allocations; /* in one repeat, over all places */
};

struct extrapolation {
    /* why it cannot be done, as a sentence without its full stop; NULL: done, and the rest is filled in */
    const char *refused;
    uint64_t n_constant, n_linear,
        n_quadratic; /* allocations of equal size in both; growing with the size; growing with its square */
    struct layers layers;
    struct device_trace device; /* the first recording's, with sizes at the third; for layers, a new one */
    struct program program;     /* of that device; its operations are the first recording's, or new ones */
};

/* Extrapolates the recordings at sizes x0 and x1 (x0 < x1) to x. The sizes are numbers of layers if the second
 * recording has more allocations. `a` and `b` must outlive the result. O(n); for layers O(n log n), with bounded
 * work for each place where they are. False: no memory. */
bool extrapolate(struct extrapolation *extrapolation, const struct program *a, uint64_t x0,
                 const struct program *b, uint64_t x1, uint64_t x, struct arena *arena);

/* The program as a trace, for a timeline of its memory in use (nothing is reserved). Fills `trace` and `device`,
 * which live as long as the extrapolation; do not release `trace`. */
void extrapolation_trace(struct trace *trace, struct device_trace *device,
                         const struct extrapolation *extrapolation);
