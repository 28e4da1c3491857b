/* Thins a curve to few points, always keeping those that people look for. */
#include "base/search.h"
#include "base/sort.h"
#include "render/export/export_parts.h"

/* Each slice gives three points: its highest and lowest live total and its highest reserved one. */
enum { SLICES = 1280, SLICE_POINTS = 3, OOMS_MOST = 128 };

struct points {
    struct sort_row *row;
    uint32_t count;
};

static void point_add(struct points *points, uint32_t moment) {
    points->row[points->count++].key = moment;
}

/* Adds the points of one slice, the moments [from, until). */
static void slice_add(struct points *points, const struct timeline *timeline, uint32_t from, uint32_t until) {
    uint32_t high = from, low = from, reserved = from;
    uint64_t most = timeline_reserved_at(timeline, from);
    for (uint32_t m = from + 1; m < until; m++) {
        if (timeline->live[m] > timeline->live[high])
            high = m;
        if (timeline->live[m] < timeline->live[low])
            low = m;
    }
    uint32_t at = SEARCH(0, timeline->n_reserved, i, timeline->reserved_moment[i] <= from);
    for (; at < timeline->n_reserved && timeline->reserved_moment[at] < until; at++)
        if (timeline->reserved_bytes[at] > most) {
            most = timeline->reserved_bytes[at];
            reserved = timeline->reserved_moment[at];
        }
    point_add(points, high);
    point_add(points, low);
    point_add(points, reserved);
}

/* Adds the moments that must not be lost: the range's ends, the peaks and the out-of-memory events inside it. */
static void marks_add(struct points *points, const struct export_device *device) {
    const struct timeline *timeline = export_shown(device);
    const struct device_trace *recorded = device->device;
    uint32_t mark[] = {device->range.from, device->range.until - 1, timeline->peak_moment,
                       device->timeline.peak_moment, timeline->reserved_peak_moment};
    for (uint32_t i = 0; i < sizeof mark / sizeof *mark; i++)
        if (mark[i] >= device->range.from && mark[i] < device->range.until)
            point_add(points, mark[i]);
    for (uint32_t i = 0; i < recorded->n_ooms && i < OOMS_MOST; i++) {
        uint32_t moment = recorded->ooms[i].event + 1;
        if (moment >= device->range.from && moment < device->range.until)
            point_add(points, moment);
    }
}

bool export_curve_find(const struct export_device *device, uint32_t **moments, uint32_t *count) {
    const struct timeline *timeline = export_shown(device);
    uint32_t from = device->range.from, n = device->range.until - from;
    uint32_t most = SLICES * SLICE_POINTS + OOMS_MOST + 8;
    struct points points = {arena_column(device->arena, (uint64_t)most * 2, sizeof *points.row), 0};
    *count = 0;
    *moments = arena_column(device->arena, EXPORT_CURVE_MOST, sizeof **moments);
    if (points.row == NULL || *moments == NULL)
        return false;
    for (uint32_t m = 0; n <= EXPORT_CURVE_MOST && m < n; m++)
        (*moments)[(*count)++] = from + m;
    if (n <= EXPORT_CURVE_MOST)
        return true;
    for (uint64_t i = 0; i < SLICES; i++)
        slice_add(&points, timeline, from + (uint32_t)(i * n / SLICES),
                  from + (uint32_t)((i + 1) * n / SLICES));
    marks_add(&points, device);
    sort_rows(points.row, points.row + most, points.count);
    for (uint32_t i = 0; i < points.count; i++)
        if (i == 0 || points.row[i].key != points.row[i - 1].key)
            (*moments)[(*count)++] = (uint32_t)points.row[i].key;
    return true;
}
