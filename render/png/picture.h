/* What the smaller pictures (of a difference, of what if) share: font and canvas, colours, a line of text, a timeline
 * drawn into an area, and the PNG. Private to render/png/. */
#pragma once

#include "render/png/canvas.h"
#include "render/png/chart.h"
#include "render/png/png_write.h"

struct picture_colors {
    uint32_t background, text, quiet, line;
    uint32_t accent[6]; /* blue, orange, violet, green, pink, olive: distinguishable on the background */
};

struct picture {
    const struct picture_colors *colors;
    struct canvas canvas;
    struct font *font;
    struct arena *memory;
    struct font_style body, bold, title, small;
    int32_t em, scale;
    bool dark, failed;  /* failed: there was no memory */
    uint64_t top_bytes; /* bytes at the upper edge of every plot */
};

/* Opens font and canvas. Texts have `px` pixels, small ones `small_px`, times the scale. After anything but CHART_OK
 * nothing is open. */
enum chart_error picture_open(struct picture *picture, uint32_t width, uint32_t height, uint32_t px,
                              uint32_t small_px);

/* Writes the PNG, unless something failed, with the program's version and `texts` ([n], at most 3); closes the picture. */
enum chart_error picture_close(struct picture *picture, struct buffer *out, const char *version,
                               const struct png_text *texts, uint32_t n);

/* Draws one line in `area`, elided to its width. Returns the width drawn. */
int32_t picture_text(struct picture *picture, struct rect area, struct font_style style, uint32_t color,
                     bool right, enum font_cut cut, const char *text);

/* Draws a timeline into `area`; of its allocations only those in `keep` (NULL: all). */
void picture_timeline(struct picture *picture, const struct timeline *timeline, const uint64_t *keep,
                      bool reserved, struct rect area);

/* Draws the title at the left, the version at the right, and a quiet line below. Returns the y below them. */
int32_t picture_head(struct picture *picture, struct rect page, const char *title, const char *line,
                     const char *version);

/* Draws the numbers of events below a plot of a whole timeline, and the axis' title; that takes
 * picture_x_axis_height. */
int32_t picture_x_axis_height(const struct picture *picture);
void picture_x_axis(struct picture *picture, const struct timeline *timeline, struct rect plot);

/* Draws the labels of the vertical axis of a plot in `area`; they begin at x and end at the plot's left edge. */
void picture_ticks(struct picture *picture, struct rect area, int32_t x);
