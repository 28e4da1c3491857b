/* What a plan is made of, and the search of the smallest set that is served. */
#include "analysis/plan/plan_internal.h"

#include "base/bytes.h"
#include "base/words.h"

__extension__ typedef unsigned __int128 wide;

const char *plan_word(uint32_t index) {
    static const char *const words[] = {"expandable_segments",
                                        "max_split_size_mb",
                                        "roundup_power2_divisions",
                                        "large_segment_size_mb",
                                        "findings",
                                        "fused",
                                        "checkpoint",
                                        "eight_bit",
                                        "offload"};
    return index < sizeof words / sizeof *words ? words[index] : NULL;
}

const char *plan_fits_name(enum plan_fits fits) {
    static const char *const names[] = {NULL, "yes", "with_retries", "unsure", "no"};
    return names[fits];
}

const char *plan_cost_name(enum plan_cost cost) {
    static const char *const names[] = {"none", "time", "precision", "elsewhere"};
    return names[cost];
}

const char *plan_certainty_name(enum plan_certainty certainty) {
    static const char *const names[] = {"exact", "model", "estimate", "bound"};
    return names[certainty];
}

void plan_change_id(const struct plan_change *change, uint32_t n_blocks, char text[PLAN_ID]) {
    struct words words = {text, PLAN_ID, 0};
    words_say(&words, change->id);
    if (change->kind == PLAN_CHECKPOINT) {
        words_say(&words, ":");
        words_number(&words, n_blocks == UINT32_MAX ? change->n_blocks : n_blocks);
    }
    (void)words_end(&words);
}

bool plan_leaves_out(const struct planner *planner, const char *word) {
    for (uint32_t i = 0; i < planner->request->n_without; i++) {
        const char *other = planner->request->without[i];
        if (text_is((struct text){(const uint8_t *)other, word_length(other)}, word))
            return true;
    }
    return false;
}

/* ---- time ---- */

/* Median host time from a block's begin to the next one's; -1: there is none. */
static int64_t block_time(const struct planner *planner, const struct forward *forward,
                          struct sort_row *rows) {
    const int64_t *time = planner->plan->program->device->time_us;
    const struct block_span *span = &planner->plan->blocks.span[forward->first_block];
    uint32_t n = forward->n_blocks - 1;
    for (uint32_t i = 0; i < n; i++) {
        int64_t begin = time[planner->allocations->birth[span[i].first] - 1],
                next = time[planner->allocations->birth[span[i + 1].first] - 1];
        rows[i] = (struct sort_row){next > begin ? (uint64_t)(next - begin) : 0, 0};
    }
    sort_rows(rows, rows + n, n);
    return (int64_t)rows[n / 2].key;
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
        plan->span_us = device->time_us[device->n_events - 1] -
                        device->time_us[planner->allocations->birth[forward->first] - 1];
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

/* ---- settings ---- */

static bool settings_of(const struct planner *planner, const char *text,
                        struct allocator_settings *settings) {
    size_t bad_at;
    *settings = planner->plan->replay->settings;
    (void)allocator_settings_add(settings, text, word_length(text), &bad_at);
    bool split = settings->max_split_bytes != ALLOCATOR_UNLIMITED;
    if (settings->expandable)
        settings->max_split_bytes = ALLOCATOR_UNLIMITED; /* with it reserved memory grows without bound */
    return settings->expandable && split;
}

static bool text_leaves_out(const struct planner *planner, const char *text) {
    for (uint32_t i = 0; i < 4; i++)
        if (plan_leaves_out(planner, plan_word(i)) &&
            text_contains((struct text){(const uint8_t *)text, word_length(text)}, plan_word(i)))
            return true;
    return false;
}

static void setting_add(struct planner *planner, const char *text) {
    char id[256];
    struct words words = {id, sizeof id, 0};
    struct allocator_settings settings;
    words_say(&words, "settings:");
    words_say(&words, text);
    if (settings_of(planner, text, &settings))
        words_say(&words, ",no max_split_size_mb");
    (void)words_end(&words);
    struct plan_change *change = plan_change_add(planner, PLAN_SETTINGS, COST_NONE, CERTAINTY_MODEL, id);
    if (change != NULL)
        change->settings = settings;
}

static bool rising_peak(struct planner *planner, const struct allocator_settings *settings, uint64_t *peak) {
    const struct plan *plan = planner->plan;
    struct plan_run run = {.program = plan->program,
                           .what = {.settings = *settings,
                                    .budget_bytes = ALLOCATOR_UNLIMITED,
                                    .device_bytes = plan->asked_bytes != 0
                                                        ? plan->asked_bytes
                                                        : plan->program->device->capacity_bytes}};
    if (!plan_runs(planner, &run, 1))
        return false;
    *peak = run.result.peak_reserved_bytes;
    return true;
}

bool plan_settings_find(struct planner *planner) {
    static const char *const usual[] = {
        "max_split_size_mb:128",      "max_split_size_mb:512",
        "roundup_power2_divisions:4", "roundup_power2_divisions:8",
        "large_segment_size_mb:64",   "expandable_segments:True,roundup_power2_divisions:8"};
    const struct allocator_settings *recorded = &planner->plan->replay->settings;
    const char *other = recorded->expandable ? "expandable_segments:False" : "expandable_segments:True",
               *best = NULL;
    struct allocator_settings settings;
    uint64_t limit, own, least = UINT64_MAX;
    (void)settings_of(planner, other, &settings);
    if (!rising_peak(planner, recorded, &limit) || !rising_peak(planner, &settings, &own))
        return false;
    limit = own < limit ? own : limit;
    if (!text_leaves_out(planner, other))
        setting_add(planner, other);
    for (uint32_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if ((i < 2 && recorded->expandable) || text_leaves_out(planner, usual[i]) ||
            planner->plan->short_search)
            continue;
        (void)settings_of(planner, usual[i], &settings);
        if (!rising_peak(planner, &settings, &own))
            return false;
        if (own < least) {
            least = own;
            best = usual[i];
        }
    }
    if (best != NULL && (wide)least * 100 < (wide)limit * 99)
        setting_add(planner, best);
    return true;
}

/* ---- search ---- */

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

/* Is it served, with the smallest K? False: no memory. */
static bool set_try(struct planner *planner, struct plan_set *set, bool *served) {
    struct plan_case what;
    const struct plan_change *checkpoint = checkpoint_in(planner->plan, set);
    uint32_t most = checkpoint != NULL ? checkpoint->n_blocks : 1;
    *served = false;
    for (uint32_t k = 1; k <= most && !*served; k++) {
        set->n_blocks = checkpoint != NULL ? k : 0;
        if (!plan_case_of(planner, set, &what) || !plan_solve(planner, &what, &set->figures, false))
            return false;
        *served = plan_is_served(set->figures.fits);
    }
    return true;
}

static bool set_fill(struct planner *planner, struct plan_set *set) {
    struct plan_case what;
    set->certainty = (uint8_t)certainty_of(planner->plan, set);
    return plan_case_of(planner, set, &what) && plan_solve(planner, &what, &set->figures, true);
}

static uint64_t set_share(const struct plan *plan, const struct plan_set *set) {
    uint32_t share = set->n_blocks != 0 ? plan_share(plan, set->n_blocks) : 0;
    return share == UINT32_MAX ? 0 : share;
}

static bool set_is_better(const struct plan *plan, const struct plan_set *set, const struct plan_set *best) {
    uint64_t own = set_share(plan, set), other = set_share(plan, best);
    return own < other || (own == other && set->figures.reserved_max < best->figures.reserved_max);
}

/* All sets of one size. */
static bool sets_try(struct planner *planner, uint32_t size, enum plan_cost cost, struct plan_set *best) {
    uint32_t n = planner->plan->n_changes, at[3] = {0, 1, 2};
    bool served;
    while (size <= n) {
        struct plan_set set = {.n_changes = size, .cost = (uint8_t)cost};
        for (uint32_t i = 0; i < size; i++)
            set.change[i] = at[i];
        if (set_is_allowed(planner->plan, &set, cost)) {
            if (!set_try(planner, &set, &served) || (served && !set_fill(planner, &set)))
                return false;
            if (served && (best->n_changes == 0 || set_is_better(planner->plan, &set, best)))
                *best = set;
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

/* Everything of the pool: one of the states, and a setting or none (UINT32_MAX). */
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

/* Takes out what is not needed, dearest first. */
static bool set_reduce(struct planner *planner, struct plan_set *set) {
    for (int cost = COST_ELSEWHERE; cost >= COST_NONE; cost--)
        for (uint32_t i = 0; i < set->n_changes;) {
            struct plan_set less = *set;
            bool served = false;
            if (planner->plan->change[set->change[i]].cost == cost && set->n_changes > 1) {
                set_drop(&less, i);
                if (!set_try(planner, &less, &served))
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
        if (!set_try(planner, &set, &served) || (served && !set_reduce(planner, &set)))
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
        if (!set_fill(planner, &set))
            return false;
        if (!plan->has_nearest || set.figures.reserved_max < plan->nearest.figures.reserved_max)
            plan->nearest = set;
        plan->has_nearest = true;
    }
    uint64_t needs = plan->nearest.figures.rounded_max;
    plan->lacking_bytes = needs > plan->budget_bytes ? needs - plan->budget_bytes : 0;
    return true;
}

bool plan_search(struct planner *planner) {
    struct plan *plan = planner->plan;
    uint32_t smallest = UINT32_MAX, most = plan->short_search ? 2 : 3;
    if (plan->budget_bytes == 0 || plan_is_served(plan->as_recorded.fits))
        return true;
    for (int cost = COST_NONE; cost <= COST_ELSEWHERE; cost++) {
        struct plan_set best = {0};
        for (uint32_t size = 1; size <= most && size < smallest && best.n_changes == 0; size++)
            if (!sets_try(planner, size, (enum plan_cost)cost, &best))
                return false;
        if (best.n_changes == 0 && !everything_try(planner, (enum plan_cost)cost, smallest, &best))
            return false;
        if (best.n_changes == 0)
            continue;
        smallest = best.n_changes;
        plan->plans[plan->n_plans++] = best;
    }
    return plan->n_plans != 0 || nearest_find(planner);
}

/* ---- all of it ---- */

static bool figures_find(struct planner *planner) {
    struct plan *plan = planner->plan;
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        struct plan_change *change = &plan->change[i];
        struct plan_set set = {.change = {i}, .n_changes = 1, .n_blocks = change->n_blocks};
        if (change->certainty == CERTAINTY_BOUND)
            continue;
        if (!set_fill(planner, &set))
            return false;
        change->figures = set.figures;
    }
    return true;
}

static bool shows_limit(const struct program *program) {
    return program->device->n_ooms != 0 || program->releases.n_of_cause[RELEASE_RETRY] != 0;
}

static bool state_is_unknown(const struct plan *plan) {
    const struct allocations *allocations = &plan->program->device->allocations;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        if (plan->verdicts->category[i] == CATEGORY_OTHER)
            return true;
    return false;
}

static void budget_find(struct planner *planner) {
    struct plan *plan = planner->plan;
    plan->seen = whatif_budget_find(plan->program, plan->replay);
    plan->recorded_peak_bytes = plan->seen.at_least_bytes;
    plan->asked_bytes = planner->request->gpu_bytes;
    plan->keep_bytes = planner->request->keep_bytes;
    if (plan->asked_bytes != 0)
        plan->budget_bytes = plan->asked_bytes - plan->keep_bytes;
    else if (shows_limit(plan->program))
        plan->budget_bytes = plan->seen.at_least_bytes;
}

static bool recorded_solve(struct planner *planner) {
    struct plan_set none = {0};
    struct plan_case what;
    return plan_case_of(planner, &none, &what) &&
           plan_solve(planner, &what, &planner->plan->as_recorded, true);
}

bool plan_find(struct plan *plan, const struct program *program, const struct replay *replay,
               const struct verdicts *verdicts, const struct plan_request *request, struct arena *arena) {
    struct planner planner = {
        .plan = plan, .request = request, .allocations = &program->device->allocations, .arena = arena};
    *plan = (struct plan){.program = program,
                          .replay = replay,
                          .verdicts = verdicts,
                          .ended_by_oom = program->device->n_ooms != 0,
                          .short_search = program->device->n_events > REPLAY_EVENTS_AT_ONCE};
    budget_find(&planner);
    if (replay->grade == REPLAY_REFUSED)
        return true;
    arena_init(&planner.checkpoint_arena, arena_share(arena), SIZE_MAX);
    plan->state_unknown = state_is_unknown(plan);
    plan->change = arena_column(arena, PLAN_CHANGES_MAX, sizeof *plan->change);
    bool done = plan->change != NULL && lives_init(&planner.lives, program, arena) &&
                blocks_find(&plan->blocks, verdicts, arena) && times_find(&planner) &&
                recorded_solve(&planner) && plan_settings_find(&planner) && plan_edits_find(&planner) &&
                figures_find(&planner) && plan_search(&planner);
    arena_release(&planner.checkpoint_arena);
    return done;
}
