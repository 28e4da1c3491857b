/* Pages that contain a recording: tells the kind of page and where its recording begins. */
#pragma once

#include "parser/cursor.h"

enum html_kind {
    HTML_MEMORY_VIZ, /* torch/cuda/_memory_viz.py: base64 of a snapshot file, ends with '"' */
    HTML_STRATA,     /* Strata: base64 of a payload, ends with '<' */
};

/* True if a page begins with these bytes, after white space and a byte order mark. */
bool html_recognises(const uint8_t *p, size_t nbytes);

/* Moves the cursor to the first base64 character. False: the page has no recording, and the cursor's error says
 * what it is. O(bytes). */
bool html_seek(struct cursor *cursor, enum html_kind *kind);

/* Reads the recording in a page that Strata wrote. The cursor must be at the first base64 character of the payload. The
 * page's own facts (file name, title) are dropped. False: the cursor's error is set. Takes memory for the inflated
 * payload besides the trace. */
bool page_read(struct cursor *cursor, struct trace *trace);
