/* Contrast of two colours 0xRRGGBB, as WCAG defines it: checks what the raster computes in integers. */
#pragma once

#include <math.h>
#include <stdint.h>

static inline double light_of(uint32_t rgb) {
    static const double share[3] = {0.0722, 0.7152, 0.2126};
    double light = 0;
    for (unsigned i = 0; i < 3; i++) {
        double c = (rgb >> 8 * i & 255) / 255.0;
        light += share[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return light;
}

static inline double contrast_of(uint32_t a, uint32_t b) {
    double x = light_of(a) + 0.05, y = light_of(b) + 0.05;
    return x > y ? x / y : y / x;
}
