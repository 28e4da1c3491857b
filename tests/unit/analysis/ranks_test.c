/* A rank's profile: its steps, and the bytes of each call site at the end of a step. */
#include "training.h"

#include "analysis/compare/ranks.h"

/* Three steps; the last keeps 3 MiB of a cache and 1 MiB of a list, each from its own line. */
static void test_profile(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct training training = training_make(recording);
    struct verdicts verdicts = {0};
    struct rank_profile profile;
    uint32_t list = recording_site(recording, "/home/u/train.py", "log", 7),
             cache = recording_site(recording, "/home/u/train.py", "cache", 9);
    for (uint32_t i = 0; i < 2; i++)
        training_step(&training, 1 + i * TRAINING_STEP, 90);
    recording_allocation(recording, 195, STAYS, 1 << 20, list);
    recording_allocation(recording, 196, STAYS, 3 << 20, cache);
    training_step(&training, 1 + 2 * TRAINING_STEP, 90);
    assert_true(verdicts_init(&verdicts, recording_settle(recording, 310), &recording->arena));
    assert_true(rank_profile_make(&profile, &verdicts, &recording->arena));
    assert_int_equal(profile.n_steps, verdicts.turns.count);
    assert_int_equal(profile.oom_step, RANK_NO_STEP);
    assert_true(profile.signature != 0);
    for (uint32_t i = 1; i < profile.n_calls; i++)
        assert_true(profile.call[i - 1].site < profile.call[i].site);
    const struct rank_table *table = rank_table_of(&profile, RANK_NO_STEP, RANK_AT_END);
    assert_non_null(table);
    assert_int_equal(table->count, 2);
    assert_int_equal(table->entry[0].bytes, 3 << 20);
    assert_int_equal(table->entry[1].bytes, 1 << 20);
    assert_int_equal(profile.call[table->entry[0].call].name, recording->trace.stacks.frame[cache]);
    assert_int_equal(table->total_bytes, 4 << 20);
    recording_close(recording);
}

/* Tables of the first eight steps, then two for each doubling: 8, 12, 16, 24, 32, 48. */
static void test_steps_with_tables(void **state) {
    (void)state;
    uint32_t kept[32], n = 0;
    static const uint32_t wanted[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48};
    for (uint32_t i = 0; i < 64; i++)
        if (rank_step_is_kept(i))
            kept[n++] = i;
    assert_int_equal(n, sizeof wanted / sizeof *wanted);
    assert_memory_equal(kept, wanted, sizeof wanted);
}

static void test_last_complete_step(void **state) {
    (void)state;
    struct rank_step steps[] = {
        {.number = 3, .complete = true}, {.number = 4, .complete = true}, {.number = 5}};
    struct rank_profile profile = {.n_steps = 3, .step = steps};
    assert_int_equal(rank_complete_steps(&profile), 2);
    assert_int_equal(rank_last_step(&profile), 4);
    assert_ptr_equal(rank_step_of(&profile, 5), &steps[2]);
    assert_null(rank_step_of(&profile, 6));
    profile.n_steps = 0;
    assert_int_equal(rank_last_step(&profile), RANK_NO_STEP);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_profile),
                                       cmocka_unit_test(test_steps_with_tables),
                                       cmocka_unit_test(test_last_complete_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
