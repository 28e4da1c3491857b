/*
 * Reads files of prof.export_memory_timeline: bytes per category over time, without single allocations. Allocations
 * are made from the changes (parser/ledger.h), so that the total of every category is exact at every step.
 *
 *     raw        [[time in ns or -1, action, change in bytes, category], ...]
 *     coalesced  [[time in us, ...], [[0, bytes of category 0, ... 7], ...]]
 */
#pragma once

#include "parser/json/json_scan.h"

/* The scan is before the first item of the root, a list. False: the cursor's error is set. */
bool memory_timeline_read(struct json_scan *scan, struct trace *trace);
