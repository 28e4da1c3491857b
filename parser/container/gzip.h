/*
 * A read_source that inflates another input: any number of members, one after the other. As gzip(1) does, it
 * ignores what follows the last member.
 */
#pragma once

#include "parser/container/inflate_fast.h"

struct gzip {
    struct cursor *cursor;
    /* its own: the source may be read in another thread than the trace's arena is used in */
    struct arena memory;
    z_stream stream;
    struct inflate_fast *fast; /* NULL: not used so far, or there is none */
    bool started,
        is_fast; /* `stream` was started; `fast` inflates the present member, otherwise `stream` does */
    enum source_end end;
};

/* True if a gzip member with deflated data begins with these bytes. */
bool gzip_recognises(const uint8_t *p, size_t nbytes);

/* Begins at the cursor, which must stay valid. False: the cursor's error is set, nothing is to be released. */
bool gzip_open(struct gzip *gzip, struct cursor *cursor);

/* The inflated bytes. A truncated input just ends; gzip.end tells. Damage sets the cursor's error; if it is found without
 * zlib, gzip_explain has to make it complete. */
struct read_source gzip_source(struct gzip *gzip);

/* Inflates what is left, for the check sums. False: the cursor's error is set. */
bool gzip_finish(struct gzip *gzip);

/* If the cursor's error is damage that was found without zlib: reads the input again by zlib and replaces the error by
 * what that says. Takes as long as zlib takes to get there. */
void gzip_explain(struct gzip *gzip);

void gzip_release(struct gzip *gzip);
