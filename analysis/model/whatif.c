/* The scenarios: which settings are tried, the result of each run, and how much the device lacks. */
#include "analysis/model/whatif.h"

#include "base/bytes.h"
#include "base/numbers.h"
#include "base/words.h"

/* ---- scenarios ---- */

/* Turns "key=value" into "key:value"; false: longer than names may be. */
static bool set_text(const char *text, char out[WHATIF_NAME]) {
    bool equals = false;
    size_t length = word_length(text);
    if (length >= WHATIF_NAME)
        return false;
    for (size_t i = 0; i <= length; i++) {
        out[i] = text[i] == '=' && !equals ? ':' : text[i];
        equals |= text[i] == '=' || text[i] == ':';
    }
    return true;
}

bool whatif_set_is_fine(const char *text) {
    char spelled[WHATIF_NAME];
    struct allocator_settings settings = allocator_settings_default();
    size_t bad_at;
    return set_text(text, spelled) && spelled[0] != '\0' &&
           allocator_settings_add(&settings, spelled, word_length(spelled), &bad_at) == SETTINGS_FINE;
}

static void scenario_add(struct whatif *whatif, const char *name, struct allocator_settings settings) {
    struct whatif_scenario *scenario = &whatif->scenario[whatif->n_scenarios];
    size_t length = word_length(name);
    *scenario = (struct whatif_scenario){.settings = settings, .same_as = whatif->n_scenarios};
    bytes_copy(scenario->name, name, length < WHATIF_NAME ? length : WHATIF_NAME - 1);
    for (uint32_t i = whatif->n_scenarios; i-- > 0;)
        if (allocator_settings_equal(&whatif->scenario[i].settings, &settings))
            scenario->same_as = i;
    whatif->n_scenarios++;
}

/* A scenario named by what it adds to the recorded settings. */
static void scenario_of(struct whatif *whatif, const char *text) {
    struct allocator_settings settings = whatif->replay.settings;
    size_t bad_at;
    (void)allocator_settings_add(&settings, text, word_length(text), &bad_at);
    scenario_add(whatif, text, settings);
}

/* The next of the settings in alphabetical order after `last`; NULL: none. */
static const char *set_behind(const char *const *set, uint32_t n_set, const char *last) {
    const char *next = NULL;
    for (uint32_t i = 0; i < n_set; i++)
        if ((last == NULL || word_is_before(last, set[i])) && (next == NULL || word_is_before(set[i], next)))
            next = set[i];
    return next;
}

void whatif_set_text(char text[WHATIF_NAME], const char *const *set, uint32_t n_set) {
    struct words words = {text, WHATIF_NAME, 0};
    char spelled[WHATIF_NAME];
    for (const char *one = set_behind(set, n_set, NULL); one != NULL; one = set_behind(set, n_set, one))
        if (set_text(one, spelled)) {
            words_say(&words, words.nbytes != 0 ? "," : "");
            words_say(&words, spelled);
        }
    (void)words_end(&words);
}

const char *const whatif_usual[WHATIF_USUAL] = {
    "expandable_segments:True",   "expandable_segments:False",
    "max_split_size_mb:128",      "max_split_size_mb:512",
    "roundup_power2_divisions:4", "roundup_power2_divisions:8",
    "large_segment_size_mb:64",   "expandable_segments:True,roundup_power2_divisions:8"};

static void scenarios_list(struct whatif *whatif, const struct whatif_request *request) {
    struct allocator_settings plain = allocator_settings_default();
    plain.aligned = whatif->replay.settings.aligned; /* not a setting: it tells whose allocator it is */
    plain.expandable_private = whatif->replay.settings.expandable_private;
    scenario_add(whatif, "recorded", whatif->replay.settings);
    scenario_add(whatif, "default", plain);
    for (size_t i = 0; i < WHATIF_USUAL; i++)
        scenario_of(whatif, whatif_usual[i]);
    if (request->gpu_bytes != 0)
        scenario_of(whatif, "garbage_collection_threshold:0.8");
    if (request->n_set != 0) {
        char name[WHATIF_NAME];
        whatif_set_text(name, request->set, request->n_set);
        scenario_of(whatif, name);
    }
}

bool whatif_init_of(struct whatif *whatif, const struct program *program, const struct replay *replay,
                    const struct whatif_request *request, struct arena *arena) {
    *whatif = (struct whatif){.program = program,
                              .replay = *replay,
                              .gpu_bytes = request->gpu_bytes,
                              .find_smallest = request->find_smallest};
    if (whatif_has_requests(whatif) &&
        !whatif_bounds_find(&whatif->bounds, program, !request->leave_packing, arena))
        return false;
    whatif->budget = whatif_budget_find(program, &whatif->replay.settings);
    whatif->recorded_peak_bytes = whatif->budget.at_least_bytes;
    if (whatif->replay.grade != REPLAY_REFUSED)
        scenarios_list(whatif, request);
    return true;
}

bool whatif_init(struct whatif *whatif, const struct program *program, const struct whatif_request *request,
                 struct arena *arena) {
    struct replay replay;
    return replay_run(&replay, program->trace, program->device, program, arena) &&
           whatif_init_of(whatif, program, &replay, request, arena);
}

/* The memory that shares refer to: of the device as requested, or as in the file. */
static uint64_t device_bytes(const struct whatif *whatif) {
    return whatif->gpu_bytes != 0 ? whatif->gpu_bytes : whatif->program->device->capacity_bytes;
}

static bool case_run(const struct whatif *whatif, const struct whatif_scenario *scenario, uint64_t budget,
                     bool descending, struct whatif_result *result, struct arena *arena) {
    struct whatif_case what = {.settings = scenario->settings,
                               .budget_bytes = budget,
                               .device_bytes = device_bytes(whatif),
                               .descending = descending};
    return whatif_run(result, whatif->program, &what, arena);
}

bool whatif_curve(uint64_t *column, uint32_t n_columns, const struct whatif *whatif, uint32_t index,
                  struct arena *arena) {
    struct whatif_result result;
    struct whatif_case what = {.settings = whatif->scenario[index].settings,
                               .budget_bytes = ALLOCATOR_UNLIMITED,
                               .device_bytes = device_bytes(whatif),
                               .column = column,
                               .n_columns = n_columns};
    return whatif_run(&result, whatif->program, &what, arena);
}

static bool unlimited_solve(const struct whatif *whatif, struct whatif_scenario *scenario,
                            struct arena *arena) {
    struct whatif_result up, down;
    if (!case_run(whatif, scenario, ALLOCATOR_UNLIMITED, false, &up, arena) ||
        !case_run(whatif, scenario, ALLOCATOR_UNLIMITED, true, &down, arena))
        return false;
    bool lower = down.peak_reserved_bytes < up.peak_reserved_bytes;
    scenario->peak_min_bytes = lower ? down.peak_reserved_bytes : up.peak_reserved_bytes;
    scenario->peak_max_bytes = lower ? up.peak_reserved_bytes : down.peak_reserved_bytes;
    scenario->end_bytes = up.end_reserved_bytes;
    scenario->past_recorded_oom = up.past_recorded_oom;
    scenario->endless = up.endless || down.endless;
    return true;
}

uint64_t whatif_highest_bytes(const struct whatif *whatif) {
    uint64_t highest = whatif->recorded_peak_bytes;
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (whatif->scenario[i].peak_max_bytes > highest)
            highest = whatif->scenario[i].peak_max_bytes;
    return highest;
}

const char *whatif_scenario_title(const struct whatif_scenario *scenario) {
    return text_is(word_text(scenario->name), "recorded") ? "recorded settings" : scenario->name;
}

uint64_t whatif_budget_bytes(const struct whatif *whatif) {
    if (whatif->gpu_bytes != 0)
        return whatif->gpu_bytes;
    return whatif->budget.at_most_bytes != 0 ? whatif->budget.at_least_bytes : 0;
}

uint64_t whatif_most_bytes(const struct whatif *whatif) {
    return whatif->gpu_bytes != 0 ? whatif->gpu_bytes : whatif->budget.at_most_bytes;
}

static bool budget_solve(const struct whatif *whatif, struct whatif_scenario *scenario, struct arena *arena) {
    struct whatif_result result;
    if (whatif_budget_bytes(whatif) == 0)
        return true;
    if (!case_run(whatif, scenario, whatif_budget_bytes(whatif), false, &result, arena))
        return false;
    scenario->budgeted = true;
    scenario->n_retries = result.n_retries;
    scenario->oom = result.oom;
    return true;
}

static bool budget_fits(const struct whatif *whatif, const struct whatif_scenario *scenario, uint64_t budget,
                        bool *fits, struct arena *arena) {
    struct whatif_result result;
    bool done = case_run(whatif, scenario, budget, false, &result, arena);
    *fits = done && !result.oom.happened && !result.endless;
    return done;
}

enum { BUDGET_CELLS = 64 };

/* A smaller budget may fit although a larger one does not. So cells are tried from the top down, and the last one
 * that does not fit is bisected to 2 MiB, the driver's unit. */
static bool smallest_solve(const struct whatif *whatif, struct whatif_scenario *scenario,
                           struct arena *arena) {
    uint64_t low = whatif->bounds.rounded_peak_bytes, high = scenario->peak_max_bytes, good = high;
    uint64_t cell = high > low ? (high - low) / BUDGET_CELLS + 1 : 1;
    bool fits = true;
    while (fits && good > low) {
        uint64_t next = good - low > cell ? good - cell : low;
        if (!budget_fits(whatif, scenario, next, &fits, arena))
            return false;
        if (fits)
            good = next;
        else
            low = next;
    }
    while (good - low > 2 * MIB) {
        uint64_t middle = low + (good - low) / 2;
        if (!budget_fits(whatif, scenario, middle, &fits, arena))
            return false;
        *(fits ? &good : &low) = middle;
    }
    scenario->smallest_budget_bytes = good;
    return true;
}

bool whatif_solve(struct whatif *whatif, uint32_t index, struct arena *arena) {
    struct whatif_scenario *scenario = &whatif->scenario[index];
    if (scenario->same_as != index)
        return true;
    return unlimited_solve(whatif, scenario, arena) && budget_solve(whatif, scenario, arena) &&
           (!whatif->find_smallest || smallest_solve(whatif, scenario, arena));
}

void whatif_finish(struct whatif *whatif) {
    for (uint32_t i = 0; i < whatif->n_scenarios; i++) {
        struct whatif_scenario own = whatif->scenario[i];
        if (own.same_as == i)
            continue;
        whatif->scenario[i] = whatif->scenario[own.same_as];
        whatif->scenario[i].same_as = own.same_as;
        bytes_copy(whatif->scenario[i].name, own.name, WHATIF_NAME);
    }
}

/* ---- what is missing ---- */

static bool none_serves(const struct whatif *whatif) {
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (!whatif->scenario[i].budgeted || !whatif->scenario[i].oom.happened)
            return false;
    return whatif->n_scenarios != 0 && whatif->program->device->n_ooms != 0;
}

/* Lowers `best` to the smallest budget of a scenario, if that is less. One run tells whether it can be; the peak on
 * an unlimited device does not, because retries make room. */
static bool least_update(const struct whatif *whatif, uint32_t index, uint64_t *best, uint32_t *scenario,
                         struct arena *arena) {
    struct whatif_scenario one = whatif->scenario[index];
    bool fits = one.smallest_budget_bytes == 0 && one.peak_max_bytes < *best;
    if (one.same_as != index || one.endless)
        return true;
    if (one.smallest_budget_bytes == 0 && !fits && *best > 2 * MIB) {
        one.peak_max_bytes = *best - 2 * MIB; /* smaller steps are not searched */
        if (!budget_fits(whatif, &one, one.peak_max_bytes, &fits, arena))
            return false;
    }
    if (fits && !smallest_solve(whatif, &one, arena))
        return false;
    if (one.smallest_budget_bytes != 0 && one.smallest_budget_bytes < *best) {
        *best = one.smallest_budget_bytes;
        *scenario = index;
    }
    return true;
}

bool whatif_lack_find(struct whatif *whatif, struct arena *arena) {
    uint64_t most = whatif_most_bytes(whatif), rounded = whatif->bounds.rounded_peak_bytes;
    uint64_t best = UINT64_MAX;
    uint32_t scenario = 0;
    whatif->lack = (struct whatif_lack){0};
    if (!none_serves(whatif))
        return true;
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (!least_update(whatif, i, &best, &scenario, arena))
            return false;
    if (best == UINT64_MAX || best <= whatif_budget_bytes(whatif))
        return true;
    whatif->lack = (struct whatif_lack){.known = true,
                                        .scenario = scenario,
                                        .bytes = best > most ? best - most : 0,
                                        .smallest_bytes = best,
                                        .at_least_bytes = rounded > most ? rounded - most : 0};
    return true;
}
