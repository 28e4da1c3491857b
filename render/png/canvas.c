#include "render/png/canvas.h"

#include <stdlib.h>
#include <string.h>

bool canvas_init(struct canvas *canvas, uint32_t width, uint32_t height, uint32_t color) {
    *canvas = (struct canvas){0};
    if (width == 0 || height == 0 || width > INT32_MAX / 2 || height > INT32_MAX / 2 ||
        (size_t)width > SIZE_MAX / 4 / height)
        return false;
    // Cleared: even an opaque colour is blended with what was there.
    canvas->rgba = calloc((size_t)width * height, 4);
    if (!canvas->rgba)
        return false;
    canvas->width = width;
    canvas->height = height;
    canvas_fill(canvas, (struct rect){0, 0, (int32_t)width, (int32_t)height}, color, 255);
    return true;
}

void canvas_release(struct canvas *canvas) {
    free(canvas->rgba);
    *canvas = (struct canvas){0};
}

static struct rect canvas_clip(const struct canvas *canvas, struct rect rect) {
    int64_t left = rect.x, top = rect.y;
    int64_t right = left + rect.width, bottom = top + rect.height;
    left = left < 0 ? 0 : left;
    top = top < 0 ? 0 : top;
    right = right > canvas->width ? canvas->width : right;
    bottom = bottom > canvas->height ? canvas->height : bottom;
    if (left >= right || top >= bottom)
        return (struct rect){0};
    return (struct rect){(int32_t)left, (int32_t)top, (int32_t)(right - left), (int32_t)(bottom - top)};
}

static uint8_t *canvas_pixel(const struct canvas *canvas, int32_t x, int32_t y) {
    return canvas->rgba + ((size_t)y * canvas->width + (size_t)x) * 4;
}

static uint8_t blend(uint32_t under, uint32_t over, uint32_t alpha) {
    return (uint8_t)((under * (255 - alpha) + over * alpha + 127) / 255);
}

static void pixel_blend(uint8_t *pixel, uint32_t color, uint32_t alpha) {
    pixel[0] = blend(pixel[0], color >> 16 & 255, alpha);
    pixel[1] = blend(pixel[1], color >> 8 & 255, alpha);
    pixel[2] = blend(pixel[2], color & 255, alpha);
    pixel[3] = 255;
}

void canvas_fill(struct canvas *canvas, struct rect rect, uint32_t color, uint8_t alpha) {
    struct rect clip = canvas_clip(canvas, rect);
    for (int32_t y = clip.y; y < clip.y + clip.height; y++) {
        uint8_t *pixel = canvas_pixel(canvas, clip.x, y);
        for (int32_t x = 0; x < clip.width; x++, pixel += 4)
            pixel_blend(pixel, color, alpha);
    }
}

void canvas_dash(struct canvas *canvas, struct rect rect, uint32_t on, uint32_t off, uint32_t color,
                 uint8_t alpha) {
    bool across = rect.width >= rect.height;
    int64_t length = across ? rect.width : rect.height;
    for (int64_t at = 0; on > 0 && at < length; at += (int64_t)on + off) {
        int32_t part = (int32_t)(length - at < on ? length - at : on);
        struct rect dash = across ? (struct rect){rect.x + (int32_t)at, rect.y, part, rect.height}
                                  : (struct rect){rect.x, rect.y + (int32_t)at, rect.width, part};
        canvas_fill(canvas, dash, color, alpha);
    }
}

void canvas_frame(struct canvas *canvas, struct rect rect, uint32_t thickness, uint32_t color,
                  uint8_t alpha) {
    int32_t t = (int32_t)thickness;
    canvas_fill(canvas, (struct rect){rect.x, rect.y, rect.width, t}, color, alpha);
    canvas_fill(canvas, (struct rect){rect.x, rect.y + rect.height - t, rect.width, t}, color, alpha);
    canvas_fill(canvas, (struct rect){rect.x, rect.y + t, t, rect.height - 2 * t}, color, alpha);
    canvas_fill(canvas, (struct rect){rect.x + rect.width - t, rect.y + t, t, rect.height - 2 * t}, color,
                alpha);
}

/*
 * Draws a shape with smooth edges. Such shapes are small (markers, swatches), so each pixel is tested at GRID x GRID
 * points. Points are given in 1/(2 * GRID) pixels from the rectangle's corner, which makes the centres of the
 * sub-pixels integers.
 */
enum { GRID = 8, UNIT = 2 * GRID };

struct shape {
    struct rect rect;
    int64_t radius; /* in units; for swatches only */
    bool (*inside)(const struct shape *shape, int64_t x, int64_t y);
};

static uint32_t shape_coverage(const struct shape *shape, int32_t x, int32_t y) {
    uint32_t hits = 0;
    for (int64_t sub_y = 1; sub_y < UNIT; sub_y += 2)
        for (int64_t sub_x = 1; sub_x < UNIT; sub_x += 2)
            hits += shape->inside(shape, (int64_t)x * UNIT + sub_x, (int64_t)y * UNIT + sub_y);
    return hits * 255 / (GRID * GRID);
}

static void canvas_shape(struct canvas *canvas, const struct shape *shape, uint32_t color) {
    struct rect clip = canvas_clip(canvas, shape->rect);
    for (int32_t y = clip.y; y < clip.y + clip.height; y++)
        for (int32_t x = clip.x; x < clip.x + clip.width; x++)
            pixel_blend(canvas_pixel(canvas, x, y), color,
                        shape_coverage(shape, x - shape->rect.x, y - shape->rect.y));
}

static bool triangle_inside(const struct shape *shape, int64_t x, int64_t y) {
    int64_t width = (int64_t)shape->rect.width * UNIT, height = (int64_t)shape->rect.height * UNIT;
    int64_t off_centre = 2 * x > width ? 2 * x - width : width - 2 * x;
    /* The half width that is left at y; both sides are doubled to stay integers. */
    return off_centre * height <= width * (height - y);
}

void canvas_triangle(struct canvas *canvas, struct rect rect, uint32_t color) {
    struct shape shape = {.rect = rect, .inside = triangle_inside};
    canvas_shape(canvas, &shape, color);
}

static bool swatch_inside(const struct shape *shape, int64_t x, int64_t y) {
    int64_t width = (int64_t)shape->rect.width * UNIT, height = (int64_t)shape->rect.height * UNIT;
    int64_t r = shape->radius;
    int64_t dx = x < r ? r - x : x > width - r ? x - (width - r) : 0;
    int64_t dy = y < r ? r - y : y > height - r ? y - (height - r) : 0;
    return dx * dx + dy * dy <= r * r;
}

void canvas_swatch(struct canvas *canvas, struct rect rect, uint32_t radius, uint32_t color) {
    struct shape shape = {.rect = rect, .radius = (int64_t)radius * UNIT, .inside = swatch_inside};
    canvas_shape(canvas, &shape, color);
}

void canvas_blit(struct canvas *canvas, int32_t x, int32_t y, const uint8_t *rgba, uint32_t width,
                 uint32_t height) {
    struct rect clip = canvas_clip(canvas, (struct rect){x, y, (int32_t)width, (int32_t)height});
    for (int32_t row = 0; row < clip.height; row++) {
        size_t from = (size_t)(clip.y + row - y) * width + (size_t)(clip.x - x);
        uint8_t *to = canvas_pixel(canvas, clip.x, clip.y + row);
        memcpy(to, rgba + from * 4, (size_t)clip.width * 4);
        for (int32_t i = 0; i < clip.width; i++)
            to[(size_t)i * 4 + 3] = 255;
    }
}

struct ink {
    struct canvas *canvas;
    int32_t x, y;
    uint32_t color;
};

static void ink_glyph(void *context, const struct font_glyph *glyph) {
    const struct ink *ink = context;
    struct rect box = {ink->x + glyph->x, ink->y + glyph->y, (int32_t)glyph->width, (int32_t)glyph->height};
    struct rect clip = canvas_clip(ink->canvas, box);
    for (int32_t y = clip.y; y < clip.y + clip.height; y++) {
        const uint8_t *coverage = glyph->coverage + (ptrdiff_t)(y - box.y) * glyph->pitch;
        uint8_t *pixel = canvas_pixel(ink->canvas, clip.x, y);
        for (int32_t x = clip.x; x < clip.x + clip.width; x++, pixel += 4)
            pixel_blend(pixel, ink->color, coverage[x - box.x]);
    }
}

bool canvas_text(struct canvas *canvas, struct font *font, struct font_style style, const char *text,
                 int32_t x, int32_t y, uint32_t color) {
    struct ink ink = {canvas, x, y, color};
    return font_draw(font, style, text, ink_glyph, &ink);
}
