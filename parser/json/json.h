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
