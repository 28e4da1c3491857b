#include "parser/json/kineto_internal.h"

bool order_init(struct kineto *kineto, struct order *order, uint32_t count) {
    *order = (struct order){.count = count};
    if (!ARENA_COLUMNS(&kineto->trace->arena, (uint64_t)count * 2, order->row))
        return json_scan_fail_memory(kineto->scan);
    for (uint32_t i = 0; i < count; i++)
        order->row[i].value = i;
    return true;
}

void order_release(struct kineto *kineto, struct order *order) {
    ARENA_DROP(&kineto->trace->arena, order->row);
}

void order_sort(struct order *order) {
    sort_rows(order->row, order->row + order->count, order->count);
}

/* Samples of one time stay in the order of the file. */
void order_samples_by_time(const struct kineto *kineto, struct order *order) {
    for (uint32_t i = 0; i < order->count; i++)
        order->row[i] = (struct sort_row){rising(kineto->samples.row[i].ts_ns), i};
    order_sort(order);
}

/* Sorts by thread, then by start, longer ones first: parents before their children. */
void order_spans(const struct kineto *kineto, struct order *order) {
    const struct span *spans = kineto->spans.row;
    for (uint32_t i = 0; i < order->count; i++)
        order->row[i].key = ~rising(spans[order->row[i].value].end_ns);
    order_sort(order);
    for (uint32_t i = 0; i < order->count; i++)
        order->row[i].key = rising(spans[order->row[i].value].start_ns);
    order_sort(order);
}

/* The limits on stacks. Frames further out are left out; Python itself stops at 1000 calls. Stacks of an honest
 * trace share their beginnings; if that gives more than a frame per eight bytes of the file, further stacks get few
 * frames each. */
enum { MAX_STACK_FRAMES = 2048, SHARED_FRAMES = 1 << 16, UNSHARED_STACK_FRAMES = 16 };

static uint32_t frames_most(const struct kineto *kineto) {
    uint64_t most = SHARED_FRAMES + cursor_offset(kineto->scan->cursor) / 8;
    return kineto->interner.stacks.table.count < most ? MAX_STACK_FRAMES : UNSHARED_STACK_FRAMES;
}

struct sweep {
    const struct order *spans;
    uint32_t next; /* index of the next span */
    uint32_t *open;
    uint32_t n_open, capacity;
    uint32_t *frames; /* [MAX_STACK_FRAMES] */
};

/* Closes the spans that ended at this time, or are of another thread. */
static void sweep_close(const struct span *spans, struct sweep *sweep, uint64_t thread, int64_t ts_ns) {
    for (; sweep->n_open != 0; sweep->n_open--) {
        const struct span *last = &spans[sweep->open[sweep->n_open - 1]];
        if (last->thread == thread && last->end_ns > ts_ns)
            break;
    }
}

static bool sweep_to(struct kineto *kineto, struct sweep *sweep, uint64_t thread, int64_t ts_ns) {
    const struct span *spans = kineto->spans.row;
    for (; sweep->next < sweep->spans->count; sweep->next++) {
        uint32_t id = sweep->spans->row[sweep->next].value;
        const struct span *span = &spans[id];
        if (span->thread > thread || (span->thread == thread && span->start_ns > ts_ns))
            break;
        sweep_close(spans, sweep, span->thread, span->start_ns);
        if (!ARENA_GROW(&kineto->trace->arena, sweep->open, sweep->capacity, (uint64_t)sweep->n_open + 1))
            return json_scan_fail_memory(kineto->scan);
        sweep->open[sweep->n_open++] = id;
    }
    sweep_close(spans, sweep, thread, ts_ns);
    return true;
}

/* The open spans as a stack, with the Python calls that came with the innermost operator that has any. Because of
 * inexact clocks a span may end before one that began in it; such a span is left out, as others lie above it. */
static bool sweep_stack(struct kineto *kineto, struct sweep *sweep, int64_t ts_ns, uint32_t *stack) {
    uint32_t n = 0, calls = 0, most = frames_most(kineto);
    for (uint32_t i = sweep->n_open; i-- > 0 && n < most;) {
        const struct span *span = &kineto->spans.row[sweep->open[i]];
        if (span->end_ns <= ts_ns)
            continue;
        if (span->frame != 0)
            sweep->frames[n++] = span->frame;
        calls = calls == 0 ? span->calls : calls;
    }
    const struct stack_table *stacks = &kineto->interner.stacks.table;
    for (; calls != 0 && n < most; calls = stack_parent(stacks, calls))
        sweep->frames[n++] = stacks->frame[calls];
    return intern_stack(&kineto->interner, sweep->frames, n, stack) || json_scan_fail_memory(kineto->scan);
}

static bool stacks_sweep(struct kineto *kineto, const struct order *spans, const struct order *samples) {
    struct sweep sweep = {.spans = spans};
    bool done = ARENA_COLUMNS(&kineto->trace->arena, MAX_STACK_FRAMES, sweep.frames) ||
                json_scan_fail_memory(kineto->scan);
    for (uint32_t i = 0; done && i < samples->count; i++) {
        struct sample *sample = &kineto->samples.row[samples->row[i].value];
        done = sweep_to(kineto, &sweep, sample->thread, sample->ts_ns) &&
               sweep_stack(kineto, &sweep, sample->ts_ns, &sample->stack);
    }
    ARENA_DROP(&kineto->trace->arena, sweep.open, sweep.frames);
    return done;
}

bool kineto_stacks_build(struct kineto *kineto, struct order *spans, struct order *samples) {
    for (uint32_t i = 0; i < spans->count; i++)
        spans->row[i].key = kineto->spans.row[spans->row[i].value].thread;
    order_sort(spans);
    for (uint32_t i = 0; i < samples->count; i++)
        samples->row[i].key = kineto->samples.row[samples->row[i].value].thread;
    order_sort(samples);
    return stacks_sweep(kineto, spans, samples);
}
