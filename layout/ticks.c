#include "layout/ticks.h"

/* The steps in rising order; 0: there are no more. Here 1, 2, 5, 10, 20, ... up to 5 * 10^18, beyond which there
 * are no multiples. */
static int64_t decimal_step(uint32_t index) {
    static const int64_t times[3] = {1, 2, 5};
    int64_t unit = 1;
    if (index > 56)
        return 0;
    for (uint32_t i = 0; i < index / 3; i++)
        unit *= 10;
    return times[index % 3] * unit;
}

/* 1, 2, 5, ... 500 bytes, then the same in KiB and so on up to 5 EiB: labels have at most three digits. */
static int64_t byte_step(uint32_t index) {
    static const int64_t times[9] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
    if (index > 56)
        return 0;
    return times[index % 9] * ((int64_t)1 << (10 * (index / 9)));
}

static int64_t divide_down(int64_t value, int64_t by) {
    return value / by - (value % by < 0);
}

static int64_t divide_up(int64_t value, int64_t by) {
    return value / by + (value % by > 0);
}

/* `count` multiples of `step`, beginning with the multiple `first`. */
static struct ticks ticks_from(int64_t step, int64_t first, uint32_t count) {
    struct ticks ticks = {.step = step, .count = count};
    for (uint32_t i = 0; i < count; i++)
        ticks.at[i] = (first + i) * step;
    return ticks;
}

static struct ticks ticks_of(int64_t low, int64_t high, uint32_t most, int64_t (*step_of)(uint32_t index)) {
    int64_t step = 0, widest = 1;
    if (most > TICKS_MAX)
        most = TICKS_MAX;
    if (most < 2)
        most = 2;
    if (low > high)
        return (struct ticks){.step = 1};
    for (uint32_t i = 0; (step = step_of(i)) != 0; i++) {
        int64_t first = divide_up(low, step), last = divide_down(high, step);
        widest = step;
        if (first > last)
            return ticks_from(step, 0, 0);
        /* One less than their number, which may be 2^64. */
        uint64_t further = (uint64_t)last - (uint64_t)first;
        if (further < most)
            return ticks_from(step, first, (uint32_t)further + 1);
    }
    /* the range is nearly all of 64 bits and there is room for two ticks: use the middle */
    return ticks_from(widest, 0, 1);
}

struct ticks ticks_decimal(int64_t low, int64_t high, uint32_t most) {
    return ticks_of(low, high, most, decimal_step);
}

struct ticks ticks_bytes(uint64_t low, uint64_t high, uint32_t most) {
    const uint64_t limit = INT64_MAX;
    if (low > limit)
        return (struct ticks){.step = 1};
    return ticks_of((int64_t)low, (int64_t)(high < limit ? high : limit), most, byte_step);
}
