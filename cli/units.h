/* Reads sizes, numbers and positions as they are written on a command line. Nothing here prints. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads bytes: "1048576", "512B", "75GiB" and "75G" (both 1024-based), "80GB" (1000-based), "1.5 GiB"; K, M, G, T and P
 * in either case. A fraction is rounded down to whole bytes. False: not a size, negative or above 2^64 - 1; `*bytes` is
 * unchanged.
 */
bool size_parse(const char *text, uint64_t *bytes);

/* Is this size a bare number of less than 1 MiB, probably meant in GiB? `bytes` is its value as read. */
bool size_lacks_unit(const char *text, uint64_t bytes);

/* Reads a decimal number of [low, high], digits only. False: anything else; `*number` is unchanged. */
bool number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *number);

/* The point from which the begin or end of a window is counted. */
enum position_base {
    POSITION_NONE,  /* not given */
    POSITION_EVENT, /* offset: index of an event */
    POSITION_TIME,  /* offset: microseconds since the first event */
    POSITION_PEAK,  /* offset: events after the peak, negative: before */
    POSITION_OOM,   /* the same, for the first out-of-memory event */
};

struct position {
    enum position_base base;
    int64_t offset;
};

/* Reads "500", "12.5s", "250ms", "peak", "peak-500", "oom+20". False: none of these; `*position` is unchanged. */
bool position_parse(const char *text, struct position *position);

/* The place of `value` among `words`, "peak|step|annotation". -1: it is none of them. */
int choice_of(const char *value, const char *words);

/* Reads a device's number: 0 and above, -1 for the CPU, -2 or "host" for pinned memory. False: it is none of these. */
bool ordinal_parse(const char *text, int32_t *ordinal);
