/*
 * gzip inflated by ISA-L, in a fraction of zlib's time. Whole streams become the same bytes, and streams that are cut off
 * end after the same byte. Of a damaged one it says only that it is damaged: where and how is for zlib to say, which
 * parser/container/gzip.h then asks. (A stream whose code tables RFC 1951 does not allow, and which makes sense or is cut off all
 * the same, may be taken here and be refused by zlib. No compressor writes one.)
 */
#pragma once

#include "parser/container/inflate.h"

struct inflate_fast;

/* With memory from `arena` until that is released. NULL: no memory, or the program was built without ISA-L. */
struct inflate_fast *inflate_fast_new(struct arena *arena);

/* Makes ready for another member. */
void inflate_fast_reset(struct inflate_fast *fast);

/* As inflate_some, of one gzip member from its header to its trailer; SOURCE_FAILED without an error in the cursor:
 * damaged. */
size_t inflate_fast_some(struct inflate_fast *fast, struct cursor *cursor, void *to, size_t nbytes,
                         enum source_end *end);
