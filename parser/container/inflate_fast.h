/*
 * Inflates gzip with ISA-L, in a fraction of zlib's time. Whole streams give the same bytes, and truncated ones end
 * after the same byte. ISA-L does not say where and how a stream is damaged, so parser/container/gzip.h then asks
 * zlib. (A stream with code tables that RFC 1951 forbids may be read here but refused by zlib. No compressor writes
 * one.)
 */
#pragma once

#include "parser/container/inflate.h"

struct inflate_fast;

/* Takes memory from `arena` until that is released. NULL: no memory, or the program was built without ISA-L. */
struct inflate_fast *inflate_fast_new(struct arena *arena);

/* Prepares for another member. */
void inflate_fast_reset(struct inflate_fast *fast);

/* Like inflate_some, for one gzip member from its header to its trailer. SOURCE_FAILED without an error in the
 * cursor means damaged. */
size_t inflate_fast_some(struct inflate_fast *fast, struct cursor *cursor, void *to, size_t nbytes,
                         enum source_end *end);
