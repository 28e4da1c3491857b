/* Finds contradictions in a finished device of a snapshot and notes them in the trace's diagnostics. */
#pragma once

#include "trace/trace.h"

/* Counts that the recorder keeps of the events it saw. */
struct event_sums {
    uint64_t requested, completed; /* how often, of what a free consists of */
    uint64_t unrequested;          /* completions without a request, of allocations made in the recording */
    /* what is alive less what is reserved exceeds what it was before the first event by this at most */
    int64_t rise;
};

/* Adds the diagnostics of `device`, whose allocations are joined. O(n log n) in allocations and segments, O(events). False: no
 * memory. */
bool doubts_diagnose(struct trace *trace, const struct device_trace *device, const struct event_sums *sums);
