/* Steps from annotations and from the period of the allocations. */
#include "recording.h"

#include "analysis/loop/steps.h"

static struct steps steps_of(struct recording *recording) {
    struct steps steps;
    assert_true(steps_find(&steps, &recording->timeline, &recording->arena));
    return steps;
}

/* Each turn allocates with stacks 1 .. n_stacks, and frees all. */
static void turns_add(struct recording *recording, uint32_t n_turns, uint32_t turn_events,
                      const uint32_t *stacks, uint32_t n_stacks) {
    for (uint32_t turn = 0; turn < n_turns; turn++)
        for (uint32_t i = 0; i < n_stacks; i++)
            recording_allocation(recording, turn * turn_events + i + 1, (turn + 1) * turn_events, 512,
                                 stacks[i]);
}

static void stacks_make(struct recording *recording, uint32_t *stacks, uint32_t n_stacks) {
    for (uint32_t i = 0; i < n_stacks; i++)
        stacks[i] = recording_stack(recording, 0, "/home/u/train.py", "step");
}

/* Moments are events + 1: the step that begins before event 20 begins with moment 21. */
static void test_profiler_steps(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    for (uint32_t i = 0; i < 3; i++) {
        const char *const names[] = {"ProfilerStep#7", "ProfilerStep#8", "ProfilerStep#9"};
        recording_annotation(recording, 20 + 10 * i, names[i], ANNOTATION_START);
        recording_annotation(recording, 29 + 10 * i, names[i], ANNOTATION_END);
        recording_annotation(recording, 29 + 10 * i, "Optimizer.step#SGD.step", ANNOTATION_END);
    }
    recording_settle(recording, 100);
    struct steps steps = steps_of(recording);
    const uint32_t begin[] = {21, 31, 41, 50};
    assert_int_equal(steps.source, STEPS_PROFILER_STEP);
    assert_int_equal(steps.count, 3);
    assert_int_equal(steps.first_number, 7);
    assert_memory_equal(steps.begin, begin, sizeof begin);
    recording_close(recording);
}

/* A step that is not seen to end is not a step. */
static void test_a_step_without_an_end(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_annotation(recording, 10, "ProfilerStep#0", ANNOTATION_START);
    recording_annotation(recording, 20, "ProfilerStep#1", ANNOTATION_START);
    recording_annotation(recording, 30, "ProfilerStep#2", ANNOTATION_START);
    recording_settle(recording, 100);
    struct steps steps = steps_of(recording);
    assert_int_equal(steps.count, 2);
    assert_int_equal(steps.begin[2], 31);
    recording_close(recording);
}

/* Of two optimizers the one that steps more often. */
static void test_optimizer_steps(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    for (uint32_t i = 0; i < 6; i++) {
        recording_annotation(recording, 10 * i + 5, "Optimizer.step#Adam.step", ANNOTATION_END);
        if (i % 2 == 0)
            recording_annotation(recording, 10 * i + 7, "Optimizer.step#SGD.step", ANNOTATION_END);
    }
    recording_settle(recording, 100);
    struct steps steps = steps_of(recording);
    const uint32_t begin[] = {6, 16, 26, 36, 46, 56};
    assert_int_equal(steps.source, STEPS_OPTIMIZER);
    assert_int_equal(steps.count, 5);
    assert_memory_equal(steps.begin, begin, sizeof begin);
    recording_close(recording);
}

static void test_a_period(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t stacks[8];
    stacks_make(recording, stacks, 8);
    turns_add(recording, 5, 20, stacks, 8);
    recording_settle(recording, 100);
    struct steps steps = steps_of(recording);
    const uint32_t begin[] = {1, 21, 41, 61, 81, 101};
    assert_int_equal(steps.source, STEPS_PERIOD);
    assert_int_equal(steps.count, 5);
    assert_int_equal(steps.similar_permil, 1000);
    assert_memory_equal(steps.begin, begin, sizeof begin);
    recording_close(recording);
}

/* What is allocated before the loop does not shift it, and a last turn that is cut off is left out. */
static void test_a_period_with_a_beginning_and_a_cut(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t stacks[8], load = recording_stack(recording, 0, "/home/u/train.py", "load");
    stacks_make(recording, stacks, 8);
    for (uint32_t i = 0; i < 10; i++)
        recording_allocation(recording, i + 1, STAYS, 512, load);
    for (uint32_t turn = 0; turn < 4; turn++)
        for (uint32_t i = 0; i < (turn < 3 ? 8U : 3U); i++)
            recording_allocation(recording, 11 + turn * 20 + i, STAYS, 512, stacks[i]);
    recording_settle(recording, 76);
    struct steps steps = steps_of(recording);
    const uint32_t begin[] = {11, 31, 51, 71};
    assert_int_equal(steps.source, STEPS_PERIOD);
    assert_int_equal(steps.count, 3);
    assert_memory_equal(steps.begin, begin, sizeof begin);
    recording_close(recording);
}

static void test_no_period(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t stacks[60];
    stacks_make(recording, stacks, 60);
    turns_add(recording, 1, 100, stacks, 60);
    recording_settle(recording, 100);
    assert_int_equal(steps_of(recording).source, STEPS_NONE);
    recording_close(recording);
}

/* Turns of which most allocations are new ones are not steps. */
static void test_turns_that_are_not_alike(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t stacks[50];
    stacks_make(recording, stacks, 50);
    for (uint32_t turn = 0; turn < 4; turn++) {
        for (uint32_t i = 0; i < 2; i++)
            recording_allocation(recording, turn * 20 + i + 1, STAYS, 512, stacks[i]);
        for (uint32_t i = 0; i < 10; i++)
            recording_allocation(recording, turn * 20 + i + 3, STAYS, 512, stacks[2 + turn * 10 + i]);
    }
    recording_settle(recording, 80);
    assert_int_equal(steps_of(recording).source, STEPS_NONE);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profiler_steps),
        cmocka_unit_test(test_a_step_without_an_end),
        cmocka_unit_test(test_optimizer_steps),
        cmocka_unit_test(test_a_period),
        cmocka_unit_test(test_a_period_with_a_beginning_and_a_cut),
        cmocka_unit_test(test_no_period),
        cmocka_unit_test(test_turns_that_are_not_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
