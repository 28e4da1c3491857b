/* Recordings in JSON: memory snapshots, Chrome traces of the profiler, memory timelines. */
#pragma once

#include "parser/json/json_scan.h"

/* The cursor is at the first byte of the document; white space and a byte order mark are allowed. The first known
 * key tells the kind. False: the cursor's error is set. O(bytes); Chrome traces are sorted too. */
bool json_read(struct cursor *cursor, struct trace *trace);

/* Reads a snapshot. The scan is at the value of a known member of the root (`key`) or, if `is_list`, before the
 * first item of a list of segments. json_snapshot_knows: does a key belong to the root of a snapshot? */
bool json_snapshot_read(struct json_scan *scan, struct trace *trace, bool is_list);
bool json_snapshot_knows(const char *key);

/* ---- Chrome traces of torch.profiler (Kineto) with [memory] events. Each event states the allocator's total after it,
 * so the curve is exact even if events are missing. Stacks are rebuilt from the events that enclose it in time. ---- */

/* The scan is at the value of a member of the root that kineto_knows (`key`) or, if `is_list`, before the first
 * event of a bare list. False: the cursor's error is set. Until the allocations are made it takes 32 bytes for each
 * event that can enclose others and 64 for each [memory] event. */
bool kineto_read(struct json_scan *scan, struct trace *trace, bool is_list);

/* Does a key belong to the root of such a trace, or to one of its events? */
bool kineto_knows(const char *key);
bool kineto_knows_event(const char *key);

/*
 * Reads files of prof.export_memory_timeline: bytes per category over time, without single allocations. Allocations
 * are made from the changes (parser/ledger.h), so that the total of every category is exact at every step.
 *
 *     raw        [[time in ns or -1, action, change in bytes, category], ...]
 *     coalesced  [[time in us, ...], [[0, bytes of category 0, ... 7], ...]]
 *
 * The scan is before the first item of the root, a list. False: the cursor's error is set.
 */
bool memory_timeline_read(struct json_scan *scan, struct trace *trace);
