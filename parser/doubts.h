/* What a finished device of a snapshot cannot be, if its file tells the truth: noted in the trace's diagnostics. */
#ifndef STRATA_PARSER_DOUBTS_H
#define STRATA_PARSER_DOUBTS_H

#include "trace/trace.h"

/* How often the recorder saw what a free consists of. */
struct free_counts {
    uint64_t requested, completed;
    uint64_t unrequested; /* completions without a request, of allocations made in the recording */
};

/* Adds the diagnostics of `device`, whose allocations are joined. O(n log n) in allocations and segments, O(events). False: no
 * memory. */
bool doubts_diagnose(struct trace *trace, const struct device_trace *device, const struct free_counts *frees);

#endif
