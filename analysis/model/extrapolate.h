/*
 * A program recorded at two sizes, told at a third.
 *
 * Of its batch or its sequences: which of its allocations grow with the size, and how, shows from two recordings of the same
 * sequence of requests. Of its number of layers: what the larger one asks for besides repeats what stands there already
 * (analysis/model/alignment.h), and is repeated as often as the third number wants.
 *
 * Uses 128-bit products, so it is not compiled for the page.
 */
#pragma once

#include "analysis/model/whatif.h"

/* The part of a program that repeats with the number of layers. */
struct layers {
    bool found;             /* the sizes are numbers of layers */
    uint64_t each;          /* layers in one repeat: 1, or more where they take turns */
    uint64_t n_places;      /* of the sequence where repeats are inserted */
    uint64_t n_allocations; /* in one repeat, of all places together */
};

struct extrapolation {
    /* a sentence without its full stop; NULL: it is done, and what follows is filled in */
    const char *refused;
    uint64_t n_constant, n_linear,
        n_quadratic; /* allocations of equal size in both; growing with the size; with its square */
    struct layers layers;
    struct device_trace device; /* the first recording's, with sizes at the third; with layers, made anew */
    struct program program;     /* of that; its operations are the first recording's, or made anew */
};

/* The recordings at sizes x0 and x1 (x0 < x1), asked for x. They are taken to be numbers of layers where the second holds
 * more allocations. `a` and `b` outlive the result. O(n); with layers O(n log n) and bounded work for each place where they
 * stand. False: no memory. */
bool extrapolate(struct extrapolation *extrapolation, const struct program *a, uint64_t x0,
                 const struct program *b, uint64_t x1, uint64_t x, struct arena *arena);

/* The program alone, for a timeline of what it would have in use: nothing was reserved for it. `trace` and `device` are
 * filled in, and live as long as the extrapolation; `trace` is not to be released. */
void extrapolation_trace(struct trace *trace, struct device_trace *device,
                         const struct extrapolation *extrapolation);
