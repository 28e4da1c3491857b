/* "Did you mean": finds the known word, or the file, that a mistyped one is closest to. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* A search for the closest of several words. suggestion_start begins it. */
struct suggestion {
    const char *typed;
    const char *closest; /* NULL: none is close enough */
    unsigned distance;
};

struct suggestion suggestion_start(const char *typed);

/* Considers `word`, which must live as long as the suggestion. */
void suggestion_offer(struct suggestion *suggestion, const char *word);

/* Finds the file beside `path`, which does not exist, whose name is closest to its own; of equally close ones the first
 * in the alphabet. False: there is none, or its path is too long. O(files of the directory). */
bool suggestion_of_file(const char *path, char found[PATH_MAX]);
