/* Finds contradictions in a finished device of a snapshot and adds them to the trace's diagnostics. */
#pragma once

#include "trace/trace.h"

/* The recorder's counts of the events it saw. */
struct event_sums {
    uint64_t requested, completed; /* the two steps of a free */
    uint64_t unrequested;          /* completions without a request, for allocations made in the recording */
    /* the most by which (alive - reserved) exceeded its value before the first event */
    int64_t rise;
};

/* Adds the diagnostics of `device`, whose allocations are complete. O(n log n) in allocations and segments,
 * O(events). False: no memory. */
bool doubts_diagnose(struct trace *trace, const struct device_trace *device, const struct event_sums *sums);
