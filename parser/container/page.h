/* Reads a recording back from a page that Strata wrote. */
#pragma once

#include "parser/cursor.h"

/* The cursor is at the first base64 character of the payload. The page's own facts (file name, title) are
 * dropped. False: the cursor's error is set. Memory besides the trace: the payload, inflated. */
bool page_read(struct cursor *cursor, struct trace *trace);
