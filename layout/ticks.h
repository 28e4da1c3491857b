/* Round values for axes, by one rule for the PNG and the page. Freestanding. */
#pragma once

#include <stdint.h>

enum { TICKS_MAX = 64 };

struct ticks {
    uint32_t count;
    int64_t step;
    int64_t at[TICKS_MAX]; /* rising; multiples of step, all within [low, high] */
};

/* At most `most` ticks (2..TICKS_MAX) for [low, high], steps of 1, 2 or 5 times a power of ten. */
struct ticks ticks_decimal(int64_t low, int64_t high, uint32_t most);

/* The same for bytes: steps of a power of two times 1, 2 or 5 ... of KiB, MiB or GiB, so that labels are
 * short. */
struct ticks ticks_bytes(uint64_t low, uint64_t high, uint32_t most);
