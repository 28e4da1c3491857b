#include "analysis/model/extrapolate_layers.h"
#include "base/numbers.h"

__extension__ typedef unsigned __int128 wide;

struct pairing {
    const struct program *a, *b;
    uint32_t *partner; /* allocation of b, by allocation of a; ALLOCATION_NONE: none yet */
    const char *refused;
};

static bool is_request(uint32_t op) {
    return program_kind(op) != PROGRAM_SEGMENT;
}

/* The next request from `at` on; n_ops: none. */
static uint32_t request_from(const struct program *program, uint32_t at) {
    while (at < program->n_ops && !is_request(program->op[at]))
        at++;
    return at;
}

/* Are the innermost frames of the same function and line? */
static bool same_place(const struct program *a, uint32_t stack_a, const struct program *b, uint32_t stack_b) {
    const struct frame *x = &a->trace->frames.frame[a->trace->stacks.frame[stack_a]];
    const struct frame *y = &b->trace->frames.frame[b->trace->stacks.frame[stack_b]];
    uint32_t n, m;
    const uint8_t *name = trace_string(a->trace, x->name, &n), *other = trace_string(b->trace, y->name, &m);
    if (x->line != y->line || n != m)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (name[i] != other[i])
            return false;
    return true;
}

static bool pair_allocations(struct pairing *pairing, uint32_t allocation, uint32_t other) {
    const struct allocations *x = &pairing->a->device->allocations, *y = &pairing->b->device->allocations;
    if (!same_place(pairing->a, x->stack[allocation], pairing->b, y->stack[other]))
        return false;
    pairing->partner[allocation] = other;
    return true;
}

/* Frees must match the pairs of allocations; pairs older allocations. */
static bool pair_frees(struct pairing *pairing, uint32_t allocation, uint32_t other) {
    bool older = allocation < pairing->a->device->allocations.preexisting &&
                 other < pairing->b->device->allocations.preexisting;
    if (older && pairing->partner[allocation] == ALLOCATION_NONE)
        pairing->partner[allocation] = other;
    return pairing->partner[allocation] == other;
}

static bool pair_op(struct pairing *pairing, uint32_t op, uint32_t other) {
    uint32_t allocation = program_index(op), partner = program_index(other);
    if (program_kind(op) != program_kind(other) || program_kind(op) == PROGRAM_OOM)
        return false;
    return program_kind(op) == PROGRAM_ALLOCATE ? pair_allocations(pairing, allocation, partner)
                                                : pair_frees(pairing, allocation, partner);
}

static bool pair_requests(struct pairing *pairing) {
    const struct program *a = pairing->a, *b = pairing->b;
    uint32_t i = request_from(a, 0), j = request_from(b, 0);
    for (; i < a->n_ops && j < b->n_ops; i = request_from(a, i + 1), j = request_from(b, j + 1))
        if (!pair_op(pairing, a->op[i], b->op[j]))
            return false;
    return i == a->n_ops && j == b->n_ops;
}

/* Pairs allocations from before both recordings that stay, by the order of the final blocks. */
static bool pair_older(struct pairing *pairing) {
    const struct allocations *x = &pairing->a->device->allocations, *y = &pairing->b->device->allocations;
    if (x->preexisting != y->preexisting)
        return false;
    uint32_t end_a = pairing->a->device->n_events + 1, end_b = pairing->b->device->n_events + 1, other = 0;
    for (uint32_t allocation = 0; allocation < x->preexisting; allocation++) {
        if (x->death[allocation] != end_a)
            continue;
        while (other < y->preexisting && y->death[other] != end_b)
            other++;
        if (other == y->preexisting)
            return false;
        pairing->partner[allocation] = other++;
    }
    return true;
}

/* s1 / s0 == (x1 / x0)^2, exactly. Sizes and squares are below 2^64 each. */
static bool is_quadratic(uint64_t s0, uint64_t s1, uint64_t x0, uint64_t x1) {
    uint64_t divisor = common_divisor(x0, x1), p = x0 / divisor, q = x1 / divisor;
    return (wide)s0 * (q * q) == (wide)s1 * (p * p);
}

static uint64_t quadratic_at(uint64_t s0, uint64_t x0, uint64_t x) {
    uint64_t divisor = common_divisor(x0, x), p = x0 / divisor, q = x / divisor;
    return (uint64_t)((wide)s0 * (q * q) / (p * p));
}

uint64_t extrapolate_linear(uint64_t s0, uint64_t s1, uint64_t x0, uint64_t x1, uint64_t x) {
    bool up = s1 >= s0, ahead = x >= x0;
    wide change = (wide)(up ? s1 - s0 : s0 - s1) * (ahead ? x - x0 : x0 - x) / (x1 - x0);
    if (up == ahead)
        return change > (UINT64_C(1) << 60) ? UINT64_C(1) << 60 : s0 + (uint64_t)change;
    return change < s0 ? s0 - (uint64_t)change : 0;
}

static uint64_t size_at(struct extrapolation *extrapolation, uint64_t s0, uint64_t s1, const uint64_t x[3]) {
    if (s0 == s1) {
        extrapolation->n_constant++;
        return s0;
    }
    if (is_quadratic(s0, s1, x[0], x[1])) {
        extrapolation->n_quadratic++;
        return quadratic_at(s0, x[0], x[2]);
    }
    extrapolation->n_linear++;
    return extrapolate_linear(s0, s1, x[0], x[1], x[2]);
}

static const char *refusal(const struct program *a, const struct program *b) {
    if (a->n_allocations > b->n_allocations)
        return "the recording of the larger size holds fewer allocations than the other, so they are not of "
               "one program";
    if (a->device->n_ooms != 0 || b->device->n_ooms != 0)
        return "one of the recordings ran out of memory, and what its program would have done next is not "
               "recorded";
    return NULL;
}

static bool sizes_fill(struct extrapolation *extrapolation, const struct pairing *pairing,
                       const uint64_t x[3], struct arena *arena) {
    const struct allocations *allocations = &pairing->a->device->allocations,
                             *others = &pairing->b->device->allocations;
    uint64_t *size = arena_column(arena, allocations->count, sizeof *size);
    if (size == NULL)
        return false;
    for (uint32_t i = 0; i < allocations->count; i++)
        size[i] = size_at(extrapolation, allocations->size[i], others->size[pairing->partner[i]], x);
    extrapolation->device = *pairing->a->device;
    extrapolation->device.allocations.size = size;
    extrapolation->program = *pairing->a;
    extrapolation->program.device = &extrapolation->device;
    return true;
}

static const char *pair_all(struct pairing *pairing) {
    if (!pair_older(pairing) || !pair_requests(pairing))
        return "the recordings diverge: their requests are not the same in the same order";
    for (uint32_t i = 0; i < pairing->a->device->allocations.count; i++)
        if (pairing->partner[i] == ALLOCATION_NONE)
            return "allocations older than the recordings cannot be told apart";
    return NULL;
}

static bool extrapolate_sizes(struct extrapolation *extrapolation, const struct program *a, uint64_t x0,
                              const struct program *b, uint64_t x1, uint64_t x, struct arena *arena) {
    struct pairing pairing = {.a = a, .b = b};
    const uint64_t sizes[3] = {x0, x1, x};
    uint32_t count = a->device->allocations.count;
    pairing.partner = arena_column(arena, count, sizeof *pairing.partner);
    if (pairing.partner == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        pairing.partner[i] = ALLOCATION_NONE;
    extrapolation->refused = pair_all(&pairing);
    bool done = extrapolation->refused != NULL || sizes_fill(extrapolation, &pairing, sizes, arena);
    ARENA_DROP(arena, pairing.partner);
    return done;
}

void extrapolation_trace(struct trace *trace, struct device_trace *device,
                         const struct extrapolation *extrapolation) {
    *device = extrapolation->device;
    device->n_segment_events = device->n_segments = device->n_blocks = device->n_ooms = device->n_snapshots =
        device->n_notes = 0;
    device->time_us = NULL;
    *trace = *extrapolation->program.trace;
    trace->n_devices = 1;
    trace->devices = device;
    trace->n_annotations = 0;
}

/* No reader checks the sizes of these rows, which were made here. */
static bool is_oversized(const struct extrapolation *extrapolation) {
    struct device_trace device;
    struct trace trace;
    extrapolation_trace(&trace, &device, extrapolation);
    return trace_oversized_device(&trace) != ORDINAL_NONE;
}

bool extrapolate(struct extrapolation *extrapolation, const struct program *a, uint64_t x0,
                 const struct program *b, uint64_t x1, uint64_t x, struct arena *arena) {
    *extrapolation = (struct extrapolation){.refused = refusal(a, b)};
    if (extrapolation->refused != NULL)
        return true;
    bool done = a->n_allocations == b->n_allocations
                    ? extrapolate_sizes(extrapolation, a, x0, b, x1, x, arena)
                    : extrapolate_layers(extrapolation, a, x0, b, x1, x, arena);
    if (done && extrapolation->refused == NULL && is_oversized(extrapolation))
        extrapolation->refused = "at that size it would ask for more than can be counted";
    return done;
}
