/* The kinds of input, each with its test and its reader, in the order in which they are tried. A new kind is a line in
 * this table. */
#pragma once

#include "parser/cursor.h"

enum {
    FORMAT_NBYTES = 1024, /* what a test sees: enough for a comment or white space in front of a page */
    FORMAT_LAYERS_MAX = 4 /* a page in a zip in gzip needs three; each costs a buffer */
};

struct format {
    const char *name; /* for people: "pickle" */
    /* By the first bytes; nothing after p + nbytes is touched, and nbytes may be 0. */
    bool (*recognise)(const uint8_t *p, size_t nbytes);
    /* Fills the trace from the cursor, which is at the first byte. False: the cursor's error is set. `depth` counts the
     * inputs that this one is packed into. */
    bool (*read)(struct cursor *cursor, struct trace *trace, unsigned depth);
    bool packs; /* another input */
};

extern const struct format formats[]; /* ends with a NULL name */

/* The format of an input that begins with these bytes; NULL: none. Of more than FORMAT_NBYTES bytes the first count. */
const struct format *format_of(const uint8_t *p, size_t nbytes);
