/* What is laid over the picture of an address: the selected range, the held moment, marks, and the pinned allocation. */
#include "render/raster/raster_internal.h"

#include "render/raster/mix.h"

static uint32_t *pixel_from_top(const struct painter *painter, int32_t x, int32_t y) {
    return painter->pixels + (size_t)y * painter->width + (size_t)x;
}

/* Lays `share` of 256 parts of a colour over [x, end) x [y, bottom), rows from the top, clipped at the picture. */
static void box_lay(struct painter *painter, int32_t x, int32_t y, int32_t end, int32_t bottom, uint32_t rgb,
                    uint32_t share) {
    int32_t width = (int32_t)painter->width, height = (int32_t)painter->height;
    uint32_t ink = color_pixel(rgb) & 0xFFFFFF;
    x = x < 0 ? 0 : x;
    y = y < 0 ? 0 : y;
    end = end > width ? width : end;
    bottom = bottom > height ? height : bottom;
    for (int32_t row = y; row < bottom; row++)
        for (int32_t column = x; column < end; column++) {
            uint32_t *pixel = pixel_from_top(painter, column, row);
            *pixel = color_mix(*pixel & 0xFFFFFF, ink, share) | 0xFF000000u;
        }
}

/* A line from top to bottom, so many pens wide, at a place in 1/256 px. */
static void line_draw(struct painter *painter, int64_t x_q8, uint32_t pens, uint32_t rgb) {
    int32_t wide = (int32_t)(pens * painter->pen);
    if (x_q8 < 0 || x_q8 > (int64_t)painter->width * 256)
        return;
    int32_t x = (int32_t)(x_q8 >> 8) - (wide - (int32_t)painter->pen) / 2,
            most = (int32_t)painter->width - wide;
    x = x > most ? most : x;
    box_lay(painter, x, 0, x + wide, (int32_t)painter->height, rgb, 256);
}

/* The middle of what a moment has of the picture. */
static int64_t moment_middle_q8(const struct painter *painter, uint32_t moment) {
    const struct scene *scene = painter->scene;
    int64_t from = view_x_q8(&scene->view, scene->timeline, moment),
            to = view_x_q8(&scene->view, scene->timeline, moment + 1), end = (int64_t)painter->width * 256;
    to = to < end ? to : end;
    return (from + (to > from ? to : from)) / 2;
}

static void range_draw(struct painter *painter) {
    const struct view *view = &painter->scene->view;
    const struct raster_marks *marks = painter->style->marks;
    int32_t from = view_position_q8(view, marks->range_from_q16),
            to = view_position_q8(view, marks->range_to_q16), width = (int32_t)painter->width * 256;
    if (marks->range_from_q16 >= marks->range_to_q16 || to < 0 || from > width)
        return;
    from = from < 0 ? 0 : from;
    to = to > width ? width : to;
    box_lay(painter, from >> 8, 0, to >> 8, (int32_t)painter->height, painter->theme->mark[0],
            painter->theme->select_share);
    line_draw(painter, from, 1, painter->theme->mark[0]);
    line_draw(painter, to, 1, painter->theme->mark[0]);
}

/* Row of a height, from the top. */
static int32_t row_of(const struct painter *painter, uint64_t bytes) {
    return (int32_t)painter->height - (int32_t)((y_scale_q8(&painter->scale, bytes) + 128) >> 8);
}

/* A pen of `wide` pixels along an edge of the band. */
static void edge_draw(struct painter *painter, const struct band *band, const int32_t *row, uint32_t count,
                      int32_t wide, uint32_t rgb) {
    int32_t half = wide / 2, before = row[0];
    for (uint32_t i = 0; i < count; i++) {
        int32_t x = (int32_t)(band->start + i), y = row[i];
        box_lay(painter, x, y - half, x + 1, y - half + wide, rgb, 256);
        if (y != before)
            box_lay(painter, x - half, (y < before ? y : before) - half, x - half + wide,
                    (y > before ? y : before) - half + wide, rgb, 256);
        before = y;
    }
}

static void outline_draw(struct painter *painter, const struct band *band, const int32_t *upper,
                         const int32_t *lower, uint32_t count, int32_t wide, uint32_t rgb) {
    int32_t half = wide / 2, left = band->start, right = band->start + (int32_t)count;
    edge_draw(painter, band, upper, count, wide, rgb);
    edge_draw(painter, band, lower, count, wide, rgb);
    box_lay(painter, left - half, upper[0] - half, left - half + wide, lower[0] - half + wide, rgb, 256);
    box_lay(painter, right - half, upper[count - 1] - half, right - half + wide,
            lower[count - 1] - half + wide, rgb, 256);
}

/* The band's edges, with a halo, so that they are seen on every colour. */
static bool pin_draw(struct painter *painter, struct arena *arena) {
    const struct scene *scene = painter->scene;
    const struct band *band = scene_band(scene, painter->style->marks->pinned);
    uint32_t count = band == NULL ? 0 : (uint32_t)band->tail - band->start;
    if (count == 0)
        return true;
    uint64_t *below = arena_column(arena, count, sizeof *below);
    int32_t *upper = arena_column(arena, count, sizeof *upper),
            *lower = arena_column(arena, count, sizeof *lower);
    bool done = below != NULL && upper != NULL && lower != NULL;
    if (done) {
        scene_below(scene, band, below);
        for (uint32_t i = 0; i < count; i++) {
            lower[i] = row_of(painter, below[i]);
            upper[i] = row_of(painter, below[i] + scene_band_bytes(scene, band, band->start + i));
        }
        int32_t pen = (int32_t)painter->pen;
        outline_draw(painter, band, upper, lower, count, 4 * pen, painter->theme->ground);
        outline_draw(painter, band, upper, lower, count, 2 * pen, painter->theme->mark[0]);
    }
    ARENA_DROP(arena, lower);
    ARENA_DROP(arena, upper);
    ARENA_DROP(arena, below);
    return done;
}

bool painter_marks(struct painter *painter, struct arena *arena) {
    const struct raster_marks *marks = painter->style->marks;
    if (marks == NULL)
        return true;
    range_draw(painter);
    if (marks->held != MOMENT_NONE)
        line_draw(painter, moment_middle_q8(painter, marks->held), 1, painter->theme->mark[0]);
    for (uint32_t i = 0; i < RASTER_MARKS; i++)
        if (marks->mark[i] != MOMENT_NONE)
            line_draw(painter, moment_middle_q8(painter, marks->mark[i]), 2, painter->theme->mark[i]);
    return painter->style->areas != NULL || pin_draw(painter, arena);
}
