/* Runs the recorded program through the allocator's model: what it reserves, and where it runs out of memory. */
#include "analysis/model/whatif.h"

#include "base/numbers.h"
#include "base/sort.h"

static const uint32_t WAITS = UINT32_C(1) << 31;

struct runner {
    const struct program *program;
    const struct whatif_case *what;
    struct whatif_result *result;
    struct allocator allocator;
    struct arena *arena;
    uint32_t *block_of; /* by row of the program; 0: none; WAITS: its free was requested */
    uint64_t next_low, next_high, most_steps;
    bool stopped;
};

static uint64_t invented_place(void *context, uint64_t nbytes, bool reservation) {
    static const uint64_t APART = UINT64_C(1) << 43;
    struct runner *runner = context;
    uint64_t room = reservation ? APART : (nbytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    if (runner->what->descending)
        return runner->next_high -= room;
    runner->next_low += room;
    return runner->next_low - room;
}

static void out_of_memory(struct runner *runner) {
    runner->stopped = true;
    runner->result->out_of_memory = !runner->allocator.no_memory;
}

static void run_allocate(struct runner *runner, uint32_t row) {
    const struct allocations *allocations = &runner->program->device->allocations;
    uint32_t source = program_source(runner->program, row);
    uint64_t nbytes = program_size(runner->program, row);
    uint32_t block = allocator_allocate(&runner->allocator, nbytes, allocations->pool[source],
                                        allocations->stream[source]);
    runner->block_of[row] = block;
    if (block == 0)
        out_of_memory(runner);
}

static void run_free(struct runner *runner, uint32_t row, bool completed) {
    uint32_t block = runner->block_of[row] & ~WAITS;
    bool waits = (runner->block_of[row] & WAITS) != 0;
    if (block == 0)
        return; /* a page that claims that an allocation ends before it begins */
    if (!completed) {
        allocator_wait(&runner->allocator, block);
        runner->allocator.block[block].owner = row;
        runner->block_of[row] |= WAITS;
        return;
    }
    runner->block_of[row] = 0;
    if (waits && !allocator_waits(&runner->allocator, block, row))
        return; /* a retry has completed it, and it may serve another one already */
    allocator_free(&runner->allocator, block);
}

/* The request of an out-of-memory event. If its stream is not known, it is assumed to be that of the request
 * before. */
static void run_oom(struct runner *runner, uint32_t index, uint16_t before) {
    const struct oom_event *oom = &runner->program->device->ooms[index];
    struct oom_place place = {before, POOL_UNKNOWN};
    uint64_t size = oom->size;
    if (index < runner->program->device->n_oom_places)
        place = runner->program->device->oom_places[index];
    uint64_t asked = runner->what->settings.aligned && size > 32 ? size - 32 : size;
    if (allocator_allocate(&runner->allocator, asked, place.pool, place.stream) == 0)
        out_of_memory(runner);
    else
        runner->stopped = true; /* the recording ends here */
}

static bool is_older_wait(const struct allocations *allocations, uint32_t allocation) {
    return allocations->request[allocation] == 0 && allocations->death[allocation] != 0;
}

static bool is_absent(const struct program *program, uint32_t allocation) {
    return program->absent != NULL && (program->absent[allocation / 64] >> allocation % 64 & 1) != 0;
}

static bool run_start(struct runner *runner) {
    const struct allocations *allocations = &runner->program->device->allocations;
    uint32_t count = allocations->preexisting;
    struct sort_row *rows = arena_column(runner->arena, (uint64_t)count * 2, sizeof *rows);
    if (rows == NULL)
        return false;
    SORT_BY(rows, rows + count, count, i, allocations->address[i]);
    for (uint32_t i = 0; i < count && !runner->stopped; i++) {
        uint32_t allocation = rows[i].value;
        if (is_absent(runner->program, allocation))
            continue;
        run_allocate(runner, allocation);
        if (!runner->stopped && is_older_wait(allocations, allocation))
            run_free(runner, allocation, false);
    }
    ARENA_DROP(runner->arena, rows);
    return true;
}

static void run_steps(struct runner *runner) {
    const struct program *program = runner->program;
    const struct releases *releases = &program->releases;
    uint64_t until = runner->what->until_bytes != 0 ? runner->what->until_bytes : UINT64_MAX;
    uint32_t group = 0;
    uint16_t stream = 0;
    for (uint32_t i = 0; i < program->n_ops && !runner->stopped; i++) {
        uint32_t index = program_index(program->op[i]);
        switch (program_kind(program->op[i])) {
        case PROGRAM_ALLOCATE:
            stream = program->device->allocations.stream[program_source(program, index)];
            run_allocate(runner, index);
            break;
        case PROGRAM_FREE: run_free(runner, index, true); break;
        case PROGRAM_WAIT: run_free(runner, index, false); break;
        case PROGRAM_OOM: run_oom(runner, index, stream); break;
        case PROGRAM_SEGMENT:
            if (group == releases->count || releases->group[group].first != index)
                break;
            if (releases->group[group++].cause == RELEASE_EXPLICIT)
                allocator_empty_cache(&runner->allocator);
        }
        runner->allocator.n_calls = 0;
        if (runner->allocator.steps > runner->most_steps)
            runner->result->endless = runner->stopped = true;
        runner->stopped |= runner->what->until_retry && runner->allocator.n_retries != 0;
        runner->stopped |= runner->allocator.peak_reserved_bytes >= until;
        runner->result->n_ops = i + 1;
    }
}

static bool runner_run(struct runner *runner) {
    const struct device_trace *device = runner->program->device;
    struct allocator_driver driver = {invented_place, runner};
    runner->next_low = UINT64_C(1) << 45;
    runner->next_high = UINT64_C(1) << 62;
    uint64_t n_rows = (uint64_t)device->allocations.count + runner->program->n_copies;
    runner->block_of = arena_zeros(runner->arena, n_rows, sizeof *runner->block_of);
    runner->most_steps = (n_rows + device->n_segment_events) * 256 + 10000000;
    if (runner->block_of == NULL ||
        !allocator_init(&runner->allocator, &runner->what->settings, driver, runner->arena))
        return false;
    runner->allocator.budget_bytes = runner->what->budget_bytes;
    runner->allocator.device_bytes = runner->what->device_bytes;
    if (!run_start(runner))
        return false;
    run_steps(runner);
    runner->result->peak_reserved_bytes = runner->allocator.peak_reserved_bytes;
    runner->result->n_retries = runner->allocator.n_retries;
    return !runner->allocator.no_memory;
}

bool whatif_run(struct whatif_result *result, const struct program *program, const struct whatif_case *what,
                struct arena *arena) {
    struct arena own;
    struct runner runner = {.program = program, .what = what, .result = result, .arena = &own};
    *result = (struct whatif_result){0};
    arena_init(&own, arena_share(arena), SIZE_MAX);
    bool done = runner_run(&runner);
    arena_release(&own);
    return done;
}
