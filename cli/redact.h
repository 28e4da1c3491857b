/* What --redact does: a recording that can be shown to others. */
#ifndef STRATA_CLI_REDACT_H
#define STRATA_CLI_REDACT_H

#include "trace/trace.h"

/*
 * Reduces paths of files to base names, but for what torch and Python themselves are, which keep the path inside of
 * their package ("site-packages/torch/nn/modules/linear.py"), so that library frames are still told from the user's.
 * User metadata and texts that hold source lines (forward stacks, torch.fx's original traces) become none. Names of
 * functions, annotations, devices and allocator settings stay. Nothing of what is dropped is left in the trace's
 * strings. False: no memory. O(text of all strings).
 */
bool trace_redact(struct trace *trace);

#endif
