/* The canvas of the picture of a difference: font, colours, lines of text, a timeline drawn into an area, and
 * the PNG. */
#pragma once

#include "render/png/canvas.h"
#include "render/png/chart.h"

struct picture_options {
    uint32_t width, height, scale; /* as in struct chart_options */
    bool dark;
    const char *file, *fingerprint; /* of the input; of a difference A's fingerprint */
    const char *fingerprint_b;      /* of a difference; otherwise NULL */
    const char *flags;              /* for the text chunk; may be "" */
};

struct picture_colors {
    uint32_t background, text, quiet, line;
    uint32_t accent[6]; /* blue, orange, violet, green, pink, olive: distinguishable on the background */
};

struct picture {
    const struct picture_options *options;
    const struct picture_colors *colors;
    struct canvas canvas;
    struct font *font;
    struct arena *memory;
    struct font_style body, bold, title, small;
    int32_t em, scale;
    bool failed;        /* there was no memory */
    uint64_t top_bytes; /* bytes at the upper edge of every plot */
};

/* Opens font and canvas. Texts have `px` pixels, small ones `small_px`, times the scale. After anything but CHART_OK
 * nothing is open. */
enum chart_error picture_open(struct picture *picture, const struct picture_options *options,
                              struct arena *memory, uint32_t px, uint32_t small_px);

/* Writes the PNG, unless something failed; closes the picture. */
enum chart_error picture_close(struct picture *picture, struct buffer *out);

/* The canvas without its margins. */
struct rect picture_page(const struct picture *picture);

/* Draws one line in `area`, elided to its width. Returns the width drawn. picture_say draws it at the left side and cuts
 * its end. */
int32_t picture_text(struct picture *picture, struct rect area, struct font_style style, uint32_t color,
                     bool right, enum font_cut cut, const char *text);
int32_t picture_say(struct picture *picture, struct rect area, struct font_style style, uint32_t color,
                    const char *text);

/* Draws a timeline into `area`; of its allocations only those in `keep` (NULL: all). */
void picture_draw_timeline(struct picture *picture, const struct timeline *timeline, const uint64_t *keep,
                           bool reserved, struct rect area);

/* Draws the labels of the vertical axis of a plot in `area`; they begin at x and end at the plot's left edge. */
void picture_ticks(struct picture *picture, struct rect area, int32_t x);
