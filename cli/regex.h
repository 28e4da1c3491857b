/* POSIX regular expressions of the C library, without those that make it run for ever, give a wrong answer or crash:
 * unbounded nested repetitions and back-references. Without memory the process ends
 * (cli/memory.h). */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

enum { REGEX_REASON_CAPACITY = 120 };

/* Compiles an extended expression; `flags` as for regcomp. False: `reason` says why in a phrase, and there is nothing
 * to release. */
bool regex_compile(regex_t *regex, const char *expression, int flags, char reason[REGEX_REASON_CAPACITY]);

/* Does the expression match the text? `matches` as for regexec. */
bool regex_meets(const regex_t *regex, const char *text, size_t n_matches, regmatch_t *matches);
