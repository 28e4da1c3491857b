#include "analysis/findings/verdicts.h"

#include "analysis/findings/levels.h"
#include "analysis/loop/copies.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "layout/filter.h"
#include "trace/trace_check.h"

const char *const turns_source_name[] = {
    [TURNS_NONE] = "none",
    [TURNS_PROFILER_STEP] = "annotations",
    [TURNS_OPTIMIZER_MARKS] = "annotations",
    [TURNS_LINES] = "annotations",
    [TURNS_OPTIMIZER] = "optimizer",
    [TURNS_BACKWARD] = "backward",
    [TURNS_REPETITION] = "repetition",
};

const char *const growth_judged_name[] = {
    [GROWTH_JUDGED] = "judged", [GROWTH_TOO_SHORT] = "too_short", [GROWTH_NO_STACKS] = "no_stacks"};

void verdicts_categories_at(const struct verdicts *verdicts, uint32_t moment, const uint64_t *keep,
                            uint64_t sums[CATEGORY_COUNT]) {
    const struct allocations *allocations = &verdicts->timeline->device->allocations;
    bytes_zero(sums, CATEGORY_COUNT * sizeof *sums);
    for (uint32_t i = 0; i < allocations->count && allocations->birth[i] <= moment; i++)
        if (moment < allocations->death[i] && filter_keeps(keep, i))
            sums[verdicts->category[i]] += allocations->size[i];
}

static struct judged judged_of(const struct verdicts *verdicts) {
    const struct phase_runs *runs = &verdicts->runs;
    bool optimizer = phase_runs_has(runs, SIDE_OPTIMIZER);
    bool phases = runs->stacks != STACKS_NONE &&
                  (optimizer || phase_runs_has(runs, SIDE_BACKWARD) || phase_runs_has_forward(runs));
    uint32_t needed = optimizer ? 2 : 3;
    return (struct judged){.steps = verdicts->turns.count,
                           .steps_from = verdicts->turns.source,
                           .phases = phases,
                           .growth = runs->n_allocations == 0 ? GROWTH_TOO_SHORT
                                     : runs->stacks == STACKS_NONE ||
                                             !trace_has_call_sites(verdicts->timeline->trace)
                                         ? GROWTH_NO_STACKS
                                     : verdicts->turns.count >= needed ? GROWTH_JUDGED
                                                                       : GROWTH_TOO_SHORT};
}

static bool verdicts_begin(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena) {
    uint32_t n = timeline->device->allocations.count;
    assert(device_check(timeline->trace, timeline->device) == NULL);
    bool with_reasons = verdicts->with_reasons, with_cuts = verdicts->with_cuts;
    *verdicts = (struct verdicts){.timeline = timeline,
                                  .with_reasons = with_reasons,
                                  .with_cuts = with_cuts,
                                  .category = arena_column(arena, n, 1),
                                  .reason = with_reasons ? arena_column(arena, n, 1) : NULL};
    return verdicts->category != NULL && (verdicts->reason != NULL || !with_reasons) &&
           phase_runs_find(&verdicts->runs, timeline, arena);
}

/* A log has levels: no categories, and turns named by its lines. These steps replace those of other recordings. */
enum { LEVELS_FIRST = 1, LEVELS_SPANS = SPANS_STEPS - 1, LEVELS_LAST = CATEGORIES_STEPS - 1 };
static bool levels_step(struct verdicts *verdicts, uint32_t step, struct arena *arena) {
    const struct device_trace *device = verdicts->timeline->device;
    if (step == LEVELS_FIRST) {
        verdicts->runs.stacks = STACKS_NONE;
        verdicts->runs.count = 0;
        return levels_turns(&verdicts->turns, device, arena);
    }
    if (step != LEVELS_SPANS) {
        bytes_fill(verdicts->category, CATEGORY_UNKNOWN, device->allocations.count);
        if (verdicts->with_reasons)
            bytes_fill(verdicts->reason, REASON_NONE, device->allocations.count);
    } else {
        verdicts->judged = (struct judged){
            .steps = verdicts->turns.count, .steps_from = verdicts->turns.source, .growth = GROWTH_NO_STACKS};
        if (!spans_of_turns(&verdicts->steps, &verdicts->turns, verdicts->timeline, arena) ||
            !levels_phases(&verdicts->phases, verdicts->timeline, arena))
            return false;
        levels_begins(&verdicts->steps, device);
        levels_begins(&verdicts->phases, device);
    }
    return true;
}

bool verdicts_step(struct verdicts *verdicts, const struct timeline *timeline, uint32_t step,
                   struct arena *arena) {
    if (!trace_has_allocations(timeline->trace) && step >= LEVELS_FIRST && step <= LEVELS_LAST)
        return levels_step(verdicts, step, arena);
    switch (step) {
    case 0: return verdicts_begin(verdicts, timeline, arena);
    case 1: return turns_find(&verdicts->turns, &verdicts->runs, timeline, arena);
    case 2:
        verdicts->judged = judged_of(verdicts);
        return spans_of_turns(&verdicts->steps, &verdicts->turns, timeline, arena) &&
               spans_of_phases(&verdicts->phases, &verdicts->runs, &verdicts->turns, timeline, arena);
    case 3:
        return categories_find(timeline, &verdicts->runs, &verdicts->turns, verdicts->category,
                               verdicts->reason, arena);
    case 4:
        return older_name(&verdicts->older, timeline, &verdicts->runs, verdicts->category, verdicts->reason,
                          arena);
    case 5: return weight_copies_name(timeline, &verdicts->runs, &verdicts->turns, verdicts->category, arena);
    default: return findings_step(verdicts, step - CATEGORIES_STEPS, arena);
    }
}

static bool verdicts_steps(struct verdicts *verdicts, const struct timeline *timeline, uint32_t n_steps,
                           struct arena *arena) {
    for (uint32_t step = 0; step < n_steps; step++)
        if (!verdicts_step(verdicts, timeline, step, arena))
            return false;
    return true;
}

bool verdicts_judge(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena) {
    verdicts->with_reasons = true;
    verdicts->with_cuts = false;
    return verdicts_steps(verdicts, timeline, CATEGORIES_STEPS, arena);
}

bool findings_find(struct verdicts *verdicts, struct arena *arena) {
    for (uint32_t step = 0; step < FINDINGS_STEPS; step++)
        if (!findings_step(verdicts, step, arena))
            return false;
    return true;
}

bool verdicts_init(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena) {
    return verdicts_judge(verdicts, timeline, arena) && findings_find(verdicts, arena);
}

bool verdicts_init_with_cuts(struct verdicts *verdicts, const struct timeline *timeline,
                             struct arena *arena) {
    verdicts->with_reasons = verdicts->with_cuts = true;
    return verdicts_steps(verdicts, timeline, VERDICTS_STEPS, arena);
}
