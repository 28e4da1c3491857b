/*
 * Formats figures for people, by one rule for the picture, the report and the index, independent of the locale.
 *
 * Every function returns its text by value, so a figure can be printed where it is made: printf("peak %s",
 * format_bytes(peak).text). The text is UTF-8; only format_duration writes a byte outside of ASCII (the micro
 * sign).
 */
#pragma once

#include <stdint.h>

struct figure {
    char text[40]; /* terminated; the longest figure, a negative 64-bit count, has 26 bytes */
};

/* 1024-based: "512 B", "111.7 MiB", "8.0 GiB". One decimal from GiB up; KiB and MiB have one unless they are whole
 * ("24 MiB"). Rounded half up; never "1024.0 MiB". */
struct figure format_bytes(uint64_t bytes);

/* The same with a sign, for differences: "+1.5 GiB", "-512 B", "0 B". */
struct figure format_bytes_change(int64_t bytes);

/* Chooses unit and decimals for a table of figures of which `most` is the largest: that figure's own unit, with two
 * decimals if it is below 100, otherwise one; bytes have none. The result is for format_bytes_in and
 * format_change_in only. format_unit_fine is for tables of changes, which may be small: from GiB up it takes the
 * next smaller unit with one decimal (7,472.2 MiB), or, from 100 on, stays and has two (112.50 GiB). */
unsigned format_unit(uint64_t most);
unsigned format_unit_fine(uint64_t most);

/* In that unit: "0.13 GiB", "497.6 MiB", "512 B". Only zero prints as zero: the least is "<0.01" or "<0.1". */
struct figure format_bytes_in(uint64_t bytes, unsigned unit);

/* The same with a sign. */
struct figure format_change_in(int64_t bytes, unsigned unit);

/* "18,204" */
struct figure format_count(uint64_t count);

/* Microseconds as "850 µs", "4.2 ms", "450 ms", "12.3 s", "3 min 12 s", "2 h 5 min", "3 d 4 h". */
struct figure format_duration(int64_t us);

/* "31 %". Only zero is "0 %" and only all is "100 %": between them it says "<1 %" to ">99 %". `whole` 0: "0 %". */
struct figure format_share(uint64_t part, uint64_t whole);
