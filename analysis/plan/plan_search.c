/* The search: each change by itself, then in pairs, for each cost. */
#include "analysis/plan/plan_internal.h"

static bool is_state(uint8_t kind) {
    return kind == PLAN_EIGHT_BIT || kind == PLAN_OFFLOAD;
}

/* Makes the set of one change, or of two. False: they do not go together, or none has this cost. */
static bool set_make(const struct plan *plan, struct plan_set *set, uint32_t first, uint32_t second,
                     enum plan_cost cost) {
    const struct plan_change *a = &plan->change[first], *b = &plan->change[second];
    *set = (struct plan_set){.change = {first, second},
                             .n_changes = first != second ? 2 : 1,
                             .cost = (uint8_t)cost,
                             .certainty = a->certainty > b->certainty ? a->certainty : b->certainty};
    bool alike = first != second && ((a->kind == PLAN_SETTINGS && b->kind == PLAN_SETTINGS) ||
                                     (is_state(a->kind) && is_state(b->kind)));
    return !alike && set->certainty != CERTAINTY_BOUND && (a->cost > b->cost ? a->cost : b->cost) == cost;
}

static const struct plan_change *checkpoint_in(const struct plan *plan, const struct plan_set *set) {
    for (uint32_t i = 0; i < set->n_changes; i++)
        if (plan->change[set->change[i]].kind == PLAN_CHECKPOINT)
            return &plan->change[set->change[i]];
    return NULL;
}

/* The smallest K in [from, set->n_blocks] whose memory in use fits; 0: none. Skips a range at once if its bound
 * exceeds the budget. Recursion: halves. False: no memory. */
static bool next_in_use(struct planner *planner, const struct plan_set *set, uint32_t from, uint32_t *k) {
    struct plan_figures least;
    struct plan_set lower = *set;
    *k = 0;
    if (!plan_set_in_use(planner, set, from, &least))
        return false;
    if (!plan_may_serve(planner, &least, true))
        return true;
    if (from == set->n_blocks) {
        *k = from;
        return true;
    }
    lower.n_blocks = from + (set->n_blocks - from) / 2;
    return next_in_use(planner, &lower, from, k) &&
           (*k != 0 || next_in_use(planner, set, lower.n_blocks + 1, k));
}

/* Solves the set with the smallest K that answers as asked, or with all blocks if what follows is not known; `*served`:
 * there is one. False: no memory. */
static bool set_try(struct planner *planner, struct plan_set *set, uint32_t from, enum plan_ask ask,
                    bool *served) {
    const struct plan_change *checkpoint = checkpoint_in(planner->plan, set);
    *served = false;
    if (checkpoint != NULL && planner->plan->scope == PLAN_OF_REQUEST && from < checkpoint->n_blocks) {
        if (!set_try(planner, set, checkpoint->n_blocks, ask, served) || *served)
            return !planner->gave_up;
    }
    for (uint32_t k = from; k <= (checkpoint != NULL ? checkpoint->n_blocks : from) && !*served; k++) {
        if (checkpoint != NULL) {
            set->n_blocks = checkpoint->n_blocks;
            if (!next_in_use(planner, set, k, &k))
                return false;
            if (k == 0)
                return true;
            set->n_blocks = k;
        }
        if (!plan_set_solve(planner, set, ask))
            return false;
        *served = ask == ASK_CALM ? set->figures.fits == PLAN_YES : plan_is_served(set->figures.fits);
    }
    return true;
}

static uint64_t set_share(const struct plan *plan, const struct plan_set *set) {
    uint32_t share = set->n_blocks != 0 ? plan_share(plan, set->n_blocks) : 0;
    return share == UINT32_MAX ? 0 : share;
}

/* Keeps the set as the best one, if it costs less time, or as much and reserves less. False: no memory. */
static bool set_keep(struct planner *planner, struct plan_set *set, struct plan_set *best) {
    uint64_t own = set_share(planner->plan, set), other = set_share(planner->plan, best);
    if (best->n_changes != 0 && own > other)
        return true;
    if (!set->figures.reserved_known && !plan_set_solve(planner, set, ASK_RESERVED))
        return false;
    if (best->n_changes == 0 || own < other || set->figures.reserved_max < best->figures.reserved_max)
        *best = *set;
    return true;
}

/* All sets of one change, or of two: the best one, and the best one without retries. */
static bool sets_try(struct planner *planner, bool pairs, enum plan_cost cost, struct plan_set *best,
                     struct plan_set *calm) {
    uint32_t n = planner->plan->n_changes;
    for (uint32_t first = 0; first < n; first++)
        for (uint32_t second = pairs ? first + 1 : first; second < (pairs ? n : first + 1); second++) {
            struct plan_set set;
            bool served;
            if (!set_make(planner->plan, &set, first, second, cost))
                continue;
            if (!set_try(planner, &set, checkpoint_in(planner->plan, &set) != NULL, ASK_SERVED, &served) ||
                (served && !set_keep(planner, &set, best)) ||
                (served && set.figures.fits == PLAN_YES && !set_keep(planner, &set, calm)))
                return false;
        }
    return true;
}

/* Nothing serves: the set with the least in use, and what is lacking with it. */
static bool nearest_find(struct planner *planner) {
    struct plan *plan = planner->plan;
    struct plan_set least = {.figures = plan->as_recorded};
    for (uint32_t first = 0; first < plan->n_changes; first++)
        for (uint32_t second = first; second < plan->n_changes; second++)
            for (enum plan_cost cost = COST_NONE; cost <= COST_ELSEWHERE; cost++) {
                struct plan_set set;
                if (!set_make(plan, &set, first, second, cost))
                    continue;
                const struct plan_change *checkpoint = checkpoint_in(plan, &set);
                set.n_blocks = checkpoint != NULL ? checkpoint->n_blocks : 0;
                if (!plan_set_in_use(planner, &set, set.n_blocks, &set.figures))
                    return false;
                if (set.figures.rounded_max < least.figures.rounded_max)
                    least = set;
            }
    plan->nearest = least;
    plan->has_nearest = true;
    uint64_t needs = least.figures.rounded_max;
    plan->lacking_bytes = needs > plan->budget_bytes ? needs - plan->budget_bytes : 0;
    return plan_set_solve(planner, &plan->nearest, ASK_ALL);
}

/* A set without retries: the plan with more blocks, otherwise the other set. False: no memory. */
static bool calm_find(struct planner *planner, struct plan_set *best, const struct plan_set *calm) {
    struct plan_set set = *best;
    bool found = false;
    if (best->figures.fits != PLAN_WITH_RETRIES)
        return true;
    if (checkpoint_in(planner->plan, best) != NULL &&
        !set_try(planner, &set, best->n_blocks + 1, ASK_CALM, &found))
        return false;
    const struct plan_set *other = found ? &set : calm;
    best->calm_blocks = other->n_blocks;
    best->n_calm = other->n_changes;
    for (uint32_t i = 0; i < other->n_changes; i++)
        best->calm[i] = other->change[i];
    return true;
}

bool plan_search(struct planner *planner) {
    struct plan *plan = planner->plan;
    uint32_t smallest = UINT32_MAX;
    if (plan->budget_bytes == 0 || plan_is_served(plan->as_recorded.fits))
        return true;
    for (enum plan_cost cost = COST_NONE; cost <= COST_ELSEWHERE && smallest > 1; cost++) {
        struct plan_set best = {0}, calm = {0};
        if (!sets_try(planner, false, cost, &best, &calm) ||
            (best.n_changes == 0 && smallest > 2 && !plan->short_search &&
             !sets_try(planner, true, cost, &best, &calm)))
            return false;
        if (best.n_changes == 0)
            continue;
        if (!calm_find(planner, &best, &calm))
            return false;
        smallest = best.n_changes;
        plan->plans[plan->n_plans++] = best;
    }
    return plan->n_plans != 0 || nearest_find(planner);
}
