/* Pixels as a PNG file in memory. */
#ifndef STRATA_RENDER_PNG_WRITE_H
#define STRATA_RENDER_PNG_WRITE_H

#include "render/buffer.h"

/* A text chunk. Both are NUL terminated; the key is 1 to 79 bytes of ASCII, the value UTF-8 as far as it
 * keeps to it (bytes that do not, and control characters other than newline, are replaced). */
struct png_text {
    const char *key;
    const char *value;
};

enum png_layout {
    PNG_LAYOUT_RGBA, /* 4 bytes each, all four are kept */
    PNG_LAYOUT_RGBX  /* 4 bytes each, the fourth is dropped: an opaque picture */
};

/*
 * Appends a PNG of `width` x `height` pixels, rows from the top without padding, to `out`. The text chunks
 * come first, so that a reader finds them without decoding the picture. No time chunk: the same input gives
 * the same bytes. False: no memory, a side of 0, or a key that is none; what `out` held before is kept, what
 * was appended is taken back. O(width * height).
 */
bool png_write_picture(struct buffer *out, const uint8_t *pixels, uint32_t width, uint32_t height,
                       enum png_layout layout, const struct png_text *texts, uint32_t n_texts);

#endif
