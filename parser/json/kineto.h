/* Chrome traces of torch.profiler (Kineto) with [memory] events. Each event states the allocator's total after it,
 * so the curve is exact even if events are missing. Stacks are rebuilt from the events that enclose it in time. */
#pragma once

#include "parser/json/json_scan.h"

/* The scan is at the value of a member of the root that kineto_knows (`key`) or, if `is_list`, before the first
 * event of a bare list. False: the cursor's error is set. Until the allocations are made it takes 32 bytes for each
 * event that can enclose others and 64 for each [memory] event. */
bool kineto_read(struct json_scan *scan, struct trace *trace, bool is_list);

/* Does a key belong to the root of such a trace, or to one of its events? */
bool kineto_knows(const char *key);
bool kineto_knows_event(const char *key);
