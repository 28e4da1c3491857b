/* Maps a part to the ids of the whole, by interning its strings, frames, stacks and contexts again, and finds how
 * many of its events are the last ones of the part before. */
#include "parser/series/series_internal.h"

#include "base/hashed.h"

static bool strings_map(struct series *series, const struct trace *from, struct ids *ids) {
    for (uint32_t i = 0; i < from->strings.count; i++) {
        struct text bytes = trace_text(from, i);
        if (!intern_string(&series->interner, bytes.at, bytes.nbytes, &ids->string[i]))
            return false;
    }
    return true;
}

static bool frame_map(struct series *series, const struct trace *from, struct ids *ids, uint32_t i) {
    struct frame frame = from->frames.frame[i];
    struct fx fx = from->fx.fx[frame.fx];
    fx = (struct fx){ids->string[fx.op], ids->string[fx.name], ids->string[fx.target],
                     ids->string[fx.original_trace]};
    frame.file = ids->string[frame.file];
    frame.name = ids->string[frame.name];
    return intern_fx(&series->interner, fx, &frame.fx) &&
           intern_frame(&series->interner, frame, &ids->frame[i]);
}

/* The parts have only stacks in use and their ancestors (interner_finish). A parent comes before its children. */
static bool stacks_map(struct series *series, const struct trace *from, struct ids *ids) {
    ids->stack[0] = 0;
    for (uint32_t i = 1; i < from->stacks.count; i++)
        if (!intern_stack_below(&series->interner, ids->stack[stack_parent(&from->stacks, i)],
                                ids->frame[from->stacks.frame[i]], &ids->stack[i]))
            return false;
    return true;
}

static bool contexts_map(struct series *series, const struct trace *from, struct ids *ids) {
    for (uint32_t i = 0; i < from->contexts.count; i++) {
        struct context context = from->contexts.context[i];
        context = (struct context){ids->string[context.compile_context], ids->string[context.user_metadata],
                                   ids->string[context.category], ids->string[context.forward_frames]};
        if (!intern_context(&series->interner, context, &ids->context[i]))
            return false;
    }
    return true;
}

bool series_map(struct series *series, uint32_t part) {
    const struct trace *from = series->parts[part].trace;
    struct ids *ids = &series->ids[part];
    struct arena *arena = series_arena(series);
    if (!ARENA_COLUMNS(arena, from->strings.count, ids->string) ||
        !ARENA_COLUMNS(arena, from->frames.count, ids->frame) ||
        !ARENA_COLUMNS(arena, from->stacks.count, ids->stack) ||
        !ARENA_COLUMNS(arena, from->contexts.count, ids->context) || !strings_map(series, from, ids))
        return false;
    for (uint32_t i = 0; i < from->frames.count; i++)
        if (!frame_map(series, from, ids, i))
            return false;
    return stacks_map(series, from, ids) && contexts_map(series, from, ids);
}

enum { UNTIMED_LEAST = 16 }; /* events without times that must agree before two windows count as one run */

/* ---- events, rebuilt from what they did ---- */

static uint64_t mix(uint64_t kind, uint64_t a, uint64_t b) {
    return hash_mix(hash_mix(hash_mix(0, kind), a), b);
}

/* Fills `sign[n_events]`. Requests are left out: nothing remains of one that is completed at once, and the
 * completion may lie after the end of a window. */
static void events_sign(const struct device_trace *device, uint64_t *sign) {
    const struct allocations *allocations = &device->allocations;
    for (uint32_t e = 0; e < device->n_events; e++)
        sign[e] = device->time_us != NULL ? mix(1, (uint64_t)device->time_us[e], 0) : 0;
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (allocations->birth[i] > 0)
            sign[allocations->birth[i] - 1] += mix(2, allocations->address[i], allocations->size[i]);
        if (allocations->death[i] > 0 && allocations->death[i] <= device->n_events &&
            (allocations->flags[i] & ALLOCATION_REOPENED) == 0)
            sign[allocations->death[i] - 1] += mix(3, allocations->address[i], allocations->size[i]);
    }
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        sign[event->event] += mix(4u + event->change, event->address, event->size);
    }
    for (uint32_t i = 0; i < device->n_ooms; i++)
        sign[device->ooms[i].event] += mix(8, device->ooms[i].size, device->ooms[i].device_free);
    for (uint32_t i = 0; i < device->n_snapshots; i++)
        sign[device->snapshots[i].event] += mix(9, device->snapshots[i].size, 0);
}

/* Length of the longest beginning of b that is an end of a (Knuth, Morris and Pratt). `fail[n_b]` is scratch. */
static uint32_t overlap_find(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b,
                             uint32_t *fail) {
    uint32_t k = 0;
    if (n_b == 0)
        return 0;
    fail[0] = 0;
    for (uint32_t i = 1; i < n_b; i++) {
        while (k > 0 && b[i] != b[k])
            k = fail[k - 1];
        k += b[i] == b[k];
        fail[i] = k;
    }
    k = 0;
    for (uint32_t i = 0; i < n_a; i++) {
        while (k > 0 && (k == n_b || a[i] != b[k]))
            k = fail[k - 1];
        k += a[i] == b[k];
    }
    return k;
}

bool series_overlap(struct series *series, const struct device_trace *a, const struct device_trace *b,
                    uint32_t *n) {
    struct arena *arena = series_arena(series);
    uint64_t *sign_a = arena_column(arena, a->n_events, sizeof *sign_a);
    uint64_t *sign_b;
    uint32_t *fail;
    bool done = ARENA_COLUMNS(arena, b->n_events, sign_b, fail) && sign_a != NULL;
    *n = 0;
    if (done) {
        events_sign(a, sign_a);
        events_sign(b, sign_b);
        *n = overlap_find(sign_a, a->n_events, sign_b, b->n_events, fail);
        bool timed = a->time_us != NULL && b->time_us != NULL;
        *n = timed || *n >= UNTIMED_LEAST ? *n : 0;
    }
    ARENA_DROP(arena, fail, sign_b, sign_a);
    return done;
}
