/* Mixes colours, 0xRRGGBB. Freestanding. */
#pragma once

#include <stdint.h>

/* Mixes `share` of 256 parts of `b` with the rest of `a`. */
static inline uint32_t color_mix(uint32_t a, uint32_t b, uint32_t share) {
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 24; shift += 8)
        result |= (((a >> shift & 255) * (256 - share) + (b >> shift & 255) * share) >> 8) << shift;
    return result;
}

/* Linear light of an sRGB channel, times 2^16, by c (c (0.305306 c + 0.682171) + 0.012523), which is within 0.002 of
 * the definition. */
static inline uint32_t channel_light(uint32_t channel) {
    uint32_t c = channel * 257 + (channel >> 7);
    uint64_t inner = ((UINT64_C(20009) * c) >> 16) + 44707;
    return (uint32_t)((((inner * c) >> 16) + 821) * c >> 16);
}

/* Relative luminance, times 2^16. */
static inline uint32_t color_light(uint32_t rgb) {
    return (channel_light(rgb >> 16 & 255) * 2126 + channel_light(rgb >> 8 & 255) * 7152 +
            channel_light(rgb & 255) * 722) /
           10000;
}

/* An opaque pixel: bytes R, G, B, A in the memory of a little-endian machine. */
static inline uint32_t color_pixel(uint32_t rgb) {
    return 0xFF000000u | (rgb & 255) << 16 | (rgb & 0xFF00u) | (rgb >> 16 & 255);
}
