/*
 * Regular expressions of POSIX, as the C library has them, without what makes it run for ever, lose an answer or fall over:
 * repetitions within repetitions without end, back-references, and memory that ends on the way.
 */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

enum { REGEX_REASON_CAPACITY = 120 };

struct regex_wrong {
    bool no_memory;
    char reason[REGEX_REASON_CAPACITY]; /* a phrase */
};

/* Compiles an extended expression; `flags` as for regcomp. False: `wrong` says why, and there is nothing to release. */
bool regex_compile(regex_t *regex, const char *expression, int flags, struct regex_wrong *wrong);

/* Does the expression meet the text? `matches` as for regexec. A "no" that is for want of memory sets `*failed`, which
 * otherwise stays as it is. */
bool regex_meets(const regex_t *regex, const char *text, size_t n_matches, regmatch_t *matches, bool *failed);
