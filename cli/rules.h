/*
 * The user's rules: which category an allocation has. A file of lines, the first rule that an allocation meets decides:
 *
 *     # CATEGORY       FIELD      REGULAR EXPRESSION (POSIX, extended; to the end of the line)
 *     optimizer_state  file       my_optim/.*\.py$
 *     activation       function   ^(forward|embed)$
 *     parameter        metadata   weights
 *
 * file and function are met where any frame of the stack matches, metadata where the allocation's user metadata does.
 */
#pragma once

#include "parser/fingerprint.h"
#include "trace/trace.h"

/* Reads a file of rules and notes the category in the context of every allocation that meets one, as a profiler would
 * have done; so picture, report and page show it, and a page keeps it. False: printed. O(rules * distinct files,
 * functions and metadata + frames + stacks + allocations); at most 1,000 rules. */
bool rules_apply(const char *path, struct trace *trace);

/* The fingerprint of a plain file's bytes. Prints nothing. False: errno. */
bool file_fingerprint(const char *path, char text[FINGERPRINT_CHARACTERS + 1]);

/* The fingerprint of a file of rules; "" for the path NULL. False: printed. */
bool rules_fingerprint(const char *path, char text[FINGERPRINT_CHARACTERS + 1]);
