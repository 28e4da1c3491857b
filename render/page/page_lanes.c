/* The allocator over time: its figures for each column of the lane below the timeline, when and why it gave memory
 * back, and its segments as bands. */
#include "analysis/findings/levels.h"
#include "base/search.h"
#include "render/page/page_state.h"

enum { UNUSED_MOMENTS = 64 };

static bool device_unused(struct page_session *session, struct page_device *device) {
    const struct timeline *timeline = &device->timeline;
    uint32_t n = timeline->n_moments;
    device->unused = arena_column(&session->arena, n / UNUSED_MOMENTS + 1, sizeof *device->unused);
    for (uint32_t from = 0; device->unused != NULL && from < n; from += UNUSED_MOMENTS)
        device->unused[from / UNUSED_MOMENTS] =
            timeline_unused_in(timeline, from, n - from < UNUSED_MOMENTS ? n : from + UNUSED_MOMENTS);
    return device->unused != NULL;
}

/* The most unused memory in the moments [from, to), as a PNG shows it. */
static uint64_t unused_most(const struct page_device *device, uint32_t from, uint32_t to) {
    uint64_t most = 0;
    for (uint32_t end; from < to; from = end) {
        uint32_t block = from / UNUSED_MOMENTS;
        end = (block + 1) * UNUSED_MOMENTS;
        bool whole = from % UNUSED_MOMENTS == 0 && end <= to;
        end = end < to ? end : to;
        uint64_t bytes = whole ? device->unused[block] : timeline_unused_in(&device->timeline, from, end);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool device_counts(struct page_session *session, struct page_device *device) {
    const struct timeline *timeline = &device->timeline;
    if (device->laned)
        return true;
    device->laned = device_segments(session, device) && device_unused(session, device) &&
                    segment_counts_find(&device->counts, &device->segments, &session->arena) &&
                    releases_find(&device->releases, timeline->trace, timeline->device, &session->arena);
    return device->laned;
}

enum { LANE_UNUSED, LANE_LARGEST, LANE_SEGMENTS, LANE_CALLS, LANE_HOST, LANES };

/* The device's first segment event at or after the event with this index. */
static uint32_t segment_event_from(const struct device_trace *device, uint32_t event) {
    return SEARCH(0, device->n_segment_events, i, device->segment_events[i].event < event);
}

static double largest_at(const struct page_device *device, uint32_t moment) {
    const struct replay *replay = &device->replay;
    if (!device->replayed || replay->n_largest == 0)
        return -1;
    /* the first change after the moment */
    uint32_t low = SEARCH(1, replay->n_largest, i, replay->largest[i].moment <= moment);
    return (double)replay->largest[low - 1].bytes;
}

static void column_fill(double *at, uint32_t width, const struct page_device *device, uint32_t moment,
                        uint32_t before) {
    const struct timeline *timeline = &device->timeline;
    uint32_t first = segment_event_from(timeline->device, before),
             end = segment_event_from(timeline->device, moment);
    at[(size_t)LANE_LARGEST * width] = largest_at(device, moment);
    at[(size_t)LANE_SEGMENTS * width] = segment_counts_at(&device->counts, moment);
    at[(size_t)LANE_CALLS * width] = end > first ? end - first : 0;
    at[(size_t)LANE_HOST * width] = (double)levels_host_most(timeline->device, moment, moment + 1);
}

/* A column counts the calls since the previous column, and the first one those of its own moment. */
place view_lanes(struct page_view *view) {
    struct page_device *device = view_now(view);
    const struct scene *scene = view_scene(view);
    uint32_t width = scene->view.width;
    if (width == 0 || scene->moment == NULL || !device_counts(view->session, device) ||
        !ARENA_GROW(&view->arena, view->lanes, view->lanes_capacity, (uint64_t)width * LANES))
        return 0;
    for (uint32_t x = 0; x < width; x++) {
        uint32_t moment = scene->moment[x], before = x != 0        ? scene->moment[x - 1]
                                                     : moment == 0 ? 0
                                                                   : moment - 1;
        uint32_t from = view_moment_from(&scene->view, scene->timeline, x),
                 to = view_moment_from(&scene->view, scene->timeline, x + 1);
        column_fill(view->lanes + x, width, device, moment, before);
        /* If no moment begins in the column, the one that still goes on counts. */
        view->lanes[(size_t)LANE_UNUSED * width + x] =
            (double)(from < to ? unused_most(device, from, to) : unused_most(device, moment, moment + 1));
    }
    return FILL(view, lanes, (double)(place)view->lanes, width);
}

place view_releases(struct page_view *view) {
    struct page_device *device = view_now(view);
    uint32_t count = device_counts(view->session, device) ? device->releases.count : 0;
    const struct release_group *group = device->releases.group;
    return FILL_ROWS(view, release_group, count, i, group[i].event, group[i].count, (double)group[i].bytes,
                     group[i].cause, group[i].out_of_memory, group[i].stack);
}

static bool bands_begin(struct page_session *session, struct page_device *device) {
    device->shadow = session->trace;
    device->shadow.devices = &device->as_allocations;
    device->shadow.n_devices = 1;
    return device_segments(session, device) &&
           segments_as_allocations(&device->as_allocations, &device->piece, &device->segments,
                                   &session->arena);
}

i32 device_bands_step(struct page_session *session, struct page_device *device) {
    uint32_t step = device->band_steps;
    if (step > TIMELINE_LIKE_STEPS)
        return PAYLOAD_OK;
    bool done = step == 0 ? bands_begin(session, device)
                          : timeline_like_step(&device->bands, &device->timeline, &device->shadow, step - 1,
                                               &session->arena);
    device->band_steps = done ? step + 1 : 0;
    return !done ? PAYLOAD_NO_MEMORY : step < TIMELINE_LIKE_STEPS ? PAYLOAD_MORE : PAYLOAD_OK;
}

place view_band(struct page_view *view, u32 index) {
    const struct page_device *device = view_now(view);
    const struct allocations *allocations = &device->as_allocations.allocations;
    if (device->band_steps <= TIMELINE_LIKE_STEPS || index >= allocations->count)
        return 0;
    const struct segment_piece *piece = &device->segments.piece[device->piece[index]];
    return FILL(view, band, (double)piece->size, (double)piece->birth - 1, (double)piece->death - 1,
                piece->stack, piece->stream, piece->pool, (piece->flags & SEGMENT_EXPANDABLE) != 0,
                (double)(piece->address >> 32), (uint32_t)piece->address);
}
