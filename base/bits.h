/* Bits of words. Freestanding. */
#pragma once

#include <stdint.h>

/* Bits that are set, without a call where the processor is not asked for the instruction. */
static inline uint32_t bits_count(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return (uint32_t)(((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}
