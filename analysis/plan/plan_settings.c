/* Changes of the allocator's settings: those that people use, each by itself. */
#include "analysis/plan/plan_internal.h"

#include "base/words.h"

__extension__ typedef unsigned __int128 wide;

/* The values that are tried for a key, beside expandable_segments, which is switched. */
static const struct {
    enum plan_word word;
    const char *text[2];
} keys[] = {{WORD_MAX_SPLIT, {"max_split_size_mb:128", "max_split_size_mb:512"}},
            {WORD_COLLECT, {"garbage_collection_threshold:0.8", NULL}},
            {WORD_ROUNDUP, {"roundup_power2_divisions:4", "roundup_power2_divisions:8"}}};
enum { N_KEYS = sizeof keys / sizeof *keys };

/* Adds a text to recorded settings. True: max_split_size_mb was dropped, because with expandable segments it lets
 * reserved memory grow without bound. */
static bool settings_of(const struct replay *replay, const char *text, struct allocator_settings *settings) {
    size_t bad_at;
    *settings = replay->settings;
    (void)allocator_settings_add(settings, text, word_length(text), &bad_at);
    bool split = settings->max_split_bytes != ALLOCATOR_UNLIMITED;
    if (settings->expandable)
        settings->max_split_bytes = ALLOCATOR_UNLIMITED;
    return settings->expandable && split;
}

/* Can the key change anything? max_split_size_mb has no effect with expandable segments, and PyTorch collects garbage
 * only where the process has a share of the device. */
static bool key_counts(const struct replay *replay, enum plan_word word) {
    return word == WORD_MAX_SPLIT ? !replay->settings.expandable
           : word == WORD_COLLECT ? replay->settings.fraction_ppm != 0
                                  : true;
}

static uint64_t device_bytes(const struct program *program, uint64_t asked_bytes) {
    return asked_bytes != 0 ? asked_bytes : program->device->capacity_bytes;
}

/* With its figures. `asked`: as it stands on the command line, and nothing is dropped. False: no memory. */
static bool setting_add(struct planner *planner, const char *text, bool asked) {
    char id[PLAN_ID];
    struct words words = {id, sizeof id, 0};
    struct allocator_settings settings = planner->plan->replay->settings;
    size_t bad_at;
    words_say(&words, "settings:");
    words_say(&words, text);
    if (asked)
        (void)allocator_settings_add(&settings, text, word_length(text), &bad_at);
    else if (settings_of(planner->plan->replay, text, &settings))
        words_say(&words, ",no max_split_size_mb");
    (void)words_end(&words);
    uint32_t index = planner->plan->n_changes;
    struct plan_change *change = plan_change_add(planner, PLAN_SETTINGS, COST_NONE, CERTAINTY_MODEL, id);
    if (change == NULL)
        return true;
    change->settings = settings;
    struct plan_set set = {.change = {index}, .n_changes = 1};
    bool done = plan_set_solve(planner, &set, ASK_ALL);
    change->figures = set.figures;
    return done;
}

/* The better value of a key, if it reserves 1 % less. False: no memory. */
static bool key_add(struct planner *planner, uint32_t key) {
    const struct plan *plan = planner->plan;
    uint64_t recorded = plan->as_recorded.rising, peak[2];
    struct plan_run run[2];
    uint32_t n = keys[key].text[1] != NULL ? 2 : 1;
    if (plan_leaves_out(planner, keys[key].word) || !key_counts(plan->replay, keys[key].word))
        return true;
    for (uint32_t i = 0; i < n; i++) {
        run[i] = (struct plan_run){.program = plan->program,
                                   .what = {.budget_bytes = ALLOCATOR_UNLIMITED,
                                            .until_bytes = recorded,
                                            .device_bytes = device_bytes(plan->program, plan->asked_bytes)}};
        (void)settings_of(plan->replay, keys[key].text[i], &run[i].what.settings);
    }
    if (!plan_runs(planner, run, n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        peak[i] = run[i].result.endless ? UINT64_MAX : run[i].result.peak_reserved_bytes;
    uint32_t best = n > 1 && peak[1] < peak[0];
    return (wide)peak[best] * 100 >= (wide)recorded * 99 || setting_add(planner, keys[key].text[best], false);
}

bool plan_settings_find(struct planner *planner) {
    const struct plan_request *request = planner->request;
    bool done = true;
    if (!plan_leaves_out(planner, WORD_EXPANDABLE))
        done = setting_add(planner,
                           planner->plan->replay->settings.expandable ? "expandable_segments:False"
                                                                      : "expandable_segments:True",
                           false);
    if (request->n_set != 0) {
        char text[ALLOCATOR_SETTINGS_TEXT];
        allocator_settings_join(text, request->set, request->n_set);
        done = done && setting_add(planner, text, true);
    }
    for (uint32_t i = 0; done && i < N_KEYS; i++)
        done = key_add(planner, i);
    return done;
}

/* ---- for several recordings ---- */

bool plan_needs_find(struct plan_need need[PLAN_NEEDS], uint32_t *n_needs, const struct program *program,
                     const struct replay *replay, uint64_t budget_bytes, struct arena *arena) {
    const char *text[PLAN_NEEDS] = {"recorded", "expandable_segments:True", "expandable_segments:False"};
    uint32_t n = 3;
    for (uint32_t i = 0; i < N_KEYS; i++)
        for (uint32_t k = 0; k < 2 && keys[i].text[k] != NULL; k++)
            text[n++] = keys[i].text[k];
    for (uint32_t i = 0; i < n; i++) {
        struct whatif_case what = {.device_bytes = device_bytes(program, budget_bytes)};
        (void)settings_of(replay, i == 0 ? "" : text[i], &what.settings);
        need[i] = (struct plan_need){.settings = text[i], .served = true};
        for (int down = 0; down < 2; down++)
            for (int limited = 0; limited < (budget_bytes != 0 ? 2 : 1); limited++) {
                struct whatif_result result;
                what.descending = down != 0;
                what.budget_bytes = limited ? budget_bytes : ALLOCATOR_UNLIMITED;
                if (!whatif_run(&result, program, &what, arena))
                    return false;
                if (!limited && result.peak_reserved_bytes > need[i].peak_bytes)
                    need[i].peak_bytes = result.peak_reserved_bytes;
                need[i].served &= !result.out_of_memory && !result.endless;
            }
    }
    *n_needs = n;
    return true;
}

void plan_need_unite(struct plan_need *sum, const struct plan_need *need) {
    sum->peak_bytes = need->peak_bytes > sum->peak_bytes ? need->peak_bytes : sum->peak_bytes;
    sum->served &= need->served;
}

const struct plan_need *plan_need_best(const struct plan_need *need, uint32_t n_needs) {
    const struct plan_need *best = n_needs != 0 ? need : NULL;
    for (const struct plan_need *one = need; one < need + n_needs; one++)
        if (one->served > best->served || (one->served == best->served && one->peak_bytes < best->peak_bytes))
            best = one;
    return best;
}
