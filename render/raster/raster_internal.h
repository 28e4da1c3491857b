/*
 * The picture while it is being filled, shared by raster.c (bands), raster_colors.c (colours) and raster_lines.c (ground,
 * grid, lines). Private to them.
 *
 * The stack grows from the bottom, in all columns at once. Each column has one pixel that is partly covered; what is
 * covered in full goes to the picture. Colours are 0xRRGGBB; while a pixel is being filled they are "spread", one
 * 16-bit lane each, so that one multiplication by a coverage (0..256) does all of them:   | A | B | G | R |
 */
#pragma once

#include "render/raster/lanes.h"
#include "render/raster/raster.h"

struct theme {
    uint32_t ground, grid, edge, ink, no_stack;
    uint32_t mark[RASTER_MARKS]; /* as in the style sheet: the selected and pinned ones have the first */
    uint32_t select_share;       /* of 256, that a selected range has of it */
    uint32_t bad, ghost_share;   /* of a request that failed: its colour, and what its ground has of it */
};

/* Light, dark. */
extern const struct theme raster_themes[2];

/* Allocations that are thinner than a pixel, next to each other: they are drawn as one. */
struct sum {
    uint32_t from, to; /* columns */
    uint32_t count;    /* allocations */
    uint32_t now;      /* newest column: bands come with rising start */
    uint64_t now_bytes;
    /* The newest span, all of it in the same columns and not yet in the changes. */
    uint32_t run_from, run_to;
    uint64_t run_bytes;
    u32x4 run_color;
    bool mixed; /* there are changes */
    /* Changes at each column: bytes, and the weights of colours (1, red, green, blue, each times the weight). */
    uint64_t *bytes;
    u32x4 *color;
    uint64_t *changed; /* bitmap of the columns with a change */
};

struct painter {
    const struct scene *scene;
    const struct raster_style *style;
    const struct theme *theme;
    struct y_scale scale;
    u32x4 factor; /* the scale's, in every lane */
    uint32_t width, height;
    uint32_t pen;     /* pixels of a line: the style's scale */
    uint64_t *base;   /* [width] bytes below the next band */
    uint32_t *y;      /* [width] the same in 1/256 px above the lower edge */
    uint64_t *lanes;  /* [width] the pixel that is partly covered so far */
    uint32_t *pixels; /* [height][width], rows from the top */
    struct sum sum;
    uint64_t pixel_bytes;  /* below this an allocation is thinner than a pixel */
    uint64_t weight_bytes; /* that a colour in a sum gains weight by */
    uint32_t drawn, merged;
    uint32_t *begun; /* [width] heights where the group begins, as in `y` */
};

static inline uint64_t spread(uint32_t rgb) {
    return UINT64_C(255) << 48 | (uint64_t)(rgb & 255) << 32 | (uint64_t)(rgb >> 8 & 255) << 16 |
           (rgb >> 16 & 255);
}

/* Lanes hold value * 256; the result is opaque, bytes R, G, B, A in memory order on a little-endian machine.
 */
static inline uint32_t gather(uint64_t lanes) {
    lanes += UINT64_C(0x8000800080);
    return (uint32_t)(lanes >> 8 & 255) | (uint32_t)(lanes >> 24 & 255) << 8 |
           (uint32_t)(lanes >> 40 & 255) << 16 | 0xFF000000u;
}

static inline uint32_t *pixel_at(const struct painter *painter, uint32_t column, uint32_t row) {
    return painter->pixels + (size_t)(painter->height - 1 - row) * painter->width + column;
}

/* ---- raster_marks.c: what the style adds on top of the picture. False: no memory in `arena`. ---- */

bool painter_marks(struct painter *painter, struct arena *arena);

/* ---- raster_lines.c ---- */

/* The rest of the column's last pixels, and everything above them. */
void painter_ground(struct painter *painter);

/* Only where there is ground. */
void painter_grid(struct painter *painter);

/* Steps are joined by a vertical run, so that the line has no gaps. */
void painter_reserved(struct painter *painter);

/* A dashed line. */
void painter_capacity(struct painter *painter);
