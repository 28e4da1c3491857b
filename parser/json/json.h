/* Recordings in JSON: memory snapshots, Chrome traces of the profiler, memory timelines. */
#pragma once

#include "parser/json/json_scan.h"

/* The cursor is at the first byte of the document, white space and a byte order mark allowed. What it is shows in its
 * first known key. False: the cursor's error is set. O(bytes), for Chrome traces plus sorting. */
bool json_read(struct cursor *cursor, struct trace *trace);

/* A snapshot: the scan is at the value of a member of the root whose key is known (`key`), or, if `is_list`, in front
 * of the first item of a list of segments. Whether a key belongs to a snapshot's root. */
bool json_snapshot_read(struct json_scan *scan, struct trace *trace, bool is_list);
bool json_snapshot_knows(const char *key);
