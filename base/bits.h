/* Bits of words. Freestanding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Counts the bits that are set. Written out, because without a compiler flag the builtin becomes a call. */
static inline uint32_t bits_count(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return (uint32_t)(((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}

/* Bit `i` of a column of bits (arena_bits). */
static inline bool bits_has(const uint64_t *bits, uint32_t i) {
    return (bits[i / 64] >> i % 64 & 1) != 0;
}

static inline void bits_add(uint64_t *bits, uint32_t i) {
    bits[i / 64] |= UINT64_C(1) << i % 64;
}
