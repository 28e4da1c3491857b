/* Arithmetic that several folders need. Freestanding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In bytes. */
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* The greatest common divisor; if one number is 0, the other. O(log of the smaller). */
static inline uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Is `part` above 0 and at least `percent` % of `whole`? Computed without overflow. */
static inline bool is_percent(uint64_t part, uint64_t whole, uint32_t percent) {
    return part != 0 && part >= whole / 100 * percent + whole % 100 * percent / 100 && whole != 0;
}

/* a + b, or the maximum if that overflows. */
static inline uint64_t sum_at_most(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* |a - b| */
static inline uint64_t distance_of(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
}

/* A change without its sign. */
static inline uint64_t magnitude_of(int64_t change) {
    return change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
}

static inline uint64_t larger_of(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* The largest value of an expression in the index named `at`, for at = 0 .. count - 1; 0 if there is none:
 * LARGEST(n_rows, i, row[i].bytes). */
#define LARGEST(count, at, value)                              \
    __extension__({                                            \
        uint64_t largest_value = 0;                            \
        for (uint32_t at = 0; (at) < (count); (at)++)          \
            largest_value = larger_of(largest_value, (value)); \
        largest_value;                                         \
    })

/* The exponent of the largest power of two that is at most the number; 0 for 0. */
static inline unsigned log2_of(uint64_t number) {
    return number == 0 ? 0 : 63u - (unsigned)__builtin_clzll(number);
}
