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

/* Bits that are set, without a call where the processor is not asked for the instruction. */
static inline uint32_t bits_count(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return (uint32_t)(((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}

/* Is part something, and at least so many hundredths of whole? No product is too large. */
static inline bool is_percent(uint64_t part, uint64_t whole, uint32_t percent) {
    return part != 0 && part >= whole / 100 * percent + whole % 100 * percent / 100 && whole != 0;
}
