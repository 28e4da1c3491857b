/* Pixels as a PNG file, written as it comes. */
#pragma once

#include "base/buffer.h"
#include "render/png/colors.h"

/* A text chunk. Both are NUL terminated; the key is 1 to 79 bytes of ASCII, the value UTF-8 as far as it
 * keeps to it (bytes that do not, and control characters other than newline, are replaced). */
struct png_text {
    const char *key;
    const char *value;
};

/* Opaque; rows from the top without padding. */
struct png_picture {
    /* 4 bytes each: R, G, B and one that is dropped; with `colors` 1 byte each, its index there */
    const uint8_t *pixels;
    const struct colors *colors; /* NULL: as the pixels say */
    uint32_t width, height;
};

/*
 * Appends a PNG to `out`. The text chunks come first, so that a reader finds them without decoding the picture. No time
 * chunk: the same input gives the same bytes. False: no memory, a side of 0, or a key that is not one; what `out` held
 * before is kept, what was appended is taken back but from a sink. O(width * height).
 */
bool png_write(struct buffer *out, const struct png_picture *picture, const struct png_text *texts,
               uint32_t n_texts);
