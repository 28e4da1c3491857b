/*
 * A read_source that inflates another input: any number of members, one after the other. As gzip(1) does, it
 * ignores what follows the last member.
 */
#ifndef STRATA_PARSER_GZIP_H
#define STRATA_PARSER_GZIP_H

#include "parser/inflate.h"

struct gzip {
    struct cursor *cursor;
    z_stream stream;
    enum source_end end;
};

/* True if a gzip member with deflated data begins with these bytes. */
bool gzip_recognises(const uint8_t *p, size_t nbytes);

/* Begins at the cursor, which must stay valid. False: the cursor's error is set, nothing is to be released. */
bool gzip_open(struct gzip *gzip, struct cursor *cursor);

/* The inflated bytes. A truncated input just ends; gzip.end tells. Damage sets the cursor's error. */
struct read_source gzip_source(struct gzip *gzip);

/* Inflates what is left, for the check sums. False: the cursor's error is set. */
bool gzip_finish(struct gzip *gzip);

void gzip_release(struct gzip *gzip);

#endif
