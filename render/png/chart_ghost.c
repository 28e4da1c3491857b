/*
 * Draws the request that ended the recording, in a gutter right of the plot: a dashed box as high as the request, on
 * top of the live bytes. A line marks all memory that the process could have had: reserved plus free on the device. The
 * part of the box above the line is filled.
 *
 *          | -------- |  <- reserved + free
 *     plot | :1.5 GiB:|
 *          | :asked  :|
 *          | :........|  <- live
 */
#include "render/png/chart_maker.h"

#include "base/format.h"
#include "base/numbers.h"

/* The request that ends the window: at most the last fiftieth of the window follows it. A request in the middle has
 * only its flag. */
static const struct oom_event *ghost_of(const struct chart_maker *maker) {
    const struct chart_window *window = &maker->in->window;
    const struct oom_event *oom =
        timeline_oom_in(maker->in->timeline, window->first_moment, window->end_moment);
    if (oom == NULL || maker->out->plot_is_text || maker->in->selection != NULL)
        return NULL;
    uint64_t behind = window->end_moment - 1 - (oom->event + 1),
             shown = window->end_moment - window->first_moment;
    return behind * 50 <= shown && oom->size != 0 && oom->size != OOM_UNKNOWN &&
                   oom->device_free != OOM_UNKNOWN
               ? oom
               : NULL;
}

int32_t chart_ghost_width(const struct chart_maker *maker) {
    return ghost_of(maker) != NULL ? maker->em * 5 : 0;
}

/* Pixels below the plot's upper edge. What lies above the picture is drawn at its edge. */
static int32_t ghost_y(const struct chart_maker *maker, struct rect area, uint64_t bytes) {
    struct y_scale scale = y_scale_of(&maker->out->view);
    uint64_t top = maker->out->view.top_bytes;
    return area.y + area.height - (int32_t)(y_scale_q8(&scale, bytes < top ? bytes : top) / 256);
}

uint64_t chart_ghost_limit(const struct chart_maker *maker) {
    const struct oom_event *oom = ghost_of(maker);
    return sum_at_most(timeline_reserved_at(maker->in->timeline, oom->event + 1), oom->device_free);
}

static void ghost_text_put(struct chart_maker *maker, struct rect box, const struct oom_event *oom) {
    int32_t line = chart_line(maker->small), y = box.y + (box.height - 2 * line) / 2;
    if (box.height < 2 * line + maker->em / 2)
        return; /* the flag above the plot says it already */
    chart_put_text(maker, (struct rect){box.x, y, box.width, 0}, CHART_CENTER,
                   (struct font_style){FONT_BOLD, maker->small.px}, maker->out->colors->bad,
                   format_bytes(oom->size).text);
    chart_put_text(maker, (struct rect){box.x, y + line, box.width, 0}, CHART_CENTER, maker->small,
                   maker->out->colors->bad, "request");
}

void chart_ghost_put(struct chart_maker *maker, struct rect area) {
    const struct oom_event *oom = ghost_of(maker);
    if (oom == NULL)
        return;
    const struct timeline *timeline = maker->in->timeline;
    uint64_t live = timeline->live[oom->event + 1], asked = sum_at_most(live, oom->size);
    uint64_t most = chart_ghost_limit(maker);
    int32_t pen = maker->scale, pad = maker->em / 4;
    int32_t low = ghost_y(maker, area, live), high = ghost_y(maker, area, asked),
            line = ghost_y(maker, area, most);
    struct rect box = {area.x + pad, high, area.width - 2 * pad, low - high};
    if (box.height < 3 * pen)
        return;
    chart_put(maker, CHART_GHOST, box, maker->out->colors->bad);
    if (asked > most && line > high)
        chart_put(maker, CHART_FILL, (struct rect){box.x, high, box.width, line - high},
                  maker->out->colors->bad);
    if (most < maker->out->view.top_bytes)
        chart_put(maker, CHART_FILL, (struct rect){area.x, line - pen, area.width, 2 * pen},
                  maker->out->colors->bad);
    ghost_text_put(maker, box, oom);
}
