/* Logs: what a run printed about its memory, line by line. docs/inputs-reference.md lists the forms that are
 * understood. */
#pragma once

#include "parser/cursor.h"

/* Could it be a text? Whether it is a log shows only when a line is understood. */
bool log_recognises(const uint8_t *p, size_t nbytes);

/* Fills the trace from the cursor, which is at the first byte, line by line; of lines longer than LOG_LINE_NBYTES
 * only the beginning is read. False: the cursor's error is set, READ_UNKNOWN_KIND if no line is about memory.
 * O(bytes + understood lines log lines). */
bool log_read(struct cursor *cursor, struct trace *trace);

enum { LOG_LINE_NBYTES = 16 << 10, LOG_DEVICES_MOST = 4096 };
