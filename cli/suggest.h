/* "Did you mean": which known word, or which file, a mistyped one is closest to. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A search for the closest of several words. Starts as suggestion_start says. */
struct suggestion {
    const char *typed;
    const char *closest; /* NULL: none is close enough */
    unsigned distance;
};

struct suggestion suggestion_start(const char *typed);

/* Considers `word`, which must live as long as the suggestion. */
void suggestion_offer(struct suggestion *suggestion, const char *word);

/* The path of the file beside `path`, which is not there, whose name is closest to its own; the first in the order of the
 * alphabet of equally close ones. False: there is none, or its path is too long. O(files of the directory). */
bool suggestion_of_file(const char *path, char found[PATH_MAX]);
