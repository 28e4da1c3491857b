/* POSIX regular expressions of the C library, without those that make it run for ever, give a wrong answer or crash:
 * unbounded nested repetitions and back-references. Without memory the process ends
 * (cli/memory.h). */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

enum { REGEX_REASON_CAPACITY = 120 };

/* Rewrites what POSIX lacks of common expressions: \d and \D, also \d, \w and \s in brackets, "(?:", and the names of
 * groups, "(?P<rank>" and "(?<rank>". Each group that is not "(?:" is told to `note`, unless that is NULL; `group` is its
 * number in the result. Free the result. */
typedef void regex_note(void *context, size_t group, const char *name, size_t nbytes);
char *regex_translate(const char *expression, regex_note *note, void *context);

/* Compiles an extended expression; `flags` as for regcomp. False: `reason` says why in a phrase, and there is nothing
 * to release. */
bool regex_compile(regex_t *regex, const char *expression, int flags, char reason[REGEX_REASON_CAPACITY]);

/* Does the expression match the text? `matches` as for regexec. */
bool regex_meets(const regex_t *regex, const char *text, size_t n_matches, regmatch_t *matches);
