/*
 * The largest size (a batch, a length, a number of layers) at which a program that was recorded at two would be
 * served, found by extrapolating to sizes and replaying them. Freestanding, but not compiled for the page
 * (analysis/model/extrapolate.h).
 */
#pragma once

#include "analysis/model/extrapolate.h"

enum { LARGEST_ALSO = 3 };

/* The largest size tried, for a recording of size `x1`. */
static inline uint64_t largest_most(uint64_t x1) {
    return x1 << 20;
}

struct largest {
    struct allocator_settings settings;
    uint64_t size;               /* 0: not even 1 */
    uint64_t also[LARGEST_ALSO]; /* [n_also] of the next three above it, those that are served all the same */
    uint32_t n_also, n_replays;
    uint64_t peak_min_bytes, peak_max_bytes; /* reserved at that size, on an unlimited device */
};

struct largest_request {
    const struct program *a, *b; /* as extrapolate takes them */
    uint64_t x0, x1;
    uint64_t budget_bytes;
    struct allocator_settings settings;
};

/* O(log(size) replays). False: no memory. */
bool largest_find(struct largest *largest, const struct largest_request *request, struct arena *arena);
