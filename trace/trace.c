#include "trace/trace.h"

#include "base/assert.h"
#include "base/bytes.h"

/* Row 0 of every table stands for "none". */
static bool tables_init(struct trace *trace) {
    struct arena *arena = &trace->arena;
    if (!ARENA_GROW(arena, trace->strings.start, trace->strings.start_capacity, 2) ||
        !ARENA_GROW(arena, trace->strings.bytes, trace->strings.bytes_capacity, 1) ||
        !ARENA_GROW(arena, trace->frames.frame, trace->frames.capacity, 1) ||
        !ARENA_GROW(arena, trace->fx.fx, trace->fx.capacity, 1) ||
        !stack_table_add(&trace->stacks, arena, 0, 0) ||
        !ARENA_GROW(arena, trace->contexts.context, trace->contexts.capacity, 1))
        return false;
    trace->strings.start[0] = trace->strings.start[1] = 0;
    trace->frames.frame[0] = (struct frame){0};
    trace->fx.fx[0] = (struct fx){0};
    trace->contexts.context[0] = (struct context){0};
    trace->strings.count = trace->frames.count = trace->fx.count = trace->contexts.count = 1;
    return true;
}

bool trace_init(struct trace *trace, struct arena_host host, size_t limit_nbytes) {
    *trace = (struct trace){.rank = RANK_UNKNOWN};
    arena_init(&trace->arena, host, limit_nbytes);
    return tables_init(trace);
}

void trace_release(struct trace *trace) {
    arena_release(&trace->arena);
    *trace = (struct trace){0};
}

bool allocations_alloc(struct allocations *allocations, uint64_t count, struct arena *arena) {
    return ARENA_COLUMNS(arena, count, allocations->birth, allocations->death, allocations->request,
                         allocations->size, allocations->address, allocations->stack, allocations->context,
                         allocations->stream, allocations->pool, allocations->flags);
}

uint32_t trace_string_add(struct trace *trace, const void *bytes, size_t nbytes) {
    struct string_table *strings = &trace->strings;
    uint32_t end = strings->start[strings->count];
    if (nbytes == 0)
        return 0;
    if (nbytes > UINT32_MAX - end) {
        trace->arena.full = true;
        return 0;
    }
    if (!ARENA_GROW(&trace->arena, strings->bytes, strings->bytes_capacity, (uint64_t)end + nbytes) ||
        !ARENA_GROW(&trace->arena, strings->start, strings->start_capacity, (uint64_t)strings->count + 2))
        return 0;
    bytes_copy(strings->bytes + end, bytes, nbytes);
    strings->start[strings->count + 1] = end + (uint32_t)nbytes;
    return strings->count++;
}

bool stack_table_add(struct stack_table *stacks, struct arena *arena, uint32_t parent, uint32_t frame) {
    uint32_t id = stacks->count, word = id / 32;
    assert(id == 0 || parent < id);
    bool branched = id != 0 && parent != id - 1;
    if (!ARENA_GROW(arena, stacks->frame, stacks->capacity, (uint64_t)id + 1) ||
        !ARENA_GROW(arena, stacks->word, stacks->word_capacity, (uint64_t)word + 1) ||
        (branched &&
         !ARENA_GROW(arena, stacks->parent, stacks->branched_capacity, (uint64_t)stacks->n_branched + 1)))
        return false;
    if (id % 32 == 0)
        stacks->word[word] = (struct stack_word){.before = stacks->n_branched};
    stacks->word[word].branched |= (uint32_t)branched << id % 32;
    if (branched)
        stacks->parent[stacks->n_branched++] = parent;
    stacks->frame[id] = frame;
    stacks->count = id + 1;
    return true;
}

/* Adds to a sum that, once above the limit, stays there. */
static void sum_add(uint64_t *sum, uint64_t nbytes, uint64_t limit) {
    *sum = *sum > limit || nbytes > limit - *sum ? UINT64_MAX : *sum + nbytes;
}

static bool allocations_fit(const struct allocations *allocations) {
    uint64_t bytes = 0, n = allocations->merged == NULL ? allocations->count : 0;
    bool wraps = false;
    for (uint32_t i = 0; i < allocations->count; i++) {
        bytes += allocations->size[i];
        wraps |= bytes < allocations->size[i];
    }
    for (uint32_t i = 0; allocations->merged != NULL && i < allocations->count; i++)
        n += allocations->merged[i];
    return !wraps && bytes <= TRACE_BYTES_MAX && n <= UINT32_MAX;
}

/* Reserved bytes are computed backwards from their final value and may be negative on the way. */
static bool segments_fit(const struct device_trace *device) {
    const uint64_t limit = TRACE_BYTES_MAX - 1;
    uint64_t bytes = 0, states = 0;
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[i];
        sum_add(&bytes, segment->total_size, limit);
        sum_add(&states, segment->allocated_size, limit);
        sum_add(&states, segment->active_size, limit);
        sum_add(&states, segment->requested_size, limit);
    }
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        sum_add(&bytes, device->segment_events[i].size, limit);
    return bytes <= limit && states <= limit;
}

static bool blocks_fit(const struct device_trace *device) {
    uint64_t bytes = 0, requested = 0;
    for (uint32_t i = 0; i < device->n_blocks; i++) {
        sum_add(&bytes, device->blocks[i].size, TRACE_BYTES_MAX);
        sum_add(&requested, device->blocks[i].requested_size, TRACE_BYTES_MAX);
    }
    return bytes <= TRACE_BYTES_MAX && requested <= TRACE_BYTES_MAX;
}

int32_t trace_oversized_device(const struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        const struct device_trace *device = &trace->devices[i];
        if (!allocations_fit(&device->allocations) || !segments_fit(device) || !blocks_fit(device))
            return device->ordinal;
    }
    return ORDINAL_NONE;
}

bool trace_diagnose(struct trace *trace, const char *key, int32_t device, const uint64_t *numbers) {
    size_t n_code = 0, n_key = word_length(key);
    while (n_code < n_key && key[n_code] != '/') /* the code is the part before "/" */
        n_code++;
    uint32_t code = trace_string_add(trace, key, n_code);
    uint32_t whole = n_key == n_code ? code : trace_string_add(trace, key, n_key);
    if (code == 0 || whole == 0 ||
        !ARENA_GROW(&trace->arena, trace->diagnostics, trace->diagnostics_capacity,
                    (uint64_t)trace->n_diagnostics + 1))
        return false;
    struct diagnostic *diagnostic = &trace->diagnostics[trace->n_diagnostics++];
    *diagnostic = (struct diagnostic){.code = code, .device = device, .key = whole};
    for (uint32_t i = 0; numbers != NULL && i < DIAGNOSTIC_NUMBERS; i++)
        diagnostic->number[i] = numbers[i];
    return true;
}

const char *device_noun(const struct trace *trace, const struct device_trace *device) {
    static const char *const others[] = {"NPU", "MTIA", "MLU", "GCU", "XLA", "HPU", "BFC"};
    for (uint32_t i = 0; i < device->n_notes; i++)
        if (device->notes[i].what == NOTE_BACKEND &&
            text_is_any(trace_text(trace, device->notes[i].text), others, sizeof others / sizeof *others))
            return "device";
    return device->ordinal >= 0 ? "GPU" : "device";
}

/* 1, 2 or 5 times a power of ten, from 10,000 on: values that people choose for max_entries. */
static bool is_round(uint64_t n) {
    if (n < 10000)
        return false;
    while (n % 10 == 0)
        n /= 10;
    return n == 1 || n == 2 || n == 5;
}

uint64_t device_history_full(const struct device_trace *device) {
    const struct allocations *allocations = &device->allocations;
    if (!is_round(device->n_events))
        return 0;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        if (allocations->request[i] <= device->n_events)
            return device->n_events;
    return 0;
}

uint64_t *device_live(const struct device_trace *device, struct arena *arena) {
    const struct allocations *allocations = &device->allocations;
    uint64_t *live = arena_zeros(arena, (uint64_t)device->n_events + 1, sizeof *live);
    for (uint32_t i = 0; live != NULL && i < allocations->count; i++) {
        if (allocations->birth[i] <= device->n_events)
            live[allocations->birth[i]] += allocations->size[i];
        if (allocations->death[i] <= device->n_events)
            live[allocations->death[i]] -= allocations->size[i];
    }
    for (uint32_t moment = 1; live != NULL && moment <= device->n_events; moment++)
        live[moment] += live[moment - 1];
    return live;
}
