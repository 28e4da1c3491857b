/* Reads a recording back from a page that Strata wrote. */
#pragma once

#include "parser/cursor.h"

/* The cursor must be at the first base64 character of the payload. The page's own facts (file name, title) are
 * dropped. False: the cursor's error is set. Takes memory for the inflated payload besides the trace. */
bool page_read(struct cursor *cursor, struct trace *trace);
