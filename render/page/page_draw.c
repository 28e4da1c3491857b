/* Drawing, picking, and the curves of a view. */
#include "render/page/page_heap.h"
#include "render/page/page_state.h"

/* Rounds half up without a C library. Far-out values are clamped to where arithmetic cannot overflow. */
static int64_t q16_of(double position) {
    const double limit = 140737488355328.0; /* 2^47 */
    if (!(position > -limit))
        return -(INT64_C(1) << 62);
    if (position >= limit)
        return INT64_C(1) << 62;
    return (int64_t)__builtin_floor(position * 65536.0 + 0.5);
}

bool page_window_of(const struct page_view *view, struct view *window, bool time, double from, double to,
                    uint32_t width, uint32_t height) {
    *window = (struct view){.axis = time && timeline_timed(view_timeline(view)) ? AXIS_TIME : AXIS_EVENTS,
                            .from_q16 = q16_of(from),
                            .to_q16 = q16_of(to),
                            .width = width,
                            .height = height};
    /* A run is as long as 2^46 microseconds and what lies around it; the difference must not pass 2^63. */
    const int64_t low = -(INT64_C(1) << 61), high = (INT64_C(1) << 62) + (INT64_C(1) << 60);
    window->from_q16 = window->from_q16 < low ? low : window->from_q16;
    window->to_q16 = window->to_q16 > high ? high : window->to_q16;
    return width >= 1 && width <= VIEW_MAX_SIDE && height >= 1 && height <= VIEW_MAX_SIDE &&
           window->from_q16 < window->to_q16;
}

/* Turns a number of a record into a small integer; 0 for anything else. */
static uint32_t small_of(double value) {
    return value >= 0 && value < 4294967296.0 ? (uint32_t)value : 0;
}

/* Makes room for the picture. Every drawing writes all of it, so the old content is not copied, and a larger window
 * takes only the memory that it needs. */
static bool picture_reserve(struct page_view *view, uint64_t nbytes) {
    if (nbytes > view->rgba_capacity) {
        ARENA_DROP(&view->arena, view->rgba);
        view->rgba_capacity = 0;
    }
    return ARENA_GROW(&view->arena, view->rgba, view->rgba_capacity, nbytes);
}

place view_request(struct page_view *view) {
    view->laid = LAID_NOTHING;
    return (place)&view->request;
}

struct raster_style view_style(struct page_view *view, uint32_t flags, uint32_t color_by) {
    struct raster_style style = {.dark = (flags & DRAW_DARK) != 0,
                                 .reserved = (flags & DRAW_RESERVED) != 0,
                                 .color_by = color_by < COLOR_COUNT ? (enum color_by)color_by : COLOR_BY_SITE,
                                 .lit = (flags & DRAW_FOUND) != 0 ? view_found(view)
                                        : view->is_lit            ? view->lit
                                                                  : NULL};
    if (style.color_by == COLOR_BY_CATEGORY)
        style.category = session_categories(view->session, view_now(view));
    return style;
}

/* Removes from the style what segments do not have: they are neither found nor highlighted, and have no category. */
static void style_of_segments(struct raster_style *style) {
    style->lit = NULL;
    style->category = NULL;
    style->color_by = style->color_by == COLOR_BY_CATEGORY ? COLOR_BY_SITE : style->color_by;
}

/* Finds the scene that is to be drawn. Segments become bands step by step. */
static i32 scene_asked(struct page_view *view) {
    view->by_segments = false;
    if ((small_of(view->request.flags) & DRAW_SEGMENTS) == 0)
        return PAYLOAD_OK;
    i32 code = device_bands_step(view->session, view_now(view));
    if (code != PAYLOAD_OK)
        return code;
    if (view->banded.timeline != &view_now(view)->bands) {
        scene_release(&view->banded);
        scene_init(&view->banded, &view_now(view)->bands, page_heap());
    }
    view->by_segments = true;
    return PAYLOAD_OK;
}

enum { SCALE_MAX = 8 };

static struct raster_style style_asked(struct page_view *view) {
    const struct record_request *request = &view->request;
    uint32_t flags = small_of(request->flags), by = small_of(request->areas);
    struct raster_style style = view_style(view, flags, small_of(request->color_by));
    style.recorded = (flags & DRAW_RECORDED) != 0;
    style.capacity_bytes = bytes_of(request->capacity_bytes);
    style.scale = small_of(request->scale) % (SCALE_MAX + 1);
    if (view->by_segments)
        style_of_segments(&style);
    else if (by >= COLOR_BY_STREAM && by <= COLOR_BY_CATEGORY)
        style.areas = &view->areas;
    return style;
}

/* Sums the scene into areas by the requested key. False: no memory. */
static bool areas_asked(struct page_view *view) {
    enum color_by by = (enum color_by)small_of(view->request.areas);
    struct raster_style keyed = {
        .category = by == COLOR_BY_CATEGORY ? session_categories(view->session, view_now(view)) : NULL};
    return (by != COLOR_BY_CATEGORY || keyed.category != NULL) &&
           areas_sum(&view->areas, &view->scene, &keyed, by);
}

/* Are bands too thin to be told apart? Yes, if most bytes lie in bands under 3 pixels; where they were told apart
 * before, only under 2.5, so that the picture does not flicker. With DRAW_FITTED a window may first get heights of its
 * own. */
static bool dense_find(struct page_view *view, const struct raster_style *style, uint32_t flags) {
    uint32_t lines = style->scale == 0 ? 1 : style->scale, thin = SCENE_THIN_Q8 * lines, parted = 640 * lines;
    bool was_fitted = view->fitted;
    view->fitted = false;
    if ((flags & DRAW_SEGMENTS) != 0 || style->color_by != COLOR_BY_SITE || style->areas != NULL)
        return false;
    bool dense = scene_is_dense(&view->scene, view->parted && !was_fitted ? parted : thin);
    view->fitted =
        dense && (flags & DRAW_FITTED) != 0 && scene_fit_heights(&view->scene, was_fitted ? parted : thin);
    view->parted = !dense || view->fitted;
    return !view->parted;
}

/* Where a line stands, in 1/256 px: at a place of the axis (DRAW_PLACED), or in the middle of the visible part of an
 * event's moment. Outside of the picture: there is none. */
static int32_t mark_q8(const struct page_view *view, double mark) {
    const struct view *window = &view_scene(view)->view;
    bool placed = (small_of(view->request.flags) & DRAW_PLACED) != 0;
    if (placed)
        return view_position_q8(window, q16_of(mark));
    if (!(mark >= -1))
        return -1;
    uint32_t moment = moment_of(view, mark);
    int32_t from = view_x_q8(window, view_timeline(view), moment),
            to = view_x_q8(window, view_timeline(view), moment + 1), end = (int32_t)window->width * 256;
    to = to < end ? to : end;
    return (int32_t)(((int64_t)from + (to > from ? to : from)) / 2);
}

static struct raster_marks marks_asked(const struct page_view *view) {
    const struct record_request *request = &view->request;
    return (struct raster_marks){
        .pinned = request->pinned >= 0 ? small_of(request->pinned) : UINT32_MAX,
        .held_q8 = mark_q8(view, request->held),
        .mark_q8 = {mark_q8(view, request->mark_a), mark_q8(view, request->mark_b)},
        .range_from_q16 = q16_of(request->range_from),
        .range_to_q16 = q16_of(request->range_to),
        .outline = {.from_q16 = q16_of(request->outline_from),
                    .to_q16 = q16_of(request->outline_to),
                    .shift_q16 = q16_of(request->outline_shift)},
        .timeline = view_timeline(view),
        .shown = view_shown(view),
    };
}

/* The window that is to be drawn. False: it is none. */
static bool window_asked(const struct page_view *view, struct view *window) {
    const struct record_request *request = &view->request;
    if (!page_window_of(view, window, request->axis > 0, request->from, request->to, small_of(request->width),
                        small_of(request->height)))
        return false;
    window->bottom_bytes = bytes_of(request->bottom_bytes);
    window->top_bytes = bytes_of(request->top_bytes);
    if (window->top_bytes <= window->bottom_bytes) {
        window->bottom_bytes -= window->bottom_bytes == UINT64_MAX;
        window->top_bytes = window->bottom_bytes + 1;
    }
    return true;
}

static i32 bands_lay_out(struct page_view *view) {
    struct view window;
    if (!window_asked(view, &window))
        return PAYLOAD_BAD_VALUE;
    i32 code = scene_asked(view);
    if (code != PAYLOAD_OK)
        return code;
    if (!picture_reserve(view, (uint64_t)window.width * window.height * 4) ||
        !scene_build_changed(view->by_segments ? &view->banded : &view->scene, &window))
        return PAYLOAD_NO_MEMORY;
    view->laid = LAID_BANDS;
    return PAYLOAD_MORE;
}

/* Sums bands into areas, or finds out whether they can be told apart. */
static i32 bands_part(struct page_view *view) {
    struct raster_style style = style_asked(view);
    if (style.areas != NULL && !areas_asked(view))
        return PAYLOAD_NO_MEMORY;
    view->dense = dense_find(view, &style, small_of(view->request.flags));
    view->laid = LAID_PARTED;
    return PAYLOAD_MORE;
}

static i32 groups_lay_out(struct page_view *view) {
    if (view->dense && (small_of(view->request.flags) & DRAW_GROUPED) != 0 &&
        !scene_group_sites(&view->scene, style_asked(view).lit))
        return PAYLOAD_NO_MEMORY;
    view->laid = LAID_ALL;
    return PAYLOAD_OK;
}

i32 view_lay_out(struct page_view *view) {
    if (view->laid != LAID_ALL) { /* the bands change */
        view->named = false;
        band_names_forget(&view->names);
    }
    switch (view->laid) {
    case LAID_NOTHING: return bands_lay_out(view);
    case LAID_BANDS: return bands_part(view);
    case LAID_PARTED: return groups_lay_out(view);
    case LAID_ALL: break;
    }
    return PAYLOAD_OK;
}

place view_draw(struct page_view *view) {
    i32 code;
    while ((code = view_lay_out(view)) == PAYLOAD_MORE) {
    }
    view->laid = LAID_NOTHING;
    if (code != PAYLOAD_OK)
        return 0; /* a mark has no place in a window that is none */
    const struct scene *scene = view_scene(view);
    struct raster_style style = style_asked(view);
    struct raster_marks marks = marks_asked(view);
    if ((small_of(view->request.flags) & DRAW_MARKS) != 0)
        style.marks = &marks;
    if (!raster_draw(&view->raster, scene, &style, view->rgba))
        return 0;
    return FILL(view, drawing, (double)(place)view->rgba, view->raster.drawn, view->raster.merged,
                scene_between(&view->scene), view->dense, scene->n_groups,
                view->fitted ? (double)scene->view.bottom_bytes : 0,
                view->fitted ? (double)scene->view.top_bytes : 0);
}

/* So many bands are looked at in one step, which takes some milliseconds. */
enum { NAMES_AT_ONCE = 1 << 18 };

i32 view_band_names_step(struct page_view *view, u32 rows, u32 columns) {
    if (view->named)
        return PAYLOAD_OK;
    const struct record_request *request = &view->request;
    struct raster_style style = view_style(view, small_of(request->flags), small_of(request->color_by));
    style.category = session_categories(view->session, view_now(view));
    if (view->by_segments)
        style_of_segments(&style);
    enum names_progress progress =
        band_names_step(&view->names, view_scene(view), &style, rows < 1 ? 1 : rows,
                        columns < 1 ? 1 : columns, NAMES_AT_ONCE);
    if (progress == NAMES_GO_ON)
        return PAYLOAD_MORE;
    view->named = true;
    return progress == NAMES_FOUND ? PAYLOAD_OK : PAYLOAD_NO_MEMORY;
}

static const struct band_name *name_of_room(const struct page_view *view, u32 i) {
    return &view->names.name[i / ROOM_COUNT];
}

place view_band_rooms(struct page_view *view, u32 rows, u32 columns) {
    while (view_band_names_step(view, rows, columns) == PAYLOAD_MORE) {
    }
    uint32_t height = view_scene(view)->view.height;
    return FILL_ROWS(view, band_room, view->names.count * ROOM_COUNT, i, name_of_room(view, i)->color,
                     name_of_room(view, i)->ink, name_of_room(view, i)->room[i % ROOM_COUNT].from,
                     name_of_room(view, i)->room[i % ROOM_COUNT].to,
                     height - name_of_room(view, i)->room[i % ROOM_COUNT].top,
                     height - name_of_room(view, i)->room[i % ROOM_COUNT].bottom);
}

place view_band_text(struct page_view *view, u32 index) {
    if (index >= view->names.count)
        return 0;
    uint32_t nbytes =
        band_name_text(&view->session->trace, &view->names.name[index], view->name, sizeof view->name);
    return FILL(view, text, (double)(place)view->name, nbytes);
}

place view_pick(struct page_view *view, u32 x, u32 y) {
    struct pick pick;
    if (!scene_pick(view_scene(view), x, y, &pick))
        return FILL(view, picked, -1, -1);
    return FILL(view, picked, pick.allocation == UINT32_MAX ? -1.0 : (double)pick.allocation,
                (double)pick.moment - 1);
}

place view_outline(struct page_view *view, u32 allocation) {
    const struct band *band = scene_band(view_scene(view), allocation);
    uint32_t count = band == NULL ? 0 : (uint32_t)band->tail - band->start;
    if (count == 0 || !ARENA_GROW(&view->arena, view->below, view->below_capacity, count) ||
        !ARENA_GROW(&view->arena, view->edges, view->edges_capacity, (uint64_t)count * 2))
        return FILL(view, outline, 0, 0, 0);
    scene_below(view_scene(view), band, view->below);
    for (uint32_t i = 0; i < count; i++) {
        view->edges[2 * i] = (double)view->below[i];
        view->edges[2 * i + 1] =
            (double)(view->below[i] + scene_band_bytes(view_scene(view), band, band->start + i));
    }
    return FILL(view, outline, band->start, count, (double)(place)view->edges);
}

f64 view_x_of_event(struct page_view *view, f64 event) {
    const struct timeline *timeline = view_timeline(view);
    uint32_t moment = event >= timeline->n_moments ? timeline->n_moments
                      : event >= 0                 ? (uint32_t)event + 1
                                                   : 0;
    if (view_scene(view)->view.width == 0) /* nothing was drawn */
        return 0;
    return view_x_q8(&view_scene(view)->view, timeline, moment) / 256.0;
}

f64 view_event_of_x(struct page_view *view, f64 x) {
    uint32_t width = view_scene(view)->view.width;
    if (width == 0 || view_scene(view)->moment == NULL)
        return -1;
    uint32_t column = !(x > 0) ? 0 : x >= width ? width - 1 : (uint32_t)x;
    return (double)view_scene(view)->moment[column] - 1;
}

place view_curve(struct page_view *view, i32 axis, f64 from, f64 to, u32 width, u32 kept) {
    struct view window;
    uint32_t *moment = NULL, capacity = 0;
    if (!page_window_of(view, &window, axis == 1, from, to, width, 1) ||
        !ARENA_GROW(&view->arena, view->curve, view->curve_capacity, width) ||
        !ARENA_GROW(&view->arena, moment, capacity, width))
        return 0;
    view_moments(&window, view_timeline(view), moment);
    const uint64_t *live = (kept != 0 ? view_shown(view) : view_timeline(view))->live;
    for (uint32_t column = 0; column < width; column++)
        view->curve[column] = (double)live[moment[column]];
    ARENA_DROP(&view->arena, moment);
    return (place)view->curve;
}

/* No drawing has had areas yet, or nothing was in its window: a record without keys. */
place view_areas(struct page_view *view) {
    const struct areas *areas = &view->areas;
    uint32_t count = areas->n_keys * areas->width;
    if (!ARENA_GROW(&view->arena, view->area_bytes, view->area_bytes_capacity, count))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        view->area_bytes[i] = (double)areas->bytes[i];
    return FILL(view, areas, (double)(place)view->area_bytes, areas->n_keys, areas->width);
}
