/* Computes four columns at once. Vectors of 128 bits exist on x86-64, ARM64 and WebAssembly alike, and the compilers'
 * vector extension names them without naming a machine. Every function works lane by lane, with integers only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

typedef uint8_t u8x16 __attribute__((vector_size(16)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef uint64_t u64x2 __attribute__((vector_size(16)));

/* LANES_SHUFFLE(MASK, a, b, i...): the lanes with these numbers, where the lanes of `b` are counted on from those of
 * `a`. MASK is the vector type of the numbers, for compilers that want them as a vector (gcc up to 11). */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define LANES_SHUFFLE(mask, a, b, ...) __builtin_shufflevector((a), (b), __VA_ARGS__)
#endif
#endif
#ifndef LANES_SHUFFLE
#define LANES_SHUFFLE(mask, a, b, ...) __builtin_shuffle((a), (b), (mask){__VA_ARGS__})
#define LANES_WITHOUT_PAIRS            /* vectors of 64 bits cannot be made from two halves */
#endif

static inline u32x4 u32x4_load(const uint32_t *from) {
    u32x4 lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

static inline void u32x4_store(uint32_t *to, u32x4 lanes) {
    __builtin_memcpy(to, &lanes, sizeof lanes);
}

static inline u64x2 u64x2_load(const uint64_t *from) {
    u64x2 lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

static inline void u64x2_store(uint64_t *to, u64x2 lanes) {
    __builtin_memcpy(to, &lanes, sizeof lanes);
}

static inline u32x4 u32x4_all(uint32_t value) {
    return (u32x4){value, value, value, value};
}

static inline u64x2 u64x2_all(uint64_t value) {
    return (u64x2){value, value};
}

/* Lanes of `a` where the mask is all ones, of `b` where it is zero. */
static inline u32x4 u32x4_choose(u32x4 mask, u32x4 a, u32x4 b) {
    return (a & mask) | (b & ~mask);
}

static inline bool u32x4_any(u32x4 mask) {
#ifdef __wasm_simd128__
    return wasm_v128_any_true((v128_t)mask);
#else
    u64x2 halves = (u64x2)mask;
    return (halves[0] | halves[1]) != 0;
#endif
}

/* The lower and the upper halves of four 64-bit numbers. */
static inline u32x4 u64x2_low_halves(u64x2 a, u64x2 b) {
    return LANES_SHUFFLE(u32x4, (u32x4)a, (u32x4)b, 0, 2, 4, 6);
}

static inline u32x4 u64x2_high_halves(u64x2 a, u64x2 b) {
    return LANES_SHUFFLE(u32x4, (u32x4)a, (u32x4)b, 1, 3, 5, 7);
}

static inline u64x2 u64x2_shift(u64x2 a, uint32_t bits) {
#ifdef __wasm_simd128__
    return (u64x2)wasm_u64x2_shr((v128_t)a, bits);
#else
    return a >> bits;
#endif
}

/* The lower halves of the lanes, first those of `a`. */
static inline u8x16 u16x8_narrow(u16x8 a, u16x8 b) {
#ifdef __wasm_simd128__
    return (u8x16)wasm_u8x16_narrow_i16x8((v128_t)a, (v128_t)b);
#else
    return LANES_SHUFFLE(u8x16, (u8x16)a, (u8x16)b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                         30);
#endif
}

/* The first and the last two lanes, widened. */
static inline u64x2 u32x4_first_wide(u32x4 a) {
#ifdef LANES_WITHOUT_PAIRS
    return (u64x2)LANES_SHUFFLE(u32x4, a, (u32x4){0}, 0, 4, 1, 5);
#else
    return __builtin_convertvector(LANES_SHUFFLE(u32x4, a, a, 0, 1), u64x2);
#endif
}

static inline u64x2 u32x4_last_wide(u32x4 a) {
#ifdef LANES_WITHOUT_PAIRS
    return (u64x2)LANES_SHUFFLE(u32x4, a, (u32x4){0}, 2, 4, 3, 5);
#else
    return __builtin_convertvector(LANES_SHUFFLE(u32x4, a, a, 2, 3), u64x2);
#endif
}

/* The upper halves of the 64-bit products. Written so that compilers use the machine's widening multiplication, instead
 * of three instructions for a 64-bit one. */
static inline u32x4 u32x4_high_product(u32x4 a, u32x4 b) {
    u64x2 low = u32x4_first_wide(a) * u32x4_first_wide(b);
    u64x2 high = u32x4_last_wide(a) * u32x4_last_wide(b);
    return u64x2_high_halves(low, high);
}
