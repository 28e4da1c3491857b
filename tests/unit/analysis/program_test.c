/* The requests of a recording, run under other settings; and why a recording without segments is not replayed. */
#include "recording.h"

#include "analysis/model/whatif.h"
#include "base/numbers.h"

/* Kind, row and moment of each operation. A request to free is a separate operation if it was not completed at once. */
static void test_operations_in_order(void **state) {
    (void)state;
    static const struct {
        enum program_kind kind;
        uint32_t index, moment;
    } wanted[] = {{PROGRAM_ALLOCATE, 0, 1},
                  {PROGRAM_ALLOCATE, 1, 2},
                  {PROGRAM_WAIT, 0, UINT32_MAX},
                  {PROGRAM_ALLOCATE, 2, 4},
                  {PROGRAM_FREE, 0, 5}};
    struct recording *recording = recording_open();
    struct program program;
    recording_allocation(recording, 1, 5, 512, 0);
    recording->request[0] = 3;
    recording_allocation(recording, 2, STAYS, 1000, 0);
    recording_allocation(recording, 4, STAYS, 512, 0);
    recording_settle(recording, 5);
    assert_true(program_init(&program, &recording->trace, &recording->device, &recording->arena));
    assert_int_equal(program.n_allocations, 3);
    assert_int_equal(program.n_ops, sizeof wanted / sizeof *wanted);
    for (uint32_t i = 0; i < program.n_ops; i++) {
        assert_int_equal(program_kind(program.op[i]), wanted[i].kind);
        assert_int_equal(program_index(program.op[i]), wanted[i].index);
        assert_int_equal(program_moment(&program, program.op[i]), wanted[i].moment);
    }
    recording_close(recording);
}

/* 30 MiB are freed, then 30 MiB and 1,000 bytes are requested: PyTorch reserves a segment of 30 MiB, which is reused,
 * and one of 2 MiB. */
static void test_reserved_bytes(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct program program;
    struct whatif_result result;
    bool known;
    recording_allocation(recording, 1, 2, 30 * MIB, 0);
    recording_allocation(recording, 3, STAYS, 30 * MIB, 0);
    recording_allocation(recording, 4, STAYS, 1000, 0);
    recording_settle(recording, 5);
    assert_true(program_init(&program, &recording->trace, &recording->device, &recording->arena));
    struct whatif_case what = {.settings = replay_settings(&recording->trace, &recording->device, &known),
                               .budget_bytes = ALLOCATOR_UNLIMITED};
    assert_true(whatif_run(&result, &program, &what, &recording->arena));
    assert_int_equal(result.peak_reserved_bytes, 32 * MIB);
    assert_false(result.out_of_memory);
    what.budget_bytes = 31 * MIB;
    assert_true(whatif_run(&result, &program, &what, &recording->arena));
    assert_true(result.out_of_memory);
    recording_close(recording);
}

static void test_without_segments_nothing_is_replayed(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct replay replay;
    recording_allocation(recording, 1, STAYS, 512, 0);
    recording_settle(recording, 2);
    assert_true(replay_run(&replay, &recording->trace, &recording->device, NULL, &recording->arena));
    assert_string_equal(replay_grade_text[replay.grade], "refused");
    assert_non_null(replay.reason);
    assert_null(replay.extra);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations_in_order),
        cmocka_unit_test(test_reserved_bytes),
        cmocka_unit_test(test_without_segments_nothing_is_replayed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
