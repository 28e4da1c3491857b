/* Recordings: how they get into the module, and their texts. */
#include "analysis/loop/category.h"
#include "analysis/loop/frame_bits.h"
#include "base/bytes.h"
#include "layout/site.h"
#include "render/page/page_heap.h"
#include "render/page/page_state.h"
#include "render/raster/areas.h"

void *rows_make(struct page_rows *rows, struct arena *arena, uint32_t count, size_t record_nbytes) {
    if (!ARENA_GROW(arena, rows->number, rows->capacity,
                    1 + (uint64_t)count * (record_nbytes / sizeof *rows->number)))
        return NULL;
    rows->number[0] = count;
    return rows->number + 1;
}

/* ---- loading ---- */

place session_new(void) {
    struct arena_host host = page_heap();
    struct page_session *session = host.resize(host.context, NULL, 0, sizeof *session);
    if (session == NULL)
        return 0;
    bytes_zero(session, sizeof *session);
    arena_init(&session->loading, host, SIZE_MAX);
    arena_init(&session->arena, host, SIZE_MAX);
    return (place)session;
}

void session_release(struct page_session *session) {
    struct arena_host host = page_heap();
    for (uint32_t i = 0; session->devices != NULL && i < session->trace.n_devices; i++)
        if (session->devices[i].replaying != NULL)
            replay_stop(session->devices[i].replaying);
    arena_release(&session->loading);
    arena_release(&session->arena);
    if (session->stage == SESSION_READY || session->stage == SESSION_UNPACKING)
        trace_release(&session->trace);
    host.resize(host.context, session, sizeof *session, 0);
}

/* This file enforces the protocol: a call at the wrong time is refused, whatever the page does. */
place session_reserve(struct page_session *session, u32 nbytes) {
    if (session->stage > SESSION_RESERVED)
        return 0;
    arena_release(&session->loading);
    session->nbytes = nbytes;
    session->bytes = arena_alloc(&session->loading, nbytes);
    session->stage = session->bytes != NULL ? SESSION_RESERVED : SESSION_NEW;
    return (place)session->bytes;
}

/* Frees the memory that only reading the payload needed. */
static void loading_end(struct page_session *session, enum session_stage stage) {
    arena_release(&session->loading);
    session->payload = (struct payload){0};
    session->stage = stage;
}

i32 session_open(struct page_session *session) {
    if (session->stage != SESSION_RESERVED)
        return PAYLOAD_BAD_VALUE;
    int32_t error = payload_open(&session->payload, session->bytes, session->nbytes, &session->loading);
    session->stage = SESSION_OPEN;
    if (error != PAYLOAD_OK)
        loading_end(session, SESSION_FAILED);
    return error;
}

place session_pieces(struct page_session *session) {
    const struct payload_piece *piece = session->payload.pieces;
    return FILL_ROWS(session, piece, session->payload.n_pieces, i, (double)(place)piece[i].packed,
                     piece[i].packed_nbytes, (double)(place)piece[i].target, piece[i].raw_nbytes);
}

/* The last step of unpacking: the recording is read, or cannot be read. */
static i32 unpack_end(struct page_session *session, int32_t error) {
    loading_end(session, SESSION_READY);
    session->unpacking = NULL;
    if (error == PAYLOAD_OK) {
        session->devices =
            arena_alloc(&session->arena, ((size_t)session->trace.n_devices + 1) * sizeof *session->devices);
        error = session->devices != NULL ? PAYLOAD_OK : PAYLOAD_NO_MEMORY;
    }
    if (error != PAYLOAD_OK) {
        trace_release(&session->trace);
        session->trace = (struct trace){0};
        session->stage = SESSION_FAILED;
    }
    return error;
}

i32 session_unpack(struct page_session *session) {
    if (session->stage == SESSION_OPEN) {
        if (!trace_init(&session->trace, page_heap(), SIZE_MAX))
            return PAYLOAD_NO_MEMORY;
        session->payload.n_pieces = 0; /* from now on no piece can be asked for */
        session->stage = SESSION_UNPACKING;
        session->unpacking = payload_unpacking(&session->payload, &session->trace);
        return session->unpacking != NULL ? PAYLOAD_MORE : unpack_end(session, PAYLOAD_NO_MEMORY);
    }
    if (session->stage != SESSION_UNPACKING)
        return PAYLOAD_BAD_VALUE;
    int32_t state = payload_unpack_some(session->unpacking);
    return state == PAYLOAD_MORE ? state : unpack_end(session, state);
}

place session_recording(struct page_session *session) {
    const struct trace *trace = &session->trace;
    return FILL(session, recording, trace->meta, trace->settings, trace->kind, trace->rank,
                trace_has_allocations(trace), trace_has_call_sites(trace), trace_has_segments(trace),
                trace->frames.count, trace->stacks.count, trace->contexts.count);
}

/* ---- text ---- */

place session_string(struct page_session *session, u32 id) {
    if (id >= session->trace.strings.count)
        return 0;
    struct text text = trace_text(&session->trace, id);
    return FILL(session, text, (double)(place)text.at, text.nbytes);
}

place session_diagnostics(struct page_session *session) {
    const struct diagnostic *note = session->trace.diagnostics;
    return FILL_ROWS(session, diagnostic, session->trace.n_diagnostics, i, note[i].code, note[i].message,
                     note[i].device);
}

place session_frame(struct page_session *session, u32 id) {
    if (id >= session->trace.frames.count)
        return 0;
    const struct frame *frame = &session->trace.frames.frame[id];
    return FILL(session, frame, frame->file, frame->name, frame->line, frame->fx);
}

place session_fx(struct page_session *session, u32 id) {
    if (id >= session->trace.fx.count)
        return 0;
    const struct fx *fx = &session->trace.fx.fx[id];
    return FILL(session, fx, fx->op, fx->name, fx->target, fx->original_trace);
}

place session_stack_frames(struct page_session *session, u32 stack) {
    const struct stack_table *stacks = &session->trace.stacks;
    uint32_t depth = 0, count = 0;
    if (stack >= stacks->count)
        return 0;
    for (uint32_t at = stack; at != 0; at = stack_parent(stacks, at))
        depth++;
    if (!ARENA_GROW(&session->arena, session->frames, session->frames_capacity, (uint64_t)depth + 1))
        return 0;
    for (; stack != 0; stack = stack_parent(stacks, stack))
        session->frames[count++] = stacks->frame[stack];
    return FILL(session, stack_frames, (double)(place)session->frames, depth);
}

place session_context(struct page_session *session, u32 id) {
    if (id >= session->trace.contexts.count)
        return 0;
    const struct context *context = &session->trace.contexts.context[id];
    return FILL(session, context, context->compile_context, context->user_metadata, context->category,
                context->forward_frames);
}

place session_site_text(struct page_session *session, u32 site) {
    if (site >= session->trace.frames.count)
        return 0;
    site_text(&session->trace, site, session->site_text, sizeof session->site_text);
    return FILL(session, text, (double)(place)session->site_text, word_length(session->site_text));
}

place session_category_names(struct page_session *session) {
    return FILL_ROWS(session, category, CATEGORY_COUNT, i, (double)(place)category_label[i].name,
                     word_length(category_label[i].name), areas_category(i));
}

/* ---- devices ---- */

/* Does one step of what is made of a device. A part that fails is begun anew. */
static bool device_step(struct page_session *session, struct page_device *device) {
    uint32_t index = (uint32_t)(device - session->devices), step = device->step;
    if (step < TIMELINE_STEPS) {
        device->step = 0;
        if (!frames_keep(&session->trace) ||
            !timeline_init_step(&device->timeline, &session->trace, index, step, &session->arena))
            return false;
    } else if (step < DEVICE_BUILT) {
        if (!phases_find(&device->timeline, &session->arena, &device->phases))
            return false;
    } else {
        device->step = DEVICE_BUILT;
        if (!verdicts_step(&device->verdicts, &device->timeline, step - DEVICE_BUILT, &session->arena))
            return false;
    }
    device->step = step + 1;
    return true;
}

bool session_device_steps(struct page_session *session, struct page_device *device, uint32_t until) {
    while (device->step < until)
        if (!device_step(session, device))
            return false;
    return true;
}

struct page_device *session_device_built(struct page_session *session, uint32_t index) {
    if (session->devices == NULL || index >= session->trace.n_devices)
        return NULL;
    struct page_device *device = &session->devices[index];
    return session_device_steps(session, device, DEVICE_BUILT) ? device : NULL;
}

i32 session_prepare(struct page_session *session, u32 index, u32 all) {
    if (session->devices == NULL || index >= session->trace.n_devices)
        return PAYLOAD_BAD_VALUE;
    struct page_device *device = &session->devices[index];
    /* A recording that ran out of memory opens at its last steps. */
    uint32_t first = session->trace.devices[index].n_ooms != 0 ? DEVICE_SPANNED : DEVICE_BUILT;
    if (device->step < (all != 0 ? DEVICE_FOUND : first))
        return session_device_steps(session, device, device->step + 1) ? PAYLOAD_MORE : PAYLOAD_NO_MEMORY;
    if (all != 0)
        session_layers(session, device);
    return PAYLOAD_OK;
}

place session_devices(struct page_session *session) {
    const struct device_trace *device = session->trace.devices;
    return FILL_ROWS(session, device, session->trace.n_devices, i, device[i].ordinal, device[i].name,
                     (double)device[i].capacity_bytes, device[i].n_events, device[i].allocations.count,
                     device[i].n_ooms,
                     device[i].n_ooms > 0 ? (double)device[i].ooms[device[i].n_ooms - 1].event : -1,
                     (double)run_us_of(&device[i]).first, (double)run_us_of(&device[i]).from,
                     (double)run_us_of(&device[i]).to);
}

f64 session_device_peak(struct page_session *session, u32 index) {
    const struct page_device *device = session_device_built(session, index);
    return device == NULL ? 0 : (double)device->timeline.peak_bytes;
}

/* ---- axes ---- */

place session_ticks(struct page_session *session, u32 bytes, f64 low, f64 high, u32 most) {
    struct ticks ticks = bytes != 0 ? ticks_bytes(bytes_of(low), bytes_of(high), most)
                                    : ticks_decimal(integer_of(low), integer_of(high), most);
    return FILL_ROWS(session, tick, ticks.count, i, (double)ticks.at[i]);
}
