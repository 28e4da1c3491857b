/* Finds the changes that a recording can prove, each as an edit in one or two forms. */
#include "analysis/plan/plan_internal.h"

#include "base/bytes.h"
#include "base/words.h"
#include "layout/site.h"

enum { VALUES_LEAST = 4096 };

struct plan_change *plan_change_add(struct planner *planner, enum plan_kind kind, enum plan_cost cost,
                                    enum plan_certainty certainty, const char *id) {
    struct plan *plan = planner->plan;
    if (plan->n_changes == PLAN_CHANGES_MAX)
        return NULL;
    struct plan_change *change = &plan->change[plan->n_changes++];
    struct words words = {change->id, PLAN_ID, 0};
    *change = (struct plan_change){.kind = (uint8_t)kind, .cost = (uint8_t)cost, .forms = 1};
    change->certainty =
        (uint8_t)(plan->replay->grade == REPLAY_NEAR && certainty < CERTAINTY_ESTIMATE ? CERTAINTY_ESTIMATE
                                                                                       : certainty);
    words_say(&words, id);
    (void)words_end(&words);
    return change;
}

static uint64_t birth_of(const struct planner *planner, uint32_t allocation) {
    return position_at(planner->allocations->birth[allocation]);
}

/* Did a request fail before any backward, in the first step? Then nothing shows that none was to follow. */
static bool backward_may_follow(const struct plan *plan) {
    return plan->scope == PLAN_OF_REQUEST && !phase_runs_has(&plan->verdicts->runs, SIDE_BACKWARD);
}

static bool finding_counts(const struct plan *plan, const struct finding *finding) {
    if (finding_change((enum finding_kind)finding->kind) == NULL ||
        (finding->kind == FINDING_UNUSED_GRAPH && backward_may_follow(plan)))
        return false;
    return finding->saves_known && finding->saves > 0 && finding->n_cuts != 0;
}

static bool finding_edit(struct planner *planner, const struct finding *finding, struct edit *edit,
                         bool latest) {
    const struct findings *findings = &planner->plan->verdicts->findings;
    uint32_t n_events = planner->plan->program->device->n_events;
    for (uint32_t i = finding->first_cut; i < finding->first_cut + finding->n_cuts; i++) {
        const struct finding_cut *cut = &findings->cut[i];
        uint64_t to = cut->to <= n_events ? position_at(cut->to) : POSITION_NEVER;
        if (!edit_cut(edit, cut->allocation, position_at(latest ? cut->latest : cut->soonest), to,
                      planner->arena))
            return false;
    }
    return true;
}

static bool finding_add(struct planner *planner, const struct finding *finding) {
    struct plan_change *change = plan_change_add(
        planner, PLAN_FINDING, COST_NONE,
        finding->kind == FINDING_UNUSED_GRAPH ? CERTAINTY_ESTIMATE : CERTAINTY_EXACT, "finding:");
    if (change == NULL)
        return true;
    struct words words = {change->id, PLAN_ID, 8};
    words_say(&words, finding_kind_name((enum finding_kind)finding->kind));
    words_say(&words, ":");
    change->finding = finding;
    change->frame = finding->site;
    if (finding->site != 0) {
        char site[512];
        (void)site_text(planner->plan->program->trace, finding->site, site, sizeof site);
        words_say(&words, site);
    }
    (void)words_end(&words);
    change->forms = finding->kind == FINDING_UNUSED_GRAPH ? 2 : 1;
    return finding_edit(planner, finding, &change->form[0], false) &&
           (change->forms == 1 || finding_edit(planner, finding, &change->form[1], true));
}

/* The six that save most. */
static bool findings_add(struct planner *planner) {
    const struct findings *findings = &planner->plan->verdicts->findings;
    const struct finding *last = NULL;
    for (uint32_t n = 0; n < PLAN_FINDINGS_MAX; n++) {
        const struct finding *next = NULL;
        for (uint32_t i = 0; i < findings->count; i++) {
            const struct finding *one = &findings->finding[i];
            bool behind =
                last == NULL || one->saves < last->saves || (one->saves == last->saves && one > last);
            if (finding_counts(planner->plan, one) && behind && (next == NULL || one->saves > next->saves))
                next = one;
        }
        if (next == NULL)
            return true;
        if (!finding_add(planner, next))
            return false;
        last = next;
    }
    return true;
}

/* ---- the optimizer ---- */

static uint32_t foreach_frame(const struct planner *planner, uint32_t allocation) {
    const struct stack_table *stacks = &planner->plan->program->trace->stacks;
    uint32_t at = planner->allocations->stack[allocation];
    while (planner->stack_bits[stack_parent(stacks, at)] & PLAN_STACK_FOREACH)
        at = stack_parent(stacks, at);
    return stacks->frame[at];
}

/* fused=True makes no temporaries; with foreach=False each is freed when the second one after it is made. */
static bool fused_add(struct planner *planner) {
    const struct allocations *allocations = planner->allocations;
    const struct verdicts *verdicts = planner->plan->verdicts;
    struct edit form[2] = {{0}, {0}};
    uint32_t n_events = planner->plan->program->device->n_events, frame = 0;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        if (verdicts->runs.letter[i] != PHASE_OPTIMIZER || verdicts->category[i] != CATEGORY_TEMPORARY ||
            !(planner->stack_bits[allocations->stack[i]] & PLAN_STACK_FOREACH))
            continue;
        uint64_t death =
            allocations->death[i] <= n_events ? position_at(allocations->death[i]) : POSITION_NEVER;
        uint64_t second = i + 2 < allocations->count ? birth_of(planner, i + 2) : POSITION_NEVER;
        frame = frame == 0 ? foreach_frame(planner, i) : frame;
        if (!edit_cut(&form[0], i, birth_of(planner, i), POSITION_NEVER, planner->arena) ||
            !edit_cut(&form[1], i, second < death ? second : death, death, planner->arena))
            return false;
    }
    if (form[0].n_cuts == 0)
        return true;
    struct plan_change *change =
        plan_change_add(planner, PLAN_FUSED, COST_NONE, CERTAINTY_MODEL, "optimizer:fused");
    if (change != NULL) {
        change->form[0] = form[0];
        change->form[1] = form[1];
        change->forms = 2;
        change->frame = frame;
    }
    return true;
}

/* Values of 4 or 2 bytes become 1, and 4 more for each 256. */
static uint64_t in_eight_bits(uint64_t bytes, uint64_t width) {
    return bytes / width < VALUES_LEAST ? bytes : parts_of(bytes, width) + 4 * parts_of(bytes, 256 * width);
}

static bool is_state(const struct planner *planner, uint32_t allocation) {
    return planner->plan->verdicts->category[allocation] == CATEGORY_OPTIMIZER_STATE;
}

/* State whose values have 4 bytes now, or 2. */
static bool eight_bit_add(struct planner *planner) {
    const struct allocations *allocations = planner->allocations;
    struct plan_change *change =
        plan_change_add(planner, PLAN_EIGHT_BIT, COST_PRECISION, CERTAINTY_ESTIMATE, "state:8bit");
    if (change == NULL)
        return true;
    change->forms = 2;
    for (uint32_t form = 0; form < 2; form++) {
        uint64_t *size = arena_column(planner->arena, allocations->count, sizeof *size);
        if (size == NULL)
            return false;
        for (uint32_t i = 0; i < allocations->count; i++)
            size[i] = is_state(planner, i) ? in_eight_bits(allocations->size[i], form == 0 ? 4 : 2)
                                           : allocations->size[i];
        change->form[form].size = size;
    }
    return true;
}

static bool offload_add(struct planner *planner) {
    struct plan_change *change =
        plan_change_add(planner, PLAN_OFFLOAD, COST_ELSEWHERE, CERTAINTY_ESTIMATE, "offload:state");
    for (uint32_t i = 0; change != NULL && i < planner->allocations->count; i++)
        if (is_state(planner, i) &&
            !edit_cut(&change->form[0], i, birth_of(planner, i), POSITION_NEVER, planner->arena))
            return false;
    return true;
}

static bool states_add(struct planner *planner) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < planner->allocations->count; i++)
        bytes += is_state(planner, i) ? planner->allocations->size[i] : 0;
    if (bytes == 0 || bytes < planner->plan->as_recorded.live_max / 100)
        return true;
    return (plan_leaves_out(planner, WORD_EIGHT_BIT) || eight_bit_add(planner)) &&
           (plan_leaves_out(planner, WORD_OFFLOAD) || offload_add(planner));
}

/* ---- blocks, and bounds ---- */

/* Is a block compiled? The compiler would plan its memory anew, so figures are estimates. */
static bool is_compiled(const struct planner *planner) {
    const struct blocks *blocks = &planner->plan->blocks;
    for (uint32_t k = 0; k < blocks->n_spans; k++)
        for (uint32_t i = blocks->span[k].first; i < blocks->span[k].end; i++)
            if (planner->stack_bits[planner->allocations->stack[i]] & PLAN_STACK_COMPILED)
                return true;
    return false;
}

static bool checkpoint_add(struct planner *planner) {
    const struct blocks *blocks = &planner->plan->blocks;
    uint32_t most = 0;
    bool backward = false;
    for (uint32_t i = 0; i < blocks->n_forwards; i++) {
        most = blocks->forward[i].n_blocks > most ? blocks->forward[i].n_blocks : most;
        backward |= blocks->forward[i].n_blocks != 0 && blocks->forward[i].has_backward;
    }
    backward &= planner->plan->program->device->n_events < POSITION_EVENTS_MAX;
    planner->plan->no_checkpoint = !backward;
    if (!backward || plan_leaves_out(planner, WORD_CHECKPOINT))
        return true;
    struct plan_change *change =
        plan_change_add(planner, PLAN_CHECKPOINT, COST_TIME, CERTAINTY_MODEL, "checkpoint");
    if (change != NULL) {
        change->n_blocks = most;
        change->forms = 2;
        change->certainty = is_compiled(planner) ? CERTAINTY_ESTIMATE : change->certainty;
    }
    return checkpoint_make(planner, most);
}

/* Two halves of a batch: allocations of forward and backward are half as large, and gradients live from the forward
 * on. */
static bool micro_batch_edit(struct planner *planner, struct edit *edit) {
    const struct allocations *allocations = planner->allocations;
    const struct verdicts *verdicts = planner->plan->verdicts;
    const struct blocks *blocks = &planner->plan->blocks;
    uint64_t *size = arena_column(planner->arena, allocations->count, sizeof *size);
    uint32_t number = 0;
    if (size == NULL)
        return false;
    bytes_copy(size, allocations->size, allocations->count * sizeof *size);
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        uint8_t category = verdicts->category[i];
        if (side_of_letter(verdicts->runs.letter[i]) != SIDE_OPTIMIZER &&
            (category == CATEGORY_ACTIVATION || category == CATEGORY_TEMPORARY || category == CATEGORY_INPUT))
            size[i] = parts_of(size[i], 2);
    }
    edit->size = size;
    for (uint32_t f = 0; f < blocks->n_forwards; f++) {
        const struct forward *forward = &blocks->forward[f];
        if (!forward->has_backward)
            continue;
        const struct phase_run *run = &verdicts->runs.run[forward->run + 1];
        for (uint32_t k = run->first; k <= run->last; k++) {
            uint32_t row = allocations->preexisting + k;
            if (verdicts->category[row] == CATEGORY_GRADIENT &&
                !edit_life(edit, row, position_behind(allocations->birth[forward->first] - 1, number++),
                           position_behind(allocations->birth[row], 0), planner->arena))
                return false;
        }
    }
    return true;
}

/* Adds the bound if the remaining memory is below the peak. False: no memory. */
static bool bound_add(struct planner *planner, const struct edit *edit, enum plan_kind kind,
                      enum plan_cost cost, const char *id) {
    struct plan_figures figures;
    struct plan_case what = {.edit = {{edit}}, .n_edits = {1}, .forms = 1};
    if (!plan_in_use(planner, &what, &figures))
        return false;
    if (figures.live_min >= planner->plan->as_recorded.live_max)
        return true;
    struct plan_change *change = plan_change_add(planner, kind, cost, CERTAINTY_BOUND, id);
    if (change != NULL)
        change->figures.live_min = figures.live_min - figures.live_min / 100;
    return true;
}

static bool micro_batch_add(struct planner *planner) {
    struct edit edit = {0};
    return planner->plan->no_checkpoint ||
           (micro_batch_edit(planner, &edit) &&
            bound_add(planner, &edit, PLAN_MICRO_BATCH, COST_TIME, "micro_batch:2"));
}

/* For a recording without a backward: allocations that the graph of a forward holds die as if nothing held them.
 * False: no memory. */
static bool no_grad_edit(struct planner *planner, struct edit *edit) {
    const struct allocations *allocations = planner->allocations;
    const struct verdicts *verdicts = planner->plan->verdicts;
    if (phase_runs_has(&verdicts->runs, SIDE_BACKWARD) || backward_may_follow(planner->plan))
        return true;
    for (uint32_t i = allocations->preexisting; i + 2 < allocations->count; i++)
        if (verdicts->category[i] == CATEGORY_ACTIVATION && verdicts->runs.letter[i] == PHASE_FORWARD &&
            !edit_cut(edit, i, birth_of(planner, i + 2), POSITION_NEVER, planner->arena))
            return false;
    return true;
}

static bool no_grad_add(struct planner *planner) {
    struct edit edit = {0};
    struct plan *plan = planner->plan;
    for (uint32_t i = 0; i < plan->n_changes; i++)
        if (plan->change[i].kind == PLAN_FINDING && plan->change[i].finding->kind == FINDING_UNUSED_GRAPH)
            return true;
    return no_grad_edit(planner, &edit) &&
           (edit.n_cuts == 0 || bound_add(planner, &edit, PLAN_NO_GRAD, COST_NONE, "no_grad"));
}

/* The edits of checkpointing are sorted already. */
static bool edits_sort(struct planner *planner) {
    for (uint32_t i = 0; i < planner->plan->n_changes; i++)
        for (uint32_t form = 0; form < planner->plan->change[i].forms; form++)
            if (!edit_sort(&planner->plan->change[i].form[form], &planner->lives, planner->arena))
                return false;
    return true;
}

bool plan_edits_find(struct planner *planner) {
    return (plan_leaves_out(planner, WORD_FINDINGS) || findings_add(planner)) &&
           (plan_leaves_out(planner, WORD_FUSED) || fused_add(planner)) && checkpoint_add(planner) &&
           states_add(planner) && micro_batch_add(planner) && no_grad_add(planner) && edits_sort(planner);
}
