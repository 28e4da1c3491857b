/* What a set of edits leaves in use, and replays of it, which two threads share. */
#include "analysis/plan/plan_internal.h"

enum { RUNS_MAX = 8 };

struct running {
    struct plan_run *run;
    uint32_t n_runs, next;
    bool failed;
    struct arena arena;
};

static void runs_work(void *argument) {
    struct running *running = argument;
    for (uint32_t i = running->next; i < running->n_runs; i += 2)
        if (!whatif_run(&running->run[i].result, running->run[i].program, &running->run[i].what,
                        &running->arena))
            running->failed = true;
}

static bool work_is_allowed(struct planner *planner, const struct plan_run *run, uint32_t n_runs) {
    const struct plan_request *request = planner->request;
    for (uint32_t i = 0; i < n_runs; i++)
        planner->n_replayed += run[i].program->n_ops;
    planner->gave_up |= request->work_most != 0 && planner->n_replayed > request->work_most;
    if (request->progress != NULL && !planner->gave_up)
        request->progress(request->context, planner->n_replayed);
    return !planner->gave_up;
}

bool plan_runs(struct planner *planner, struct plan_run *run, uint32_t n_runs) {
    const struct beside_hooks *beside = planner->request->beside;
    if (!work_is_allowed(planner, run, n_runs))
        return false;
    const struct device_trace *device = planner->plan->program->device;
    struct running other = {.run = run, .n_runs = n_runs, .next = 1}, own = {.run = run, .n_runs = n_runs};
    struct arena_host host = beside != NULL ? beside->host : arena_share(planner->arena);
    arena_init(&own.arena, host, SIZE_MAX);
    arena_init(&other.arena, host, SIZE_MAX);
    uint64_t ample = beside_ample_nbytes(device->n_events, device->allocations.count);
    bool begun = beside != NULL && device->n_events >= BESIDE_EVENTS_LEAST && n_runs > 1 &&
                 beside->begin(beside->context, ample, runs_work, &other);
    runs_work(&own);
    if (begun)
        beside->end(beside->context);
    else
        runs_work(&other);
    arena_release(&own.arena);
    arena_release(&other.arena);
    return !own.failed && !other.failed;
}

bool plan_in_use(struct planner *planner, const struct plan_case *what, struct plan_figures *figures) {
    *figures = (struct plan_figures){.live_min = UINT64_MAX, .rounded_min = UINT64_MAX};
    for (uint32_t form = 0; form < what->forms; form++) {
        struct in_use peak;
        if (!changed_curve(&peak, &planner->lives, what->edit[form], what->n_edits, planner->arena))
            return false;
        figures->live_min = peak.requested < figures->live_min ? peak.requested : figures->live_min;
        figures->live_max = peak.requested > figures->live_max ? peak.requested : figures->live_max;
        figures->rounded_min = peak.rounded < figures->rounded_min ? peak.rounded : figures->rounded_min;
        figures->rounded_max = peak.rounded > figures->rounded_max ? peak.rounded : figures->rounded_max;
    }
    return true;
}

static struct plan_run run_of(const struct planner *planner, const struct program *program,
                              const struct plan_case *what, uint64_t budget, bool descending) {
    const struct plan *plan = planner->plan;
    return (struct plan_run){.program = program,
                             .what = {.settings = what->settings,
                                      .budget_bytes = budget,
                                      .device_bytes = plan->asked_bytes != 0
                                                          ? plan->asked_bytes
                                                          : plan->program->device->capacity_bytes,
                                      .descending = descending}};
}

static void fits_settle(struct plan_figures *figures, const struct plan_run *run, uint32_t n_runs) {
    uint32_t n_served = 0;
    figures->n_retries = 0;
    for (uint32_t i = 0; i < n_runs; i++) {
        n_served += !run[i].result.oom.happened && !run[i].result.endless;
        figures->n_retries =
            run[i].result.n_retries > figures->n_retries ? run[i].result.n_retries : figures->n_retries;
    }
    figures->fits = n_served == 0             ? PLAN_NO
                    : n_served < n_runs       ? PLAN_UNSURE
                    : figures->n_retries != 0 ? PLAN_WITH_RETRIES
                                              : PLAN_YES;
}

static bool reserved_solve(struct planner *planner, const struct plan_case *what,
                           const struct program program[2], struct plan_figures *figures) {
    struct plan_run run[RUNS_MAX];
    uint32_t n = 0;
    for (uint32_t form = 0; form < what->forms; form++)
        for (int down = 0; down < 2; down++)
            run[n++] = run_of(planner, &program[form], what, ALLOCATOR_UNLIMITED, down != 0);
    if (!plan_runs(planner, run, n))
        return false;
    figures->reserved_known = true;
    figures->reserved_min = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t peak = run[i].result.peak_reserved_bytes;
        figures->reserved_min = peak < figures->reserved_min ? peak : figures->reserved_min;
        figures->reserved_max = peak > figures->reserved_max ? peak : figures->reserved_max;
    }
    return true;
}

static bool fits_solve(struct planner *planner, const struct plan_case *what, const struct program program[2],
                       struct plan_figures *figures) {
    struct plan_run run[RUNS_MAX];
    uint32_t n = 0;
    uint64_t budget = budget_of(planner, what->checkpointed);
    if (figures->reserved_known && figures->reserved_max <= budget && what->settings.collect_ppm == 0) {
        figures->fits = PLAN_YES;
        return true;
    }
    for (uint32_t form = what->forms; form-- > 0;)
        for (int down = 0; down < 2; down++)
            run[n++] = run_of(planner, &program[form], what, budget, down != 0);
    if (!plan_runs(planner, run, n))
        return false;
    fits_settle(figures, run, n);
    return true;
}

bool plan_solve(struct planner *planner, const struct plan_case *what, struct plan_figures *figures,
                bool full) {
    struct program program[2];
    struct arena own;
    if (!plan_in_use(planner, what, figures))
        return false;
    uint64_t budget = budget_of(planner, what->checkpointed);
    bool known = planner->plan->budget_bytes != 0, may = known && figures->rounded_min <= budget, done = true;
    figures->fits = known ? PLAN_NO : PLAN_UNKNOWN;
    if (!full && !may)
        return true;
    arena_init(&own, arena_share(planner->arena), SIZE_MAX);
    for (uint32_t form = 0; done && form < what->forms; form++)
        done = changed_program(&program[form], &planner->lives, what->edit[form], what->n_edits, &own);
    if (done && full)
        done = reserved_solve(planner, what, program, figures);
    if (done && may)
        done = fits_solve(planner, what, program, figures);
    if (full && what->checkpointed)
        figures->reserved_max += CHECKPOINT_SLACK_BYTES;
    arena_release(&own);
    return done;
}

void plan_case_of(const struct planner *planner, const struct plan_set *set, struct plan_case *what) {
    *what = (struct plan_case){.settings = planner->plan->replay->settings, .forms = 1};
    for (uint32_t i = 0; i < set->n_changes; i++) {
        const struct plan_change *change = &planner->plan->change[set->change[i]];
        const struct edit *form = change->form;
        if (change->kind == PLAN_SETTINGS) {
            what->settings = change->settings;
            continue;
        }
        if (change->kind == PLAN_CHECKPOINT) {
            checkpoint_of(planner, set->n_blocks, what->checkpoint);
            form = what->checkpoint;
            what->checkpointed = true;
        }
        what->forms = change->forms > what->forms ? change->forms : what->forms;
        what->edit[0][what->n_edits] = &form[0];
        what->edit[1][what->n_edits++] = &form[change->forms - 1];
    }
}

bool plan_set_solve(struct planner *planner, struct plan_set *set, bool full) {
    struct plan_case what;
    plan_case_of(planner, set, &what);
    return plan_solve(planner, &what, &set->figures, full);
}
