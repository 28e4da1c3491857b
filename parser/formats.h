/* The kinds of input in the order in which they are tried, each with its test and its reader. A new kind is a line
 * in this table. */
#pragma once

#include "parser/cursor.h"

enum {
    FORMAT_NBYTES = 1024, /* what a test sees: enough for a comment or white space before a page */
    FORMAT_LAYERS_MAX = 4 /* a page in a zip in gzip needs three; each layer costs a buffer */
};

struct format {
    const char *name; /* as shown to people: "pickle" */
    /* Tests the first bytes. Reads nothing after p + nbytes; nbytes may be 0. */
    bool (*recognise)(const uint8_t *p, size_t nbytes);
    /* Fills the trace from the cursor, which is at the first byte. False: the cursor's error is set. */
    bool (*read)(struct cursor *cursor, struct trace *trace);
    bool packs; /* contains another input */
};

extern const struct format formats[]; /* the last one has a NULL name */

/* The format of an input that begins with these bytes; NULL: none. Only the first FORMAT_NBYTES bytes count. */
const struct format *format_of(const uint8_t *p, size_t nbytes);

/* Reads an input of any format at the cursor. False: the cursor's error is set. */
bool input_read(struct cursor *cursor, struct trace *trace);

/* ---- layers.c: readers of inputs that contain another input ---- */

bool gzip_layer_read(struct cursor *cursor, struct trace *trace);
bool zip_layer_read(struct cursor *cursor, struct trace *trace);
bool zstd_layer_read(struct cursor *cursor, struct trace *trace);
bool xz_layer_read(struct cursor *cursor, struct trace *trace);
bool html_layer_read(struct cursor *cursor, struct trace *trace);
