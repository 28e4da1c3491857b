/* Writes pixels as a PNG file, piece by piece. */
#pragma once

#include "base/buffer.h"
#include "render/png/colors.h"

/* A text chunk. Both texts are NUL terminated. The key is 1 to 79 bytes of ASCII; the value is UTF-8, in which wrong
 * bytes and control characters other than newline are replaced. */
struct png_text {
    const char *key;
    const char *value;
};

/* Opaque; rows from the top without padding. */
struct png_picture {
    /* bytes R, G, B and one that is dropped; with `colors` one byte, its index there */
    const uint8_t *pixels;
    const struct colors *colors; /* NULL: the pixels have their own colours */
    uint32_t width, height;
};

/*
 * Appends a PNG to `out`. The text chunks come first, so that a reader finds them without decoding the picture. There
 * is no time chunk, so the same input gives the same bytes. False: no memory, a side of 0, or a bad key; what `out`
 * held before is kept, and what was appended is taken back unless a sink has it. O(width * height).
 */
bool png_write(struct buffer *out, const struct png_picture *picture, const struct png_text *texts,
               uint32_t n_texts);
