/*
 * A scene as pixels. Vertically each band covers its exact share of a pixel; bands thinner than a pixel are summed up
 * first and drawn as one, colours weighted by their bytes, totals exact. Freestanding, integer arithmetic only: the
 * page and the PNG come out equal to the last bit.
 */
#ifndef STRATA_RENDER_RASTER_H
#define STRATA_RENDER_RASTER_H

#include "layout/scene.h"

enum color_by { COLOR_BY_SITE, COLOR_BY_SIZE, COLOR_BY_AGE, COLOR_BY_STREAM, COLOR_BY_POOL, COLOR_BY_CATEGORY };

struct raster_style {
    bool dark;
    enum color_by color_by;
    uint64_t capacity_bytes; /* a line there; 0: none */
    bool reserved;           /* draw the line of reserved bytes */
    bool faded;              /* fade all but what `stack_mask` marks */
    const uint8_t *stack_mask; /* [stacks.count] non-zero: matches; only read when faded */
};

struct raster {
    struct arena arena; /* scratch, kept from one call to the next */
    uint8_t *scratch;
    uint32_t scratch_capacity;
    uint32_t drawn;  /* by the last call: allocations with bands of their own */
    uint32_t merged; /* allocations drawn as part of a sum */
};

void raster_init(struct raster *raster, struct arena_host host);
void raster_release(struct raster *raster);

/* Draws into `rgba` (width * height pixels, bytes R, G, B, A in memory order, rows from the top). False: no memory. */
bool raster_draw(struct raster *raster, const struct scene *scene, const struct raster_style *style, uint8_t *rgba);

/* The colour of a call site (frame id; 0: none) as 0xRRGGBB, for legends. */
uint32_t raster_site_color(const struct trace *trace, uint32_t site, bool dark);

#endif
