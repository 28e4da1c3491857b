/* POSIX regular expressions of the C library, guarded against what makes it run for ever, lose an answer or crash:
 * unbounded nested repetitions, back-references, and memory that ends on the way. */
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

/* Does the expression match the text? `matches` as for regexec. If the answer is "no" for lack of memory, `*failed` is
 * set, which otherwise stays as it is. */
bool regex_meets(const regex_t *regex, const char *text, size_t n_matches, regmatch_t *matches, bool *failed);
