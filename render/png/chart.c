#include "render/png/chart.h"

#include "analysis/loop/modules.h"
#include "layout/groups.h"
#include "layout/segment_curve.h"
#include "layout/segments.h"
#include "render/png/canvas.h"
#include "render/png/chart_maker.h"
#include "render/png/png_write.h"
#include "render/raster/areas.h"
#include "render/raster/map_raster.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- samples of the plot's patterns, for the key; the raster's own proportions ---- */

static void draw_dots(struct canvas *canvas, const struct chart_box *box, uint32_t ink, int32_t scale) {
    canvas_fill(canvas, box->rect, box->color, 178);
    for (int32_t y = 2 * scale; y < box->rect.height; y += 6 * scale)
        for (int32_t x = 2 * scale; x < box->rect.width; x += 6 * scale)
            canvas_fill(canvas, (struct rect){box->rect.x + x, box->rect.y + y, scale, scale}, ink, 255);
}

static void draw_hatch(struct canvas *canvas, const struct chart_box *box, uint32_t ground, int32_t scale) {
    canvas_fill(canvas, box->rect, box->color, 255);
    for (int32_t y = 0; y < box->rect.height; y++)
        for (int32_t x = 0; x < box->rect.width; x++)
            if ((x / scale + (box->rect.height - y) / scale) % 8 < 2)
                canvas_fill(canvas, (struct rect){box->rect.x + x, box->rect.y + y, 1, 1}, ground, 110);
}

/* Stripes end where the outer pixels begin, so that corners stay round. */
static void draw_swatch(struct canvas *canvas, const struct chart_box *box, int32_t pen) {
    const uint32_t color = box->color & 0xFFFFFF, texture = box->color >> 24;
    canvas_swatch(canvas, box->rect, 3 * (uint32_t)pen, color);
    for (int32_t x = 2 * pen; x < box->rect.width - 2 * pen; x++) {
        uint32_t stripe = raster_texture(color, texture, (uint32_t)(x / pen));
        if (stripe != color)
            canvas_fill(canvas, (struct rect){box->rect.x + x, box->rect.y, 1, box->rect.height}, stripe,
                        255);
    }
}

static void draw_ghost(struct canvas *canvas, const struct chart_box *box, int32_t pen) {
    struct rect r = box->rect;
    uint32_t on = 4 * (uint32_t)pen, off = 3 * (uint32_t)pen;
    canvas_fill(canvas, r, box->color, 28);
    canvas_dash(canvas, (struct rect){r.x, r.y, r.width, pen}, on, off, box->color, 255);
    canvas_dash(canvas, (struct rect){r.x, r.y + r.height - pen, r.width, pen}, on, off, box->color, 255);
    canvas_dash(canvas, (struct rect){r.x, r.y, pen, r.height}, on, off, box->color, 255);
    canvas_dash(canvas, (struct rect){r.x + r.width - pen, r.y, pen, r.height}, on, off, box->color, 255);
}

static bool draw_text(struct canvas *canvas, struct font *font, const struct chart_box *box) {
    int32_t ascent = (int32_t)font_ascent(box->style), descent = (int32_t)font_descent(box->style);
    int32_t baseline = box->rect.y + (box->rect.height - ascent - descent) / 2 + ascent;
    return canvas_text(canvas, font, box->style, box->text, box->rect.x, baseline, box->color);
}

/* ---- everything ---- */

/* Draws the plot or the map that belongs into a box. */
static bool draw_raster(struct canvas *canvas, const struct chart_layout *layout,
                        const struct chart_box *box) {
    struct raster raster;
    uint32_t width = (uint32_t)box->rect.width, height = (uint32_t)box->rect.height;
    uint8_t *rgba = malloc((size_t)width * height * 4);
    raster_init(&raster, layout->arena.host);
    bool drawn =
        rgba != NULL && (box->kind == CHART_PLOT ? raster_draw(&raster, box->scene, layout->style, rgba)
                                                 : map_raster_draw(&raster, &layout->map.picture, rgba));
    if (drawn)
        canvas_blit(canvas, box->rect.x, box->rect.y, rgba, width, height);
    raster_release(&raster);
    free(rgba);
    return drawn;
}

static bool draw_box(struct canvas *canvas, struct font *font, const struct chart_layout *layout,
                     const struct chart_box *box) {
    int32_t pen = (int32_t)layout->scale;
    struct rect line = {box->rect.x, box->rect.y + box->rect.height / 2, box->rect.width, pen};
    if (box->rect.height > box->rect.width)
        line = box->rect;
    switch (box->kind) {
    case CHART_TEXT: return draw_text(canvas, font, box);
    case CHART_FILL: canvas_fill(canvas, box->rect, box->color, 255); break;
    case CHART_SWATCH: draw_swatch(canvas, box, pen); break;
    case CHART_DOTS: draw_dots(canvas, box, layout->colors->text, pen); break;
    case CHART_HATCH: draw_hatch(canvas, box, layout->colors->surface, pen); break;
    case CHART_LINE: canvas_fill(canvas, line, box->color, 255); break;
    case CHART_DASH: canvas_dash(canvas, line, 7 * layout->scale, 5 * layout->scale, box->color, 255); break;
    case CHART_MARKER: canvas_triangle(canvas, box->rect, box->color); break;
    case CHART_GHOST: draw_ghost(canvas, box, pen); break;
    case CHART_FRAME: canvas_frame(canvas, box->rect, layout->scale, box->color, 255); break;
    case CHART_PLOT:
    case CHART_MAP: return draw_raster(canvas, layout, box);
    }
    return true;
}

/* ---- the file ---- */

static enum chart_error write_png(struct buffer *out, const struct png_picture *picture,
                                  const struct chart_layout *layout, const struct chart_options *options) {
    char plot[80];
    snprintf(plot, sizeof plot, "%d %d %d %d", (int)layout->plot.x, (int)layout->plot.y,
             (int)layout->plot.width, (int)layout->plot.height);
    struct png_text texts[4] = {{"Software", "Strata " STRATA_VERSION},
                                {"strata:fingerprint", options->fingerprint},
                                {"strata:flags", options->flags}};
    texts[3] = options->fingerprint_b != NULL
                   ? (struct png_text){"strata:fingerprint_b", options->fingerprint_b}
                   : (struct png_text){"strata:plot", plot};
    if (png_write(out, picture, texts, sizeof texts / sizeof *texts))
        return CHART_OK;
    return out->failed ? CHART_NO_MEMORY : CHART_PNG;
}

/* The size limit of a picture, so that it can be attached to a bug report: 1 MB up to 1600 x 900 pixels, in proportion
 * beyond. */
static size_t most_nbytes(const struct png_picture *picture) {
    const uint64_t most = 1000000, usual = 1600 * 900, pixels = (uint64_t)picture->width * picture->height;
    return (size_t)(pixels <= usual ? most : pixels * most / usual) - 1;
}

/* A sink that refuses bytes beyond its limit, so that a picture that gets too large is noticed while it is written. */
struct limited {
    struct buffer kept;
    size_t most_nbytes;
};

static bool limited_take(void *context, const void *bytes, size_t nbytes) {
    struct limited *limited = context;
    if (nbytes > limited->most_nbytes - limited->kept.nbytes)
        return false;
    buffer_add(&limited->kept, bytes, nbytes);
    return !limited->kept.failed;
}

static enum chart_error write_reduced(struct buffer *out, struct png_picture picture,
                                      const struct chart_layout *layout,
                                      const struct chart_options *options) {
    const size_t n_pixels = (size_t)picture.width * picture.height;
    struct colors colors;
    uint8_t *index = malloc(n_pixels);
    enum chart_error error = CHART_NO_MEMORY;
    if (index && colors_reduce(&colors, picture.pixels, n_pixels, index)) {
        picture.pixels = index;
        picture.colors = &colors;
        error = write_png(out, &picture, layout, options);
    }
    free(index);
    return error;
}

/*
 * Writes the picture in 256 colours, so that a pixel takes at most a byte. Where thousands of allocations change
 * between two columns, or tens of thousands are alive and each is thinner than a pixel, pixels have nothing in common
 * and deflate can do little: 50,000 alive take 1.9 MB. Tried too: repeating the left or upper neighbour's colour where
 * it is near (1.7 MB for differences up to 8), and rounding channels to multiples of 16 (0.9 MB, but 1.2 MB of 800 that
 * change fast).
 */
static enum chart_error write_small(struct buffer *out, const struct canvas *canvas,
                                    const struct chart_layout *layout, const struct chart_options *options) {
    const struct png_picture picture = {canvas->rgba, NULL, canvas->width, canvas->height};
    if (options->few_colors)
        return write_reduced(out, picture, layout, options);
    struct limited limited = {.kept = {.host = out->host}, .most_nbytes = most_nbytes(&picture)};
    struct buffer whole = {.host = out->host, .sink = {limited_take, &limited}};
    enum chart_error error = write_png(&whole, &picture, layout, options);
    if (error == CHART_OK && buffer_flush(&whole))
        buffer_add(out, limited.kept.bytes, limited.kept.nbytes);
    bool large = whole.refused && !limited.kept.failed, no_memory = whole.failed || out->failed;
    buffer_release(&whole);
    buffer_release(&limited.kept);
    if (large)
        return write_reduced(out, picture, layout, options);
    return error == CHART_OK && no_memory ? CHART_NO_MEMORY : error;
}

enum chart_error chart_write(struct buffer *out, struct font *font, const struct chart_layout *layout,
                             const struct chart_options *options) {
    struct canvas canvas;
    if (!canvas_init(&canvas, layout->width, layout->height, layout->colors->surface))
        return CHART_NO_MEMORY;
    bool drawn = true;
    for (uint32_t i = 0; i < layout->n_boxes; i++)
        drawn = drawn && draw_box(&canvas, font, layout, &layout->boxes[i]);
    enum chart_error error = drawn ? write_small(out, &canvas, layout, options) : CHART_NO_MEMORY;
    canvas_release(&canvas);
    return error;
}

/* Everything that a device's picture is drawn from, in the picture's scratch memory. */
struct chart_sources {
    struct chart_input input;
    struct raster_style style;
    struct verdicts verdicts;
    struct selection selection;
    struct group *groups;
};

/* False: no memory. */
static bool sources_find(struct chart_sources *sources, const struct timeline *timeline,
                         const struct chart_options *options, struct arena_host host, struct arena *scratch) {
    struct chart_input *input = &sources->input;
    *input =
        (struct chart_input){.timeline = timeline,
                             .options = options,
                             .host = host,
                             .window = chart_window_of(timeline, options),
                             .verdicts = options->verdicts != NULL ? options->verdicts : &sources->verdicts,
                             .style = &sources->style,
                             .moment = options->legend_moment};
    if (input->moment == UINT32_MAX)
        input->moment = input->window.peak_moment;
    else if (input->moment >= timeline->n_moments)
        input->moment = timeline->n_moments - 1;
    if (options->filter != NULL) {
        input->selection = &sources->selection;
        if (!selection_make(&sources->selection, timeline, options->filter, NULL, scratch))
            return false;
    }
    if (options->verdicts == NULL && !verdicts_init(&sources->verdicts, timeline, scratch))
        return false;
    sources->style = (struct raster_style){.dark = options->dark,
                                           .color_by = options->color_by,
                                           .capacity_bytes = options->capacity_bytes,
                                           .reserved = true,
                                           .category = input->verdicts->category,
                                           .scale = options->scale};
    bool done = chart_groups_find(input, input->style, scratch, &sources->groups, &input->n_groups);
    input->groups = sources->groups;
    return done;
}

enum chart_error chart_png(struct buffer *out, const struct timeline *timeline,
                           const struct chart_options *options, struct arena *memory) {
    struct arena_host host = arena_share(memory);
    struct arena scratch;
    struct chart_sources sources;
    struct chart_layout layout;
    enum chart_error error = CHART_NO_MEMORY;
    arena_init(&scratch, host, SIZE_MAX);
    struct font *font = font_open();
    if (font == NULL)
        error = CHART_FONT;
    else if (sources_find(&sources, timeline, options, host, &scratch)) {
        error = chart_layout_make(&layout, &sources.input, font);
        if (error == CHART_OK)
            error = chart_write(out, font, &layout, options);
        chart_layout_release(&layout);
    }
    font_close(font);
    arena_release(&scratch);
    return error;
}
