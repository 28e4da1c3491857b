/* Numbers that more than one folder needs. Freestanding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Bytes. */
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* The greatest that divides both; of 0 and a number the number. O(log of the smaller). */
static inline uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Is part not 0, and at least that many hundredths of whole? No product is too large. */
static inline bool is_percent(uint64_t part, uint64_t whole, uint32_t percent) {
    return part != 0 && part >= whole / 100 * percent + whole % 100 * percent / 100 && whole != 0;
}

/* a + b, or the most that there is. */
static inline uint64_t sum_at_most(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The exponent of the largest power of two that is not above a number; of 0 it is 0. */
static inline unsigned log2_of(uint64_t number) {
    return number == 0 ? 0 : 63u - (unsigned)__builtin_clzll(number);
}
