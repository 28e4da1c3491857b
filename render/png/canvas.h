/*
 * An opaque picture to draw on. Everything is clipped at its edges. Coordinates are pixels from the upper left corner,
 * colours 0xRRGGBB, `alpha` is 0 (nothing) .. 255 (opaque). Only integer arithmetic, apart from FreeType's.
 */
#pragma once

#include "render/png/font.h"

struct rect {
    int32_t x, y, width, height;
};

struct canvas {
    uint8_t *rgba; /* width * height pixels of bytes R, G, B, A, rows from the top */
    uint32_t width, height;
};

/* Takes memory for the pixels and fills them with `color`. False: no memory. */
bool canvas_init(struct canvas *canvas, uint32_t width, uint32_t height, uint32_t color);
void canvas_release(struct canvas *canvas);

/* Lays `color` over the pixels of `rect`. */
void canvas_fill(struct canvas *canvas, struct rect rect, uint32_t color, uint8_t alpha);

/* Draws a dashed line in `rect`: along the longer side `on` pixels are drawn and `off` pixels left out. */
void canvas_dash(struct canvas *canvas, struct rect rect, uint32_t on, uint32_t off, uint32_t color,
                 uint8_t alpha);

/* Draws a frame of `thickness` pixels inside of `rect`. */
void canvas_frame(struct canvas *canvas, struct rect rect, uint32_t thickness, uint32_t color, uint8_t alpha);

/* Draws a triangle that fills `rect` and points down at the middle of its lower edge. Smooth edges. */
void canvas_triangle(struct canvas *canvas, struct rect rect, uint32_t color);

/* Draws a rectangle with rounded corners. Smooth edges. */
void canvas_swatch(struct canvas *canvas, struct rect rect, uint32_t radius, uint32_t color);

/* Copies `width` x `height` pixels (as canvas->rgba) to (x, y); alpha is ignored. */
void canvas_blit(struct canvas *canvas, int32_t x, int32_t y, const uint8_t *rgba, uint32_t width,
                 uint32_t height);

/* Draws one line of text that starts at x on the baseline y. False: no memory. */
bool canvas_text(struct canvas *canvas, struct font *font, struct font_style style, const char *text,
                 int32_t x, int32_t y, uint32_t color);
