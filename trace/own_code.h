/*
 * Is the file of a log's traceback the user's own: neither of an installed package, nor of PyTorch's sources, nor of Python's
 * own library? What layout/site.h takes for a call site besides (a model of transformers, say) is not where people asked.
 */
#pragma once

#include "base/text.h"

/* O(length). */
bool file_is_own(struct text file);
