/*
 * Tells whether a file in a log's traceback is the user's own code: part of no installed package, not of PyTorch's
 * sources and not of Python's library. layout/site.h is less strict: it also accepts a package such as transformers
 * as a call site.
 */
#pragma once

#include "base/text.h"

/* O(length). */
bool file_is_own(struct text file);
