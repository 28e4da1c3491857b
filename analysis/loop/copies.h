/* Finds the 16-bit copies of weights that autocast makes: half (or a quarter) as large as a weight, made inside a
 * forward, and alive until it ends. Freestanding. */
#pragma once

#include "analysis/loop/turns.h"

/* Sets the bits of the copies in `bitmap[allocations.count / 64 + 1]`. O(n log n). False: no memory. */
bool weight_copies_find(const struct timeline *timeline, const struct phase_runs *runs,
                        const struct turns *turns, const uint8_t *category, uint64_t *bitmap,
                        struct arena *arena);

/* The same, giving them their category. */
bool weight_copies_name(const struct timeline *timeline, const struct phase_runs *runs,
                        const struct turns *turns, uint8_t *category, struct arena *arena);
