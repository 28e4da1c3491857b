/* A clock for progress and estimates; results never depend on it. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Microseconds since an arbitrary moment in the past. */
static inline int64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
