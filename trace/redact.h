/* Implements --redact: makes a recording that can be shown to others. */
#pragma once

#include "trace/trace.h"

/*
 * Reduces paths to base names. Files of torch and Python keep the path inside of their package
 * ("site-packages/torch/nn/modules/linear.py"), so that library frames can still be told from the user's.
 *
 * Names of functions, annotations and devices stay, without directories: the text between the first and the last
 * slash goes, except that a new path begins after " at " where no other path is open. Allocator settings that
 * PyTorch knows stay. User metadata and texts with source lines (forward stacks, torch.fx's original traces) are
 * removed. With `all`, annotations get numbers for names, except names that only say which part of a step it is.
 *
 * `category_is_known` tells PyTorch's categories from the user's words. The trace's strings hold nothing of what
 * was dropped. False: no memory. O(text of all strings).
 */
bool trace_redact(struct trace *trace, bool all, bool (*category_is_known)(struct text name));
