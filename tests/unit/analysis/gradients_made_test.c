/* A backward that makes its gradients anew, and one that may as well add to what is older than the recording. */
#include "training.h"

#include "analysis/findings/gradients_made.h"

/* Bytes that each of three turns makes, with `olds` rows of the parameters' sizes older than the recording. */
static void made_of(uint64_t made[3], bool *unsure, uint32_t olds, bool kept) {
    struct recording *recording = recording_open();
    struct training training = training_make(recording);
    struct verdicts verdicts = {0};
    uint32_t forward_moment[3];
    for (uint32_t c = 0; c < olds; c++)
        for (uint32_t i = 0; i < PARAMETERS; i++)
            recording_allocation(recording, 0, STAYS, parameter_size(i), 0);
    for (uint32_t i = 0; i < 3; i++)
        training_step(&training, 1 + i * TRAINING_STEP, kept ? 90 : 55);
    assert_true(verdicts_judge(&verdicts, recording_settle(recording, 310), &recording->arena));
    assert_true(findings_step(&verdicts, 0, &recording->arena) &&
                findings_step(&verdicts, 1, &recording->arena));
    assert_int_equal(verdicts.turns.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        forward_moment[i] = 1 + i * TRAINING_STEP;
    assert_true(gradients_made(verdicts.finder, forward_moment, made));
    *unsure = verdicts.finder->gradients_unsure;
    recording_close(recording);
}

static uint64_t all_parameters(void) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < PARAMETERS; i++)
        bytes += parameter_size(i);
    return bytes;
}

static void test_made_anew(void **state) {
    (void)state;
    uint64_t made[3];
    bool unsure;
    made_of(made, &unsure, 0, true);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(made[i], all_parameters());
    assert_false(unsure);
}

/* Parameters that are older, and as many gradients as parameters outlive each backward: still made anew. */
static void test_parameters_are_older(void **state) {
    (void)state;
    uint64_t made[3];
    bool unsure;
    made_of(made, &unsure, 1, true);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(made[i], all_parameters());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_made_anew),
                                       cmocka_unit_test(test_parameters_are_older)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
