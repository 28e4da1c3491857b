#include "render/png/picture.h"

#include "layout/ticks.h"
#include "render/png/chart_maker.h"
#include "render/png/png_write.h"

#include <stdio.h>

static const struct picture_colors light = {
    0xffffff, 0x1f2328, 0x59636e, 0xd1d9e0, {0x1f5fc4, 0xb4530a, 0x7a3db8, 0x0b7a75, 0xc2255c, 0x7d6608}};
static const struct picture_colors dark = {
    0x0d1117, 0xe6edf3, 0x9198a1, 0x3d444d, {0x7db0ff, 0xff9f5a, 0xc79bff, 0x5fd0c5, 0xff8fb1, 0xd9c35b}};

enum chart_error picture_open(struct picture *picture, const struct picture_options *options,
                              struct arena *memory, uint32_t px, uint32_t small_px) {
    uint32_t width = options->width, height = options->height, scale = options->scale;
    if ((width > height ? width : height) * scale > VIEW_MAX_SIDE)
        return CHART_SIZE;
    *picture = (struct picture){.options = options,
                                .colors = options->dark ? &dark : &light,
                                .memory = memory,
                                .scale = (int32_t)scale};
    picture->em = (int32_t)(px * scale);
    picture->body = (struct font_style){FONT_REGULAR, px * scale};
    picture->bold = (struct font_style){FONT_BOLD, px * scale};
    picture->small = (struct font_style){FONT_REGULAR, small_px * scale};
    picture->title = (struct font_style){FONT_BOLD, 20 * scale};
    picture->font = font_open();
    if (picture->font == NULL)
        return CHART_FONT;
    if (canvas_init(&picture->canvas, width * scale, height * scale, picture->colors->background))
        return CHART_OK;
    font_close(picture->font);
    return CHART_NO_MEMORY;
}

enum chart_error picture_close(struct picture *picture, struct buffer *out) {
    const struct picture_options *options = picture->options;
    const struct png_picture png = {picture->canvas.rgba, NULL, picture->canvas.width,
                                    picture->canvas.height};
    enum chart_error error = CHART_NO_MEMORY;
    struct png_text texts[4] = {{"Software", "Strata " STRATA_VERSION},
                                {"strata:fingerprint", options->fingerprint}};
    uint32_t n = 2;
    if (options->fingerprint_b != NULL)
        texts[n++] = (struct png_text){"strata:fingerprint_b", options->fingerprint_b};
    texts[n++] = (struct png_text){"strata:flags", options->flags};
    if (!picture->failed)
        error = png_write(out, &png, texts, n) ? CHART_OK : out->failed ? CHART_NO_MEMORY : CHART_PNG;
    canvas_release(&picture->canvas);
    font_close(picture->font);
    return error;
}

struct rect picture_page(const struct picture *picture) {
    int32_t em = picture->em;
    return (struct rect){em, em * 3 / 4, (int32_t)picture->canvas.width - 2 * em,
                         (int32_t)picture->canvas.height - em * 3 / 2};
}

int32_t picture_text(struct picture *picture, struct rect area, struct font_style style, uint32_t color,
                     bool right, enum font_cut cut, const char *text) {
    int32_t width = canvas_line(&picture->canvas, picture->font, style, area, right, cut, color, text);
    picture->failed |= width < 0;
    return width < 0 ? 0 : width;
}

int32_t picture_say(struct picture *picture, struct rect area, struct font_style style, uint32_t color,
                    const char *text) {
    return picture_text(picture, area, style, color, false, FONT_CUT_END, text);
}

void picture_draw_timeline(struct picture *picture, const struct timeline *timeline, const uint64_t *keep,
                           bool reserved, struct rect area) {
    struct view view = {.axis = AXIS_EVENTS,
                        .top_bytes = picture->top_bytes,
                        .width = (uint32_t)area.width,
                        .height = (uint32_t)area.height};
    const struct raster_style style = {
        .dark = picture->options->dark, .scale = (uint32_t)picture->scale, .reserved = reserved};
    struct arena_host host = arena_share(picture->memory);
    struct scene scene;
    view_fit(&view, timeline);
    scene_init(&scene, timeline, host);
    scene.keep = keep;
    picture->failed |= !scene_build(&scene, &view) ||
                       !chart_scene_draw(&picture->canvas, area.x, area.y, &scene, &style, host);
    scene_release(&scene);
}

void picture_ticks(struct picture *picture, struct rect area, int32_t x) {
    struct view view = {.top_bytes = picture->top_bytes, .width = 1, .height = (uint32_t)area.height};
    struct ticks ticks = raster_ticks(&view, (uint32_t)picture->scale);
    struct y_scale scale = y_scale_of(&view);
    for (uint32_t i = 0; i < ticks.count; i++) {
        int32_t up = (int32_t)(y_scale_q8(&scale, (uint64_t)ticks.at[i]) >> 8);
        int32_t y = area.y + area.height - up - canvas_line_height(picture->small) / 2;
        char text[64];
        chart_tick_text(&ticks, picture->top_bytes, i, text, sizeof text);
        picture_text(picture, (struct rect){x, y, area.x - x - picture->em / 2, 0}, picture->small,
                     picture->colors->quiet, true, FONT_CUT_END, text);
    }
}
