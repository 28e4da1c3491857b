/* The promises of trace/trace.h as code. Freestanding. */
#pragma once

#include "trace/trace.h"

/*
 * NULL: all promises hold, so whatever reads the recording may rely on them. Otherwise the first one that does not, as
 * a constant: "an allocation ends after it began". Readers of a file call it at their end; code above them asserts it.
 * O(rows).
 */
const char *trace_check(const struct trace *trace);

/* The promises of one device, for a trace that is a part of another (layout/device_part.h). */
const char *device_check(const struct trace *trace, const struct device_trace *device);
