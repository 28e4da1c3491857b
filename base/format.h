/*
 * Figures as people read them: one rule for the picture, the report and the index. Independent of the locale.
 *
 * Every function returns its text by value, so a figure can be printed where it is made:
 *     printf("peak %s", format_bytes(peak).text);
 * UTF-8; only format_duration uses a byte outside of ASCII (the micro sign).
 */
#pragma once

#include <stdint.h>

struct figure {
    char text[40]; /* terminated; the longest figure, a negative 64-bit count, has 26 bytes */
};

/* 1024-based: "512 B", "111.7 MiB", "8.0 GiB". One decimal from GiB up, also from KiB up where it is not exact without
 * ("24 MiB"). Rounded half up; never "1024.0 MiB". */
struct figure format_bytes(uint64_t bytes);

/* The same with a sign, for differences: "+1.5 GiB", "-512 B", "0 B". */
struct figure format_bytes_change(int64_t bytes);

/* A unit and its decimals for the figures of one table, of which `most` is the largest: the unit that this one would have
 * alone, with two decimals below 100 of it, else with one; bytes have none. Only for the two functions below. The second is
 * for tables of changes, which may be small: from GiB up in the next smaller unit, with one decimal, or from 100 on with two:
 * 7,472.2 MiB, 112.50 GiB. */
unsigned format_unit(uint64_t most);
unsigned format_unit_fine(uint64_t most);

/* In that unit: "0.13 GiB", "497.6 MiB", "512 B". What is not nothing is at least "<0.01" or "<0.1". */
struct figure format_bytes_in(uint64_t bytes, unsigned unit);

/* The same with a sign. */
struct figure format_change_in(int64_t bytes, unsigned unit);

/* "18,204" */
struct figure format_count(uint64_t count);

/* Microseconds as "850 µs", "4.2 ms", "450 ms", "12.3 s", "3 min 12 s", "2 h 5 min", "3 d 4 h". */
struct figure format_duration(int64_t us);

/* "31 %". What is not nothing is at least "<1 %", and what is not all is at most ">99 %". `whole` 0: "0 %".
 */
struct figure format_share(uint64_t part, uint64_t whole);
