/* The memory in use under a set of edits, and its replays, which two threads share. */
#include "analysis/plan/plan_internal.h"

enum { RUNS_MAX = 4 };

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
        planner->n_replayed += run[i].result.n_ops;
    planner->gave_up |= request->work_most != 0 && planner->n_replayed > request->work_most;
    if (request->progress != NULL && !planner->gave_up)
        request->progress(request->context, planner->n_replayed);
    return !planner->gave_up;
}

/* Works on two arguments, in two threads if there are two; `other` may be NULL. */
static void both_do(const struct planner *planner, void (*work)(void *), void *own, void *other) {
    const struct beside_hooks *beside = planner->request->beside;
    const struct device_trace *device = planner->plan->program->device;
    uint64_t ample = beside_ample_nbytes(device->n_events, device->allocations.count);
    bool begun = other != NULL && beside != NULL && device->n_events >= BESIDE_EVENTS_LEAST &&
                 beside->begin(beside->context, ample, work, other);
    work(own);
    if (begun)
        beside->end(beside->context);
    else if (other != NULL)
        work(other);
}

static void own_arena_init(const struct planner *planner, struct arena *arena) {
    const struct beside_hooks *beside = planner->request->beside;
    arena_init(arena, beside != NULL ? beside->host : arena_share(planner->arena), SIZE_MAX);
}

bool plan_runs(struct planner *planner, struct plan_run *run, uint32_t n_runs) {
    struct running other = {.run = run, .n_runs = n_runs, .next = 1}, own = {.run = run, .n_runs = n_runs};
    own_arena_init(planner, &own.arena);
    own_arena_init(planner, &other.arena);
    both_do(planner, runs_work, &own, n_runs > 1 ? &other : NULL);
    arena_release(&own.arena);
    arena_release(&other.arena);
    return work_is_allowed(planner, run, n_runs) && !own.failed && !other.failed;
}

/* One form of a set: its memory in use, or its program, which belongs to `arena`. */
struct forming {
    const struct planner *planner;
    const struct edit *const *edit;
    uint32_t n_edits;
    struct in_use peak;
    struct program program;
    struct arena arena;
    bool done;
};

static void curve_work(void *argument) {
    struct forming *form = argument;
    form->done = changed_curve(&form->peak, &form->planner->lives, form->edit, form->n_edits, &form->arena);
}

static void program_work(void *argument) {
    struct forming *form = argument;
    form->done =
        changed_program(&form->program, &form->planner->lives, form->edit, form->n_edits, &form->arena);
}

/* Works on both forms at once. False: no memory. The caller releases the arenas in any case. */
static bool forms_do(const struct planner *planner, const struct plan_case *what, void (*work)(void *),
                     struct forming form[2]) {
    for (uint32_t i = 0; i < 2; i++) {
        form[i] = (struct forming){.planner = planner, .edit = what->edit[i], .n_edits = what->n_edits[i]};
        own_arena_init(planner, &form[i].arena);
    }
    both_do(planner, work, &form[0], what->forms > 1 ? &form[1] : NULL);
    return form[0].done && (what->forms == 1 || form[1].done);
}

static void forms_release(struct forming form[2]) {
    arena_release(&form[0].arena);
    arena_release(&form[1].arena);
}

bool plan_in_use(struct planner *planner, const struct plan_case *what, struct plan_figures *figures) {
    struct forming form[2];
    bool done = forms_do(planner, what, curve_work, form);
    *figures = (struct plan_figures){.live_min = UINT64_MAX, .rounded_min = UINT64_MAX};
    for (uint32_t i = 0; i < what->forms; i++) {
        const struct in_use *peak = &form[i].peak;
        figures->live_min = peak->requested < figures->live_min ? peak->requested : figures->live_min;
        figures->live_max = peak->requested > figures->live_max ? peak->requested : figures->live_max;
        figures->rounded_min = peak->rounded < figures->rounded_min ? peak->rounded : figures->rounded_min;
        figures->rounded_max = peak->rounded > figures->rounded_max ? peak->rounded : figures->rounded_max;
    }
    forms_release(form);
    return done;
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

/* Sets the verdict from runs within the budget. */
static void fits_settle(struct plan_figures *figures, const struct plan_run *run, uint32_t n_runs) {
    uint32_t n_served = 0;
    figures->n_retries = 0;
    for (uint32_t i = 0; i < n_runs; i++) {
        n_served += !run[i].result.out_of_memory && !run[i].result.endless;
        figures->n_retries =
            run[i].result.n_retries > figures->n_retries ? run[i].result.n_retries : figures->n_retries;
    }
    figures->fits = n_served == 0             ? PLAN_NO
                    : n_served < n_runs       ? PLAN_UNSURE
                    : figures->n_retries != 0 ? PLAN_WITH_RETRIES
                                              : PLAN_YES;
}

static void reserved_settle(struct plan_figures *figures, const struct plan_run *run, uint32_t n_runs,
                            const struct plan_case *what) {
    figures->reserved_known = true;
    figures->reserved_min = UINT64_MAX;
    figures->reserved_max = 0;
    for (uint32_t i = 0; i < n_runs; i++) {
        uint64_t peak = run[i].result.peak_reserved_bytes;
        figures->reserved_min = peak < figures->reserved_min ? peak : figures->reserved_min;
        figures->reserved_max = peak > figures->reserved_max ? peak : figures->reserved_max;
    }
    const struct whatif_result *rising = &run[0].result;
    figures->rising = rising->endless ? UINT64_MAX : rising->peak_reserved_bytes;
    if (!what->checkpointed)
        return;
    uint64_t least =
                 figures->rounded_min > figures->reserved_min ? figures->reserved_min : figures->rounded_min,
             room = figures->reserved_min - least;
    figures->reserved_min -= room < CHECKPOINT_BELOW_BYTES ? room : CHECKPOINT_BELOW_BYTES;
    figures->reserved_max += CHECKPOINT_SLACK_BYTES;
}

/* Within the budget, two at a time, until the answer is known. */
static bool fits_solve(struct planner *planner, struct plan_run *run, uint32_t n_runs,
                       struct plan_figures *figures, enum plan_ask ask) {
    for (uint32_t i = 0; i < n_runs; i += 2) {
        run[i].what.until_retry = run[i + 1].what.until_retry = ask == ASK_CALM;
        if (!plan_runs(planner, run + i, 2))
            return false;
        fits_settle(figures, run, i + 2);
        if (ask != ASK_ALL && !(ask == ASK_CALM ? figures->fits == PLAN_YES : plan_is_served(figures->fits)))
            return true;
    }
    return true;
}

/* Would a run without a limit have gone the same way? */
static bool is_unlimited(const struct plan_run *run) {
    return run->what.budget_bytes == ALLOCATOR_UNLIMITED ||
           (run->result.n_retries == 0 && !run->result.out_of_memory && !run->result.endless &&
            run->what.settings.max_split_bytes == ALLOCATOR_UNLIMITED);
}

/* Repeats without a limit the runs that a limit may have changed. */
static bool reserved_solve(struct planner *planner, struct plan_run *run, uint32_t n_runs, bool solved) {
    struct plan_run open[RUNS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_runs; i++)
        if (!solved || !is_unlimited(&run[i])) {
            open[n] = run[i];
            open[n++].what.budget_bytes = ALLOCATOR_UNLIMITED;
        }
    if (n != 0 && !plan_runs(planner, open, n))
        return false;
    for (uint32_t i = n_runs; i-- > 0;)
        if (!solved || !is_unlimited(&run[i]))
            run[i] = open[--n];
    return true;
}

static bool runs_solve(struct planner *planner, const struct plan_case *what, struct plan_run *run,
                       uint32_t n_runs, struct plan_figures *figures, enum plan_ask ask, bool may) {
    bool limited = may && ask != ASK_RESERVED;
    if (limited && !fits_solve(planner, run, n_runs, figures, ask))
        return false;
    if (ask == ASK_CALM || (ask == ASK_SERVED && figures->fits != PLAN_YES))
        return true;
    bool same = ask == ASK_SERVED;
    for (uint32_t i = 0; same && i < n_runs; i++)
        same = is_unlimited(&run[i]);
    if (ask == ASK_SERVED && !same)
        return true;
    if (!reserved_solve(planner, run, n_runs, limited))
        return false;
    reserved_settle(figures, run, n_runs, what);
    return true;
}

bool plan_solve(struct planner *planner, const struct plan_case *what, struct plan_figures *figures,
                enum plan_ask ask) {
    struct forming form[2];
    struct plan_run run[RUNS_MAX];
    uint64_t budget = budget_of(planner, what->checkpointed);
    bool known = planner->plan->budget_bytes != 0, may = known && figures->rounded_min <= budget;
    uint32_t n = 0;
    if (ask != ASK_RESERVED)
        figures->fits = known ? PLAN_NO : PLAN_UNKNOWN;
    if (ask < ASK_RESERVED && (!known || !plan_may_serve(planner, figures, what->checkpointed)))
        return true;
    bool done = forms_do(planner, what, program_work, form);
    for (uint32_t i = what->forms > 1 ? 2 : 1; i-- > 0;)
        for (int down = 0; down < 2; down++)
            run[n++] = run_of(planner, &form[i].program, what, budget, down != 0);
    done = done && runs_solve(planner, what, run, n, figures, ask, may);
    forms_release(form);
    return done;
}

void plan_case_of(const struct planner *planner, const struct plan_set *set, uint32_t from,
                  struct plan_case *what) {
    *what = (struct plan_case){.settings = planner->plan->replay->settings, .forms = 1};
    for (uint32_t i = 0; i < set->n_changes; i++) {
        const struct plan_change *change = &planner->plan->change[set->change[i]];
        const struct edit *form = change->form;
        if (change->kind == PLAN_SETTINGS) {
            what->settings = change->settings;
            continue;
        }
        if (change->kind == PLAN_CHECKPOINT) {
            checkpoint_of(planner, from, set->n_blocks, what->checkpoint);
            form = what->checkpoint;
            what->checkpointed = true;
        }
        what->forms = change->forms > what->forms ? change->forms : what->forms;
        what->edit[0][what->n_edits[0]++] = &form[0];
        what->edit[1][what->n_edits[1]++] = &form[change->forms - 1];
    }
    if (planner->held.n_cuts != 0) {
        what->edit[0][what->n_edits[0]++] = &planner->held;
        what->forms = 2;
    }
}

/* A result that was found already. */
struct known_use {
    uint32_t changes, from,
        n_blocks; /* bits of changes: those that are no settings, or with FROM_SOLVED all */
    struct plan_figures figures;
};

enum { FROM_SOLVED = UINT16_MAX }; /* not a curve in use, but the answer to ASK_SERVED */

static const struct plan_figures *known_find(const struct planner *planner, const struct known_use *use) {
    for (uint32_t i = 0; i < planner->n_known; i++) {
        const struct known_use *known = &planner->known[i];
        if (known->changes == use->changes && known->from == use->from && known->n_blocks == use->n_blocks)
            return &known->figures;
    }
    return NULL;
}

static bool known_add(struct planner *planner, const struct known_use *use) {
    if (!ARENA_GROW(planner->arena, planner->known, planner->known_capacity, (uint64_t)planner->n_known + 1))
        return false;
    planner->known[planner->n_known++] = *use;
    return true;
}

bool plan_set_in_use(struct planner *planner, const struct plan_set *set, uint32_t from,
                     struct plan_figures *figures) {
    struct known_use use = {.from = from, .n_blocks = set->n_blocks};
    struct plan_case what;
    for (uint32_t i = 0; i < set->n_changes; i++)
        if (planner->plan->change[set->change[i]].kind != PLAN_SETTINGS)
            use.changes |= UINT32_C(1) << set->change[i];
    const struct plan_figures *known = known_find(planner, &use);
    if (known != NULL) {
        *figures = *known;
        return true;
    }
    plan_case_of(planner, set, from, &what);
    if (!plan_in_use(planner, &what, &use.figures) || !known_add(planner, &use))
        return false;
    *figures = use.figures;
    return true;
}

bool plan_set_solve(struct planner *planner, struct plan_set *set, enum plan_ask ask) {
    struct known_use solved = {.from = FROM_SOLVED, .n_blocks = set->n_blocks};
    struct plan_case what;
    for (uint32_t i = 0; i < set->n_changes; i++)
        solved.changes |= UINT32_C(1) << set->change[i];
    if (set->n_changes == 1) {
        const struct plan_change *only = &planner->plan->change[set->change[0]];
        if (only->figures.reserved_known && only->n_blocks == set->n_blocks) {
            set->figures = only->figures;
            return true;
        }
    }
    const struct plan_figures *known = ask < ASK_RESERVED ? known_find(planner, &solved) : NULL;
    if (known != NULL) {
        set->figures = *known;
        return true;
    }
    plan_case_of(planner, set, set->n_blocks, &what);
    if ((ask != ASK_RESERVED && !plan_set_in_use(planner, set, set->n_blocks, &set->figures)) ||
        !plan_solve(planner, &what, &set->figures, ask))
        return false;
    solved.figures = set->figures;
    return ask != ASK_SERVED || known_add(planner, &solved);
}
