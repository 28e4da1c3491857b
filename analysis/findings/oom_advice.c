#include "analysis/findings/oom_advice.h"

#include "analysis/model/pool_use.h"
#include "analysis/model/whatif.h"
#include "base/numbers.h"
#include "base/search.h"

#include <string.h>

/* A model takes some eighty replays. For larger recordings, `strata plan` does it on demand. */
enum { MODELLED_EVENTS_MAX = 50000 };

#define OOM_ADVICE_CODE(KIND, code) code,
const char *const oom_advice_code[] = {STRATA_OOM_ADVICE(OOM_ADVICE_CODE)};
#undef OOM_ADVICE_CODE

/* Index of the first event at or after `moment`. */
static uint32_t oom_from(const struct device_trace *device, uint32_t moment) {
    return SEARCH(0, device->n_ooms, i, device->ooms[i].event + 1 < moment);
}

/* Notes the changes at each event, then adds them up, in one array. */
static bool pending_find(struct oom_ground *ground, const struct device_trace *device, struct arena *arena) {
    const struct allocations *allocations = &device->allocations;
    uint64_t n = (uint64_t)device->n_ooms + 1, *pending = arena_zeros(arena, n, sizeof *pending);
    ground->pending_bytes = pending;
    if (pending == NULL)
        return false;
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (allocations->request[i] >= allocations->death[i])
            continue;
        pending[oom_from(device, allocations->request[i])] += allocations->size[i];
        pending[oom_from(device, allocations->death[i])] -= allocations->size[i];
    }
    for (uint32_t i = 1; i < device->n_ooms; i++)
        pending[i] += pending[i - 1];
    return true;
}

bool oom_ground_find(struct oom_ground *ground, const struct verdicts *verdicts,
                     const struct free_blocks_summary *free_blocks, struct arena *arena) {
    const struct device_trace *device = verdicts->timeline->device;
    *ground = (struct oom_ground){.verdicts = verdicts, .free_blocks = free_blocks};
    (void)allocator_settings_read(&ground->settings, verdicts->timeline->trace);
    if (!ground->settings.told.expandable && device_is_expandable(device))
        ground->settings.told.expandable = ground->settings.expandable = true;
    for (uint32_t i = 0; i < verdicts->findings.count; i++) {
        const struct finding *finding = &verdicts->findings.finding[i];
        if (finding->kind != FINDING_LEAK || finding->severity == SEVERITY_INFO)
            continue;
        ground->risen_bytes += finding->leak.bytes;
        ground->slope_bytes += finding->per_bytes;
    }
    return pending_find(ground, device, arena);
}

enum { BUDGET_CELLS = 64 };

static bool is_served(const struct program *program, struct whatif_case *what, uint64_t budget, bool *served,
                      struct arena *arena) {
    struct whatif_result result;
    what->budget_bytes = budget;
    bool done = whatif_run(&result, program, what, arena);
    *served = done && !result.out_of_memory && !result.endless;
    return done;
}

/* The smallest budget between `low` and `*good`, which serves. A smaller budget may serve although a larger one does
 * not, so cells are tried from the top down, and the last one that does not serve is bisected to 2 MiB, the driver's
 * unit. False: no memory. */
static bool smallest_find(uint64_t *good, uint64_t low, const struct program *program,
                          struct whatif_case *what, struct arena *arena) {
    uint64_t cell = *good > low ? (*good - low) / BUDGET_CELLS + 1 : 1;
    bool served = true;
    while (served && *good > low) {
        uint64_t next = *good - low > cell ? *good - cell : low;
        if (!is_served(program, what, next, &served, arena))
            return false;
        *(served ? good : &low) = next;
    }
    while (*good - low > 2 * MIB) {
        uint64_t middle = low + (*good - low) / 2;
        if (!is_served(program, what, middle, &served, arena))
            return false;
        *(served ? good : &low) = middle;
    }
    return true;
}

bool oom_ground_model(struct oom_ground *ground, const struct replay *replay, struct arena *arena) {
    const struct timeline *timeline = ground->verdicts->timeline;
    struct whatif_case what = {.settings = replay->settings,
                               .budget_bytes = ALLOCATOR_UNLIMITED,
                               .device_bytes = timeline->device->capacity_bytes};
    struct whatif_result result;
    struct program program;
    uint32_t moment = timeline->device->n_ooms != 0 ? timeline->device->ooms[0].event + 1 : 0;
    if (replay->grade != REPLAY_EXACT || replay->settings.expandable ||
        timeline->device->n_events > MODELLED_EVENTS_MAX)
        return true;
    what.settings.expandable = true;
    if (!program_init(&program, timeline->trace, timeline->device, arena))
        return false;
    ground->budget_bytes = whatif_budget_find(&program, &replay->settings).bytes;
    if (ground->budget_bytes == 0)
        return true;
    if (!whatif_run(&result, &program, &what, arena))
        return false;
    ground->modelled = !result.endless;
    ground->expandable_bytes = result.peak_reserved_bytes;
    bool done = result.endless ||
                smallest_find(&ground->expandable_bytes, timeline->live[moment], &program, &what, arena);
    ARENA_DROP(arena, program.op);
    return done;
}

struct advisor {
    const struct oom_ground *ground;
    const struct oom_event *event;
    const struct oom_state *state;
    const struct device_trace *device;
    struct oom_advice *advice;
    uint32_t count;
};

/* Is `part` at least an n-th of `whole`? */
static bool is_part(uint64_t part, uint64_t whole, uint64_t n) {
    return part >= whole / n + (whole % n != 0);
}

static void advise(struct advisor *advisor, enum oom_advice_kind kind, uint64_t first, uint64_t second) {
    if (advisor->count < OOM_ADVICE_MOST)
        advisor->advice[advisor->count++] = (struct oom_advice){kind, {first, second, first - second}};
}

static enum oom_advice_kind unused_kind(const struct oom_state *state, uint64_t asked) {
    uint64_t in_free = state->free_blocks.all.free_bytes;
    if (!state->free_blocks_known || in_free >= asked)
        return state->free_blocks_known && state->free_blocks.all.largest_bytes >= asked
                   ? OOM_ADVICE_NO_BLOCK_SERVES
                   : OOM_ADVICE_NO_BLOCK_LARGE;
    if (in_free == 0)
        return OOM_ADVICE_ALL_ROUNDING;
    return state->at_end ? OOM_ADVICE_FREE_PARTS : OOM_ADVICE_FREE_PARTS_AT_MOST;
}

/* Without final segments reserved bytes are a lower bound, so more may have been reserved but not in use. */
static void advise_verdict(struct advisor *advisor) {
    const struct oom_state *state = advisor->state;
    uint64_t asked = advisor->event->size, device_free = advisor->event->device_free;
    uint64_t all = sum_at_most(state->reserved_bytes, device_free);
    bool enough =
        state->reserved_known && oom_had_room(advisor->ground->verdicts->timeline->trace, advisor->event);
    if (enough)
        advise(advisor, OOM_ADVICE_FREE_ENOUGH, device_free, 0);
    if (state->live_bytes == 0)
        advise(advisor, OOM_ADVICE_NOTHING_IN_USE, asked, device_free);
    else if (state->unused_bytes >= asked)
        advise(advisor, unused_kind(state, asked), state->unused_bytes, state->free_blocks.all.free_bytes);
    else if (!state->reserved_known)
        return;
    else if (asked > all)
        advise(advisor, OOM_ADVICE_REQUEST_TOO_LARGE, all, 0);
    else if (state->lacking_bytes > 0)
        advise(advisor, OOM_ADVICE_LACKING, state->lacking_bytes, 0);
    else if (!enough)
        advise(advisor, OOM_ADVICE_NOT_IN_ONE_PIECE, sum_at_most(state->unused_bytes, device_free), 0);
}

/* Advises expandable segments if they gain something; for the first event the model computes it. */
static void advise_expandable(struct advisor *advisor) {
    const struct oom_ground *ground = advisor->ground;
    const struct oom_state *state = advisor->state;
    uint64_t lacking = state->lacking_bytes;
    /* Free blocks are the problem if they would have been enough, or exceed what was missing. */
    if (state->unused_bytes <= lacking || !is_part(state->unused_bytes, advisor->event->size, 10))
        return;
    enum oom_advice_kind kind = lacking != 0 ? OOM_ADVICE_UNSAID_LACKING : OOM_ADVICE_UNSAID;
    if (ground->modelled && advisor->event == advisor->device->ooms) {
        bool fits = ground->expandable_bytes <= ground->budget_bytes;
        advise(advisor, fits ? OOM_ADVICE_FITS : OOM_ADVICE_FITS_FROM, ground->expandable_bytes,
               ground->budget_bytes);
        return;
    }
    if (ground->settings.told.expandable)
        kind = ground->settings.expandable ? OOM_ADVICE_ON_ALREADY
               : lacking != 0              ? OOM_ADVICE_OFF_LACKING
                                           : OOM_ADVICE_OFF;
    advise(advisor, kind, state->unused_bytes, lacking);
}

/* Free bytes in parts of segments for large requests, the only ones that max_split_size_mb affects. */
static uint64_t large_parts(const struct free_blocks_summary *summary) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < summary->n_groups; i++) {
        const struct free_blocks *blocks = &summary->groups[i].free_blocks;
        bytes += summary->groups[i].small ? 0 : blocks->free_bytes - blocks->empty_bytes;
    }
    return bytes;
}

static void advise_split(struct advisor *advisor) {
    const struct allocator_settings *settings = &advisor->ground->settings;
    uint64_t asked = advisor->event->size, parts = large_parts(advisor->ground->free_blocks);
    if (settings->told.max_split && settings->max_split_bytes == ALLOCATOR_UNLIMITED &&
        settings->told.expandable && !settings->expandable && parts >= asked && asked > MIB)
        advise(advisor, OOM_ADVICE_SPLIT_UNSET, parts, 0);
}

/* Free bytes of the final segments outside of the default pool. */
static uint64_t private_bytes(const struct advisor *advisor) {
    const struct free_blocks_summary *summary = advisor->ground->free_blocks;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < summary->n_groups; i++)
        if (pool_is_private(advisor->device, summary->groups[i].pool))
            bytes += summary->groups[i].free_blocks.free_bytes;
    return bytes;
}

/* Advice from the final segments, if nothing has changed since. */
static void advise_end(struct advisor *advisor) {
    uint64_t asked = advisor->event->size, apart = private_bytes(advisor);
    advise_split(advisor);
    if (apart > advisor->state->lacking_bytes && is_part(apart, asked, 10))
        advise(advisor, OOM_ADVICE_PRIVATE_POOLS, apart, 0);
}

static void advise_others(struct advisor *advisor) {
    uint64_t capacity = advisor->device->capacity_bytes,
             known = sum_at_most(advisor->state->reserved_bytes, advisor->event->device_free);
    if (advisor->device->n_segments != 0 && capacity > known && is_part(capacity - known, capacity, 10))
        advise(advisor, OOM_ADVICE_HELD_BY_OTHERS, capacity - known, capacity);
}

uint32_t oom_advise(const struct oom_ground *ground, const struct oom_event *event,
                    const struct oom_state *state, struct oom_advice advice[OOM_ADVICE_MOST]) {
    const struct device_trace *device = ground->verdicts->timeline->device;
    struct advisor advisor = {
        .ground = ground, .event = event, .state = state, .device = device, .advice = advice};
    uint64_t pending = ground->pending_bytes[event - device->ooms], risen = ground->risen_bytes,
             rounding = free_blocks_rounding(&ground->free_blocks->all);
    advise_verdict(&advisor);
    advise_expandable(&advisor);
    if (state->at_end)
        advise_end(&advisor);
    if (is_part(pending, event->size, 10))
        advise(&advisor, OOM_ADVICE_PENDING, pending, 0);
    if (state->at_end && rounding >= event->size)
        advise(&advisor, OOM_ADVICE_ROUNDING, rounding, 0);
    advise_others(&advisor);
    if (is_part(risen, state->live_bytes, 20) && risen != 0)
        advise(&advisor, OOM_ADVICE_GROWTH, risen, ground->slope_bytes);
    return advisor.count;
}
