/* Changes of the allocator's settings: the other kind of segments, the best of whatif's scenarios, or the settings
 * that a descent finds. */
#include "analysis/plan/plan_internal.h"

#include "base/words.h"

__extension__ typedef unsigned __int128 wide;

enum { DESCENT_ROUNDS = 3, DESCENT_NEAR_BYTES = 2 << 20 };

/* Adds a text to the recorded settings. True: max_split_size_mb was dropped, because with expandable segments it lets
 * reserved memory grow without bound. */
static bool settings_of(const struct planner *planner, const char *text,
                        struct allocator_settings *settings) {
    size_t bad_at;
    *settings = planner->plan->replay->settings;
    (void)allocator_settings_add(settings, text, word_length(text), &bad_at);
    bool split = settings->max_split_bytes != ALLOCATOR_UNLIMITED;
    if (settings->expandable)
        settings->max_split_bytes = ALLOCATOR_UNLIMITED;
    return settings->expandable && split;
}

static bool text_leaves_out(const struct planner *planner, const char *text) {
    for (enum plan_word i = WORD_EXPANDABLE; i < WORD_FINDINGS; i++)
        if (plan_leaves_out(planner, i) && text_contains(word_text(text), plan_word_text[i]))
            return true;
    return false;
}

/* With its figures. False: no memory. */
static bool setting_add(struct planner *planner, const char *id, const struct allocator_settings *settings) {
    uint32_t index = planner->plan->n_changes;
    struct plan_change *change = plan_change_add(planner, PLAN_SETTINGS, COST_NONE, CERTAINTY_MODEL, id);
    if (change == NULL)
        return true;
    change->settings = *settings;
    struct plan_set set = {.change = {index}, .n_changes = 1};
    bool done = plan_set_solve(planner, &set, ASK_ALL);
    change->figures = set.figures;
    return done;
}

static bool usual_add(struct planner *planner, const char *text) {
    char id[PLAN_ID];
    struct words words = {id, sizeof id, 0};
    struct allocator_settings settings;
    words_say(&words, "settings:");
    words_say(&words, text);
    if (settings_of(planner, text, &settings))
        words_say(&words, ",no max_split_size_mb");
    (void)words_end(&words);
    return setting_add(planner, id, &settings);
}

enum { SETTINGS_MOST = 8 };

/* The peaks of several settings at once, with rising addresses; a run stops at `until` and reports it as its peak.
 * False: no memory. */
static bool rising_peaks(struct planner *planner, const struct allocator_settings *settings, uint32_t n,
                         uint64_t until, uint64_t *peak) {
    const struct plan *plan = planner->plan;
    struct plan_run run[SETTINGS_MOST];
    for (uint32_t i = 0; i < n; i++)
        run[i] = (struct plan_run){.program = plan->program,
                                   .what = {.settings = settings[i],
                                            .budget_bytes = ALLOCATOR_UNLIMITED,
                                            .until_bytes = until,
                                            .device_bytes = plan->asked_bytes != 0
                                                                ? plan->asked_bytes
                                                                : plan->program->device->capacity_bytes}};
    if (!plan_runs(planner, run, n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        peak[i] = run[i].result.endless ? UINT64_MAX : run[i].result.peak_reserved_bytes;
    return true;
}

/* Adds the lowest of whatif's other scenarios if it is at least 1 % below `limit`. False: no memory. */
static bool scenario_add(struct planner *planner, uint64_t limit) {
    struct allocator_settings settings[SETTINGS_MOST];
    uint64_t peak[SETTINGS_MOST];
    uint32_t n = 0, best = 0;
    const char *text[SETTINGS_MOST];
    for (uint32_t i = WHATIF_USUAL_OTHER; i < WHATIF_USUAL; i++) {
        bool splits = text_begins(word_text(whatif_usual[i]), "max_split_size_mb");
        if ((splits && planner->plan->replay->settings.expandable) ||
            text_leaves_out(planner, whatif_usual[i]))
            continue;
        text[n] = whatif_usual[i];
        (void)settings_of(planner, whatif_usual[i], &settings[n++]);
    }
    if (!rising_peaks(planner, settings, n, limit, peak))
        return false;
    for (uint32_t i = 1; i < n; i++)
        best = peak[i] < peak[best] ? i : best;
    return n == 0 || (wide)peak[best] * 100 >= (wide)limit * 99 || usual_add(planner, text[best]);
}

enum coordinate { LARGE_SEGMENT, ROUNDUP, MAX_SPLIT, COORDINATES };

/* Values to try for each key, in order, the default first; 0 means no max_split_size. */
static const struct {
    const char *key;
    uint32_t value[6], n;
} coordinates[COORDINATES] = {{"large_segment_size_mb", {20, 32, 64, 128, 256}, 5},
                              {"roundup_power2_divisions", {0, 2, 4, 8, 16}, 5},
                              {"max_split_size_mb", {0, 64, 128, 256, 512, 1024}, 6}};

struct descent {
    struct allocator_settings settings;
    uint64_t peak;
    uint32_t n_keys;
    bool served;
};

static void coordinate_set(struct allocator_settings *settings, enum coordinate coordinate, uint32_t value) {
    if (coordinate == LARGE_SEGMENT)
        settings->large_segment_bytes = (uint64_t)value << 20;
    else if (coordinate == MAX_SPLIT)
        settings->max_split_bytes = value == 0 ? ALLOCATOR_UNLIMITED : (uint64_t)value << 20;
    for (uint32_t i = 0; coordinate == ROUNDUP && i < ROUNDUP_CLASSES; i++)
        settings->roundup[i] = value;
}

static bool is_near(const struct planner *planner, const struct descent *descent) {
    return descent->peak <= planner->plan->as_recorded.rounded_max + DESCENT_NEAR_BYTES;
}

/* One coordinate. False: no memory. */
static bool coordinate_descend(struct planner *planner, struct descent *descent, enum coordinate coordinate,
                               bool *moved) {
    for (uint32_t i = 0; i < coordinates[coordinate].n && !is_near(planner, descent); i++) {
        struct allocator_settings settings = descent->settings;
        uint64_t peak;
        coordinate_set(&settings, coordinate, coordinates[coordinate].value[i]);
        if (allocator_settings_equal(&settings, &descent->settings))
            continue;
        if (!rising_peaks(planner, &settings, 1, descent->peak, &peak))
            return false;
        if (peak < descent->peak) {
            descent->peak = peak;
            descent->settings = settings;
            *moved = true;
        }
    }
    return true;
}

static struct allocator_settings start_of(const struct planner *planner, bool expandable) {
    struct allocator_settings settings = allocator_settings_default();
    settings.expandable = expandable;
    settings.expandable_private = planner->plan->replay->settings.expandable_private;
    settings.aligned = planner->plan->replay->settings.aligned;
    return settings;
}

static bool descend(struct planner *planner, struct descent *descent) {
    bool moved = true;
    for (uint32_t round = 0; round < DESCENT_ROUNDS && moved; round++) {
        moved = false;
        for (enum coordinate i = LARGE_SEGMENT; i < COORDINATES; i++) {
            bool out = (i == MAX_SPLIT && descent->settings.expandable) ||
                       text_leaves_out(planner, coordinates[i].key);
            if (!out && !coordinate_descend(planner, descent, i, &moved))
                return false;
        }
    }
    return true;
}

/* Every key by its name, "no KEY" for those that are recorded and go; returns how many are set. */
static uint32_t descent_id(const struct planner *planner, const struct descent *descent,
                           struct words *words) {
    char own[ALLOCATOR_SETTINGS_TEXT], recorded[ALLOCATOR_SETTINGS_TEXT];
    static const char *const keys[] = {"garbage_collection_threshold", "large_segment_size_mb",
                                       "max_non_split_rounding_mb",    "max_split_size_mb",
                                       "per_process_memory_fraction",  "roundup_power2_divisions"};
    uint32_t n = descent->settings.expandable;
    allocator_settings_print(&descent->settings, own);
    allocator_settings_print(&planner->plan->replay->settings, recorded);
    words_say(words, "settings:");
    words_say(words, descent->settings.expandable ? "" : "expandable_segments:False");
    words_say(words, descent->settings.expandable || own[0] == '\0' ? "" : ",");
    words_say(words, own);
    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        bool is_set = text_contains(word_text(own), keys[i]);
        n += is_set;
        if (is_set || !text_contains(word_text(recorded), keys[i]))
            continue;
        words_say(words, ",no ");
        words_say(words, keys[i]);
    }
    (void)words_end(words);
    return n;
}

static bool descent_end(struct planner *planner, struct descent *descent) {
    char id[PLAN_ID];
    struct plan_case what = {.settings = descent->settings, .forms = 1};
    struct plan_figures figures = planner->plan->as_recorded;
    descent->n_keys = descent_id(planner, descent, &(struct words){id, sizeof id, 0});
    if (!plan_solve(planner, &what, &figures, ASK_SERVED))
        return false;
    descent->served = plan_is_served(figures.fits);
    return true;
}

static bool descents_add(struct planner *planner) {
    struct descent end[2], *best = NULL;
    for (int i = 0; i < 2; i++) {
        end[i] = (struct descent){.settings = start_of(planner, i == 0)};
        bool other = end[i].settings.expandable != planner->plan->replay->settings.expandable;
        if (other && text_leaves_out(planner, "expandable_segments"))
            continue;
        if (!rising_peaks(planner, &end[i].settings, 1, ALLOCATOR_UNLIMITED, &end[i].peak) ||
            !descend(planner, &end[i]) || !descent_end(planner, &end[i]))
            return false;
        bool better = best == NULL || end[i].peak < best->peak ||
                      (end[i].peak == best->peak && end[i].n_keys < best->n_keys);
        if (end[i].served && better)
            best = &end[i];
    }
    char id[PLAN_ID];
    if (best == NULL)
        return true;
    (void)descent_id(planner, best, &(struct words){id, sizeof id, 0});
    return setting_add(planner, id, &best->settings);
}

/* Could another setting serve the program although no listed one does? */
static bool is_descent_asked(const struct plan *plan) {
    bool served = plan->budget_bytes == 0 || plan->as_recorded.rounded_min > plan->budget_bytes ||
                  plan_is_served(plan->as_recorded.fits) || plan->short_search;
    for (uint32_t i = 0; i < plan->n_changes; i++)
        served |= plan_is_served(plan->change[i].figures.fits);
    return !served;
}

bool plan_settings_find(struct planner *planner) {
    const struct plan *plan = planner->plan;
    bool expandable = plan->replay->settings.expandable;
    const char *other = expandable ? "expandable_segments:False" : "expandable_segments:True";
    struct allocator_settings settings;
    uint64_t peak;
    if (!text_leaves_out(planner, other)) {
        if (!usual_add(planner, other))
            return false;
        peak = plan->change[0].figures.rising;
    } else {
        (void)settings_of(planner, other, &settings);
        if (!rising_peaks(planner, &settings, 1, ALLOCATOR_UNLIMITED, &peak))
            return false;
    }
    if (planner->request->n_set != 0) {
        char text[WHATIF_NAME];
        whatif_set_text(text, planner->request->set, planner->request->n_set);
        if (!usual_add(planner, text))
            return false;
    }
    if (!scenario_add(planner, peak < plan->as_recorded.rising ? peak : plan->as_recorded.rising))
        return false;
    return !is_descent_asked(plan) || descents_add(planner);
}
