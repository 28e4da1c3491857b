/* Single figures and texts, for which JavaScript asks one by one. */
#include "layout/site.h"
#include "render/page/page_state.h"

/* ---- text ---- */

EXPORT(page_string) uint32_t page_string(uint32_t id) {
    uint32_t nbytes;
    return offset_of(trace_string(&page.trace, id, &nbytes));
}

EXPORT(page_string_nbytes) uint32_t page_string_nbytes(uint32_t id) {
    uint32_t nbytes;
    (void)trace_string(&page.trace, id, &nbytes);
    return nbytes;
}

EXPORT(page_meta) uint32_t page_meta(void) {
    return page.trace.meta;
}

EXPORT(page_settings) uint32_t page_settings(void) {
    return page.trace.settings;
}

EXPORT(page_diagnostic_count) uint32_t page_diagnostic_count(void) {
    return page.trace.n_diagnostics;
}

EXPORT(page_diagnostic_code) uint32_t page_diagnostic_code(uint32_t i) {
    return page.trace.diagnostics[i].code;
}

EXPORT(page_diagnostic_message) uint32_t page_diagnostic_message(uint32_t i) {
    return page.trace.diagnostics[i].message;
}

EXPORT(page_diagnostic_device) int32_t page_diagnostic_device(uint32_t i) {
    return page.trace.diagnostics[i].device;
}

EXPORT(page_frame_file) uint32_t page_frame_file(uint32_t frame) {
    return page.trace.frames.frame[frame].file;
}

EXPORT(page_frame_name) uint32_t page_frame_name(uint32_t frame) {
    return page.trace.frames.frame[frame].name;
}

EXPORT(page_frame_line) uint32_t page_frame_line(uint32_t frame) {
    return page.trace.frames.frame[frame].line;
}

EXPORT(page_frame_kind) int32_t page_frame_kind(uint32_t frame) {
    return (int32_t)frame_kind_of_rank(timeline_now()->frame_rank[frame]);
}

EXPORT(page_frame_fx) uint32_t page_frame_fx(uint32_t frame) {
    return page.trace.frames.frame[frame].fx;
}

EXPORT(page_fx_op) uint32_t page_fx_op(uint32_t fx) {
    return page.trace.fx.fx[fx].op;
}

EXPORT(page_fx_name) uint32_t page_fx_name(uint32_t fx) {
    return page.trace.fx.fx[fx].name;
}

EXPORT(page_fx_target) uint32_t page_fx_target(uint32_t fx) {
    return page.trace.fx.fx[fx].target;
}

EXPORT(page_fx_original) uint32_t page_fx_original(uint32_t fx) {
    return page.trace.fx.fx[fx].original_trace;
}

EXPORT(page_stack_site) uint32_t page_stack_site(uint32_t stack) {
    return timeline_now()->site[stack];
}

EXPORT(page_stack_depth) uint32_t page_stack_depth(uint32_t stack) {
    uint32_t depth = 0;
    for (; stack != 0; stack = page.trace.stacks.stack[stack].parent)
        depth++;
    return depth;
}

EXPORT(page_stack_frames) uint32_t page_stack_frames(uint32_t stack) {
    uint32_t depth = page_stack_depth(stack);
    if (!ARENA_GROW(&page.arena, page.frames, page.frames_capacity, (uint64_t)depth + 1))
        return 0;
    for (uint32_t i = 0; i < depth; i++, stack = page.trace.stacks.stack[stack].parent)
        page.frames[i] = page.trace.stacks.stack[stack].frame;
    return offset_of(page.frames);
}

EXPORT(page_stack_parent) uint32_t page_stack_parent(uint32_t stack) {
    return page.trace.stacks.stack[stack].parent;
}

EXPORT(page_stack_frame) uint32_t page_stack_frame(uint32_t stack) {
    return page.trace.stacks.stack[stack].frame;
}

EXPORT(page_site_text) uint32_t page_site_text(uint32_t site) {
    uint32_t nbytes = site_text(&page.trace, site, page.site_text, sizeof page.site_text);
    if (nbytes >= sizeof page.site_text)
        for (nbytes = 0; page.site_text[nbytes] != '\0'; nbytes++) {
        }
    page.site_text_nbytes = nbytes;
    return offset_of(page.site_text);
}

EXPORT(page_site_text_nbytes) uint32_t page_site_text_nbytes(void) {
    return page.site_text_nbytes;
}

EXPORT(page_site_color) uint32_t page_site_color(uint32_t site, int32_t dark) {
    return raster_site_color(&page.trace, site, dark != 0);
}

EXPORT(page_context_compile) uint32_t page_context_compile(uint32_t context) {
    return page.trace.contexts.context[context].compile_context;
}

EXPORT(page_context_metadata) uint32_t page_context_metadata(uint32_t context) {
    return page.trace.contexts.context[context].user_metadata;
}

EXPORT(page_context_category) uint32_t page_context_category(uint32_t context) {
    return page.trace.contexts.context[context].category;
}

EXPORT(page_context_forward) uint32_t page_context_forward(uint32_t context) {
    return page.trace.contexts.context[context].forward_frames;
}

/* ---- devices ---- */

EXPORT(page_device_count) uint32_t page_device_count(void) {
    return page.trace.n_devices;
}

EXPORT(page_device_ordinal) int32_t page_device_ordinal(uint32_t index) {
    return page.trace.devices[index].ordinal;
}

EXPORT(page_device_name) uint32_t page_device_name(uint32_t index) {
    return page.trace.devices[index].name;
}

EXPORT(page_device_capacity) double page_device_capacity(uint32_t index) {
    return (double)page.trace.devices[index].capacity_bytes;
}

EXPORT(page_kind) uint32_t page_kind(void) {
    return (uint32_t)page.trace.kind;
}

EXPORT(page_rank) int32_t page_rank(void) {
    return page.trace.rank;
}

EXPORT(page_device_events) uint32_t page_device_events(uint32_t index) {
    return page.trace.devices[index].n_events;
}

EXPORT(page_device_lives) uint32_t page_device_lives(uint32_t index) {
    return page.trace.devices[index].lives.count;
}

/* ---- the current device ---- */

EXPORT(page_events) uint32_t page_events(void) {
    return timeline_now()->device->n_events;
}

EXPORT(page_lives) uint32_t page_lives(void) {
    return lives_now()->count;
}

EXPORT(page_preexisting) uint32_t page_preexisting(void) {
    return lives_now()->preexisting;
}

EXPORT(page_start_bytes) double page_start_bytes(void) {
    return (double)timeline_now()->start_bytes;
}

EXPORT(page_peak_bytes) double page_peak_bytes(void) {
    return (double)timeline_now()->peak_bytes;
}

EXPORT(page_peak_event) double page_peak_event(void) {
    return (double)timeline_now()->peak_moment - 1;
}

EXPORT(page_end_bytes) double page_end_bytes(void) {
    return (double)timeline_now()->end_bytes;
}

EXPORT(page_live_at_peak) uint32_t page_live_at_peak(void) {
    return timeline_now()->live_at_peak;
}

EXPORT(page_reserved_start) double page_reserved_start(void) {
    return (double)timeline_now()->reserved_start;
}

EXPORT(page_reserved_peak) double page_reserved_peak(void) {
    return (double)timeline_now()->reserved_peak;
}

EXPORT(page_reserved_end) double page_reserved_end(void) {
    return (double)timeline_now()->reserved_end;
}

EXPORT(page_reserved_shift) double page_reserved_shift(void) {
    return (double)timeline_now()->reserved_shift;
}

EXPORT(page_has_time) int32_t page_has_time(void) {
    return timeline_now()->start_us != NULL;
}

EXPORT(page_first_us) double page_first_us(void) {
    return (double)timeline_now()->first_us;
}

EXPORT(page_fit_from) double page_fit_from(int32_t axis) {
    struct view view = {.axis = axis == 1 ? AXIS_TIME : AXIS_EVENTS};
    view_fit(&view, timeline_now());
    return (double)view.from_q16 / 65536;
}

EXPORT(page_fit_to) double page_fit_to(int32_t axis) {
    struct view view = {.axis = axis == 1 ? AXIS_TIME : AXIS_EVENTS};
    view_fit(&view, timeline_now());
    return (double)view.to_q16 / 65536;
}

EXPORT(page_event_us) double page_event_us(double event) {
    const struct timeline *timeline = timeline_now();
    if (timeline->start_us == NULL)
        return 0;
    if (event >= timeline->device->n_events)
        return (double)timeline->end_us;
    return (double)timeline->start_us[moment_of(event)];
}

EXPORT(page_live_at) double page_live_at(double event) {
    return (double)timeline_now()->live[moment_of(event)];
}

EXPORT(page_reserved_at) double page_reserved_at(double event) {
    return (double)timeline_reserved_at(timeline_now(), moment_of(event));
}

EXPORT(page_event_at_us) double page_event_at_us(double us) {
    const struct timeline *timeline = timeline_now();
    return timeline->start_us == NULL ? -1 : (double)timeline_moment_at(timeline, (int64_t)us) - 1;
}

EXPORT(page_peak_in) double page_peak_in(double from, double to) {
    uint32_t first = moment_of(from), last = moment_end_of(to);
    return (double)timeline_peak_in(timeline_now(), first, last > first ? last : first + 1) - 1;
}

EXPORT(page_oom_count) uint32_t page_oom_count(void) {
    return timeline_now()->device->n_ooms;
}

EXPORT(page_oom_event) double page_oom_event(uint32_t i) {
    return timeline_now()->device->ooms[i].event;
}

EXPORT(page_oom_size) double page_oom_size(uint32_t i) {
    return (double)timeline_now()->device->ooms[i].size;
}

EXPORT(page_oom_free) double page_oom_free(uint32_t i) {
    return (double)timeline_now()->device->ooms[i].device_free;
}

EXPORT(page_snapshot_count) uint32_t page_snapshot_count(void) {
    return timeline_now()->device->n_snapshots;
}

EXPORT(page_snapshot_event) double page_snapshot_event(uint32_t i) {
    return timeline_now()->device->snapshots[i].event;
}

EXPORT(page_snapshot_bytes) double page_snapshot_bytes(uint32_t i) {
    return (double)timeline_now()->device->snapshots[i].size;
}

EXPORT(page_stream_count) uint32_t page_stream_count(void) {
    return timeline_now()->device->n_streams;
}

EXPORT(page_stream_high) uint32_t page_stream_high(uint32_t stream) {
    return (uint32_t)(timeline_now()->device->streams[stream] >> 32);
}

EXPORT(page_stream_low) uint32_t page_stream_low(uint32_t stream) {
    return (uint32_t)timeline_now()->device->streams[stream];
}

EXPORT(page_pool_count) uint32_t page_pool_count(void) {
    return timeline_now()->device->n_pools;
}

EXPORT(page_pool_first) double page_pool_first(uint32_t pool) {
    return (double)timeline_now()->device->pools[pool].first;
}

EXPORT(page_pool_second) double page_pool_second(uint32_t pool) {
    return (double)timeline_now()->device->pools[pool].second;
}

/* ---- phases ---- */

EXPORT(page_phase_count) uint32_t page_phase_count(int32_t internal) {
    const struct phases *phases = &page.phases[page.current];
    return internal ? phases->internal_count : phases->count - phases->internal_count;
}

EXPORT(page_phase_rows) uint32_t page_phase_rows(int32_t internal) {
    const struct phases *phases = &page.phases[page.current];
    return internal ? phases->rows : phases->plain_rows;
}

EXPORT(page_phase_name) uint32_t page_phase_name(uint32_t phase) {
    return page.phases[page.current].phase[phase].name;
}

EXPORT(page_phase_start_us) double page_phase_start_us(uint32_t phase) {
    return (double)page.phases[page.current].phase[phase].start_us;
}

EXPORT(page_phase_end_us) double page_phase_end_us(uint32_t phase) {
    int64_t end_us = page.phases[page.current].phase[phase].end_us;
    return end_us == INT64_MAX ? -1 : (double)end_us;
}

EXPORT(page_phase_internal) int32_t page_phase_internal(uint32_t phase) {
    return page.phases[page.current].phase[phase].internal;
}

/* What JavaScript reads for one band of the lane. */
struct phase_mark {
    double phase, row, from, to; /* pixels, fractions */
};

/* Where a phase lies along the axis, in 1/65536. */
struct phase_span {
    int64_t start, end;
};

/* Finding a time among the moments costs more than all else a lane does for a phase, and it stays where it is. */
static const struct phase_span *phase_spans_now(enum axis axis) {
    const struct phases *phases = &page.phases[page.current];
    uint32_t wanted = (page.current + 1) * 2 + (axis == AXIS_TIME);
    if (page.spans_of == wanted)
        return page.spans;
    page.spans_of = 0;
    if (!ARENA_GROW(&page.arena, page.spans, page.spans_capacity, (uint64_t)phases->count + 1))
        return NULL;
    for (uint32_t i = 0; i < phases->count; i++)
        page.spans[i] = (struct phase_span){phase_q16(timeline_now(), axis, phases->phase[i].start_us),
                                            phase_q16(timeline_now(), axis, phases->phase[i].end_us)};
    page.spans_of = wanted;
    return page.spans;
}

/* Bands that would lie within the last pixel of their row's band before are left out: it is painted already. */
EXPORT(page_phase_marks) uint32_t page_phase_marks(int32_t internal, uint32_t most_rows) {
    const struct phases *phases = &page.phases[page.current];
    const struct view *view = &page.scene.view;
    double painted[PHASE_OPEN_MAX] = {0},
           scale = (double)view->width / (double)(view->to_q16 - view->from_q16);
    const struct phase_span *spans = phase_spans_now(view->axis);
    uint32_t count = 0;
    /* They start in order: from the first one behind the window on, none is seen. */
    for (uint32_t i = 0; spans != NULL && i < phases->count && spans[i].start < view->to_q16; i++) {
        const struct phase *phase = &phases->phase[i];
        uint32_t row = internal ? phase->depth : phase->plain_depth;
        if ((phase->internal && !internal) || row >= most_rows || row >= PHASE_OPEN_MAX)
            continue;
        int64_t start = spans[i].start, end = spans[i].end;
        double from = (double)(start - view->from_q16) * scale, to = (double)(end - view->from_q16) * scale;
        if (end <= view->from_q16 || to < painted[row])
            continue;
        if (!ARENA_GROW(&page.arena, page.marks, page.marks_capacity, (uint64_t)count + 1))
            return 0;
        page.marks[count++] =
            (struct phase_mark){i, row, from < 0 ? 0 : from, to > view->width ? view->width : to};
        painted[row] = (to > from ? to : from) + 1;
    }
    return count;
}

EXPORT(page_phase_mark_rows) uint32_t page_phase_mark_rows(void) {
    return offset_of(page.marks);
}

/* ---- one allocation ---- */

EXPORT(page_life_bytes) double page_life_bytes(uint32_t life) {
    return (double)lives_now()->size[life];
}

EXPORT(page_life_allocations) uint32_t page_life_allocations(uint32_t life) {
    return life_allocations(lives_now(), life);
}

EXPORT(page_life_birth) double page_life_birth(uint32_t life) {
    return (double)lives_now()->birth[life] - 1;
}

EXPORT(page_life_death) double page_life_death(uint32_t life) {
    return (double)lives_now()->death[life] - 1;
}

EXPORT(page_life_request) double page_life_request(uint32_t life) {
    return (double)lives_now()->request[life] - 1;
}

EXPORT(page_life_stack) uint32_t page_life_stack(uint32_t life) {
    return lives_now()->stack[life];
}

EXPORT(page_life_context) uint32_t page_life_context(uint32_t life) {
    return lives_now()->context[life];
}

EXPORT(page_life_stream) uint32_t page_life_stream(uint32_t life) {
    return lives_now()->stream[life];
}

EXPORT(page_life_pool_first) double page_life_pool_first(uint32_t life) {
    uint16_t pool = lives_now()->pool[life];
    return pool == POOL_UNKNOWN ? -1 : (double)timeline_now()->device->pools[pool].first;
}

EXPORT(page_life_pool_second) double page_life_pool_second(uint32_t life) {
    uint16_t pool = lives_now()->pool[life];
    return pool == POOL_UNKNOWN ? -1 : (double)timeline_now()->device->pools[pool].second;
}

EXPORT(page_life_address_high) uint32_t page_life_address_high(uint32_t life) {
    return (uint32_t)(lives_now()->address[life] >> 32);
}

EXPORT(page_life_address_low) uint32_t page_life_address_low(uint32_t life) {
    return (uint32_t)lives_now()->address[life];
}

EXPORT(page_life_flags) uint32_t page_life_flags(uint32_t life) {
    return lives_now()->flags[life];
}

/* ---- axes ---- */

static uint32_t ticks_export(const struct ticks *ticks) {
    for (uint32_t i = 0; i < ticks->count; i++)
        page.ticks[i] = (double)ticks->at[i];
    return ticks->count;
}

static int64_t integer_of(double value) {
    return value >= 9e18 ? INT64_MAX : value <= -9e18 ? INT64_MIN : (int64_t)value;
}

EXPORT(page_ticks_decimal) uint32_t page_ticks_decimal(double low, double high, uint32_t most) {
    struct ticks ticks = ticks_decimal(integer_of(low), integer_of(high), most);
    return ticks_export(&ticks);
}

EXPORT(page_ticks_bytes) uint32_t page_ticks_bytes(double low, double high, uint32_t most) {
    struct ticks ticks = ticks_bytes(bytes_of(low), bytes_of(high), most);
    return ticks_export(&ticks);
}

EXPORT(page_ticks) uint32_t page_ticks(void) {
    return offset_of(page.ticks);
}
