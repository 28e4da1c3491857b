/* Pinned host memory that is a copy of a device's, as offloading makes it. Private to parser/. */
#pragma once

#include "trace/trace.h"

/*
 * The allocations of `host` that were made while an allocation of the same bytes, made before them in the recording, was in
 * use on a GPU: how many, and their bytes. 0 without times. False: no memory. O(n log n).
 */
bool host_pairs_count(struct trace *trace, const struct device_trace *host, uint64_t *count,
                      uint64_t *nbytes);
