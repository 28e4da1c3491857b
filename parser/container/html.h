/* Pages that carry a recording: which kind of page it is, and where the recording begins in it. */
#pragma once

#include "parser/cursor.h"

enum html_kind {
    HTML_MEMORY_VIZ, /* torch/cuda/_memory_viz.py: base64 of a snapshot file, ends with '"' */
    HTML_STRATA,     /* Strata: base64 of a payload, ends with '<' */
};

/* True if a page begins with these bytes, white space and a byte order mark aside. */
bool html_recognises(const uint8_t *p, size_t nbytes);

/* Moves the cursor to the first base64 character. False: the cursor's error says what the page is instead.
 * O(bytes). */
bool html_seek(struct cursor *cursor, enum html_kind *kind);
