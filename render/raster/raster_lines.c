/* Draws what surrounds the bands: the ground above them, the grid, and the lines of reserved bytes and capacity. */
#include "render/raster/raster_internal.h"

enum { TICK_PX = 70 }; /* at least so many pixels between two lines of the grid */

void painter_ground(struct painter *painter) {
    uint32_t ground = gather(spread(painter->inks->surface) << 8), lowest = painter->height, highest = 0;
    for (uint32_t column = 0; column < painter->width; column++) {
        uint32_t y = painter->y[column], row = y >> 8;
        lowest = row < lowest ? row : lowest;
        highest = row > highest ? row : highest;
        if (row < painter->height)
            *pixel_at(painter, column, row) =
                gather(painter->lanes[column] + spread(painter->inks->surface) * (256 - (y & 255)));
    }
    for (uint32_t row = lowest + 1; row < painter->height; row++) {
        uint32_t *pixel = pixel_at(painter, 0, row);
        const uint32_t *y = painter->y;
        if (row > highest)
            for (uint32_t column = 0; column < painter->width; column++)
                pixel[column] = ground;
        else
            for (uint32_t column = 0; column < painter->width; column++)
                pixel[column] = row > y[column] >> 8 ? ground : pixel[column];
    }
}

struct ticks raster_ticks(const struct view *view, uint32_t scale) {
    uint32_t most = view->height / (TICK_PX * (scale == 0 ? 1 : scale));
    return ticks_bytes(view->bottom_bytes, view->top_bytes, most < 2 ? 2 : most > 12 ? 12 : most);
}

/* Draws a line of the grid, only where there is ground. */
static void grid_row_draw(struct painter *painter, uint32_t row, uint32_t color) {
    for (uint32_t column = 0; row < painter->height && column < painter->width; column++)
        if (row > painter->y[column] >> 8)
            *pixel_at(painter, column, row) = color;
}

void painter_grid(struct painter *painter) {
    struct ticks ticks = raster_ticks(&painter->scene->view, painter->pen);
    uint32_t grid = gather(spread(painter->inks->grid) << 8);
    for (uint32_t i = 0; i < ticks.count; i++) {
        uint32_t row = y_scale_q8(&painter->scale, (uint64_t)ticks.at[i]) >> 8;
        for (uint32_t line = 0; line < painter->pen; line++)
            grid_row_draw(painter, row + line, grid);
    }
}

/* Draws a dot as large as the pen, upwards and to the right. */
static void dot_draw(struct painter *painter, uint32_t column, uint32_t row) {
    uint32_t ink = gather(spread(painter->inks->text) << 8), pen = painter->pen;
    for (uint32_t x = column; x < column + pen && x < painter->width; x++)
        for (uint32_t y = row; y < row + pen && y < painter->height; y++)
            *pixel_at(painter, x, y) = ink;
}

void painter_reserved(struct painter *painter) {
    const struct timeline *timeline = painter->scene->timeline;
    if (timeline->reserved_peak == 0)
        return;
    uint32_t last = 0;
    for (uint32_t column = 0; column < painter->width; column++) {
        uint32_t moment = painter->scene->moment[column];
        if (column == 0 || moment != painter->scene->moment[column - 1]) {
            uint32_t row = y_scale_q8(&painter->scale, timeline_reserved_at(timeline, moment)) >> 8;
            for (uint32_t at = row < last ? row : last; column != 0 && at < (row > last ? row : last); at++)
                dot_draw(painter, column, at);
            last = row;
        }
        dot_draw(painter, column, last);
    }
}

void painter_capacity(struct painter *painter) {
    const struct view *view = &painter->scene->view;
    uint64_t capacity = painter->style->capacity_bytes;
    if (capacity <= view->bottom_bytes || capacity >= view->top_bytes)
        return;
    uint32_t row = y_scale_q8(&painter->scale, capacity) >> 8;
    for (uint32_t column = 0; column < painter->width; column++)
        if (column / painter->pen % 12 < 7)
            dot_draw(painter, column, row);
}
