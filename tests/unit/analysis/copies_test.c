/* The copies of weights that autocast makes: half as large as a weight, made in the forward, alive until it ends. */
#include "training.h"

#include "analysis/findings/verdicts.h"
#include "analysis/loop/copies.h"

static bool is_set(const uint64_t *bitmap, uint32_t i) {
    return bitmap[i / 64] >> i % 64 & 1;
}

/* Parameters of 64, 128, 192 and 256 KiB are older. In the forward: a copy of each through autocast, and one allocation that
 * dies before the forward ends. */
static void test_copies(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct training training = training_make(recording);
    struct verdicts verdicts = {0};
    uint64_t bitmap[RECORDING_ALLOCATIONS / 64 + 1] = {0};
    uint32_t first, brief;
    for (uint32_t i = 0; i < PARAMETERS; i++)
        recording_allocation(recording, 0, STAYS, parameter_size(i), 0);
    first = recording->device.allocations.count;
    for (uint32_t i = 0; i < PARAMETERS; i++)
        recording_allocation(recording, 1 + i, 30, parameter_size(i) / 2, training.cast);
    brief = recording_allocation(recording, 6, 8, parameter_size(0) / 2, training.cast);
    for (uint32_t step = 0; step < 2; step++)
        training_step(&training, 10 + step * TRAINING_STEP, 90);
    assert_true(verdicts_judge(&verdicts, recording_settle(recording, 230), &recording->arena));
    assert_true(weight_copies_find(verdicts.timeline, &verdicts.runs, &verdicts.turns, verdicts.category,
                                   bitmap, &recording->arena));
    for (uint32_t i = 0; i < recording->device.allocations.count; i++)
        assert_int_equal(is_set(bitmap, i), i >= first && i < brief);
    assert_int_equal(verdicts.category[first], CATEGORY_WEIGHT_COPY);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
