/* Binary search over anything with an index. Freestanding. */
#pragma once

#include <stdint.h>

/*
 * Sets `low` to the first index of [low, high) for which `before` is false, or to `high` if it is true for all.
 * `low` and `high` are uint32_t variables, and both change. `before` is an expression in the index named `at`, true
 * for a first part of the range and false for the rest:
 *
 *     uint32_t low = 0, high = count;
 *     SEARCH(low, high, i, row[i].key < key);
 *
 * O(log(high - low)) evaluations.
 */
#define SEARCH(low, high, at, before)                         \
    do {                                                      \
        while ((low) < (high)) {                              \
            const uint32_t at = (low) + ((high) - (low)) / 2; \
            if (before)                                       \
                (low) = (at) + 1;                             \
            else                                              \
                (high) = (at);                                \
        }                                                     \
    } while (0)
