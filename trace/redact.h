/* The work of --redact: a recording that can be shown to others. */
#pragma once

#include "trace/trace.h"

/*
 * Reduces paths of files to base names, but for what torch and Python themselves are, which keep the path inside of
 * their package ("site-packages/torch/nn/modules/linear.py"), so that library frames are still told from the user's.
 * Names of functions, annotations and devices stay, but for the directories of paths inside of them: in a text nothing stays
 * between the first slash and the last, whatever signs are there, but for " at ", after which a path begins anew; so do the allocator
 * settings that PyTorch has. User metadata and texts that hold source lines (forward stacks, torch.fx's original traces)
 * become none. With `all`, annotations have numbers for names, except those that only say what part of a step it is.
 * `category_is_known` tells PyTorch's categories from the user's words. Nothing of what is dropped is left in the trace's strings. False: no memory. O(text of all strings).
 */
bool trace_redact(struct trace *trace, bool all,
                  bool (*category_is_known)(const uint8_t *name, uint32_t nbytes));
