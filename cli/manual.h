/* Pages of the manual and completions of shells, made of the tables that --help is made of. */
#pragma once

#include "cli/options.h"

/* Prints to standard output: for "man" the program's page, for the name of a verb that verb's page, for "bash", "zsh"
 * or "fish" the completions for that shell. False: `what` is none of these, and nothing was printed. O(text). */
bool manual_print(const char *what, const struct verb *const *verbs, size_t n_verbs);
