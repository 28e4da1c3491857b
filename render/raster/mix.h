/* Colours between colours, 0xRRGGBB. Freestanding. */
#ifndef STRATA_RENDER_RASTER_MIX_H
#define STRATA_RENDER_RASTER_MIX_H

#include <stdint.h>

/* `share` of 256 parts of `b`, the rest of `a`. */
static inline uint32_t color_mix(uint32_t a, uint32_t b, uint32_t share) {
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 24; shift += 8)
        result |= (((a >> shift & 255) * (256 - share) + (b >> shift & 255) * share) >> 8) << shift;
    return result;
}

/* Opaque, bytes R, G, B, A in memory order on a little-endian machine. */
static inline uint32_t color_pixel(uint32_t rgb) {
    return 0xFF000000u | (rgb & 255) << 16 | (rgb & 0xFF00u) | (rgb >> 16 & 255);
}

#endif
