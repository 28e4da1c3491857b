/* Figures as people type them: sizes, durations and counts, read by one rule on the command line, in filters and in
 * the page. Integer arithmetic, no C library. Texts are bytes with a length; blanks around them are the caller's. */
#pragma once

#include "base/text.h"

/* Digits after the point that are read. Further ones mean less than a byte even in the largest unit, and are
 * skipped. */
enum { DECIMAL_DIGITS = 15 };

/* A decimal number: `whole` and the digits after its point. */
struct decimal {
    uint64_t whole;
    uint32_t n_digits; /* 0: no point, or no digit after it */
    bool point;
    uint8_t digit[DECIMAL_DIGITS];
};

/* Reads digits with at most one point among them, at least one digit, and returns how many bytes that took. 0: no
 * number, or 2^64 and more. */
uint32_t decimal_read(struct decimal *decimal, struct text text);

/* number * unit, rounded down. False: above 2^64 - 1. `unit` is at most 2^60. */
bool decimal_times(const struct decimal *decimal, uint64_t unit, uint64_t *product);

/*
 * Bytes: "1048576", "512B", "75GiB" and "75G" (both 1024-based), "80GB" (1000-based), "1.5 GiB"; K, M, G, T and P
 * in either case. Fractions round down to whole bytes; bytes have no fraction. False: not a size, negative or above
 * 2^64 - 1; `*bytes` is unchanged.
 */
bool units_size(struct text text, uint64_t *bytes);

/* Microseconds: "850us", "850µs", "2 ms", "12.5s", "3min", "2h", in either case. A unit is needed. False: none of
 * these, or above 2^63 - 1; `*us` is unchanged. */
bool units_duration(struct text text, uint64_t *us);

/* A whole number, digits only. False: anything else, or above 2^64 - 1; `*count` is unchanged. */
bool units_count(struct text text, uint64_t *count);
