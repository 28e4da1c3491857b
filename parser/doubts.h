/* What a finished device of a snapshot cannot be, if its file tells the truth: noted in the trace's diagnostics. */
#pragma once

#include "trace/trace.h"

/* What the recorder saw go by. */
struct event_sums {
    uint64_t requested, completed; /* how often, of what a free consists of */
    uint64_t unrequested;          /* completions without a request, of allocations made in the recording */
    /* what is alive less what is reserved exceeds what it was before the first event by this at most */
    int64_t rise;
};

/* Adds the diagnostics of `device`, whose allocations are joined. O(n log n) in allocations and segments, O(events). False: no
 * memory. */
bool doubts_diagnose(struct trace *trace, const struct device_trace *device, const struct event_sums *sums);
