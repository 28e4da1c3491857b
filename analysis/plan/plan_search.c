/* The search of the smallest set that is served, for each cost. */
#include "analysis/plan/plan_internal.h"

static enum plan_certainty certainty_of(const struct plan *plan, const struct plan_set *set) {
    uint8_t weakest = CERTAINTY_EXACT;
    for (uint32_t i = 0; i < set->n_changes; i++)
        weakest = plan->change[set->change[i]].certainty > weakest ? plan->change[set->change[i]].certainty
                                                                   : weakest;
    return (enum plan_certainty)weakest;
}

static bool is_state(uint8_t kind) {
    return kind >= PLAN_EIGHT_BIT && kind <= PLAN_OFFLOAD;
}

static bool set_is_allowed(const struct plan *plan, const struct plan_set *set, enum plan_cost cost) {
    uint32_t settings = 0, states = 0, dear = 0;
    for (uint32_t i = 0; i < set->n_changes; i++) {
        const struct plan_change *change = &plan->change[set->change[i]];
        if (change->certainty == CERTAINTY_BOUND || change->cost > cost)
            return false;
        settings += change->kind == PLAN_SETTINGS;
        states += is_state(change->kind);
        dear += change->cost == cost;
    }
    return settings <= 1 && states <= 1 && dear >= 1;
}

static const struct plan_change *checkpoint_in(const struct plan *plan, const struct plan_set *set) {
    for (uint32_t i = 0; i < set->n_changes; i++)
        if (plan->change[set->change[i]].kind == PLAN_CHECKPOINT)
            return &plan->change[set->change[i]];
    return NULL;
}

/* Is it served? Its retries are known then. False: no memory. */
static bool set_try_with(struct planner *planner, struct plan_set *set, uint32_t n_blocks, bool *served) {
    set->n_blocks = n_blocks;
    if (!plan_set_solve(planner, set, ASK_SERVED))
        return false;
    *served = plan_is_served(set->figures.fits);
    return true;
}

/* The smallest part in (low, n] that serves: part `low` does not, part `n` does. Parts are eighths of `n_blocks`,
 * or single blocks if that is 0. */
static bool set_bisect(struct planner *planner, struct plan_set *set, uint32_t low, uint32_t n,
                       uint32_t n_blocks) {
    bool served;
    while (n - low > 1) {
        uint32_t middle = low + (n - low) / 2, k = n_blocks == 0 ? middle : (middle * n_blocks + 7) / 8;
        if (!set_try_with(planner, set, k, &served))
            return false;
        *(served ? &n : &low) = middle;
    }
    set->n_blocks = n;
    return true;
}

/* Multiples of an eighth, then single blocks. False: no memory. */
static bool set_try_short(struct planner *planner, struct plan_set *set, uint32_t most, bool *served) {
    if (!set_try_with(planner, set, most, served))
        return false;
    if (!*served)
        return true;
    if (most > 8) {
        if (!set_bisect(planner, set, 0, 8, most))
            return false;
        uint32_t part = set->n_blocks;
        if (!set_bisect(planner, set, ((part - 1) * most + 7) / 8, (part * most + 7) / 8, 0))
            return false;
    } else if (!set_bisect(planner, set, 0, most, 0))
        return false;
    return set_try_with(planner, set, set->n_blocks, served);
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

/* Is it served, with the smallest K? False: no memory. */
static bool set_try(struct planner *planner, struct plan_set *set, bool *served) {
    const struct plan_change *checkpoint = checkpoint_in(planner->plan, set);
    if (checkpoint == NULL)
        return set_try_with(planner, set, 0, served);
    if (planner->plan->short_search)
        return set_try_short(planner, set, checkpoint->n_blocks, served);
    *served = false;
    for (uint32_t k = 1; k <= checkpoint->n_blocks && !*served; k++) {
        set->n_blocks = checkpoint->n_blocks;
        if (!next_in_use(planner, set, k, &k))
            return false;
        if (k == 0)
            return true;
        if (!set_try_with(planner, set, k, served))
            return false;
    }
    return true;
}

/* The same if K does not matter: a short search tries all blocks only. */
static bool set_serves(struct planner *planner, struct plan_set *set, bool *served) {
    const struct plan_change *checkpoint = checkpoint_in(planner->plan, set);
    return planner->plan->short_search && checkpoint != NULL
               ? set_try_with(planner, set, checkpoint->n_blocks, served)
               : set_try(planner, set, served);
}

/* Fills in the remaining figures of a set that is served. */
static bool set_fill(struct planner *planner, struct plan_set *set) {
    set->certainty = (uint8_t)certainty_of(planner->plan, set);
    return set->figures.reserved_known || plan_set_solve(planner, set, ASK_RESERVED);
}

static uint64_t set_share(const struct plan *plan, const struct plan_set *set) {
    uint32_t share = set->n_blocks != 0 ? plan_share(plan, set->n_blocks) : 0;
    return share == UINT32_MAX ? 0 : share;
}

static bool set_is_better(const struct plan *plan, const struct plan_set *set, const struct plan_set *best) {
    uint64_t own = set_share(plan, set), other = set_share(plan, best);
    return own < other || (own == other && set->figures.reserved_max < best->figures.reserved_max);
}

/* Keeps the set as the best one, if it is better. False: no memory. */
static bool set_keep(struct planner *planner, struct plan_set *set, struct plan_set *best) {
    if (best->n_changes != 0 && set_share(planner->plan, set) > set_share(planner->plan, best))
        return true;
    if (!set_fill(planner, set))
        return false;
    if (best->n_changes == 0 || set_is_better(planner->plan, set, best))
        *best = *set;
    return true;
}

/* All sets of one size. */
static bool sets_try(struct planner *planner, uint32_t size, enum plan_cost cost, struct plan_set *best,
                     struct plan_set *calm) {
    uint32_t n = planner->plan->n_changes, at[3] = {0, 1, 2};
    bool served;
    while (size <= n) {
        struct plan_set set = {.n_changes = size, .cost = (uint8_t)cost};
        for (uint32_t i = 0; i < size; i++)
            set.change[i] = at[i];
        if (set_is_allowed(planner->plan, &set, cost)) {
            if (!set_try(planner, &set, &served))
                return false;
            if (served && !(set_keep(planner, &set, best) &&
                            (set.figures.fits != PLAN_YES || set_keep(planner, &set, calm))))
                return false;
        }
        uint32_t i = size;
        while (i > 0 && at[i - 1] == n - size + i - 1)
            i--;
        if (i == 0)
            break;
        at[i - 1]++;
        for (; i < size; i++)
            at[i] = at[i - 1] + 1;
    }
    return true;
}

/* All changes of at most this cost together, but one change of the optimizer state, and one setting or none
 * (UINT32_MAX). */
static struct plan_set everything(const struct plan *plan, enum plan_cost cost, uint32_t setting) {
    struct plan_set set = {.cost = (uint8_t)cost};
    uint32_t state = UINT32_MAX;
    for (uint32_t i = 0; i < plan->n_changes; i++)
        if (is_state(plan->change[i].kind) && plan->change[i].cost <= cost)
            state = i;
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->change[i];
        bool out = change->certainty == CERTAINTY_BOUND || change->cost > cost ||
                   (is_state(change->kind) && i != state) || (change->kind == PLAN_SETTINGS && i != setting);
        if (!out)
            set.change[set.n_changes++] = i;
    }
    return set;
}

static void set_drop(struct plan_set *set, uint32_t at) {
    set->n_changes--;
    for (uint32_t i = at; i < set->n_changes; i++)
        set->change[i] = set->change[i + 1];
}

/* Removes changes that are not needed, dearest first. */
static bool set_reduce(struct planner *planner, struct plan_set *set) {
    for (int cost = COST_ELSEWHERE; cost >= COST_NONE; cost--)
        for (uint32_t i = 0; i < set->n_changes;) {
            struct plan_set less = *set;
            bool served = false;
            if (planner->plan->change[set->change[i]].cost == cost && set->n_changes > 1) {
                set_drop(&less, i);
                if (!set_serves(planner, &less, &served))
                    return false;
            }
            if (served)
                *set = less;
            else
                i++;
        }
    return true;
}

static bool everything_try(struct planner *planner, enum plan_cost cost, uint32_t smallest,
                           struct plan_set *best) {
    struct plan *plan = planner->plan;
    bool served;
    for (uint32_t setting = 0; setting <= plan->n_changes; setting++) {
        uint32_t own = setting == 0 ? UINT32_MAX : setting - 1;
        if (own != UINT32_MAX && plan->change[own].kind != PLAN_SETTINGS)
            continue;
        struct plan_set set = everything(plan, cost, own);
        if (set.n_changes < 4 || set.n_changes >= smallest || !set_is_allowed(plan, &set, cost))
            continue;
        if (!set_serves(planner, &set, &served) || (served && !set_reduce(planner, &set)))
            return false;
        if (served && set_is_allowed(plan, &set, cost) &&
            (best->n_changes == 0 || set.n_changes < best->n_changes))
            *best = set;
    }
    return best->n_changes == 0 || (set_try(planner, best, &served) && set_fill(planner, best));
}

static bool nearest_find(struct planner *planner) {
    struct plan *plan = planner->plan;
    for (uint32_t setting = 0; setting <= plan->n_changes; setting++) {
        uint32_t own = setting == 0 ? UINT32_MAX : setting - 1;
        if (own != UINT32_MAX && plan->change[own].kind != PLAN_SETTINGS)
            continue;
        struct plan_set set = everything(plan, COST_ELSEWHERE, own);
        const struct plan_change *checkpoint = checkpoint_in(plan, &set);
        set.n_blocks = checkpoint != NULL ? checkpoint->n_blocks : 0;
        set.certainty = (uint8_t)certainty_of(plan, &set);
        if (!plan_set_solve(planner, &set, ASK_ALL))
            return false;
        if (!plan->has_nearest || set.figures.reserved_max < plan->nearest.figures.reserved_max)
            plan->nearest = set;
        plan->has_nearest = true;
    }
    uint64_t needs = plan->nearest.figures.rounded_max;
    plan->lacking_bytes = needs > plan->budget_bytes ? needs - plan->budget_bytes : 0;
    return true;
}

/* A set without retries: the plan with more blocks, otherwise the other set. False: no memory. */
static bool calm_find(struct planner *planner, struct plan_set *best, const struct plan_set *calm) {
    const struct plan_change *checkpoint = checkpoint_in(planner->plan, best);
    struct plan_set set = *best;
    best->calm_blocks = best->n_calm = 0;
    if (best->figures.fits != PLAN_WITH_RETRIES)
        return true;
    bool found = false;
    for (uint32_t k = best->n_blocks + 1; checkpoint != NULL && k <= checkpoint->n_blocks && !found; k++) {
        set.n_blocks = planner->plan->short_search ? checkpoint->n_blocks : k;
        k = set.n_blocks;
        if (!plan_set_solve(planner, &set, ASK_CALM))
            return false;
        found = set.figures.fits == PLAN_YES;
    }
    const struct plan_set *other = found ? &set : calm;
    best->calm_blocks = other->n_blocks;
    best->n_calm = other->n_changes;
    for (uint32_t i = 0; i < other->n_changes; i++)
        best->calm[i] = other->change[i];
    return true;
}

bool plan_search(struct planner *planner) {
    struct plan *plan = planner->plan;
    uint32_t smallest = UINT32_MAX, most = plan->short_search ? 2 : 3;
    if (plan->budget_bytes == 0 || plan_is_served(plan->as_recorded.fits))
        return true;
    for (enum plan_cost cost = COST_NONE; cost <= COST_ELSEWHERE; cost++) {
        struct plan_set best = {0}, calm = {0};
        for (uint32_t size = 1; size <= most && size < smallest && best.n_changes == 0; size++)
            if (!sets_try(planner, size, cost, &best, &calm))
                return false;
        if (best.n_changes == 0 && !everything_try(planner, cost, smallest, &best))
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
