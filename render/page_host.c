#include "render/page_host.h"

#include "layout/groups.h"
#include "layout/phases.h"
#include "layout/scene.h"
#include "layout/site.h"
#include "layout/ticks.h"
#include "render/raster.h"
#include "trace/bytes.h"
#include "trace/payload.h"

/*
 * The module's memory: what the compiler laid out, then one heap. Blocks are powers of two (in steps of a
 * quarter) from free lists, so that a freed block is found again without a search. Linear memory can only grow, so
 * large blocks are cut from larger ones that are free, and the last one grows where it lies.
 */

enum { PAGE_NBYTES = 65536, SIZE_CLASSES = 128, BLOCK_HEADER = 16, CUT_LEAST = 4096 };

extern uint8_t __heap_base;

struct heap_block {
    struct heap_block *next;
    uint32_t size_class;
    uint64_t unused_for_alignment;
};
_Static_assert(sizeof(struct heap_block) == BLOCK_HEADER, "blocks stay aligned to 16 bytes");

static struct {
    uintptr_t top;
    struct heap_block *free[SIZE_CLASSES];
} heap;

/* Four sizes per power of two: 64, 80, 96, 112, 128, ... */
static uint32_t size_class_of(uint64_t nbytes) {
    if (nbytes < 64)
        nbytes = 64;
    uint32_t exponent = 63u - (uint32_t)__builtin_clzll(nbytes - 1 < 64 ? 64 : nbytes - 1);
    uint64_t quarter = UINT64_C(1) << (exponent - 2);
    uint64_t steps = (nbytes + quarter - 1) / quarter; /* 4 .. 8 */
    return (exponent - 6) * 4 + (uint32_t)(steps - 4);
}

static uint64_t size_of_class(uint32_t size_class) {
    return (UINT64_C(16) << (size_class / 4)) * (4 + size_class % 4);
}

static struct heap_block *heap_extend(uint64_t nbytes) {
    if (heap.top == 0)
        heap.top = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
    uint64_t end = (uint64_t)heap.top + nbytes, have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE_NBYTES;
    if (end > UINT32_MAX)
        return NULL;
    if (end > have &&
        __builtin_wasm_memory_grow(0, (size_t)((end - have + PAGE_NBYTES - 1) / PAGE_NBYTES)) == SIZE_MAX)
        return NULL;
    struct heap_block *block = (struct heap_block *)heap.top;
    heap.top = (uintptr_t)end;
    return block;
}

static void heap_give(void *ptr) {
    struct heap_block *block = (struct heap_block *)ptr - 1;
    block->next = heap.free[block->size_class];
    heap.free[block->size_class] = block;
}

/* The largest class of at most `nbytes`, which are 64 or more. */
static uint32_t size_class_within(uint64_t nbytes) {
    uint32_t size_class = size_class_of(nbytes);
    return size_of_class(size_class) > nbytes ? size_class - 1 : size_class;
}

/* Cuts a block of a class from a larger one that is free: what the payload leaves behind is large and few. */
static struct heap_block *heap_cut(uint32_t size_class) {
    uint32_t from = size_class + 1;
    while (from < SIZE_CLASSES && heap.free[from] == NULL)
        from++;
    if (from == SIZE_CLASSES)
        return NULL;
    struct heap_block *block = heap.free[from];
    heap.free[from] = block->next;
    uint64_t nbytes = size_of_class(size_class), rest = size_of_class(from) - nbytes;
    if (rest < CUT_LEAST) {
        block->size_class = from;
        return block;
    }
    struct heap_block *other = (struct heap_block *)((uintptr_t)block + (uintptr_t)nbytes);
    other->size_class = size_class_within(rest);
    heap_give(other + 1);
    block->size_class = size_class;
    return block;
}

static void *heap_take(size_t nbytes) {
    uint32_t size_class = size_class_of((uint64_t)nbytes + BLOCK_HEADER);
    struct heap_block *block = heap.free[size_class];
    if (block != NULL) {
        heap.free[size_class] = block->next;
        return block + 1;
    }
    if (size_of_class(size_class) >= CUT_LEAST && (block = heap_cut(size_class)) != NULL)
        return block + 1;
    block = heap_extend(size_of_class(size_class));
    if (block == NULL)
        return NULL;
    block->size_class = size_class;
    return block + 1;
}

/* What lies last grows where it is. False: it does not lie last, or there is no more memory. */
static bool heap_stretch(struct heap_block *block, uint64_t nbytes) {
    uint64_t have = size_of_class(block->size_class), want = size_of_class(size_class_of(nbytes));
    if ((uintptr_t)block + (uintptr_t)have != heap.top || want < have || heap_extend(want - have) == NULL)
        return false;
    block->size_class = size_class_of(nbytes);
    return true;
}

static void *heap_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    (void)context;
    if (ptr == NULL)
        return heap_take(new_nbytes);
    if (new_nbytes == 0) {
        heap_give(ptr);
        return NULL;
    }
    struct heap_block *block = (struct heap_block *)ptr - 1;
    uint64_t nbytes = (uint64_t)new_nbytes + BLOCK_HEADER;
    if (size_class_of(nbytes) == block->size_class || heap_stretch(block, nbytes))
        return ptr;
    void *moved = heap_take(new_nbytes);
    if (moved == NULL)
        return NULL;
    bytes_copy(moved, ptr, old_nbytes < new_nbytes ? old_nbytes : new_nbytes);
    heap_give(ptr);
    return moved;
}

static const struct arena_host host = {.resize = heap_resize, .context = NULL};

/* ---- the state ---- */

static struct {
    struct arena loading; /* the payload while it is read */
    uint8_t *bytes;
    uint32_t nbytes;
    struct payload payload;
    struct trace trace;
    struct arena arena; /* timelines */
    struct timeline *timelines;
    uint8_t *built; /* [n_devices] */
    uint32_t current;
    bool scene_ready;
    struct scene scene;
    struct raster raster;
    struct pick picked;
    struct arena grouping;
    struct group *groups;
    uint32_t n_groups;
    uint8_t *rgba, *mask, *context_mask; /* the masks: what matches a search, or is highlighted */
    uint64_t *keep;                      /* bitmap of the lives that the filter leaves */
    uint32_t keep_capacity, some_capacity;
    bool filtered;
    uint32_t *some;        /* ids of lives, while they are being grouped */
    struct phases *phases; /* [n_devices], valid where built */
    struct phase_mark *marks;
    struct phase_span *spans; /* of the phases of device `spans_of` / 2 - 1, along axis `spans_of` % 2 */
    uint32_t marks_capacity, spans_capacity, spans_of;
    uint8_t *category; /* of the lives of device `category_of` - 1 */
    uint32_t category_of, category_capacity;
    uint32_t rgba_capacity, frames_capacity, curve_capacity;
    uint32_t *frames;
    double *curve;
    double ticks[TICKS_MAX];
    char site_text[1024];
    uint32_t site_text_nbytes;
    uint64_t *below; /* of the outline, then `edges` in pairs */
    double *edges;
    uint32_t below_capacity, edges_capacity, outline_first;
} page;

#define EXPORT(name) __attribute__((export_name(#name)))

static struct timeline *timeline_now(void) {
    return &page.timelines[page.current];
}

static const struct lives *lives_now(void) {
    return &timeline_now()->device->lives;
}

static uint32_t offset_of(const void *ptr) {
    return (uint32_t)(uintptr_t)ptr;
}

/* ---- loading ---- */

EXPORT(page_reserve) uint32_t page_reserve(uint32_t nbytes) {
    arena_init(&page.loading, host, SIZE_MAX);
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
    arena_init(&page.arena, host, SIZE_MAX);
    arena_init(&page.grouping, host, SIZE_MAX);
    page.timelines = arena_alloc(&page.arena, ((size_t)trace->n_devices + 1) * sizeof *page.timelines);
    page.built = arena_alloc(&page.arena, (size_t)trace->n_devices + 1);
    page.phases = arena_alloc(&page.arena, ((size_t)trace->n_devices + 1) * sizeof *page.phases);
    page.mask = arena_alloc(&page.arena, trace->stacks.count);
    page.context_mask = arena_alloc(&page.arena, trace->contexts.count);
    raster_init(&page.raster, host);
    return page.timelines != NULL && page.built != NULL && page.phases != NULL && page.mask != NULL &&
           page.context_mask != NULL;
}

EXPORT(page_unpack) int32_t page_unpack(void) {
    if (!trace_init(&page.trace, host, SIZE_MAX))
        return PAYLOAD_NO_MEMORY;
    int32_t error = payload_unpack(&page.payload, &page.trace);
    arena_release(&page.loading);
    if (error != PAYLOAD_OK)
        return error;
    return page_ready() ? PAYLOAD_OK : PAYLOAD_NO_MEMORY;
}

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
    return (int32_t)frame_kind_of(&page.trace, frame);
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
    if (!arena_grow(&page.arena, (void **)&page.frames, &page.frames_capacity, (uint64_t)depth + 1,
                    sizeof(uint32_t)))
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
    scene_init(&page.scene, &page.timelines[index], host);
    page.scene_ready = true;
    page.filtered = false;
    return PAYLOAD_OK;
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

/* The moment after an event; events outside of the recording mean its ends. */
static uint32_t moment_of(double event) {
    if (!(event >= 0))
        return 0;
    uint32_t last = timeline_now()->n_moments - 1;
    return event >= last ? last : (uint32_t)event + 1;
}

/* One past the moments of the events before `event`. */
static uint32_t moment_end_of(double event) {
    return event >= timeline_now()->device->n_events ? timeline_now()->n_moments : moment_of(event);
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
    if (!arena_grow(&page.arena, (void **)&page.spans, &page.spans_capacity, (uint64_t)phases->count + 1,
                    sizeof *page.spans))
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
        if (!arena_grow(&page.arena, (void **)&page.marks, &page.marks_capacity, (uint64_t)count + 1,
                        sizeof *page.marks))
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

static uint64_t bytes_of(double bytes) {
    return !(bytes > 0) ? 0 : bytes >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)bytes;
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

/* Inferred when they are first asked for. NULL: no memory, and only what events say is known. */
static const uint8_t *categories_now(void) {
    const struct timeline *timeline = timeline_now();
    if (page.category_of == page.current + 1)
        return page.category;
    page.category_of = 0;
    if (!arena_grow(&page.arena, (void **)&page.category, &page.category_capacity,
                    (uint64_t)timeline->device->lives.count + 1, 1) ||
        !categories_find(timeline, page.category, &page.arena))
        return NULL;
    page.category_of = page.current + 1;
    return page.category;
}

/* Every drawing writes all of it: what was there need not move along, and a larger window takes no more than it needs. */
static bool picture_reserve(uint64_t nbytes) {
    if (nbytes > page.rgba_capacity) {
        arena_drop(&page.arena, (void **)&page.rgba);
        page.rgba_capacity = 0;
    }
    return arena_grow(&page.arena, (void **)&page.rgba, &page.rgba_capacity, nbytes, 1);
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
    if (count == 0 ||
        !arena_grow(&page.arena, (void **)&page.below, &page.below_capacity, count, sizeof *page.below) ||
        !arena_grow(&page.arena, (void **)&page.edges, &page.edges_capacity, (uint64_t)count * 2,
                    sizeof *page.edges))
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

static bool life_is_kept(uint32_t life) {
    return !page.filtered || (page.keep[life / 64] >> life % 64 & 1) != 0;
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
        !arena_grow(arena, (void **)&page.curve, &page.curve_capacity, width, sizeof *page.curve))
        return 0;
    uint32_t *moment = NULL, capacity = 0;
    if (!arena_grow(arena, (void **)&moment, &capacity, width, sizeof *moment))
        return 0;
    view_moments(&view, timeline_now(), moment);
    if (kept != 0 && page.filtered)
        curve_of_kept(moment, page.curve, width);
    else
        for (uint32_t column = 0; column < width; column++)
            page.curve[column] = (double)timeline_now()->live[moment[column]];
    arena_drop(arena, (void **)&moment);
    return offset_of(page.curve);
}

/* ---- groups and search ---- */

static bool some_reserve(uint32_t count) {
    return arena_grow(&page.arena, (void **)&page.some, &page.some_capacity, (uint64_t)count + 1,
                      sizeof *page.some);
}

static uint32_t some_group(uint32_t count, uint32_t by) {
    uint32_t kept = 0;
    arena_release(&page.grouping);
    page.n_groups = 0;
    for (uint32_t i = 0; i < count; i++)
        if (life_is_kept(page.some[i]))
            page.some[kept++] = page.some[i];
    if (!groups_of(timeline_now(), page.some, kept, by == 1 ? GROUP_BY_STACK : GROUP_BY_SITE, &page.grouping,
                   &page.groups, &page.n_groups))
        return 0;
    return page.n_groups;
}

EXPORT(page_groups) uint32_t page_groups(double event, uint32_t by) {
    uint32_t moment = moment_of(event), count = timeline_alive_at(timeline_now(), moment, NULL, 0);
    page.n_groups = 0;
    if (!some_reserve(count))
        return 0;
    timeline_alive_at(timeline_now(), moment, page.some, count);
    return some_group(count, by);
}

EXPORT(page_range_groups) uint32_t page_range_groups(double from, double to, uint32_t what, uint32_t by) {
    const struct lives *lives = lives_now();
    uint32_t first = moment_of(from), end = moment_end_of(to), count = 0;
    const uint32_t *at = what == 1 ? lives->death : lives->birth;
    page.n_groups = 0;
    if (!some_reserve(lives->count))
        return 0;
    /* Moment 0 is the state before the first event: nothing is born there. */
    for (uint32_t i = 0; i < lives->count; i++)
        if (at[i] >= first && at[i] < end && at[i] != 0)
            page.some[count++] = i;
    return some_group(count, by);
}

/* ---- the filter ---- */

static bool number_within(double number, double least, double most) {
    return number >= least && number <= most;
}

/* Microseconds of a life; what outlasts the recording ends with it. */
static double life_us(const struct timeline *timeline, uint32_t life) {
    const struct lives *lives = &timeline->device->lives;
    int64_t end =
        lives->death[life] < timeline->n_moments ? timeline->start_us[lives->death[life]] : timeline->end_us;
    return (double)(end - timeline->start_us[lives->birth[life]]);
}

EXPORT(page_filter)
int32_t page_filter(double least_bytes, double most_bytes, double least_age, double most_age,
                    int32_t age_in_us, int32_t stream, int32_t pool, int32_t at_peak, int32_t at_end,
                    int32_t own) {
    const struct timeline *timeline = timeline_now();
    const struct lives *lives = lives_now();
    uint32_t n_words = lives->count / 64 + 1;
    page.filtered = false;
    page.scene.keep = NULL;
    if (!arena_grow(&page.arena, (void **)&page.keep, &page.keep_capacity, n_words, sizeof *page.keep))
        return PAYLOAD_NO_MEMORY;
    bytes_zero(page.keep, (size_t)n_words * sizeof *page.keep);
    bool in_us = age_in_us != 0 && timeline->start_us != NULL;
    for (uint32_t i = 0; i < lives->count; i++) {
        double age = in_us ? life_us(timeline, i) : (double)(lives->death[i] - lives->birth[i]);
        if (number_within((double)lives->size[i], least_bytes, most_bytes) &&
            number_within(age, least_age, most_age) && (stream < 0 || lives->stream[i] == stream) &&
            (pool < 0 || lives->pool[i] == pool) &&
            (!at_peak ||
             (lives->birth[i] <= timeline->peak_moment && timeline->peak_moment < lives->death[i])) &&
            (!at_end || lives->death[i] >= timeline->n_moments) &&
            (own == 0 || timeline_frame_is_user(timeline, timeline->site[lives->stack[i]])))
            page.keep[i / 64] |= UINT64_C(1) << i % 64;
    }
    page.filtered = true;
    page.scene.keep = page.keep;
    return PAYLOAD_OK;
}

EXPORT(page_filter_off) void page_filter_off(void) {
    page.filtered = false;
    page.scene.keep = NULL;
}

EXPORT(page_kept) double page_kept(void) {
    uint32_t count = 0, n_lives = lives_now()->count;
    if (!page.filtered)
        return n_lives;
    for (uint32_t i = 0; i < n_lives; i++)
        count += life_is_kept(i);
    return count;
}

EXPORT(page_kept_peak_bytes) double page_kept_peak_bytes(void) {
    const struct lives *lives = lives_now();
    uint32_t peak = timeline_now()->peak_moment;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        if (lives->birth[i] <= peak && peak < lives->death[i] && life_is_kept(i))
            bytes += lives->size[i];
    return (double)bytes;
}

enum { KEPT_BLOCKS_MOST = 1 << 18 };

/* Blocks of moments bound the memory. A block's bound is what it begins with and all that is born in it: exact where it is one moment. */
static double highest_kept(double *born, double *died, uint32_t n_blocks, unsigned shift) {
    const struct lives *lives = lives_now();
    double live = 0, highest = 0;
    for (uint32_t block = 0; block < n_blocks; block++)
        born[block] = died[block] = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (!life_is_kept(i))
            continue;
        born[lives->birth[i] >> shift] += (double)lives->size[i];
        if (lives->death[i] >> shift < n_blocks)
            died[lives->death[i] >> shift] += (double)lives->size[i];
    }
    for (uint32_t block = 0; block < n_blocks; block++) {
        if (live + born[block] > highest)
            highest = live + born[block];
        live += born[block] - died[block];
    }
    return highest;
}

EXPORT(page_kept_highest) double page_kept_highest(void) {
    uint32_t n_moments = timeline_now()->n_moments, capacity[2] = {0};
    double *born = NULL, *died = NULL, highest = (double)timeline_now()->live[timeline_now()->peak_moment];
    unsigned shift = 0;
    while (n_moments >> shift >= KEPT_BLOCKS_MOST)
        shift++;
    uint32_t n_blocks = (n_moments >> shift) + 1;
    if (arena_grow(&page.arena, (void **)&born, &capacity[0], n_blocks, sizeof *born) &&
        arena_grow(&page.arena, (void **)&died, &capacity[1], n_blocks, sizeof *died))
        highest = highest_kept(born, died, n_blocks, shift);
    arena_drop(&page.arena, (void **)&died);
    arena_drop(&page.arena, (void **)&born);
    return highest;
}

/* ---- legends ---- */

EXPORT(page_key_color) uint32_t page_key_color(uint32_t by, uint32_t key, int32_t dark) {
    return by == COLOR_BY_SITE || by > COLOR_BY_CATEGORY
               ? 0
               : raster_key_color((enum color_by)by, key, dark != 0);
}

EXPORT(page_key_from) double page_key_from(uint32_t by, uint32_t key) {
    uint64_t from, to;
    raster_key_range((enum color_by)by, key, &from, &to);
    return (double)from;
}

EXPORT(page_category_name) uint32_t page_category_name(uint32_t category) {
    return category < CATEGORY_COUNT ? offset_of(category_name((enum category)category)) : 0;
}

EXPORT(page_pending_count) uint32_t page_pending_count(void) {
    const struct lives *lives = lives_now();
    uint32_t count = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        count += lives->request[i] < lives->death[i];
    return count;
}

/* Bytes alive after an event with a key; what the filter hides is not counted. */
EXPORT(page_key_bytes) double page_key_bytes(uint32_t by, uint32_t key, double event) {
    const struct lives *lives = lives_now();
    struct raster_style style = {.color_by = (enum color_by)by};
    if (style.color_by == COLOR_BY_CATEGORY)
        style.category = categories_now();
    uint32_t moment = moment_of(event);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count && lives->birth[i] <= moment; i++)
        if (moment < lives->death[i] && life_is_kept(i) && raster_key(timeline_now(), &style, i) == key)
            bytes += lives->size[i];
    return (double)bytes;
}

EXPORT(page_life_category) uint32_t page_life_category(uint32_t life) {
    const uint8_t *category = categories_now();
    return category == NULL ? 0 : category[life];
}

/* ---- groups, by index ---- */

EXPORT(page_group_bytes) double page_group_bytes(uint32_t i) {
    return (double)page.groups[i].bytes;
}

EXPORT(page_group_count) uint32_t page_group_count(uint32_t i) {
    return page.groups[i].count;
}

EXPORT(page_group_site) uint32_t page_group_site(uint32_t i) {
    return page.groups[i].site;
}

EXPORT(page_group_stack) uint32_t page_group_stack(uint32_t i) {
    return page.groups[i].stack;
}

EXPORT(page_stack_count) uint32_t page_stack_count(void) {
    return page.trace.stacks.count;
}

EXPORT(page_frame_count) uint32_t page_frame_count(void) {
    return page.trace.frames.count;
}

EXPORT(page_string_count) uint32_t page_string_count(void) {
    return page.trace.strings.count;
}

EXPORT(page_mask) uint32_t page_mask(void) {
    return offset_of(page.mask);
}

EXPORT(page_context_count) uint32_t page_context_count(void) {
    return page.trace.contexts.count;
}

EXPORT(page_context_mask) uint32_t page_context_mask(void) {
    return offset_of(page.context_mask);
}

static bool life_matches(uint32_t life) {
    const struct lives *lives = lives_now();
    return (page.mask[lives->stack[life]] | page.context_mask[lives->context[life]]) != 0 &&
           life_is_kept(life);
}

EXPORT(page_next_match) double page_next_match(double life, int32_t step) {
    double count = lives_now()->count;
    for (double tried = 0, at = life; tried < count; tried++) {
        at += step;
        at = at < 0 ? count - 1 : at >= count ? 0 : at;
        if (life_matches((uint32_t)at))
            return at;
    }
    return -1;
}

EXPORT(page_mask_lives) double page_mask_lives(void) {
    const struct lives *lives = lives_now();
    uint32_t count = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        count += life_matches(i);
    return count;
}

EXPORT(page_mask_peak_bytes) double page_mask_peak_bytes(void) {
    const struct lives *lives = lives_now();
    uint32_t peak = timeline_now()->peak_moment;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        if (lives->birth[i] <= peak && peak < lives->death[i] && life_matches(i))
            bytes += lives->size[i];
    return (double)bytes;
}

EXPORT(page_site_lives) double page_site_lives(uint32_t site) {
    const struct lives *lives = lives_now();
    const uint32_t *site_of = timeline_now()->site;
    uint32_t count = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        count += site_of[lives->stack[i]] == site;
    return count;
}

EXPORT(page_site_bytes_at) double page_site_bytes_at(uint32_t site, double event) {
    const struct lives *lives = lives_now();
    const uint32_t *site_of = timeline_now()->site;
    uint32_t moment = moment_of(event);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count && lives->birth[i] <= moment; i++)
        if (moment < lives->death[i] && site_of[lives->stack[i]] == site)
            bytes += lives->size[i];
    return (double)bytes;
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

/* ---- what the compiler may call ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t nbytes);
void *memmove(void *to, const void *from, size_t nbytes);
void *memset(void *to, int value, size_t nbytes);
int memcmp(const void *a, const void *b, size_t nbytes);

void *memcpy(void *restrict to, const void *restrict from, size_t nbytes) {
    return __builtin_memcpy(to, from, nbytes); /* memory.copy: -mbulk-memory */
}

void *memmove(void *to, const void *from, size_t nbytes) {
    return __builtin_memmove(to, from, nbytes);
}

void *memset(void *to, int value, size_t nbytes) {
    return __builtin_memset(to, value, nbytes);
}

int memcmp(const void *a, const void *b, size_t nbytes) {
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < nbytes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
