/*
 * Draws the lane below the plot: in each column the most reserved memory that is not in use, and the moments at which
 * the allocator gave memory back because a request did not fit. Its scale is its own, from 0 to the window's highest
 * value. If a log of the host's memory was found beside the dump, a second lane shows that.
 */
#include "render/png/chart_maker.h"

#include "analysis/findings/levels.h"
#include "analysis/model/releases.h"
#include "base/format.h"

#include <stdio.h>

enum { UNUSED_MARKS = 2 };

static bool unused_is_known(const struct chart_maker *maker) {
    const struct device_trace *device = maker->in->timeline->device;
    return (device->n_segments != 0 || device->n_segment_events != 0) && device->n_events > 1 &&
           !maker->out->plot_is_text && maker->in->selection == NULL;
}

/* The lane is shown if at some moment a twentieth of the reserved memory was not in use. */
bool chart_unused_find(struct chart_maker *maker) {
    const struct timeline *timeline = maker->in->timeline;
    const struct chart_window *window = &maker->in->window;
    maker->unused_bytes = 0;
    if (maker->height < 26 * maker->em)
        return true;
    maker->host_bytes = trace_has_allocations(timeline->trace)
                            ? levels_host_most(timeline->device, window->first_moment, window->end_moment)
                            : 0;
    if (!unused_is_known(maker))
        return true;
    uint64_t most = timeline_unused_in(timeline, window->first_moment, window->end_moment);
    maker->unused_bytes = most >= timeline->reserved_peak / 20 ? most : 0;
    return maker->unused_bytes == 0 ||
           releases_find(&maker->releases, timeline->trace, timeline->device, &maker->out->arena);
}

static bool group_is_marked(const struct chart_maker *maker, const struct release_group *group) {
    return group->cause == RELEASE_RETRY && chart_moment_is_shown(maker, group->event + 1);
}

/* Chooses the retries that gave back most, at most UNUSED_MARKS of them. Returns how many. */
static uint32_t marks_choose(const struct chart_maker *maker,
                             const struct release_group *marks[UNUSED_MARKS]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < maker->releases.count; i++) {
        const struct release_group *group = &maker->releases.group[i];
        if (!group_is_marked(maker, group))
            continue;
        if (n < UNUSED_MARKS)
            marks[n++] = group;
        else if (group->bytes > marks[0]->bytes || group->bytes > marks[1]->bytes)
            marks[marks[0]->bytes < marks[1]->bytes ? 0 : 1] = group;
    }
    return n;
}

/* The height above the curve for the labels of the marks; 0: there are none. */
static int32_t marks_height(const struct chart_maker *maker) {
    const struct release_group *marks[UNUSED_MARKS];
    return marks_choose(maker, marks) != 0 ? chart_line(maker->small) : 0;
}

static int32_t host_height(const struct chart_maker *maker) {
    return maker->host_bytes != 0 ? maker->em * 2 : 0;
}

int32_t chart_unused_height(const struct chart_maker *maker) {
    return (maker->unused_bytes != 0 ? maker->em * 3 + marks_height(maker) : 0) + host_height(maker);
}

/* The first moment at or after the left edge of a column. */
static uint32_t column_moment(const struct chart_maker *maker, int32_t x, int32_t width) {
    const struct chart_window *window = &maker->in->window;
    const struct view *view = &maker->out->view;
    int64_t span = view->to_q16 - view->from_q16;
    uint32_t moment = chart_moment_of_q16(maker->in->timeline, view->axis,
                                          view->from_q16 + span / width * x + span % width * x / width);
    return moment < window->first_moment ? window->first_moment
           : moment > window->end_moment ? window->end_moment
                                         : moment;
}

/* Draws a column and, if it differs from the one before, the step between them. */
static void column_put(struct chart_maker *maker, struct rect lane, int32_t x, int32_t width, int32_t height,
                       bool is_host) {
    const struct inks *colors = maker->out->colors;
    struct rect ground = {lane.x + x, lane.y + lane.height - height, width, height};
    struct rect line = {ground.x, ground.y, width, maker->scale};
    chart_put(maker, CHART_FILL, ground, is_host ? colors->phase_odd : colors->unused_soft);
    if (height > 0)
        chart_put(maker, CHART_FILL, line, is_host ? colors->dim : colors->unused);
}

static void curve_put(struct chart_maker *maker, struct rect lane, bool is_host) {
    const struct timeline *timeline = maker->in->timeline;
    int32_t begin = 0, before = -1, room = lane.height - maker->scale;
    for (int32_t x = 0; x < lane.width; x++) {
        uint32_t first = column_moment(maker, x, lane.width), end = column_moment(maker, x + 1, lane.width);
        end = end > first ? end : first + 1;
        uint64_t bytes = is_host ? levels_host_most(timeline->device, first, end)
                                 : timeline_unused_in(timeline, first, end);
        int32_t height = chart_share(bytes, is_host ? maker->host_bytes : maker->unused_bytes, room);
        if (height != before && x != 0)
            column_put(maker, lane, begin, x - begin, before, is_host);
        begin = height != before ? x : begin;
        before = height;
    }
    column_put(maker, lane, begin, lane.width - begin, before, is_host);
}

/* Draws a line over the lane and above the curve how much was given back: to the right, or to the left if there is no
 * room. */
static void mark_put(struct chart_maker *maker, struct rect lane, const struct release_group *group,
                     int32_t taken[2]) {
    char text[64];
    int32_t x = lane.x + chart_moment_x(maker, group->event + 1), gap = maker->em / 4;
    snprintf(text, sizeof text, "gave %s back", format_bytes(group->bytes).text);
    int32_t width = chart_text_width(maker, maker->small, text), left = x + gap;
    if (left + width > lane.x + lane.width)
        left = x - gap - width;
    chart_put(maker, CHART_FILL, (struct rect){x, lane.y, maker->scale, lane.height},
              maker->out->colors->bad);
    if (left < lane.x || (left < taken[1] && left + width > taken[0]))
        return;
    chart_put_text(maker, (struct rect){left, lane.y, width, 0}, CHART_LEFT, maker->small,
                   maker->out->colors->bad, text);
    taken[0] = left;
    taken[1] = left + width;
}

static void unused_put(struct chart_maker *maker, struct rect area) {
    const struct release_group *marks[UNUSED_MARKS];
    int32_t gap = maker->em / 4, taken[2] = {0, 0}, text = marks_height(maker);
    struct rect lane = {area.x, area.y + gap, area.width, area.height - 2 * gap};
    curve_put(maker, (struct rect){lane.x, lane.y + text, lane.width, lane.height - text}, false);
    for (uint32_t i = 0, n = marks_choose(maker, marks); i < n; i++)
        mark_put(maker, lane, marks[i], taken);
}

void chart_unused_put(struct chart_maker *maker, struct rect area) {
    int32_t gap = maker->em / 4, host = host_height(maker);
    area.height -= host;
    if (maker->unused_bytes != 0)
        unused_put(maker, area);
    if (host != 0)
        curve_put(maker, (struct rect){area.x, area.y + area.height + gap, area.width, host - 2 * gap}, true);
}
