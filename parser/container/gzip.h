/* A read_source that inflates another input: any number of members, one after the other. Like gzip(1) it ignores
 * what follows the last member. */
#pragma once

#include "parser/container/inflate_fast.h"

struct gzip {
    struct cursor *cursor;
    /* its own, because another thread may read the source while the trace's arena is in use */
    struct arena memory;
    z_stream stream;
    struct inflate_fast *fast; /* NULL: not used so far, or not built in */
    bool started, is_fast; /* `stream` was started; `fast` inflates this member, otherwise `stream` does */
    enum source_end end;
};

/* True if a gzip member with deflated data begins with these bytes. */
bool gzip_recognises(const uint8_t *p, size_t nbytes);

/* Begins at the cursor, which must stay valid. False: the cursor's error is set, and there is nothing to release. */
bool gzip_open(struct gzip *gzip, struct cursor *cursor);

/* The inflated bytes. A truncated input just ends; gzip.end tells. Damage sets the cursor's error; if ISA-L found
 * it, gzip_explain must complete the error. */
struct read_source gzip_source(struct gzip *gzip);

/* Inflates the rest, to verify its checksums. False: the cursor's error is set. */
bool gzip_finish(struct gzip *gzip);

/* Completes an error that ISA-L found: reads the input again with zlib and takes over its error. Takes as long as
 * zlib needs to reach the damage. */
void gzip_explain(struct gzip *gzip);

void gzip_release(struct gzip *gzip);
