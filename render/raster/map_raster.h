/* A map of the allocator's memory (layout/memory_map.h) as pixels: blocks in the colours that the timeline has, free
 * blocks hatched. Blocks thinner than a pixel share it by their bytes. Freestanding, integer arithmetic only. */
#pragma once

#include "layout/memory_map.h"
#include "render/raster/raster.h"

struct map_picture {
    const struct memory_map *map;
    const struct timeline *timeline;
    const struct raster_style *style; /* its colours, highlight and scale; its other members are not used */
    /* bitmap of the allocations that a filter leaves, all others are grey; NULL: all */
    const uint64_t *keep;
    uint32_t scroll, height; /* rows of pixels [scroll, scroll + height) of the map */
};

/* Draws into `rgba` (the map's width * height pixels, laid out as by raster_draw). O(pixels + blocks of the rows
 * shown). False: no memory. */
bool map_raster_draw(struct raster *raster, const struct map_picture *picture, uint8_t *rgba);
