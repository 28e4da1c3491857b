/*
 * The picture while it is being filled, shared by raster.c (bands), raster_colors.c (colours) and raster_lines.c
 * (ground, grid, lines). Private to them.
 *
 * The stack grows from the bottom, in all columns at once. Each column has one pixel that is partly covered; when it is
 * wholly covered, it is written to the picture. Colours are 0xRRGGBB. The colour of a pixel that is being filled is
 * "spread", one 16-bit lane per channel, so that one multiplication by a coverage (0..256) does all channels:
 * | A | B | G | R |
 */
#pragma once

#include "render/raster/lanes.h"
#include "render/raster/raster.h"

/* Adjacent allocations that are thinner than a pixel, drawn as one. */
struct sum {
    uint32_t from, to; /* columns */
    uint32_t count;    /* allocations */
    uint32_t now;      /* the newest column; bands come with rising start */
    uint64_t now_bytes;
    /* The newest span. All of it is in the same columns and not in the changes yet. */
    uint32_t run_from, run_to;
    uint64_t run_bytes;
    u32x4 run_color;
    bool mixed; /* there are changes to draw */
    /* The changes at each column: bytes, and the weights of colours (1, red, green, blue, each times the weight). */
    uint64_t *bytes;
    u32x4 *color;
    uint64_t *changed; /* bitmap of the columns with a change */
};

struct painter {
    const struct scene *scene;
    const struct raster_style *style;
    const struct inks *inks;
    struct y_scale scale;
    u32x4 factor; /* the scale's factor in every lane */
    uint32_t width, height;
    uint32_t pen;     /* width of a line in pixels: the style's scale */
    uint64_t *base;   /* [width] bytes below the next band */
    uint32_t *y;      /* [width] the same height in 1/256 px above the lower edge */
    uint64_t *lanes;  /* [width] the pixel that is partly covered, so far */
    uint32_t *pixels; /* [height][width], rows from the top */
    struct sum sum;
    uint64_t pixel_bytes;  /* an allocation of fewer bytes is thinner than a pixel */
    uint64_t weight_bytes; /* so many bytes add 1 to a colour's weight in a sum */
    uint32_t drawn, merged;
    uint32_t *begun; /* [width] heights where the group began, as in `y` */
};

static inline uint64_t spread(uint32_t rgb) {
    return UINT64_C(255) << 48 | (uint64_t)(rgb & 255) << 32 | (uint64_t)(rgb >> 8 & 255) << 16 |
           (rgb >> 16 & 255);
}

/* Joins lanes that hold value * 256 to an opaque pixel: bytes R, G, B, A in the memory of a little-endian machine. */
static inline uint32_t gather(uint64_t lanes) {
    lanes += UINT64_C(0x8000800080);
    return (uint32_t)(lanes >> 8 & 255) | (uint32_t)(lanes >> 24 & 255) << 8 |
           (uint32_t)(lanes >> 40 & 255) << 16 | 0xFF000000u;
}

static inline uint32_t *pixel_at(const struct painter *painter, uint32_t column, uint32_t row) {
    return painter->pixels + (size_t)(painter->height - 1 - row) * painter->width + column;
}

/* ---- raster_marks.c: what the style draws over the picture. False: no memory in `arena`. ---- */

bool painter_marks(struct painter *painter, struct arena *arena);

/* ---- raster_lines.c ---- */

/* Draws the ground: the rest of each column's last pixel, and everything above it. */
void painter_ground(struct painter *painter);

/* Draws the grid, only where there is ground. */
void painter_grid(struct painter *painter);

/* Draws the line of reserved bytes. A vertical run joins its steps, so that it has no gaps. */
void painter_reserved(struct painter *painter);

/* Draws the dashed line of the capacity. */
void painter_capacity(struct painter *painter);
