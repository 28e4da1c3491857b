/*
 * Sums the bands by category, stream or pool, and stacks the sums as areas. Their outline is that of the bands.
 *
 *     scene (its bands) -> areas_sum -> bytes of each key in each column -> raster_style.areas -> raster_draw
 *
 * Freestanding, integer arithmetic only: page and PNG come out equal to the last bit.
 */
#pragma once

#include "render/raster/raster.h"

enum { AREAS_KEYS_MAX = 64 }; /* the last key stands for all others */

struct areas {
    struct arena arena;
    enum color_by by;
    uint32_t n_keys, width;
    uint64_t *bytes; /* [n_keys][width] */
    uint32_t bytes_capacity;
};

void areas_init(struct areas *areas, struct arena_host host);
void areas_release(struct areas *areas);

/* Sums up the allocations of a built scene that are in `keep`. `by` is COLOR_BY_STREAM, POOL or CATEGORY;
 * style->category as for raster_draw. O(bands + keys * width). False: no memory, or nothing to sum. */
bool areas_sum(struct areas *areas, const struct scene *scene, const struct raster_style *style,
               enum color_by by);

/* The category whose area is the nth one from below; nth is below CATEGORY_COUNT. */
uint32_t areas_category(uint32_t nth);

/* The key whose area is the nth one from below. */
uint32_t areas_key(const struct areas *areas, uint32_t nth);
