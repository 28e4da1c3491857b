/* A table of scenarios: what each setting would reserve, the least sufficient budget, settings with equal results. */
#include "recording.h"

#include "analysis/model/whatif.h"
#include "base/numbers.h"

/*
 * 30 MiB are freed, then 40 MiB are asked for: by default two segments, 70 MiB; expandable segments grow the one by two
 * granules of 20 MiB, 40 MiB.
 */
static const struct program *program_made(struct recording *recording, struct program *program) {
    recording_allocation(recording, 1, 2, 30 * MIB, 0);
    recording_allocation(recording, 3, STAYS, 40 * MIB, 0);
    recording_settle(recording, 5);
    assert_true(program_init(program, &recording->trace, &recording->device, &recording->arena));
    return program;
}

static const struct whatif_scenario *scenario_of(const struct whatif *whatif, const char *name) {
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (strcmp(whatif->scenario[i].name, name) == 0)
            return &whatif->scenario[i];
    fail_msg("no scenario %s", name);
    return NULL;
}

static void test_scenarios(void **state) {
    (void)state;
    static const char *const set[] = {"max_split_size_mb:64"};
    struct recording *recording = recording_open();
    struct program program;
    struct whatif whatif;
    struct replay replay = {.grade = REPLAY_EXACT, .settings = allocator_settings_default()};
    struct whatif_request request = {.gpu_bytes = 60 * MIB, .find_smallest = true, .set = set, .n_set = 1};
    assert_true(
        whatif_init_of(&whatif, program_made(recording, &program), &replay, &request, &recording->arena));
    uint64_t highest = 0;
    for (uint32_t i = 0; i < whatif.n_scenarios; i++)
        assert_true(whatif_solve(&whatif, i, &recording->arena));
    whatif_finish(&whatif);
    for (uint32_t i = 0; i < whatif.n_scenarios; i++)
        if (whatif.scenario[i].peak_max_bytes > highest)
            highest = whatif.scenario[i].peak_max_bytes;
    const struct whatif_scenario *recorded = scenario_of(&whatif, "recorded"),
                                 *expandable = scenario_of(&whatif, "expandable_segments:True"),
                                 *split = scenario_of(&whatif, "max_split_size_mb:64");
    assert_int_equal(recorded->peak_max_bytes, 70 * MIB);
    assert_int_equal(expandable->peak_max_bytes, 40 * MIB);
    assert_int_equal(split->peak_max_bytes, 70 * MIB);
    /* In 60 MiB the default gives the free segment back and is served with one retry; 40 MiB are the least. */
    assert_false(recorded->oom.happened);
    assert_int_equal(recorded->n_retries, 1);
    assert_int_equal(recorded->smallest_budget_bytes, 40 * MIB);
    assert_int_equal(expandable->n_retries, 0);
    assert_int_equal(whatif_highest_bytes(&whatif), highest);
    recording_close(recording);
}

static void test_texts_of_settings(void **state) {
    (void)state;
    static const char *const set[] = {"roundup_power2_divisions:4", "expandable_segments:True"};
    char text[WHATIF_NAME];
    whatif_set_text(text, set, 2);
    assert_string_equal(text, "expandable_segments:True,roundup_power2_divisions:4");
    assert_true(whatif_set_is_fine("expandable_segments=True"));
    assert_false(whatif_set_is_fine("expandable_segments:perhaps"));
    assert_false(whatif_set_is_fine("no_such_setting:1"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenarios),
                                       cmocka_unit_test(test_texts_of_settings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
