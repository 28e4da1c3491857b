/*
 * Three lives with changes, added up by hand:
 *
 *     moment      1     2     3     4     5     6    ..  10
 *     a 1,000     |-----------------------------------|
 *     b   600           |-----------------------|
 *     c   300                 |-----------|
 *     in use      1000  1600  1900  1900  1600  1000
 */
#include "recording.h"

#include "analysis/plan/edit.h"

enum { A, B, C };

static struct recording *lives_open(struct program *program, struct lives *lives) {
    struct recording *recording = recording_open();
    recording_allocation(recording, 1, 10, 1000, 0);
    recording_allocation(recording, 2, 6, 600, 0);
    recording_allocation(recording, 3, 5, 300, 0);
    recording_settle(recording, 12);
    assert_true(program_init(program, &recording->trace, &recording->device, &recording->arena));
    assert_true(lives_init(lives, program, &recording->arena));
    return recording;
}

static void peak_is(struct recording *recording, const struct lives *lives, const struct edit *edit,
                    uint64_t requested, uint64_t rounded) {
    struct in_use peak;
    assert_true(changed_curve(&peak, lives, &edit, 1, &recording->arena));
    assert_int_equal(peak.requested, requested);
    assert_int_equal(peak.rounded, rounded);
}

static void test_peaks(void **state) {
    (void)state;
    struct program program;
    struct lives lives;
    struct recording *recording = lives_open(&program, &lives);
    struct edit edit = {0};
    peak_is(recording, &lives, &edit, 1900, 1024 + 1024 + 512);
    /* Removes b from behind moment 2 until c is freed. */
    assert_true(edit_cut(&edit, B, position_behind(2, 0), position_at(5), &recording->arena));
    peak_is(recording, &lives, &edit, 1600, 1024 + 1024);
    /* Adds a second b from behind moment 5 on, beside the first one. */
    assert_true(edit_life(&edit, B, position_behind(5, 0), position_at(8), &recording->arena));
    peak_is(recording, &lives, &edit, 2200, 3 * 1024);
    /* Halves a and c, and leaves b. */
    static const uint64_t halves[] = {500, 600, 150};
    struct edit smaller = {.size = halves};
    peak_is(recording, &lives, &smaller, 1250, 512 + 1024 + 512);
    recording_close(recording);
}

static void test_nothing_is_added_backwards(void **state) {
    (void)state;
    struct program program;
    struct lives lives;
    struct recording *recording = lives_open(&program, &lives);
    struct edit edit = {0};
    assert_true(edit_cut(&edit, B, position_at(4), position_at(4), &recording->arena));
    assert_true(edit_life(&edit, B, position_behind(4, 0), position_at(4), &recording->arena));
    assert_int_equal(edit.n_cuts + edit.n_lives, 0);
    recording_close(recording);
}

/* Ends b at moment 4 and makes c again at 7; checks the operations of the changed program, in order, with their
 * rows. */
static void test_the_program(void **state) {
    (void)state;
    static const struct {
        enum program_kind kind;
        uint32_t like;
    } wanted[] = {{PROGRAM_ALLOCATE, A}, {PROGRAM_ALLOCATE, B}, {PROGRAM_ALLOCATE, C}, {PROGRAM_FREE, B},
                  {PROGRAM_FREE, C},     {PROGRAM_ALLOCATE, C}, {PROGRAM_FREE, C},     {PROGRAM_FREE, A}};
    struct program program, changed;
    struct lives lives;
    struct recording *recording = lives_open(&program, &lives);
    struct edit edit = {0};
    const struct edit *all[] = {&edit};
    assert_true(edit_cut(&edit, B, position_at(4), POSITION_NEVER, &recording->arena));
    assert_true(edit_life(&edit, C, position_behind(7, 0), position_at(9), &recording->arena));
    assert_true(changed_program(&changed, &lives, all, 1, &recording->arena));
    assert_int_equal(changed.n_ops, sizeof wanted / sizeof *wanted);
    for (uint32_t i = 0; i < changed.n_ops; i++) {
        assert_int_equal(program_kind(changed.op[i]), wanted[i].kind);
        assert_int_equal(program_source(&changed, program_index(changed.op[i])), wanted[i].like);
    }
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_peaks),
                                       cmocka_unit_test(test_nothing_is_added_backwards),
                                       cmocka_unit_test(test_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
