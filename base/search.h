/* Binary search, whatever is searched and by whatever rule. Freestanding. */
#pragma once

#include <stdint.h>

/*
 * Sets `low` to the first index of [low, high) for which `before` does not hold, and to `high` where it holds for all of
 * them. `low` and `high` are variables of type uint32_t, both are changed; `before` is an expression of `at`, the name of
 * an index, and holds for those that come first and for none after them:
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
