/* zlib's inflate with the trace's memory, so that the memory limit holds for it too. */
#pragma once

#include "parser/cursor.h"

#ifndef ZLIB_CONST
#define ZLIB_CONST /* input pointers are const */
#endif
#include <zlib.h>

/* The wrapper around the deflated data. */
enum inflate_format { INFLATE_ZLIB = MAX_WBITS, INFLATE_GZIP = MAX_WBITS + 16, INFLATE_RAW = -MAX_WBITS };

/* The state of a source of inflated or otherwise decoded bytes. */
enum source_end {
    SOURCE_OPEN,      /* more may come */
    SOURCE_COMPLETE,  /* everything was handed out */
    SOURCE_TRUNCATED, /* the input ended first */
    SOURCE_FAILED     /* the cursor's error tells why */
};

/* Starts a stream with memory from `arena`, until inflateEnd; more may be taken while it is used. False: no memory. */
bool inflate_start(z_stream *stream, struct arena *arena, enum inflate_format format);

/* Inflates from `cursor` into `to` until it has `nbytes` or the deflated data ends. Returns the bytes written;
 * `*end` is the state after them. Damage sets READ_CORRUPT, with the offset in the compressed input. */
size_t inflate_some(z_stream *stream, struct cursor *cursor, void *to, size_t nbytes, enum source_end *end);

enum inflate_result {
    INFLATE_DONE,
    INFLATE_DAMAGED, /* damaged, or of another size */
    INFLATE_NO_MEMORY
};

/* Inflates exactly `nbytes` from a zlib stream in memory. */
enum inflate_result inflate_whole(struct arena *arena, const void *from, uint32_t from_nbytes, void *to,
                                  uint32_t nbytes);
