#include "render/page/page_host.h"

#include "analysis/category.h"
#include "render/page/page_heap.h"
#include "render/page/page_state.h"

struct page page;

/* ---- loading ---- */

EXPORT(page_reserve) uint32_t page_reserve(uint32_t nbytes) {
    arena_init(&page.loading, page_heap(), SIZE_MAX);
    page.nbytes = nbytes;
    page.bytes = arena_alloc(&page.loading, nbytes);
    return offset_of(page.bytes);
}

EXPORT(page_open) int32_t page_open(void) {
    return payload_open(&page.payload, page.bytes, page.nbytes, &page.loading);
}

EXPORT(page_piece_count) uint32_t page_piece_count(void) {
    return page.payload.n_pieces;
}

EXPORT(page_piece_packed) uint32_t page_piece_packed(uint32_t piece) {
    return offset_of(page.payload.pieces[piece].packed);
}

EXPORT(page_piece_packed_nbytes) uint32_t page_piece_packed_nbytes(uint32_t piece) {
    return page.payload.pieces[piece].packed_nbytes;
}

EXPORT(page_piece_target) uint32_t page_piece_target(uint32_t piece) {
    return offset_of(page.payload.pieces[piece].target);
}

EXPORT(page_piece_raw_nbytes) uint32_t page_piece_raw_nbytes(uint32_t piece) {
    return page.payload.pieces[piece].raw_nbytes;
}

static bool page_ready(void) {
    const struct trace *trace = &page.trace;
    arena_init(&page.arena, page_heap(), SIZE_MAX);
    arena_init(&page.grouping, page_heap(), SIZE_MAX);
    page.timelines = arena_alloc(&page.arena, ((size_t)trace->n_devices + 1) * sizeof *page.timelines);
    page.built = arena_alloc(&page.arena, (size_t)trace->n_devices + 1);
    page.phases = arena_alloc(&page.arena, ((size_t)trace->n_devices + 1) * sizeof *page.phases);
    page.mask = arena_alloc(&page.arena, trace->stacks.count);
    page.context_mask = arena_alloc(&page.arena, trace->contexts.count);
    raster_init(&page.raster, page_heap());
    return page.timelines != NULL && page.built != NULL && page.phases != NULL && page.mask != NULL &&
           page.context_mask != NULL;
}

EXPORT(page_unpack) int32_t page_unpack(void) {
    if (!trace_init(&page.trace, page_heap(), SIZE_MAX))
        return PAYLOAD_NO_MEMORY;
    int32_t error = payload_unpack(&page.payload, &page.trace);
    arena_release(&page.loading);
    if (error != PAYLOAD_OK)
        return error;
    return page_ready() ? PAYLOAD_OK : PAYLOAD_NO_MEMORY;
}

EXPORT(page_device) int32_t page_device(uint32_t index) {
    if (index >= page.trace.n_devices)
        return PAYLOAD_BAD_VALUE;
    if (!page.built[index] && (!timeline_init(&page.timelines[index], &page.trace, index, &page.arena) ||
                               !phases_find(&page.timelines[index], &page.arena, &page.phases[index])))
        return PAYLOAD_NO_MEMORY;
    page.built[index] = 1;
    page.current = index;
    if (page.scene_ready)
        scene_release(&page.scene);
    scene_init(&page.scene, &page.timelines[index], page_heap());
    page.scene_ready = true;
    page.filtered = false;
    return PAYLOAD_OK;
}

/* ---- drawing and picking ---- */

/* Rounds half up without a C library; far-out values are brought to where arithmetic cannot overflow. */
static int64_t q16_of(double position) {
    const double limit = 140737488355328.0; /* 2^47 */
    if (!(position > -limit))
        return -(INT64_C(1) << 62);
    if (position >= limit)
        return INT64_C(1) << 62;
    return (int64_t)__builtin_floor(position * 65536.0 + 0.5);
}

EXPORT(page_headroom) double page_headroom(double from, double to, double capacity_bytes) {
    uint32_t first = moment_of(from), end = moment_end_of(to);
    return (double)timeline_headroom_in(timeline_now(), first, end > first ? end : first + 1,
                                        bytes_of(capacity_bytes));
}

static bool view_of(struct view *view, int32_t axis, double from, double to, uint32_t width,
                    uint32_t height) {
    *view = (struct view){.axis = axis == 1 && timeline_now()->start_us != NULL ? AXIS_TIME : AXIS_EVENTS,
                          .from_q16 = q16_of(from),
                          .to_q16 = q16_of(to),
                          .width = width,
                          .height = height};
    /* Half of 2^63 each way would overflow the difference. */
    const int64_t limit = INT64_C(1) << 61;
    view->from_q16 = view->from_q16 < -limit ? -limit : view->from_q16;
    view->to_q16 = view->to_q16 > limit ? limit : view->to_q16;
    return width >= 1 && width <= VIEW_MAX_SIDE && height >= 1 && height <= VIEW_MAX_SIDE &&
           view->from_q16 < view->to_q16;
}

/* Every drawing writes all of it: what was there need not move along, and a larger window takes no more than it needs.
 */
static bool picture_reserve(uint64_t nbytes) {
    if (nbytes > page.rgba_capacity) {
        ARENA_DROP(&page.arena, page.rgba);
        page.rgba_capacity = 0;
    }
    return ARENA_GROW(&page.arena, page.rgba, page.rgba_capacity, nbytes);
}

EXPORT(page_draw)
uint32_t page_draw(int32_t axis, double from, double to, uint32_t width, uint32_t height, double bottom_bytes,
                   double top_bytes, uint32_t flags, uint32_t color_by, double capacity_bytes) {
    struct view view;
    if (!view_of(&view, axis, from, to, width, height))
        return 0;
    view.bottom_bytes = bytes_of(bottom_bytes);
    view.top_bytes = bytes_of(top_bytes) > view.bottom_bytes ? bytes_of(top_bytes) : view.bottom_bytes + 1;
    struct raster_style style = {.dark = flags & 1,
                                 .faded = flags >> 1 & 1,
                                 .reserved = flags >> 2 & 1,
                                 .color_by =
                                     color_by <= COLOR_BY_CATEGORY ? (enum color_by)color_by : COLOR_BY_SITE,
                                 .capacity_bytes = bytes_of(capacity_bytes),
                                 .stack_mask = page.mask,
                                 .context_mask = page.context_mask};
    if (style.color_by == COLOR_BY_CATEGORY)
        style.category = categories_now();
    if (!picture_reserve((uint64_t)width * height * 4) || !scene_build(&page.scene, &view) ||
        !raster_draw(&page.raster, &page.scene, &style, page.rgba))
        return 0;
    return offset_of(page.rgba);
}

EXPORT(page_drawn) uint32_t page_drawn(void) {
    return page.raster.drawn;
}

EXPORT(page_merged) uint32_t page_merged(void) {
    return page.raster.merged;
}

EXPORT(page_pick) double page_pick(uint32_t x, uint32_t y) {
    if (!scene_pick(&page.scene, x, y, &page.picked) || page.picked.life == UINT32_MAX)
        return -1;
    return page.picked.life;
}

EXPORT(page_picked_event) double page_picked_event(void) {
    return (double)page.picked.moment - 1;
}

EXPORT(page_outline) uint32_t page_outline(uint32_t life) {
    const struct band *band = scene_band(&page.scene, life);
    uint32_t count = band == NULL ? 0 : (uint32_t)band->tail - band->start;
    if (count == 0 || !ARENA_GROW(&page.arena, page.below, page.below_capacity, count) ||
        !ARENA_GROW(&page.arena, page.edges, page.edges_capacity, (uint64_t)count * 2))
        return 0;
    scene_below(&page.scene, band, page.below);
    for (uint32_t i = 0; i < count; i++) {
        page.edges[2 * i] = (double)page.below[i];
        page.edges[2 * i + 1] =
            (double)(page.below[i] + scene_band_bytes(&page.scene, band, band->start + i));
    }
    page.outline_first = band->start;
    return count;
}

EXPORT(page_outline_first) uint32_t page_outline_first(void) {
    return page.outline_first;
}

EXPORT(page_outline_edges) uint32_t page_outline_edges(void) {
    return offset_of(page.edges);
}

EXPORT(page_x_of_event) double page_x_of_event(double event) {
    return view_x_q8(&page.scene.view, timeline_now(), event < 0 ? 0 : (uint32_t)event + 1) / 256.0;
}

EXPORT(page_event_of_x) double page_event_of_x(double x) {
    uint32_t width = page.scene.view.width;
    if (width == 0)
        return -1;
    uint32_t column = !(x > 0) ? 0 : x >= width ? width - 1 : (uint32_t)x;
    return (double)page.scene.moment[column] - 1;
}

/* First column that shows `moment` or a later one. */
static uint32_t column_at(const uint32_t *moments, uint32_t width, uint32_t moment) {
    uint32_t low = 0, high = width;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (moments[middle] < moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds up what the filter leaves: changes at columns first, then their running sum. */
static void curve_of_kept(const uint32_t *moments, double *curve, uint32_t width) {
    const struct lives *lives = lives_now();
    for (uint32_t column = 0; column < width; column++)
        curve[column] = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (!life_is_kept(i))
            continue;
        uint32_t start = column_at(moments, width, lives->birth[i]);
        uint32_t end = column_at(moments, width, lives->death[i]);
        if (start < width)
            curve[start] += (double)lives->size[i];
        if (end < width)
            curve[end] -= (double)lives->size[i];
    }
    for (uint32_t column = 1; column < width; column++)
        curve[column] += curve[column - 1];
}

EXPORT(page_curve)
uint32_t page_curve(int32_t axis, double from, double to, uint32_t width, int32_t kept) {
    struct view view;
    struct arena *arena = &page.arena;
    if (!view_of(&view, axis, from, to, width, 1) ||
        !ARENA_GROW(arena, page.curve, page.curve_capacity, width))
        return 0;
    uint32_t *moment = NULL, capacity = 0;
    if (!ARENA_GROW(arena, moment, capacity, width))
        return 0;
    view_moments(&view, timeline_now(), moment);
    if (kept != 0 && page.filtered)
        curve_of_kept(moment, page.curve, width);
    else
        for (uint32_t column = 0; column < width; column++)
            page.curve[column] = (double)timeline_now()->live[moment[column]];
    ARENA_DROP(arena, moment);
    return offset_of(page.curve);
}
