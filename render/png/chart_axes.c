/* Labels and titles of the axes. The grid itself belongs to the raster. */
#include "render/png/chart_maker.h"

#include "base/format.h"
#include "layout/ticks.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- y: all numbers in one unit, the largest in which every tick needs two decimals at most ---- */

struct y_unit {
    uint64_t one;
    uint64_t decimals; /* 1, 10 or 100 */
    const char *name;
};

static bool ticks_fit(const struct ticks *ticks, uint64_t one, uint64_t decimals) {
    for (uint32_t i = 0; i < ticks->count; i++)
        if ((uint64_t)ticks->at[i] % one * decimals % one != 0)
            return false;
    return true;
}

static struct y_unit y_unit_of(const struct ticks *ticks, uint64_t top) {
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    for (uint32_t unit = 4; unit > 0; unit--) {
        uint64_t one = UINT64_C(1) << (10 * unit);
        for (uint64_t decimals = 1; top >= one && decimals <= 100; decimals *= 10)
            if (ticks_fit(ticks, one, decimals))
                return (struct y_unit){one, decimals, names[unit]};
    }
    return (struct y_unit){1, 1, names[0]};
}

static void y_label(const struct y_unit *unit, uint64_t bytes, char *text, size_t capacity) {
    uint64_t rest = bytes % unit->one * unit->decimals / unit->one;
    struct figure whole = format_count(bytes / unit->one);
    if (unit->decimals == 1)
        snprintf(text, capacity, "%s", whole.text);
    else
        snprintf(text, capacity, unit->decimals == 10 ? "%s.%" PRIu64 : "%s.%02" PRIu64, whole.text, rest);
}

int32_t chart_y_labels_width(const struct chart_maker *maker, const struct view *view) {
    struct ticks ticks = raster_ticks(view, (uint32_t)maker->scale);
    struct y_unit unit = y_unit_of(&ticks, view->top_bytes);
    int32_t widest = chart_text_width(maker, maker->small, unit.name);
    for (uint32_t i = 0; i < ticks.count; i++) {
        char text[48];
        y_label(&unit, (uint64_t)ticks.at[i], text, sizeof text);
        int32_t width = chart_text_width(maker, maker->small, text);
        widest = width > widest ? width : widest;
    }
    return widest + maker->em / 2;
}

void chart_y_axis_put(struct chart_maker *maker, const struct view *view, struct rect plot) {
    const struct chart_layout *out = maker->out;
    struct ticks ticks = raster_ticks(view, (uint32_t)maker->scale);
    struct y_unit unit = y_unit_of(&ticks, view->top_bytes);
    struct y_scale scale = y_scale_of(view);
    int32_t line = chart_line(maker->small), width = chart_y_labels_width(maker, view) - maker->em / 2;
    struct rect at = {plot.x - maker->em / 2 - width, 0, width, line};
    /* numbers go upwards; a number that would touch the one below it is left out */
    int32_t free_to = INT32_MAX;
    for (uint32_t i = 0; i < ticks.count; i++) {
        char text[48];
        y_label(&unit, (uint64_t)ticks.at[i], text, sizeof text);
        int32_t above = (int32_t)(y_scale_q8(&scale, (uint64_t)ticks.at[i]) / 256);
        at.y = plot.y + plot.height - above - line / 2;
        if (at.y + line > free_to)
            continue;
        chart_put_text(maker, at, CHART_RIGHT, maker->small, out->colors->dim, text);
        free_to = at.y;
    }
    /* The uppermost number may reach half a line above the plot. */
    at.y = plot.y - line / 2 - line - maker->scale;
    chart_put_text(maker, at, CHART_RIGHT, maker->small, out->colors->dim, unit.name);
}

/* ---- x: event numbers, or time in a unit that suits the span ---- */

struct x_unit {
    int64_t us; /* 0: events */
    const char *title;
};

static struct x_unit x_unit_of(const struct view *view) {
    static const struct x_unit units[] = {{INT64_C(3600000000), "hours since the first event"},
                                          {60000000, "minutes since the first event"},
                                          {1000000, "seconds since the first event"},
                                          {1000, "milliseconds since the first event"},
                                          {1, "microseconds since the first event"}};
    /* A unit is used from ten of it on: 8 minutes are shown as 480 seconds, 30 as minutes. */
    uint64_t span = ((uint64_t)view->to_q16 - (uint64_t)view->from_q16) / 65536;
    if (view->axis == AXIS_EVENTS)
        return (struct x_unit){0, "event number"};
    for (uint32_t i = 0; i < 4; i++)
        if (span >= (uint64_t)units[i].us * (i < 2 ? 10 : 1))
            return units[i];
    return units[4];
}

/* Ticks in thousandths of the unit, so that "0.5 s" is possible. */
static struct ticks x_ticks(const struct chart_maker *maker, const struct x_unit *unit) {
    const struct view *view = &maker->out->view;
    uint32_t most = (uint32_t)(maker->out->plot.width / (6 * maker->em));
    most = most < 2 ? 2 : most > 12 ? 12 : most;
    int64_t low = view->from_q16 / 65536, high = view->to_q16 / 65536;
    if (unit->us == 0)
        return ticks_decimal(low, high, most);
    int64_t per = unit->us >= 1000 ? unit->us / 1000 : 1;
    return ticks_decimal(low / per, high / per, most);
}

static void x_label(const struct x_unit *unit, const struct ticks *ticks, int64_t at, char *text,
                    size_t capacity) {
    uint64_t value = (uint64_t)at;
    if (unit->us < 1000) {
        snprintf(text, capacity, "%s", format_count(value).text);
        return;
    }
    struct figure whole = format_count(value / 1000);
    unsigned rest = (unsigned)(value % 1000);
    if (ticks->step % 1000 == 0)
        snprintf(text, capacity, "%s", whole.text);
    else if (ticks->step % 100 == 0)
        snprintf(text, capacity, "%s.%u", whole.text, rest / 100);
    else if (ticks->step % 10 == 0)
        snprintf(text, capacity, "%s.%02u", whole.text, rest / 10);
    else
        snprintf(text, capacity, "%s.%03u", whole.text, rest);
}

static int64_t x_tick_q16(const struct x_unit *unit, int64_t at) {
    return unit->us >= 1000 ? at * (unit->us / 1000) * 65536 : at * 65536;
}

/* Draws number and mark of one tick if there is room right of `free_from`. Returns the right edge of what it took. */
static int32_t x_tick_put(struct chart_maker *maker, int32_t x, int32_t y, const char *text,
                          int32_t free_from) {
    const struct chart_layout *out = maker->out;
    int32_t width = chart_text_width(maker, maker->small, text), height = maker->em / 4;
    /* A number may stand out over the plot's edge, but not below the numbers of the y axis. */
    int32_t most = out->plot.x + out->plot.width + maker->em / 2 - width, least = out->plot.x - maker->em / 4;
    int32_t left = x - width / 2;
    left = left > most ? most : left;
    left = left < least ? least : left;
    if (left < free_from || left > most)
        return free_from;
    chart_put(maker, CHART_FILL, (struct rect){x, y, maker->scale, height}, out->colors->dim);
    chart_put_text(maker, (struct rect){left, y + height, width, 0}, CHART_LEFT, maker->small,
                   out->colors->dim, text);
    return left + width + maker->em / 2;
}

/* Writes the axis' title: its unit, and a remark if bands are grouped or the scale is cut. */
static void x_title(const struct chart_layout *out, const char *title, char *text, size_t capacity) {
    if (out->scene->n_groups != 0)
        snprintf(text, capacity, "%s \302\267 grouped by call site: most bands are under 3 px high", title);
    else if (out->view.bottom_bytes != 0)
        snprintf(text, capacity, "%s \302\267 from %s up", title, format_bytes(out->view.bottom_bytes).text);
    else
        snprintf(text, capacity, "%s", title);
}

static void x_axis_put(struct chart_maker *maker, int32_t y) {
    const struct chart_layout *out = maker->out;
    struct x_unit unit = x_unit_of(&out->view);
    struct ticks ticks = x_ticks(maker, &unit);
    int32_t free_from = 0;
    for (uint32_t i = 0; i < ticks.count; i++) {
        int32_t x = ticks.at[i] < 0 ? -1 : chart_axis_x(maker, x_tick_q16(&unit, ticks.at[i]));
        char text[64];
        if (x < 0)
            continue;
        x_label(&unit, &ticks, ticks.at[i], text, sizeof text);
        free_from = x_tick_put(maker, out->plot.x + x, y, text, free_from);
    }
    struct rect title = {out->plot.x, y + maker->em / 4 + chart_line(maker->small), out->plot.width, 0};
    char text[128];
    x_title(out, unit.title, text, sizeof text);
    chart_put_text(maker, title, CHART_CENTER, maker->small, out->colors->dim, text);
}

void chart_axes_put(struct chart_maker *maker) {
    const struct chart_layout *out = maker->out;
    if (out->plot_is_text)
        return;
    chart_y_axis_put(maker, &maker->out->view, maker->out->plot);
    /* Without events there is one state, and no axis to number. */
    int32_t y = out->plot.y + out->plot.height + chart_unused_height(maker) + chart_phases_height(maker);
    if (maker->in->timeline->n_moments > 1)
        x_axis_put(maker, y);
    else
        chart_put_text(maker, (struct rect){out->plot.x, y + maker->em / 4, out->plot.width, 0}, CHART_CENTER,
                       maker->small, out->colors->dim, "the state when the snapshot was taken");
}
