/* The part of a step in which each allocation was made, and the runs of one side. */
#include "recording.h"

#include "analysis/loop/phase_runs.h"

#define TORCH "/usr/lib/python3/site-packages/torch/"

enum { EACH = 4, SIDES = 4 };

static void test_sides_of_a_step(void **state) {
    (void)state;
    static const uint8_t letters[SIDES] = {PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_FORWARD};
    static const uint8_t sides[SIDES] = {SIDE_FORWARD, SIDE_BACKWARD, SIDE_OPTIMIZER, SIDE_FORWARD};
    struct recording *recording = recording_open();
    struct phase_runs runs;
    uint32_t main_ = recording_stack(recording, 0, "/home/u/train.py", "main");
    uint32_t forward = recording_stack(recording, main_, "/home/u/model.py", "forward");
    const uint32_t stacks[SIDES] = {
        forward, recording_stack(recording, main_, TORCH "autograd/graph.py", "_engine_run_backward"),
        recording_stack(recording, main_, TORCH "optim/adamw.py", "step"), forward};
    for (uint32_t i = 0; i < SIDES * EACH; i++)
        recording_allocation(recording, i + 1, STAYS, 512, stacks[i / EACH]);
    struct timeline *timeline = recording_settle(recording, SIDES * EACH);
    assert_true(phase_runs_find(&runs, timeline, &recording->arena));
    assert_int_equal(runs.stacks, STACKS_PYTHON);
    assert_int_equal(runs.n_allocations, SIDES * EACH);
    assert_int_equal(runs.count, SIDES);
    for (uint32_t i = 0; i < SIDES * EACH; i++) {
        assert_int_equal(runs.letter[i], letters[i / EACH]);
        assert_int_equal(phase_runs_at(&runs, i), i / EACH);
    }
    for (uint32_t i = 0; i < SIDES; i++) {
        assert_int_equal(runs.run[i].side, sides[i]);
        assert_int_equal(runs.run[i].first, i * EACH);
        assert_int_equal(runs.run[i].last, i * EACH + EACH - 1);
        assert_int_equal(runs.run[i].has_forward, sides[i] == SIDE_FORWARD);
    }
    assert_int_equal(runs.run[0].next_backward, 1);
    assert_int_equal(runs.run[3].next_backward, UINT32_MAX);
    assert_true(phase_runs_has(&runs, SIDE_OPTIMIZER) && phase_runs_has_forward(&runs));
    recording_close(recording);
}

static void test_without_stacks_there_is_one_side(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct phase_runs runs;
    for (uint32_t i = 0; i < EACH; i++)
        recording_allocation(recording, i + 1, STAYS, 512, 0);
    struct timeline *timeline = recording_settle(recording, EACH);
    assert_true(phase_runs_find(&runs, timeline, &recording->arena));
    assert_int_equal(runs.stacks, STACKS_NONE);
    assert_int_equal(runs.count, 1);
    assert_false(phase_runs_has(&runs, SIDE_BACKWARD) || phase_runs_has(&runs, SIDE_OPTIMIZER));
    assert_false(phase_runs_has_forward(&runs));
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sides_of_a_step),
        cmocka_unit_test(test_without_stacks_there_is_one_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
