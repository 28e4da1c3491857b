#include "analysis/model/program.h"

#include "base/sort.h"

static const uint32_t MOST_ROWS = UINT32_MAX >> PROGRAM_KIND_BITS;

/* Lists of the allocations that end at each moment (nearly always none or one), by rising id. Entries are + 1, so
 * that 0 is none; MORE_DEATHS is added to those that another one follows. */
struct deaths {
    uint32_t *first; /* [moments] */
    uint32_t *next;  /* [allocations] */
};

static const uint32_t MORE_DEATHS = UINT32_C(1) << 31;

static bool deaths_list(struct deaths *deaths, const struct device_trace *device, struct arena *arena) {
    const struct allocations *allocations = &device->allocations;
    *deaths =
        (struct deaths){.first = arena_zeros(arena, (uint64_t)device->n_events + 2, sizeof *deaths->first),
                        .next = arena_column(arena, allocations->count, sizeof *deaths->next)};
    if (deaths->first == NULL || deaths->next == NULL)
        return false;
    for (uint32_t i = allocations->count; i-- > 0;) {
        uint32_t *first = &deaths->first[allocations->death[i]], next = *first;
        *first = i + 1 + (next != 0 ? MORE_DEATHS : 0);
        if (next != 0)
            deaths->next[i] = next;
    }
    return true;
}

/* Allocations whose request to free is apart from its completion, by that request. There are few. */
static bool waits_sort(struct sort_row **rows, uint32_t *count, const struct device_trace *device,
                       struct arena *arena) {
    const struct allocations *allocations = &device->allocations;
    uint32_t n = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        n += allocations->request[i] < allocations->death[i] && allocations->request[i] != 0;
    *rows = arena_column(arena, (uint64_t)n * 2, sizeof **rows);
    *count = n;
    if (*rows == NULL)
        return false;
    for (uint32_t i = 0, at = 0; at < n; i++)
        if (allocations->request[i] < allocations->death[i] && allocations->request[i] != 0)
            (*rows)[at++] = (struct sort_row){allocations->request[i], i};
    sort_rows(*rows, *rows + n, n);
    return true;
}

struct making {
    struct program *program;
    struct deaths deaths;
    struct sort_row *waits;
    uint32_t n_waits, wait, allocation, segment, oom;
};

static void op_put(struct program *program, enum program_kind kind, uint32_t index) {
    program->op[program->n_ops++] = (uint32_t)kind | index << PROGRAM_KIND_BITS;
}

/* The events of a moment: allocations end before another one begins at their address. */
static void moment_put(struct making *making, uint32_t moment) {
    struct program *program = making->program;
    const struct device_trace *device = program->device;
    const struct allocations *allocations = &device->allocations;
    uint32_t freed = making->deaths.first[moment];
    for (; freed > MORE_DEATHS; freed = making->deaths.next[freed - MORE_DEATHS - 1])
        op_put(program, PROGRAM_FREE, freed - MORE_DEATHS - 1);
    if (freed != 0)
        op_put(program, PROGRAM_FREE, freed - 1);
    for (;
         making->segment < device->n_segment_events && device->segment_events[making->segment].event < moment;
         making->segment++)
        op_put(program, PROGRAM_SEGMENT, making->segment);
    for (; making->oom < device->n_ooms && device->ooms[making->oom].event < moment; making->oom++)
        op_put(program, PROGRAM_OOM, making->oom);
    for (; making->allocation < allocations->count && allocations->birth[making->allocation] == moment;
         making->allocation++)
        op_put(program, PROGRAM_ALLOCATE, making->allocation);
    for (; making->wait < making->n_waits && making->waits[making->wait].key == moment; making->wait++)
        op_put(program, PROGRAM_WAIT, making->waits[making->wait].value);
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* The first moment, of those to come, with something else than allocations that begin or end; the last one of the
 * recording if there is none. */
static uint32_t moment_of_others(const struct making *making) {
    const struct device_trace *device = making->program->device;
    uint32_t moment = device->n_events;
    if (making->segment < device->n_segment_events)
        moment = least(moment, device->segment_events[making->segment].event + 1);
    if (making->oom < device->n_ooms)
        moment = least(moment, device->ooms[making->oom].event + 1);
    return making->wait < making->n_waits ? least(moment, (uint32_t)making->waits[making->wait].key) : moment;
}

/* Puts the moments before `end`, up to one with several allocations, which is returned. Whether a moment has one that
 * begins or one that ends is as good as random, so both are written and those that are there are counted. */
static uint32_t moments_put(struct making *making, uint32_t moment, uint32_t end) {
    const struct allocations *allocations = &making->program->device->allocations;
    const uint32_t *birth = allocations->birth, *first = making->deaths.first;
    uint32_t *op = making->program->op, at = making->program->n_ops, allocation = making->allocation;
    for (; moment < end && first[moment] < MORE_DEATHS && allocation + 1 < allocations->count &&
           birth[allocation + 1] != moment;
         moment++) {
        op[at] = (uint32_t)PROGRAM_FREE | (first[moment] - 1) << PROGRAM_KIND_BITS;
        at += first[moment] != 0;
        op[at] = (uint32_t)PROGRAM_ALLOCATE | allocation << PROGRAM_KIND_BITS;
        at += birth[allocation] == moment;
        allocation += birth[allocation] == moment;
    }
    making->program->n_ops = at;
    making->allocation = allocation;
    return moment;
}

static bool ops_make(struct program *program, struct making *making, struct arena *arena) {
    const struct device_trace *device = program->device;
    uint64_t n =
        (uint64_t)device->allocations.count * 2 + making->n_waits + device->n_segment_events + device->n_ooms;
    uint32_t capacity = 0;
    if (!ARENA_GROW(arena, program->op, capacity, n + 1))
        return false;
    making->allocation = device->allocations.preexisting;
    for (uint32_t moment = 1; moment <= device->n_events; moment++) {
        moment = moments_put(making, moment, moment_of_others(making));
        moment_put(making, moment);
    }
    program->n_allocations = making->allocation - device->allocations.preexisting;
    ARENA_TRIM(arena, program->op, capacity, program->n_ops + 1);
    return true;
}

bool program_init(struct program *program, const struct trace *trace, const struct device_trace *device,
                  struct arena *arena) {
    struct making making = {.program = program};
    *program = (struct program){.trace = trace, .device = device};
    if (device->allocations.count > MOST_ROWS || device->n_segment_events > MOST_ROWS ||
        device->n_ooms > MOST_ROWS)
        return false;
    bool done = deaths_list(&making.deaths, device, arena) &&
                waits_sort(&making.waits, &making.n_waits, device, arena) &&
                ops_make(program, &making, arena) && releases_find(&program->releases, trace, device, arena);
    ARENA_DROP(arena, making.deaths.first, making.deaths.next, making.waits);
    return done;
}
