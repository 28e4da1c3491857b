/* zlib's inflate with the memory of an arena, so that its limit holds for zlib too. */
#pragma once

#include "base/arena.h"

#ifndef ZLIB_CONST
#define ZLIB_CONST /* input pointers are const */
#endif
#include <zlib.h>

/* The wrapper around the deflated data. */
enum inflate_format { INFLATE_ZLIB = MAX_WBITS, INFLATE_GZIP = MAX_WBITS + 16, INFLATE_RAW = -MAX_WBITS };

/* Starts a stream with memory from `arena`, until inflateEnd; more may be taken while it is used. False: no memory. */
bool inflate_start(z_stream *stream, struct arena *arena, enum inflate_format format);

enum inflate_result {
    INFLATE_DONE,
    INFLATE_DAMAGED, /* damaged, or of another size */
    INFLATE_NO_MEMORY
};

/* Inflates exactly `nbytes` from a zlib stream in memory. */
enum inflate_result inflate_whole(struct arena *arena, const void *from, uint32_t from_nbytes, void *to,
                                  uint32_t nbytes);
