/* Numbers that look random and are the same in every run: a linear congruence of 64 bits, of which the upper ones are used. */
#pragma once

#include <stdint.h>

/* Any initial state is valid. */
struct dice {
    uint64_t state;
};

/* 32 bits. */
static inline uint32_t dice_roll(struct dice *dice) {
    dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(dice->state >> 32);
}

/* From 0 to limit - 1; the limit is at least 1. */
static inline uint32_t dice_below(struct dice *dice, uint32_t limit) {
    return (uint32_t)((uint64_t)dice_roll(dice) * limit >> 32);
}

/* 64 bits. */
static inline uint64_t dice_roll_64(struct dice *dice) {
    uint64_t upper = dice_roll(dice);
    return upper << 32 | dice_roll(dice);
}
