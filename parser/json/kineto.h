/*
 * Chrome traces of torch.profiler (Kineto) that hold [memory] events. Each says what the allocator's total was after
 * it, so the curve is exact even where events are missing; stacks are rebuilt from the events that enclose it in time.
 */
#pragma once

#include "parser/json/json_scan.h"

/* The scan is at the value of a member of the root that kineto_knows (`key`), or, if `is_list`, in front of the first
 * event of a bare list. False: the cursor's error is set. Holds 32 bytes for each event that can enclose others and
 * 64 for each [memory] event until the allocations are made. */
bool kineto_read(struct json_scan *scan, struct trace *trace, bool is_list);

/* Whether a key belongs to the root of such a trace, or to one of its events. */
bool kineto_knows(const char *key);
bool kineto_knows_event(const char *key);
