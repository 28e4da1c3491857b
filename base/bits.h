/* Bits of words. Freestanding. */
#pragma once

#include <stdint.h>

/* Counts the bits that are set. Written out, because without a compiler flag the builtin becomes a call. */
static inline uint32_t bits_count(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return (uint32_t)(((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}
