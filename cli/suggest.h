/* "Did you mean" for the names of files. */
#pragma once

#include "base/suggest.h"

#include <limits.h>

/* Finds the file beside `path`, which does not exist, whose name is closest to its own; of equally close ones the first
 * in the alphabet. False: there is none, or its path is too long. O(files of the directory). */
bool suggestion_of_file(const char *path, char found[PATH_MAX]);
