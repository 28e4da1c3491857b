/* Finds the 16-bit copies of weights that autocast makes: half (or a quarter) as large as a weight, made inside a
 * forward, and alive until it ends. Freestanding. */
#pragma once

#include "analysis/loop/turns.h"

/* Gives them their category. O(n log n). False: no memory. */
bool weight_copies_name(const struct timeline *timeline, const struct phase_runs *runs,
                        const struct turns *turns, uint8_t *category, struct arena *arena);
