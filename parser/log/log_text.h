/* Helpers that recognise the lines of known logs. Private to parser/log*.c. */
#pragma once

#include "base/text.h"

/* Not found; no number. */
#define LOG_NONE UINT32_MAX

/* The place of `word` at or after `from`; LOG_NONE: none. O(text). */
uint32_t log_find(struct text text, uint32_t from, const char *word);

/* The first place that is not a blank, equals sign or colon, at or after `at`. */
uint32_t log_skip(struct text text, uint32_t at);

/* Reads digits that form a whole number below 2^53 without a digit, letter or point after them. Returns the place
 * after it; LOG_NONE: no such number. */
uint32_t log_count(struct text text, uint32_t at, uint64_t *count);

/*
 * Reads "20.00 MiB", "71.99GiB", "2,147,483,648 bytes", "12345": a figure without sign or exponent, and its unit. GB,
 * MB and KB are 1024-based, as every project that prints them divides. `unit` is that of a bare number; 0: a bare
 * number is not a size. Returns the place after it; LOG_NONE: no figure, or more than 64 TiB.
 */
uint32_t log_size(struct text text, uint32_t at, uint64_t unit, uint64_t *nbytes);
/* The same up to 8 PiB: a request may be more than any device has. */
uint32_t log_size_asked(struct text text, uint32_t at, uint64_t unit, uint64_t *nbytes);

/* The unit at `at` in bytes, and the place after it in `*next`; 0: none. */
uint64_t log_unit(struct text text, uint32_t at, uint32_t *next);

/* The figure that ends before `at`, with blanks in between. False: none. */
bool log_size_before(struct text text, uint32_t at, uint64_t *nbytes);

/* "2026-11-22 10:00:00,123", "2026/11/22T10:00:00.5" as microseconds since the Unix epoch, among the first bytes. */
bool log_time(struct text text, int64_t *us);

/* The rank that a prefix names: "[rank3]:", "Rank 3", "rank=3", "[default3]:", "3: ". LOG_NONE: none. */
uint32_t log_rank(struct text text);

/*
 * Matches a text from `at` on: # is a whole number, % a word, ~ blanks or none, @ text without blanks, $ text up to a
 * parenthesis, & up to two characters that join words, ^ a logger's level; the rest stands for itself. Classes take as
 * little as they can. Returns the place after it, LOG_NONE if it does not match. `*name` is what the first class but #
 * and ^ stands for, `*number` the last number; both may be NULL.
 */
uint32_t log_match(struct text text, uint32_t at, const char *pattern, struct text *name, uint64_t *number);

/* The same from the first place where it matches; the pattern begins with a byte of its own. */
bool log_search(struct text text, const char *pattern, struct text *name, uint64_t *number);

/* The line without wrappers from where it was kept or pasted: a quote's sign, the prefix of a container, a
 * supervisor or a rank, a backtick. O(prefix). */
struct text log_unwrapped(struct text text);

/* The text without prefixes by loggers: groups in brackets, times, levels. */
struct text log_message(struct text text);
