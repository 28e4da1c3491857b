/* The parts of a plan: the budget, times, the figures of each change. */
#include "analysis/plan/plan_internal.h"

#include "base/words.h"

__extension__ typedef unsigned __int128 wide;

const char *const plan_word_text[] = {[WORD_EXPANDABLE] = "expandable_segments",
                                      [WORD_MAX_SPLIT] = "max_split_size_mb",
                                      [WORD_COLLECT] = "garbage_collection_threshold",
                                      [WORD_ROUNDUP] = "roundup_power2_divisions",
                                      [WORD_FINDINGS] = "findings",
                                      [WORD_FUSED] = "fused",
                                      [WORD_CHECKPOINT] = "checkpoint",
                                      [WORD_EIGHT_BIT] = "eight_bit",
                                      [WORD_OFFLOAD] = "offload"};

const char *const plan_scope_name[] = {"recording", "step", "request"};
const char *const plan_fits_name[] = {NULL, "yes", "with_retries", "unsure", "no"};
const char *const plan_cost_name[] = {"none", "time", "precision", "elsewhere"};
const char *const plan_certainty_name[] = {"exact", "model", "estimate", "bound"};

void plan_change_id(const struct plan_change *change, uint32_t n_blocks, char text[PLAN_ID]) {
    struct words words = {text, PLAN_ID, 0};
    words_say(&words, change->id);
    if (change->kind == PLAN_CHECKPOINT)
        WORDS_TELL(&words, ":%d", n_blocks == UINT32_MAX ? change->n_blocks : n_blocks);
    (void)words_end(&words);
}

static uint8_t bits_of_frame(const struct trace *trace, const struct frame *frame) {
    struct text name = trace_text(trace, frame->name);
    bool compiled = text_contains(trace_text(trace, frame->file), "torchinductor");
    return (uint8_t)((text_begins(name, "_multi_tensor_") ? PLAN_STACK_FOREACH : 0) |
                     (compiled ? PLAN_STACK_COMPILED : 0));
}

static bool stacks_read(struct planner *planner) {
    const struct trace *trace = planner->plan->program->trace;
    uint8_t *of_frame = arena_column(planner->arena, trace->frames.count, 1);
    planner->stack_bits = arena_column(planner->arena, trace->stacks.count, 1);
    if (of_frame == NULL || planner->stack_bits == NULL)
        return false;
    for (uint32_t i = 0; i < trace->frames.count; i++)
        of_frame[i] = bits_of_frame(trace, &trace->frames.frame[i]);
    planner->stack_bits[0] = 0;
    for (uint32_t i = 1; i < trace->stacks.count; i++)
        planner->stack_bits[i] =
            of_frame[trace->stacks.frame[i]] | planner->stack_bits[stack_parent(&trace->stacks, i)];
    ARENA_DROP(planner->arena, of_frame);
    return true;
}

/* Median host time from the begin of a block to the begin of what follows it; of two, the lower. */
static int64_t block_time(const struct planner *planner, const struct forward *forward,
                          struct sort_row *rows) {
    const int64_t *time = planner->plan->program->device->time_us;
    const struct block_span *span = &planner->plan->blocks.span[forward->first_block];
    const uint32_t *birth = planner->allocations->birth;
    uint32_t n = 0;
    for (uint32_t i = 0; i < forward->n_blocks && span[i].end < planner->allocations->count; i++) {
        int64_t begin = time[birth[span[i].first] - 1], next = time[birth[span[i].end] - 1];
        rows[n++] = (struct sort_row){next > begin ? (uint64_t)next - (uint64_t)begin : 0, 0};
    }
    sort_rows(rows, rows + n, n);
    return n != 0 ? (int64_t)rows[(n - 1) / 2].key : 0;
}

static bool times_find(struct planner *planner) {
    struct plan *plan = planner->plan;
    const struct device_trace *device = plan->program->device;
    struct sort_row *rows = arena_column(planner->arena, (uint64_t)plan->blocks.n_spans * 2, sizeof *rows);
    plan->block_us = arena_column(planner->arena, plan->blocks.n_forwards, sizeof *plan->block_us);
    if (rows == NULL || plan->block_us == NULL)
        return false;
    for (uint32_t i = plan->blocks.n_forwards; i-- > 0;) {
        const struct forward *forward = &plan->blocks.forward[i];
        plan->block_us[i] = 0;
        if (device->time_us == NULL || forward->n_blocks == 0)
            continue;
        if (forward->has_backward)
            plan->block_us[i] = block_time(planner, forward, rows);
        /* unsigned, because raw times may be anything */
        plan->span_us = (int64_t)((uint64_t)device->time_us[device->n_events - 1] -
                                  (uint64_t)device->time_us[planner->allocations->birth[forward->first] - 1]);
    }
    plan->timed = plan->span_us > 0;
    ARENA_DROP(planner->arena, rows);
    return true;
}

uint32_t plan_share(const struct plan *plan, uint32_t n_blocks) {
    uint64_t us = 0;
    if (!plan->timed)
        return UINT32_MAX;
    for (uint32_t i = 0; i < plan->blocks.n_forwards; i++) {
        uint32_t n =
            plan->blocks.forward[i].n_blocks < n_blocks ? plan->blocks.forward[i].n_blocks : n_blocks;
        us += (uint64_t)plan->block_us[i] * n;
    }
    return (uint32_t)(us < UINT64_MAX / 2000000 ? us * 1000000 / (uint64_t)plan->span_us : UINT32_MAX - 1);
}

const struct plan_change *plan_best_setting(const struct plan *plan) {
    const struct plan_change *best = NULL;
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->change[i];
        if (change->kind == PLAN_SETTINGS &&
            (best == NULL || change->figures.reserved_max < best->figures.reserved_max))
            best = change;
    }
    bool much = best != NULL && best->figures.reserved_known &&
                plan_saves_much(plan->as_recorded.reserved_max, best->figures.reserved_max);
    return much && !plan->ended_by_oom ? best : NULL;
}

static bool figures_find(struct planner *planner) {
    struct plan *plan = planner->plan;
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        struct plan_change *change = &plan->change[i];
        struct plan_set set = {.change = {i}, .n_changes = 1, .n_blocks = change->n_blocks};
        if (change->certainty == CERTAINTY_BOUND || change->kind == PLAN_SETTINGS)
            continue;
        if (!plan_set_solve(planner, &set, ASK_ALL))
            return false;
        change->figures = set.figures;
        change->idle = set.figures.live_max >= plan->as_recorded.live_max &&
                       (wide)set.figures.reserved_max * 100 >= (wide)plan->as_recorded.reserved_max * 99;
    }
    return true;
}

static bool state_is_unknown(const struct plan *plan) {
    const struct allocations *allocations = &plan->program->device->allocations;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        if (plan->verdicts->category[i] == CATEGORY_OTHER)
            return true;
    return false;
}

uint64_t plan_asked_budget(const struct plan_request *request) {
    return request->gpu_bytes - (request->keep_percent != 0
                                     ? (uint64_t)((wide)request->gpu_bytes * request->keep_percent / 100)
                                     : request->keep_bytes);
}

static void budget_find(struct planner *planner) {
    struct plan *plan = planner->plan;
    plan->seen = whatif_budget_find(plan->recorded, &plan->replay->settings);
    plan->recorded_peak_bytes = plan->seen.at_least_bytes;
    plan->asked_bytes = planner->request->gpu_bytes;
    plan->keep_percent = planner->request->keep_percent;
    plan->keep_bytes = plan->asked_bytes - plan_asked_budget(planner->request);
    plan->budget_bytes = plan->asked_bytes != 0 ? plan->asked_bytes - plan->keep_bytes : plan->seen.bytes;
}

static bool recorded_solve(struct planner *planner) {
    struct plan_set none = {0};
    bool done = plan_set_solve(planner, &none, ASK_ALL);
    struct plan *plan = planner->plan;
    plan->as_recorded = none.figures;
    /* It failed, so a model that is served with what the process had does not have all that mattered. */
    if (plan->ended_by_oom && plan->asked_bytes == 0 && plan_is_served(plan->as_recorded.fits))
        plan->as_recorded.fits = PLAN_UNSURE;
    return done;
}

static bool all_blocks_find(struct planner *planner) {
    const struct verdicts *verdicts = planner->plan->verdicts;
    return blocks_find(&planner->plan->blocks, verdicts->timeline, &verdicts->runs, verdicts->category,
                       planner->arena);
}

/* In one form, what the steps before held goes with the request that failed. False: no memory. */
static bool held_cut(struct planner *planner, const struct continued *continued) {
    for (uint32_t i = 0; i < continued->n_held; i++)
        if (!edit_cut(&planner->held, continued->held[i], position_at(continued->event + 1), POSITION_NEVER,
                      planner->arena))
            return false;
    return edit_sort(&planner->held, &planner->lives, planner->arena);
}

/* Of the continued recording alone, what is kept from step to step is what was assumed for it. */
static void findings_keep(struct findings *own, const struct findings *seen) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        uint8_t kind = own->finding[i].kind;
        bool is_seen = kind != FINDING_LEAK && kind != FINDING_HELD_OVER && kind != FINDING_GRADIENTS_KEPT;
        for (uint32_t k = 0; k < seen->count && !is_seen; k++)
            is_seen = seen->finding[k].kind == kind && seen->finding[k].site == own->finding[i].site;
        if (is_seen)
            own->finding[n++] = own->finding[i];
    }
    own->count = n;
}

static bool all_find(struct planner *planner, const struct continued *continued) {
    struct plan *plan = planner->plan;
    plan->change = arena_column(planner->arena, PLAN_CHANGES_MAX, sizeof *plan->change);
    return plan->change != NULL && lives_init(&planner->lives, plan->program, planner->arena) &&
           held_cut(planner, continued) && stacks_read(planner) && all_blocks_find(planner) &&
           times_find(planner) && recorded_solve(planner) && plan_settings_find(planner) &&
           plan_edits_find(planner) && figures_find(planner) && plan_search(planner) &&
           (planner->request->work_most != 0 || loss_find(planner));
}

bool plan_find(struct plan *plan, const struct program *recorded, const struct program *program,
               const struct replay *replay, const struct verdicts *verdicts,
               const struct continued *continued, const struct plan_request *request, struct arena *arena) {
    struct planner planner = {
        .plan = plan, .request = request, .allocations = &program->device->allocations, .arena = arena};
    *plan = (struct plan){.recorded = recorded,
                          .program = program,
                          .replay = replay,
                          .verdicts = verdicts,
                          .ended_by_oom = recorded->device->n_ooms != 0,
                          .scope = recorded->device->n_ooms == 0     ? PLAN_OF_RECORDING
                                   : continued->by == CONTINUED_STEP ? PLAN_OF_STEP
                                                                     : PLAN_OF_REQUEST,
                          .recorded_live_bytes = verdicts->timeline->peak_bytes,
                          .short_search = program->device->n_events > REPLAY_EVENTS_AT_ONCE};
    budget_find(&planner);
    if (replay->grade == REPLAY_REFUSED)
        return true;
    plan->state_unknown = state_is_unknown(plan);
    bool done = all_find(&planner, continued);
    plan->left_out = planner.gave_up;
    if (planner.gave_up)
        plan->n_changes = plan->n_plans = 0;
    return done || planner.gave_up;
}

bool plan_of_timeline(struct plan *plan, const struct timeline *timeline, const struct plan_request *request,
                      struct arena *arena) {
    struct program *program = arena_alloc(arena, 2 * sizeof *program);
    struct replay *replay = arena_alloc(arena, sizeof *replay);
    struct verdicts *verdicts = arena_alloc(arena, 2 * sizeof *verdicts);
    struct continued *continued = arena_alloc(arena, sizeof *continued);
    struct timeline *longer = arena_alloc(arena, sizeof *longer);
    if (program == NULL || replay == NULL || verdicts == NULL || continued == NULL || longer == NULL ||
        !program_init(&program[0], timeline->trace, timeline->device, arena) ||
        !replay_run(replay, timeline->trace, timeline->device, &program[0], arena) ||
        !verdicts_init_with_cuts(&verdicts[0], timeline, arena))
        return false;
    uint32_t index = (uint32_t)(timeline->device - timeline->trace->devices);
    *continued = (struct continued){.by = CONTINUED_NOT};
    if (timeline->device->n_ooms != 0 && replay->grade != REPLAY_REFUSED &&
        !continued_find(continued, &verdicts[0], arena))
        return false;
    if (continued->by == CONTINUED_NOT)
        return plan_find(plan, &program[0], &program[0], replay, &verdicts[0], continued, request, arena);
    bool done = timeline_init(longer, &continued->trace, index, arena) &&
                program_init(&program[1], &continued->trace, &continued->trace.devices[index], arena) &&
                verdicts_init_with_cuts(&verdicts[1], longer, arena);
    if (done)
        findings_keep(&verdicts[1].findings, &verdicts[0].findings);
    done = done && plan_find(plan, &program[0], &program[1], replay, &verdicts[1], continued, request, arena);
    plan->recorded_live_bytes = timeline->peak_bytes;
    plan->listed_bytes = continued->listed_bytes;
    return done;
}
