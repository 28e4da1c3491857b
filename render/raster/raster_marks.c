/* Draws what an address puts over the picture: the selected range, failed requests, the held moment, the outline of a
 * comparison, marks, and the pinned allocation. */
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
            *pixel = (share == 256 ? ink : color_mix(*pixel & 0xFFFFFF, ink, share)) | 0xFF000000u;
        }
}

/* Draws a line from top to bottom, this many pens wide, at a place in 1/256 px. */
static void line_draw(struct painter *painter, int32_t x_q8, uint32_t pens, uint32_t rgb) {
    int32_t wide = (int32_t)(pens * painter->pen);
    if (x_q8 < 0 || x_q8 > (int32_t)painter->width * 256)
        return;
    int32_t x = (x_q8 >> 8) - (wide - (int32_t)painter->pen) / 2, most = (int32_t)painter->width - wide;
    x = x > most ? most : x;
    box_lay(painter, x, 0, x + wide, (int32_t)painter->height, rgb, 256);
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
    box_lay(painter, from >> 8, 0, to >> 8, (int32_t)painter->height, painter->inks->accent,
            painter->style->dark ? 51 : 41);
    line_draw(painter, from, 1, painter->inks->accent);
    line_draw(painter, to, 1, painter->inks->accent);
}

/* The row at a height, counted from the top. */
static int32_t row_of(const struct painter *painter, uint64_t bytes) {
    return (int32_t)painter->height - (int32_t)((y_scale_q8(&painter->scale, bytes) + 128) >> 8);
}

/* Draws an edge that begins in a column, with a pen of `wide` pixels. */
static void edge_draw(struct painter *painter, uint32_t start, const int32_t *row, uint32_t count,
                      int32_t wide, uint32_t rgb) {
    int32_t half = wide / 2, before = row[0];
    for (uint32_t i = 0; i < count; i++) {
        int32_t x = (int32_t)(start + i), y = row[i];
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
    edge_draw(painter, band->start, upper, count, wide, rgb);
    edge_draw(painter, band->start, lower, count, wide, rgb);
    box_lay(painter, left - half, upper[0] - half, left - half + wide, lower[0] - half + wide, rgb, 256);
    box_lay(painter, right - half, upper[count - 1] - half, right - half + wide,
            lower[count - 1] - half + wide, rgb, 256);
}

/* Draws the edges of the pinned allocation's band, with a halo, so that they are seen on every colour. */
static bool pin_draw(struct painter *painter, struct arena *arena) {
    const struct scene *scene = painter->scene;
    const struct band *band = scene_band(scene, painter->style->marks->pinned);
    uint32_t count = band == NULL ? 0 : (uint32_t)band->tail - band->start;
    if (count == 0)
        return true;
    uint64_t *below;
    int32_t *upper, *lower;
    bool done = ARENA_COLUMNS(arena, count, below, upper, lower);
    if (done) {
        scene_below(scene, band, below);
        for (uint32_t i = 0; i < count; i++) {
            lower[i] = row_of(painter, below[i]);
            upper[i] = row_of(painter, below[i] + scene_band_bytes(scene, band, band->start + i));
        }
        int32_t pen = (int32_t)painter->pen;
        outline_draw(painter, band, upper, lower, count, 4 * pen, painter->inks->surface);
        outline_draw(painter, band, upper, lower, count, 2 * pen, painter->inks->accent);
    }
    ARENA_DROP(arena, lower, upper, below);
    return done;
}

bool raster_ghost_is_last(const struct timeline *timeline, const struct oom_event *oom) {
    uint64_t n_events = timeline->device->n_events, behind = n_events - oom->event;
    return behind <= 2 || behind * 50 <= n_events;
}

/* Draws a dashed line, this many pens wide, horizontal or vertical. */
static void dashes_draw(struct painter *painter, int32_t x, int32_t y, int32_t length, bool down) {
    int32_t pen = (int32_t)painter->pen, wide = 2 * pen, on = 5 * pen, every = 8 * pen;
    for (int32_t at = 0; at < length; at += every) {
        int32_t end = at + on < length ? at + on : length;
        if (down)
            box_lay(painter, x, y + at, x + wide, y + end, painter->inks->bad, 256);
        else
            box_lay(painter, x + at, y, x + end, y + wide, painter->inks->bad, 256);
    }
}

static int32_t clipped_row_of(const struct painter *painter, uint64_t bytes) {
    return bytes >= painter->scene->view.top_bytes ? 0 : row_of(painter, bytes);
}

static void ghost_draw(struct painter *painter, const struct oom_event *oom) {
    const struct timeline *timeline = painter->style->marks->timeline;
    int32_t wide = RASTER_GHOST_WIDTH * (int32_t)painter->pen, width = (int32_t)painter->width,
            x_q8 = view_x_q8(&painter->scene->view, timeline, oom->event + 1);
    if (x_q8 < 0 || x_q8 > width * 256 || oom->size == 0)
        return;
    bool beyond = x_q8 + wide * 256 > width * 256;
    if (beyond && raster_ghost_is_last(timeline, oom))
        return;
    uint64_t live = timeline->live[oom->event + 1];
    int32_t x = beyond ? width - wide : x_q8 >> 8, bottom = clipped_row_of(painter, live),
            top = clipped_row_of(painter, oom->size > UINT64_MAX - live ? UINT64_MAX : live + oom->size);
    if (x < 0 || bottom <= top)
        return;
    int32_t pen = 2 * (int32_t)painter->pen;
    box_lay(painter, x, top, x + wide, bottom, painter->inks->bad, painter->style->dark ? 41 : 31);
    dashes_draw(painter, x, top, wide, false);
    dashes_draw(painter, x, bottom - pen, wide, false);
    dashes_draw(painter, x, top, bottom - top, true);
    dashes_draw(painter, x + wide - pen, top, bottom - top, true);
}

static void ghosts_draw(struct painter *painter) {
    const struct device_trace *device = painter->style->marks->timeline->device;
    uint32_t first = device->n_ooms > RASTER_GHOSTS ? device->n_ooms - RASTER_GHOSTS : 0;
    for (uint32_t i = first; i < device->n_ooms; i++)
        ghost_draw(painter, &device->ooms[i]);
}

/* Is the place near enough to zero? No recording lies farther out, and sums of near places cannot overflow. */
static bool is_near(int64_t q16) {
    return q16 > -(INT64_C(1) << 61) && q16 < INT64_C(1) << 61;
}

/* Draws the totals of B over those of A, with a halo. */
static bool compared_draw(struct painter *painter, struct arena *arena) {
    const struct raster_marks *marks = painter->style->marks;
    const struct raster_outline *outline = &marks->outline;
    struct view view = painter->scene->view;
    if (outline->from_q16 >= outline->to_q16 || !is_near(outline->from_q16) || !is_near(outline->to_q16) ||
        !is_near(outline->shift_q16) || !is_near(view.from_q16) || !is_near(view.to_q16))
        return true;
    int32_t width = (int32_t)painter->width,
            from = view_position_q8(&view, outline->from_q16 - outline->shift_q16) >> 8,
            to = (view_position_q8(&view, outline->to_q16 - outline->shift_q16) + 255) >> 8;
    from = from < 0 ? 0 : from;
    to = to > width ? width : to;
    if (from >= to)
        return true;
    uint32_t *moment;
    int32_t *row;
    bool done = ARENA_COLUMNS(arena, (uint64_t)width, moment, row);
    if (done) {
        view.from_q16 += outline->shift_q16;
        view.to_q16 += outline->shift_q16;
        view_moments(&view, marks->timeline, moment);
        for (int32_t x = from; x < to; x++)
            row[x] = clipped_row_of(painter, marks->shown->live[moment[x]]);
        int32_t pen = (int32_t)painter->pen;
        uint32_t start = (uint32_t)from, count = (uint32_t)(to - from);
        edge_draw(painter, start, row + from, count, 4 * pen, painter->inks->surface);
        edge_draw(painter, start, row + from, count, 2 * pen, painter->inks->mark_b);
    }
    ARENA_DROP(arena, row, moment);
    return done;
}

/* Covers what lies before and after the recording. */
static void outside_draw(struct painter *painter) {
    const struct view *view = &painter->scene->view;
    struct view whole = {.axis = view->axis};
    view_fit(&whole, painter->scene->timeline);
    int32_t from = (view_position_q8(view, whole.from_q16) + 128) >> 8,
            to = (view_position_q8(view, whole.to_q16) + 128) >> 8;
    box_lay(painter, 0, 0, from, (int32_t)painter->height, painter->inks->surface, 256);
    box_lay(painter, to, 0, (int32_t)painter->width, (int32_t)painter->height, painter->inks->surface, 256);
}

bool painter_marks(struct painter *painter, struct arena *arena) {
    const struct raster_marks *marks = painter->style->marks;
    if (painter->style->recorded)
        outside_draw(painter);
    if (marks == NULL)
        return true;
    range_draw(painter);
    ghosts_draw(painter);
    line_draw(painter, marks->held_q8, 1, painter->inks->accent);
    if (!compared_draw(painter, arena))
        return false;
    line_draw(painter, marks->mark_q8[0], 2, painter->inks->accent);
    line_draw(painter, marks->mark_q8[1], 2, painter->inks->mark_b);
    return painter->style->areas != NULL || pin_draw(painter, arena);
}
