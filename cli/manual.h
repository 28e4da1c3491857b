/* Pages of the manual and completions of shells, made of the tables that --help is made of. */
#pragma once

#include "cli/options.h"

/* Prints to standard output: "man" the page of the program, the name of a verb its page, "bash", "zsh" or "fish" what that
 * shell completes. False: `what` is none of these, and nothing was printed. O(text). */
bool manual_print(const char *what, const struct verb *const *verbs, size_t n_verbs, const char *version);
