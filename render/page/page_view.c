/* Views: the device that each one shows, and that device's figures. */
#include "analysis/findings/levels.h"
#include "base/bytes.h"
#include "render/page/page_heap.h"
#include "render/page/page_state.h"

/* ---- the handle ---- */

/* Forgets all answers about the previous device. */
static void view_forget(struct page_view *view) {
    for (uint32_t slot = 0; slot < PAGE_SLOTS; slot++) {
        arena_release(&view->sums[slot].arena);
        view->sums[slot].n_groups = 0;
    }
    for (uint32_t slot = 0; slot < PAGE_QUERIES; slot++) {
        arena_release(&view->queries[slot].arena);
        view->queries[slot] = (struct page_query){.arena = view->queries[slot].arena};
    }
    arena_release(&view->planting);
    arena_release(&view->pairing);
    arena_release(&view->holding);
    page_map_forget(&view->map);
    page_map_forget(&view->beside);
    arena_release(&view->listing);
    view->matching = (struct matching){0};
    view->n_groups = view->n_pairs = view->n_matches = view->tree.n_nodes = 0;
    view_spark_forget(view);
}

static void view_show(struct page_view *view, uint32_t index) {
    view->index = index;
    view->filtered = view->is_lit = view->is_narrow = false;
    view->keep = NULL;
    view_forget(view);
    scene_init(&view->scene, view_timeline(view), page_heap());
    view->banded = (struct scene){0};
    view->by_segments = false;
    view->laid = LAID_NOTHING;
}

place view_new(place session_place, u32 device) {
    struct page_session *session = (struct page_session *)session_place;
    struct arena_host host = page_heap();
    if (session_device_built(session, device) == NULL)
        return 0;
    struct page_view *view = host.resize(host.context, NULL, 0, sizeof *view);
    if (view == NULL)
        return 0;
    bytes_zero(view, sizeof *view);
    view->session = session;
    struct arena *const arenas[] = {&view->arena,         &view->grouping,      &view->planting,
                                    &view->pairing,       &view->holding,       &view->listing,
                                    &view->map.holding,   &view->map.laying,    &view->beside.holding,
                                    &view->beside.laying, &view->sparking.arena};
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++)
        arena_init(arenas[i], host, SIZE_MAX);
    for (uint32_t slot = 0; slot < PAGE_SLOTS; slot++)
        arena_init(&view->sums[slot].arena, host, SIZE_MAX);
    raster_init(&view->raster, host);
    areas_init(&view->areas, host);
    band_names_init(&view->names, host);
    for (uint32_t slot = 0; slot < PAGE_QUERIES; slot++)
        arena_init(&view->queries[slot].arena, host, SIZE_MAX);
    view_show(view, device);
    return (place)view;
}

void view_release(struct page_view *view) {
    struct arena_host host = page_heap();
    view_forget(view);
    scene_release(&view->scene);
    scene_release(&view->banded);
    raster_release(&view->raster);
    areas_release(&view->areas);
    band_names_release(&view->names);
    arena_release(&view->grouping);
    arena_release(&view->arena);
    host.resize(host.context, view, sizeof *view, 0);
}

i32 view_device(struct page_view *view, u32 index) {
    if (index >= view->session->trace.n_devices)
        return PAYLOAD_BAD_VALUE;
    if (session_device_built(view->session, index) == NULL)
        return PAYLOAD_NO_MEMORY;
    scene_release(&view->scene);
    scene_release(&view->banded);
    view_show(view, index);
    return PAYLOAD_OK;
}

/* ---- the device ---- */

static uint32_t pending_count(const struct allocations *allocations) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        count += allocations->request[i] < allocations->death[i];
    return count;
}

place view_facts(struct page_view *view) {
    const struct timeline *timeline = view_timeline(view);
    const struct device_trace *device = timeline->device;
    const struct phases *phases = &view_now(view)->phases;
    *(struct record_facts *)view->record = (struct record_facts){
        .events = device->n_events,
        .allocations = device->allocations.count,
        .preexisting = device->allocations.preexisting,
        .start_bytes = (double)timeline->start_bytes,
        .peak_bytes = (double)timeline->peak_bytes,
        .peak_event = (double)timeline->peak_moment - 1,
        .end_bytes = (double)timeline->end_bytes,
        .live_at_peak = timeline->live_at_peak,
        .reserved_start = (double)timeline->reserved_start,
        .reserved_peak = (double)timeline->reserved_peak,
        .reserved_end = (double)timeline->reserved_end,
        .host_most = trace_has_allocations(timeline->trace)
                         ? (double)levels_host_most(device, 0, device->n_events + 1)
                         : 0,
        .reserved_shift = (double)timeline->reserved_shift,
        .has_time = timeline_timed(timeline),
        .first_us = (double)timeline->first_us,
        .ooms = device->n_ooms,
        .streams = device->n_streams,
        .pools = device->n_pools,
        .phases = phases->count,
        .internal_phases = phases->internal_count,
        .phase_rows = phases->plain_rows,
        .all_phase_rows = phases->rows,
        .pending = pending_count(&device->allocations),
    };
    return (place)view->record;
}

place view_whole(struct page_view *view, i32 axis) {
    struct view window = {.axis = axis == 1 ? AXIS_TIME : AXIS_EVENTS};
    view_fit(&window, view_timeline(view));
    return FILL(view, span, (double)window.from_q16 / 65536, (double)window.to_q16 / 65536);
}

f64 view_event_us(struct page_view *view, f64 event) {
    const struct timeline *timeline = view_timeline(view);
    if (!timeline_timed(timeline))
        return 0;
    if (event >= timeline->device->n_events)
        return (double)timeline->end_us;
    return (double)timeline_start_us(timeline, moment_of(view, event));
}

f64 view_event_at_us(struct page_view *view, f64 us) {
    const struct timeline *timeline = view_timeline(view);
    return !timeline_timed(timeline) ? -1 : (double)timeline_moment_at(timeline, integer_of(us)) - 1;
}

f64 view_live_at(struct page_view *view, f64 event) {
    return (double)view_timeline(view)->live[moment_of(view, event)];
}

f64 view_reserved_at(struct page_view *view, f64 event) {
    return (double)timeline_reserved_at(view_timeline(view), moment_of(view, event));
}

f64 view_peak_in(struct page_view *view, f64 from, f64 to) {
    uint32_t first = moment_of(view, from), last = moment_end_of(view, to);
    return (double)timeline_peak_in(view_timeline(view), first, last > first ? last : first + 1) - 1;
}

f64 view_headroom(struct page_view *view, f64 from, f64 to, f64 capacity_bytes) {
    uint32_t first = moment_of(view, from), end = moment_end_of(view, to);
    return (double)timeline_headroom_in(view_timeline(view), first, end > first ? end : first + 1,
                                        bytes_of(capacity_bytes));
}

/* A figure of a log; -1: the log does not print it. */
static double known_or_less(uint64_t bytes) {
    return bytes == OOM_UNKNOWN ? -1 : (double)bytes;
}

place view_oom(struct page_view *view, u32 index) {
    const struct device_trace *device = view_timeline(view)->device;
    if (index >= device->n_ooms)
        return 0;
    const struct oom_event *oom = &device->ooms[index];
    return FILL(view, oom, oom->event, known_or_less(oom->size), known_or_less(oom->device_free), oom->stack);
}

place view_snapshots(struct page_view *view) {
    const struct device_trace *device = view_timeline(view)->device;
    return FILL_ROWS(view, snapshot, device->n_snapshots, i, device->snapshots[i].event,
                     (double)device->snapshots[i].size);
}

u32 view_stack_site(struct page_view *view, u32 stack) {
    return stack < view->session->trace.stacks.count ? view_timeline(view)->site[stack] : 0;
}

u32 view_site_color(struct page_view *view, u32 site, u32 dark) {
    if (site >= view->session->trace.frames.count)
        return 0;
    return raster_site_color(view_timeline(view), site, dark != 0) | (u32)view_timeline(view)->twin[site]
                                                                         << 24;
}

u32 view_frame_kind(struct page_view *view, u32 frame) {
    if (frame >= view->session->trace.frames.count)
        return FRAME_NOISE;
    return (u32)frame_kind_of_rank(view_timeline(view)->frame_rank[frame]);
}

place view_allocation(struct page_view *view, u32 id) {
    const struct allocations *allocations = view_allocations(view);
    if (id >= allocations->count)
        return 0;
    const uint8_t *category = session_categories(view->session, view_now(view));
    *(struct record_allocation *)view->record = (struct record_allocation){
        .bytes = (double)allocations->size[id],
        .birth = (double)allocations->birth[id] - 1,
        .death = (double)allocations->death[id] - 1,
        .request = (double)allocations->request[id] - 1,
        .count = allocation_stands_for(allocations, id),
        .stack = allocations->stack[id],
        .context = allocations->context[id],
        .stream = allocations->stream[id],
        .pool = allocations->pool[id],
        .address_high = (double)(allocations->address[id] >> 32),
        .address_low = (uint32_t)allocations->address[id],
        .flags = allocations->flags[id],
        .category = category == NULL ? 0 : category[id],
    };
    return (place)view->record;
}

f64 view_allocation_at(struct page_view *view, f64 event) {
    const struct allocations *allocations = view_allocations(view);
    uint32_t moment = moment_of(view, event), freed = UINT32_MAX;
    if (moment == 0)
        return -1;
    for (uint32_t i = 0; i < allocations->count && allocations->birth[i] <= moment; i++) {
        if (allocations->birth[i] == moment)
            return i;
        if (allocations->death[i] == moment || allocations->request[i] == moment)
            freed = i;
    }
    return freed == UINT32_MAX ? -1 : (double)freed;
}

/* ---- phases ---- */

place view_phase(struct page_view *view, u32 index) {
    const struct phases *phases = &view_now(view)->phases;
    if (index >= phases->count)
        return 0;
    const struct phase *phase = &phases->phase[index];
    return FILL(view, phase, phase->name, (double)phase->start_us,
                phase->end_us == INT64_MAX ? -1 : (double)phase->end_us, phase->internal);
}

place view_phase_name(struct page_view *view, u32 index, u32 nth) {
    const struct phases *phases = &view_now(view)->phases;
    if (index >= phases->count)
        return 0;
    struct text name = phase_name(trace_text(&view->session->trace, phases->phase[index].name), nth);
    return FILL(view, text, (double)(place)name.at, name.nbytes);
}

/* A phase's begin and end on the axis, in 1/65536. */
struct phase_span {
    int64_t start, end;
};

/* Finds the phases' places on the axis. Looking up a time among the moments is the dearest part of a phase's lane, so
 * the result is kept. */
static const struct phase_span *phase_spans(struct page_view *view, enum axis axis) {
    const struct phases *phases = &view_now(view)->phases;
    uint32_t wanted = (view->index + 1) * 2 + (axis == AXIS_TIME);
    if (view->spans_of == wanted)
        return view->spans;
    view->spans_of = 0;
    if (!ARENA_GROW(&view->arena, view->spans, view->spans_capacity, (uint64_t)phases->count + 1))
        return NULL;
    for (uint32_t i = 0; i < phases->count; i++)
        view->spans[i] = (struct phase_span){phase_q16(view_timeline(view), axis, phases->phase[i].start_us),
                                             phase_q16(view_timeline(view), axis, phases->phase[i].end_us)};
    view->spans_of = wanted;
    return view->spans;
}

/* A band within the last pixel of the band before it in its row is left out, because that pixel is painted already. */
place view_phase_marks(struct page_view *view, u32 internal, u32 most_rows) {
    const struct phases *phases = &view_now(view)->phases;
    const struct view *window = &view_scene(view)->view;
    double painted[PHASE_OPEN_MAX] = {0},
           scale = (double)window->width /
                   (double)(window->to_q16 - window->from_q16); /* nothing was drawn: not a number */
    const struct phase_span *spans = window->width == 0 ? NULL : phase_spans(view, window->axis);
    uint32_t count = 0;
    /* Phases are in the order of their starts, so the first one that starts after the window ends the loop. */
    for (uint32_t i = 0; spans != NULL && i < phases->count && spans[i].start < window->to_q16; i++) {
        const struct phase *phase = &phases->phase[i];
        uint32_t row = internal ? phase->depth : phase->plain_depth;
        if ((phase->internal && !internal) || row >= most_rows || row >= PHASE_OPEN_MAX)
            continue;
        int64_t start = spans[i].start, end = spans[i].end;
        double from = (double)(start - window->from_q16) * scale,
               to = (double)(end - window->from_q16) * scale;
        if (end <= window->from_q16 || to < painted[row])
            continue;
        struct record_phase_mark *mark = rows_make(&view->rows, &view->arena, count + 1, sizeof *mark);
        if (mark == NULL)
            return 0;
        mark[count++] =
            (struct record_phase_mark){i, row, from < 0 ? 0 : from, to > window->width ? window->width : to};
        painted[row] = (to > from ? to : from) + 1;
    }
    return rows_make(&view->rows, &view->arena, count, sizeof(struct record_phase_mark)) != NULL
               ? (place)view->rows.number
               : 0;
}
