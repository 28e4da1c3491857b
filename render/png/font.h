/*
 * Text of the pictures: two faces that the program carries (scripts/embed.cmake), measured and drawn without hinting.
 *
 * Any bytes can be shown. Wrong UTF-8 becomes U+FFFD, and so do control characters and invisible ones that would
 * reorder or hide text; a character that the face lacks becomes its empty box. Text is one line, left to right, of at
 * most FONT_TEXT_CODES characters; the middle of a longer one is left out. Not thread safe (one struct font per
 * thread).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FONT_TEXT_CODES = 256, FONT_TEXT_NBYTES = 4 * FONT_TEXT_CODES + 1 };

enum font_weight { FONT_REGULAR, FONT_BOLD };

struct font_style {
    enum font_weight weight;
    uint32_t px; /* size of the em square in pixels, 4 .. 400 */
};

struct font;

/* NULL: no memory, or FreeType refuses its own faces. */
struct font *font_open(void);

/* NULL is fine. */
void font_close(struct font *font);

/* Width of the text in pixels, rounded up. O(length). */
uint32_t font_width(struct font *font, struct font_style style, const char *text);

/* Pixels above (font_ascent) and below the baseline that letters with accents and descenders need. */
uint32_t font_ascent(struct font_style style);
uint32_t font_descent(struct font_style style);

/* The part that an ellipsis replaces. Names differ at both ends; sentences are read from the start. */
enum font_cut { FONT_CUT_MIDDLE, FONT_CUT_END };

/*
 * Copies `text` into `out`, with an ellipsis in place of a part if it would be wider than `max_px`. Unprintable
 * characters are replaced in `out`, so it is valid UTF-8. Empty if not even the ellipsis fits. False: text was left
 * out.
 */
bool font_elide(struct font *font, struct font_style style, const char *text, uint32_t max_px,
                enum font_cut cut, char out[FONT_TEXT_NBYTES]);

/* Copies the longest beginning of `text` that is at most `width` wide into `line`: whole words, at least one, cut at
 * capacity - 1 bytes. Returns its length. */
size_t font_break(struct font *font, struct font_style style, const char *text, int32_t width, char *line,
                  size_t capacity);

/* A glyph's coverage of each pixel; 255 is full. Rows from the top, `pitch` bytes apart. */
struct font_glyph {
    int32_t x,
        y; /* of the upper left pixel, relative to the start of the text on its baseline; y grows downwards */
    uint32_t width, height;
    int32_t pitch;
    const uint8_t *coverage;
};

typedef void font_glyph_sink(void *context, const struct font_glyph *glyph);

/* Calls `sink` with each glyph that has ink; a glyph is valid during the call. False: no memory; a part of the text is
 * drawn. */
bool font_draw(struct font *font, struct font_style style, const char *text, font_glyph_sink *sink,
               void *context);
