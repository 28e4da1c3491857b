/*
 * Rules of the user's for what allocations are for. A file of lines, the first rule that an allocation meets decides:
 *
 *     # CATEGORY       FIELD      REGULAR EXPRESSION (POSIX, extended; to the end of the line)
 *     optimizer_state  file       my_optim/.*\.py$
 *     activation       function   ^(forward|embed)$
 *     parameter        metadata   weights
 *
 * file and function are met where any frame of the stack matches, metadata where the allocation's user metadata does.
 */
#ifndef STRATA_CLI_RULES_H
#define STRATA_CLI_RULES_H

#include "layout/category.h"

/* Reads a file of rules and matches it with everything in `trace`; the result lives in the trace's arena. False: printed.
 * O(rules * (frames + contexts) + stacks). */
bool rules_apply(struct category_rules *rules, const char *path, struct trace *trace);

#endif
