/* Replays the recording event by event: makes the recorded requests of the model, and compares what it does. */
#include "analysis/model/replay_internal.h"

#include "base/numbers.h"
#include "base/search.h"

const char *const replay_grade_text[] = {
    [REPLAY_EXACT] = "exact", [REPLAY_NEAR] = "near", [REPLAY_REFUSED] = "refused"};

/* Takes the address from the next pending segment event that fits. */
static uint64_t recorded_place(void *context, uint64_t nbytes, bool reservation) {
    struct replayer *replayer = context;
    if (replayer->used < replayer->n_pending) {
        const struct segment_event *event =
            &replayer->device->segment_events[replayer->pending + replayer->used];
        bool fits = reservation ? event->change == SEGMENT_MAP
                                : event->change == SEGMENT_ALLOC && event->size == nbytes;
        replayer->used += fits && !reservation;
        if (fits)
            return event->address;
    }
    replayer->invented += (nbytes / MIB + 2) * 2 * MIB;
    return replayer->invented;
}

/* ---- step by step ---- */

static void reserved_compare(struct replayer *replayer) {
    uint64_t model = replayer->allocator.reserved_bytes, recorded = replayer->reserved_bytes;
    uint64_t error = model > recorded ? model - recorded : recorded - model;
    if (error > replayer->replay->reserved_max_error_bytes)
        replayer->replay->reserved_max_error_bytes = error;
}

static bool call_is(const struct allocator_call *call, const struct segment_event *event) {
    return call->change == event->change && call->address == event->address && call->size == event->size;
}

/* Compares the model's driver calls with the recorded ones; returns the number of equal ones from the first on. */
static uint32_t calls_compare(const struct replayer *replayer) {
    const struct allocator *allocator = &replayer->allocator;
    uint32_t same = 0;
    while (same < allocator->n_calls && same < replayer->n_pending &&
           call_is(&allocator->call[same], &replayer->device->segment_events[replayer->pending + same]))
        same++;
    return same;
}

static void pending_clear(struct replayer *replayer) {
    replayer->n_pending = replayer->used = 0;
    replayer->allocator.n_calls = 0;
}

static uint32_t allocation_extra(const struct replayer *replayer, uint32_t allocation, uint32_t block) {
    uint64_t extra = replayer->allocator.block[block].size -
                     segments_round(replayer->device->allocations.size[allocation]);
    return extra < UINT32_MAX ? (uint32_t)extra : UINT32_MAX;
}

static void allocate(struct replayer *replayer, uint32_t allocation) {
    const struct allocations *allocations = &replayer->device->allocations;
    struct replay *replay = replayer->replay;
    /* A request completed by a retry does not search again, and was recorded before this allocation. */
    replayer->allocator.no_search = replayer->retried && replayer->n_pending != 0;
    replayer->allocator.wanted_address = replayer->ties_are_free ? allocations->address[allocation] : 0;
    uint32_t block = allocator_allocate(&replayer->allocator, allocations->size[allocation],
                                        allocations->pool[allocation], allocations->stream[allocation]);
    replayer->retried = replayer->allocator.no_search = false;
    replayer->allocator.wanted_address = 0;
    if (block == 0)
        return;
    uint32_t same = calls_compare(replayer);
    bool exact = same == replayer->n_pending && same == replayer->allocator.n_calls;
    replay->driver_events_exact += same;
    replay->allocations_exact +=
        exact && replayer->allocator.block[block].address == allocations->address[allocation];
    replayer->block_of[allocation] = block;
    replayer->extra[allocation] = allocation_extra(replayer, allocation, block);
    pending_clear(replayer);
    reserved_compare(replayer);
}

static void allocation_free(struct replayer *replayer, uint32_t allocation, bool completed) {
    const struct allocations *allocations = &replayer->device->allocations;
    uint32_t block = replayer->block_of[allocation];
    if (block == 0)
        return; /* its allocation found no place */
    if (!completed) {
        allocator_wait(&replayer->allocator, block);
        replayer->allocator.block[block].owner = allocation;
        return;
    }
    replayer->block_of[allocation] = 0;
    if (allocations->request[allocation] < allocations->death[allocation] &&
        !allocator_waits(&replayer->allocator, block, allocation))
        return; /* a release has completed it, and it may serve another one already */
    allocator_free(&replayer->allocator, block);
}

/* A request that fails may map pages before it does, so the model tries it with what the driver had. */
static void failing_attempt(struct replayer *replayer, uint64_t nbytes, uint16_t pool, uint16_t stream) {
    struct allocator *allocator = &replayer->allocator;
    if (replayer->n_pending == 0)
        return;
    allocator->budget_bytes = replayer->reserved_bytes;
    allocator->no_retry = true;
    (void)allocator_allocate(allocator, nbytes, pool, stream);
    allocator->budget_bytes = ALLOCATOR_UNLIMITED;
    allocator->no_retry = false;
    allocator->n_ooms = 0;
    replayer->replay->driver_events_exact += calls_compare(replayer);
    pending_clear(replayer);
}

static void next_request_fails(struct replayer *replayer, uint32_t op) {
    const struct program *program = replayer->program;
    const struct allocations *allocations = &replayer->device->allocations;
    for (uint32_t end = op + 4096; replayer->n_pending != 0 && op < program->n_ops && op < end; op++) {
        uint32_t index = program_index(program->op[op]);
        if (program_kind(program->op[op]) == PROGRAM_ALLOCATE)
            failing_attempt(replayer, allocations->size[index], allocations->pool[index],
                            allocations->stream[index]);
        else if (program_kind(program->op[op]) == PROGRAM_OOM)
            failing_attempt(replayer, replayer->device->ooms[index].size, POOL_UNKNOWN,
                            replayer->device->segment_events[replayer->pending].stream);
    }
    pending_clear(replayer);
}

/* ---- releases ---- */

/* Does a release give back only parts, because of private pools or settings? Then the model gives back what was
 * recorded, as far as it is free. */
static bool gives_parts(const struct replayer *replayer) {
    const struct allocator_settings *settings = &replayer->replay->settings;
    return settings->max_split_bytes != ALLOCATOR_UNLIMITED || settings->collect_ppm != 0 ||
           settings->fraction_ppm != 0 || replayer->device->n_pools > 2;
}

static void group_give_back(struct replayer *replayer, const struct release_group *group) {
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const struct segment_event *event = &replayer->device->segment_events[i];
        replayer->replay->releases_exact +=
            allocator_give_back(&replayer->allocator, event->address, event->size);
    }
}

/* With default settings the model gives back all that it can. */
static void group_empty(struct replayer *replayer, const struct release_group *group) {
    struct allocator *allocator = &replayer->allocator;
    allocator->n_calls = 0;
    allocator_empty_cache(allocator);
    uint32_t n = allocator->n_calls;
    struct sort_row *rows = arena_column(replayer->arena, (uint64_t)n * 2, sizeof *rows);
    allocator->no_memory |= rows == NULL;
    if (rows == NULL)
        return;
    SORT_BY(rows, rows + n, n, i, allocator->call[i].address);
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const struct segment_event *event = &replayer->device->segment_events[i];
        uint32_t low = SEARCH(0, n, k, rows[k].key < event->address);
        replayer->replay->releases_exact += low < n && call_is(&allocator->call[rows[low].value], event);
    }
    ARENA_DROP(replayer->arena, rows);
    if (n != group->count) /* more than was recorded shows in the curve */
        reserved_compare(replayer);
}

static void group_release(struct replayer *replayer, const struct release_group *group, uint32_t op) {
    if (replayer->n_pending != 0)
        next_request_fails(replayer, op);
    for (uint32_t i = group->first; i < group->first + group->count; i++)
        replayer->reserved_bytes -= replayer->device->segment_events[i].size;
    replayer->replay->releases += group->count;
    replayer->retried = group->cause != RELEASE_EXPLICIT && group->taken_bytes != 0;
    if (gives_parts(replayer))
        group_give_back(replayer, group);
    else
        group_empty(replayer, group);
    replayer->allocator.n_calls = 0;
    reserved_compare(replayer);
}

/* Segments from the driver wait for the allocation that explains them. */
static void segment_taken(struct replayer *replayer, uint32_t index) {
    replayer->pending = replayer->n_pending == 0 ? index : replayer->pending;
    replayer->n_pending = index + 1 - replayer->pending;
    replayer->reserved_bytes += replayer->device->segment_events[index].size;
    replayer->replay->driver_events++;
}

/* Bytes from the driver are free until their request takes its part; the model does both at once. */
static uint64_t pending_bytes(const struct replayer *replayer) {
    return replayer->n_pending == 0
               ? 0
               : replayer->device->segment_events[replayer->pending + replayer->n_pending - 1].size;
}

static void largest_note(struct replayer *replayer, uint32_t moment) {
    struct replay *replay = replayer->replay;
    if (moment == UINT32_MAX || replayer->allocator.n_lists > REPLAY_LISTS)
        return;
    uint64_t largest = allocator_largest_free_block(&replayer->allocator), pending = pending_bytes(replayer);
    struct replay_largest now = {moment, largest > pending ? largest : pending};
    struct replay_largest *last = replay->n_largest == 0 ? NULL : &replay->largest[replay->n_largest - 1];
    if (last != NULL && last->bytes == now.bytes)
        return;
    if (last != NULL && last->moment == moment)
        *last = now;
    else if (ARENA_GROW(replayer->result_arena, replay->largest, replay->largest_capacity,
                        (uint64_t)replay->n_largest + 1))
        replay->largest[replay->n_largest++] = now;
}

static void step_run(struct replayer *replayer, uint32_t i) {
    const struct program *program = replayer->program;
    uint32_t index = program_index(program->op[i]);
    switch (program_kind(program->op[i])) {
    case PROGRAM_ALLOCATE: allocate(replayer, index); break;
    case PROGRAM_FREE: allocation_free(replayer, index, true); break;
    case PROGRAM_WAIT: allocation_free(replayer, index, false); break;
    case PROGRAM_OOM: next_request_fails(replayer, i); break;
    case PROGRAM_SEGMENT:
        if (!segment_event_gives_back(&replayer->device->segment_events[index]))
            segment_taken(replayer, index);
        else if (replayer->group < program->releases.count &&
                 program->releases.group[replayer->group].first == index)
            group_release(replayer, &program->releases.group[replayer->group++], i);
    }
    if (replayer->follows_largest)
        largest_note(replayer, program_moment(program, program->op[i]));
}

/* True: there is more to do. */
static bool steps_run(struct replayer *replayer, uint32_t n_steps) {
    const struct program *program = replayer->program;
    uint32_t left = program->n_ops - replayer->op, end = replayer->op + (n_steps < left ? n_steps : left);
    if (replayer->follows_largest && replayer->op == 0)
        largest_note(replayer, 0);
    for (; replayer->op < end && !replayer->allocator.no_memory; replayer->op++) {
        step_run(replayer, replayer->op);
        if (replayer->allocator.steps > replayer->most_steps) {
            replayer->trouble = "the search for memory takes too long in this recording";
            return false;
        }
    }
    return replayer->op < program->n_ops && !replayer->allocator.no_memory;
}

/* ---- recordings that cannot be replayed ---- */

/* NULL: it can be. */
static const char *refusal(const struct trace *trace, const struct device_trace *device) {
    const char *reason = segments_refusal(trace, device);
    if (device->ordinal == ORDINAL_HOST)
        return "pinned host memory has another allocator, which is not modelled";
    if (reason == NULL && device->allocations.count == device->allocations.preexisting)
        return "no allocation was recorded, so there is nothing to replay";
    return reason;
}

static bool columns_init(struct replayer *replayer) {
    uint32_t count = replayer->device->allocations.count;
    replayer->block_of = arena_zeros(replayer->arena, count, sizeof *replayer->block_of);
    replayer->extra = arena_zeros(replayer->result_arena, count, sizeof *replayer->extra);
    return replayer->block_of != NULL && replayer->extra != NULL;
}

static bool replayer_init(struct replayer *replayer) {
    struct allocator_settings settings = replayer->replay->settings;
    struct allocator_driver driver = {recorded_place, replayer};
    const struct device_trace *device = replayer->device;
    /* releases are recorded, so the model makes none of its own */
    settings.collect_ppm = settings.fraction_ppm = 0;
    replayer->invented = UINT64_C(1) << 60;
    replayer->most_steps = ((uint64_t)device->allocations.count + device->n_segment_events) * 256 + 10000000;
    return columns_init(replayer) &&
           allocator_init(&replayer->allocator, &settings, driver, replayer->arena) &&
           replayer_start(replayer);
}

static void extra_of_the_start(struct replayer *replayer) {
    for (uint32_t i = 0; i < replayer->device->allocations.preexisting; i++)
        if (replayer->block_of[i] != 0)
            replayer->extra[i] = allocation_extra(replayer, i, replayer->block_of[i]);
}

/* ---- in stretches ---- */

enum replay_stage { STAGE_LIST, STAGE_START, STAGE_STEPS, STAGE_END, STAGE_OVER };

struct replay_work {
    struct replayer replayer;
    struct program own; /* used if the caller has none */
    struct arena scratch;
    struct replay strict; /* the result with the lowest of equal blocks, while the recorded ones are tried */
    enum replay_stage stage;
};

static void work_init(struct replay_work *work, struct replay *replay, const struct trace *trace,
                      const struct device_trace *device, struct arena *arena) {
    *work = (struct replay_work){.replayer = {.replay = replay,
                                              .trace = trace,
                                              .device = device,
                                              .arena = &work->scratch,
                                              .result_arena = arena}};
    arena_init(&work->scratch, arena_share(arena), SIZE_MAX);
    *replay = (struct replay){.grade = REPLAY_REFUSED, .reason = refusal(trace, device)};
    replay->settings = replay_settings(trace, device, &replay->settings_known);
    replay->allocations = device->allocations.count - device->allocations.preexisting;
    if (replay->reason != NULL)
        work->stage = STAGE_OVER;
}

static bool list_make(struct replay_work *work) {
    struct replayer *replayer = &work->replayer;
    work->stage = STAGE_START;
    if (replayer->program != NULL)
        return true;
    replayer->program = &work->own;
    return program_init(&work->own, replayer->trace, replayer->device, &work->scratch);
}

static bool start_make(struct replay_work *work) {
    if (!replayer_init(&work->replayer))
        return false;
    extra_of_the_start(&work->replayer);
    work->stage = work->replayer.trouble == NULL ? STAGE_STEPS : STAGE_END;
    return true;
}

static bool steps_make(struct replay_work *work, uint32_t n_steps) {
    if (!steps_run(&work->replayer, n_steps))
        work->stage = STAGE_END;
    return !work->replayer.allocator.no_memory;
}

/* Some versions (2.12.1) take another of several equal free blocks than the lowest, which changes no size: then all else
 * is as recorded, and the grade is "near". Begins again with the recorded choice. */
static void ties_try(struct replay_work *work) {
    struct replayer *replayer = &work->replayer;
    struct replay *replay = replayer->replay;
    ARENA_DROP(replayer->result_arena, replayer->extra);
    arena_release(&work->scratch);
    work->strict = *replay;
    *replay = (struct replay){.grade = REPLAY_REFUSED,
                              .settings = work->strict.settings,
                              .settings_known = work->strict.settings_known,
                              .allocations = work->strict.allocations};
    *replayer = (struct replayer){.replay = replay,
                                  .trace = replayer->trace,
                                  .device = replayer->device,
                                  .program = replayer->program != &work->own ? replayer->program : NULL,
                                  .arena = &work->scratch,
                                  .result_arena = replayer->result_arena,
                                  .ties_are_free = true};
    work->stage = STAGE_LIST;
}

static bool end_make(struct replay_work *work) {
    struct replay *replay = work->replayer.replay;
    work->stage = STAGE_OVER;
    if (!replayer_compare_end(&work->replayer))
        return false;
    replayer_grade(&work->replayer);
    if (work->replayer.ties_are_free) {
        if (replay->grade == REPLAY_EXACT) {
            replay->grade = REPLAY_NEAR;
            replay->reason =
                "of equal free blocks this version takes others than the model, which takes the lowest";
        } else
            *replay = work->strict;
        return true;
    }
    if (replay->grade == REPLAY_EXACT) {
        replay->extra = work->replayer.extra;
        work->replayer.extra = NULL;
        return true;
    }
    replay->n_largest = 0;
    if (work->replayer.trouble == NULL)
        ties_try(work);
    return true;
}

/* The cost of a stage in operations: listing and laying out a row is several times faster than replaying it. */
static uint64_t stage_cost(const struct replay_work *work, uint32_t n_operations) {
    const struct device_trace *device = work->replayer.device;
    switch (work->stage) {
    case STAGE_LIST: return device->n_events / 8;
    case STAGE_START: return device->allocations.count / 8 + device->n_segment_events;
    case STAGE_END: return device->allocations.count / 8 + device->n_blocks;
    case STAGE_STEPS:
    case STAGE_OVER: break;
    }
    return n_operations;
}

static bool stage_make(struct replay_work *work, uint32_t n_operations) {
    switch (work->stage) {
    case STAGE_LIST: return list_make(work);
    case STAGE_START: return start_make(work);
    case STAGE_STEPS: return steps_make(work, n_operations);
    case STAGE_END: return end_make(work);
    case STAGE_OVER: break;
    }
    return true;
}

void replay_stop(struct replay_work *work) {
    ARENA_DROP(work->replayer.result_arena, work->replayer.extra);
    arena_release(&work->scratch);
    work->stage = STAGE_OVER;
}

enum replay_progress replay_go_on(struct replay_work *work, uint32_t n_operations) {
    bool done = true;
    uint64_t left = n_operations;
    while (done && work->stage != STAGE_OVER && left != 0) {
        uint32_t before = work->replayer.op;
        uint64_t cost = stage_cost(work, n_operations);
        bool steps = work->stage == STAGE_STEPS;
        done = stage_make(work, left < UINT32_MAX ? (uint32_t)left : UINT32_MAX);
        cost = steps ? work->replayer.op - before : cost;
        left -= cost < left ? cost : left;
    }
    if (done && work->stage != STAGE_OVER)
        return REPLAY_GOES_ON;
    replay_stop(work);
    return done ? REPLAY_DONE : REPLAY_NO_MEMORY;
}

struct replay_work *replay_begin(struct replay *replay, const struct trace *trace,
                                 const struct device_trace *device, struct arena *arena) {
    struct replay_work *work = arena_alloc(arena, sizeof *work);
    if (work == NULL)
        return NULL;
    work_init(work, replay, trace, device, arena);
    work->replayer.follows_largest = true;
    return work;
}

bool replay_run(struct replay *replay, const struct trace *trace, const struct device_trace *device,
                const struct program *program, struct arena *arena) {
    struct replay_work work;
    enum replay_progress progress = REPLAY_GOES_ON;
    work_init(&work, replay, trace, device, arena);
    work.replayer.program = program;
    while (progress == REPLAY_GOES_ON)
        progress = replay_go_on(&work, UINT32_MAX);
    return progress == REPLAY_DONE;
}
