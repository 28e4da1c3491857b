/* Binary search over anything with an index. Freestanding. */
#pragma once

#include <stdint.h>

/*
 * The first index of [from, until) for which `before` is false, or `until` if it is true for all. `before` is an
 * expression in the index named `at`, true for a first part of the range and false for the rest:
 *
 *     uint32_t place = SEARCH(0, count, i, row[i].key < key);
 *
 * Evaluates `before` O(log(until - from)) times, `from` and `until` once.
 */
#define SEARCH(from, until, at, before)                                      \
    __extension__({                                                          \
        uint32_t search_low = (from), search_high = (until);                 \
        while (search_low < search_high) {                                   \
            const uint32_t at = search_low + (search_high - search_low) / 2; \
            if (before)                                                      \
                search_low = (at) + 1;                                       \
            else                                                             \
                search_high = (at);                                          \
        }                                                                    \
        search_low;                                                          \
    })
