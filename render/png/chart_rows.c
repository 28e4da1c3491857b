/*
 * The other devices of an address that shows all of them, below the axis: each a heading and a plot of its own scale, as
 * wide as the plot above, so that one moment has one x.
 *
 *     Device 1 · peak 2.6 GiB at 41 ms · 576 events
 *     GiB +----------------------------------+
 *       2 |                                  |
 *       0 +----------------------------------+
 */
#include "render/png/chart_maker.h"
#include "render/words/device.h"

#include "base/format.h"

#include <stdio.h>

/* The height of the heading, with room for the unit and half a number above the plot. */
static int32_t row_head(const struct chart_maker *maker) {
    return chart_line(maker->bold) + chart_line(maker->small) + maker->em / 2;
}

/* The chosen device's plot is twice as high as one of the others. */
int32_t chart_rows_height(const struct chart_maker *maker, int32_t room) {
    int32_t n = (int32_t)maker->in->n_rows, least = row_head(maker) + 3 * maker->em;
    if (n == 0 || maker->out->plot_is_text)
        return 0;
    return room / (n + 2) > least ? room / (n + 2) * n : least * n;
}

bool chart_rows_find(struct chart_maker *maker, int32_t height) {
    struct chart_layout *out = maker->out;
    uint32_t n = height == 0 ? 0 : maker->in->n_rows;
    out->rows = arena_column(&out->arena, n + 1, sizeof *out->rows);
    if (out->rows == NULL)
        return false;
    out->n_rows = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct chart_input *in = &maker->in->rows[i];
        int32_t plot = height / (int32_t)n - row_head(maker) - maker->em / 2;
        out->rows[i] = (struct chart_row){.view = {.axis = in->window.axis,
                                                   .from_q16 = in->window.from_q16,
                                                   .to_q16 = in->window.to_q16,
                                                   .height = (uint32_t)(plot - plot % maker->scale),
                                                   .top_bytes = chart_top_bytes(in)}};
    }
    return true;
}

static void heading_put(struct chart_maker *maker, const struct chart_input *in, struct rect line) {
    const struct timeline *timeline = in->timeline;
    int64_t us = timeline->first_us + timeline_start_us(timeline, timeline->peak_moment);
    char text[240];
    snprintf(text, sizeof text, "Device %s \xc2\xb7 peak %s at %s \xc2\xb7 %s event%s",
             device_named("", timeline->device->ordinal).text, format_bytes(timeline->peak_bytes).text,
             format_duration(us - maker->in->timeline->first_us).text,
             format_count(timeline->device->n_events).text, timeline->device->n_events == 1 ? "" : "s");
    chart_put_text(maker, line, CHART_LEFT, maker->bold, maker->out->colors.text, text);
}

void chart_rows_put(struct chart_maker *maker, struct rect area) {
    struct chart_layout *out = maker->out;
    for (uint32_t i = 0; i < out->n_rows; i++) {
        struct chart_row *row = &out->rows[i];
        int32_t y = area.y + area.height / (int32_t)out->n_rows * (int32_t)i;
        row->view.width = out->view.width;
        row->plot =
            (struct rect){out->plot.x, y + row_head(maker), out->plot.width, (int32_t)row->view.height};
        heading_put(maker, &maker->in->rows[i], (struct rect){out->plot.x, y, out->plot.width, 0});
        chart_y_axis_put(maker, &row->view, row->plot);
    }
}
