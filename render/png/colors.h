/* Reduces a picture to at most 256 colours, if it would be too large otherwise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COLORS_MAX = 256 };

struct colors {
    uint32_t color[COLORS_MAX]; /* 0xRRGGBB */
    uint32_t count;
};

/*
 * Finds colours that stand for those of `n_pixels` pixels (4 bytes each: R, G, B and one that is ignored), and writes
 * each pixel's index to `index[n_pixels]`. Equal pixels get equal indices. The space of colours is cut into boxes:
 * always the box with the largest error, along the axis of that error, at its mean (after Wan, Prusinkiewicz and Wong
 * 1988, "Variance-based color image quantization"). The same input gives the same colours. False: no memory (1.2 MB).
 * O(n_pixels + 256 * 32768).
 */
bool colors_reduce(struct colors *colors, const uint8_t *rgba, size_t n_pixels, uint8_t *index);
