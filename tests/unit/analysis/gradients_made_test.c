/* Does a backward make gradients or add to older ones? Two turns of twelve allocations each. */
#include "recording.h"

#include "analysis/findings/gradients_made.h"

enum { OLDS_MOST = 6 /* with the parameter */, TURN = 12, N = OLDS_MOST + 2 * TURN };

/* Each turn makes an activation and eleven allocations in backward, of which the first two are gradients of 4,096 and 100
 * bytes: the last eight allocations of a backward are ignored. An older parameter has 4,096 bytes, and `n_olds` more
 * may be its gradients. `blamed`: a leak was reported at the site that makes the gradients. */
static bool made_is(uint32_t n_olds, uint32_t old_death, bool blamed, uint8_t first, uint64_t wanted_first,
                    uint64_t wanted_second) {
    struct recording *recording = recording_open();
    uint8_t category[N] = {CATEGORY_PARAMETER}, letter[N] = {0};
    uint64_t told[1] = {0};
    uint32_t site = recording_site(recording, "/u/train.py", "step", 1), moment[] = {3, 15};
    uint64_t made[2];
    struct turn turn[] = {{.first = 0, .end = TURN}, {.first = TURN, .end = 2 * TURN}};
    struct verdicts verdicts = {
        .category = category, .turns = {.count = 2, .turn = turn}, .runs = {.letter = letter}};
    recording_allocation(recording, 0, STAYS, 4096, site); /* a stack and a category: it is no gradient */
    for (uint32_t i = 0; i < n_olds; i++)
        recording_allocation(recording, 0, old_death, 4096, 0);
    for (uint32_t i = 1 + n_olds; i < 1 + n_olds + 2 * TURN; i++) {
        uint32_t k = (i - 1 - n_olds) % TURN;
        recording_allocation(recording, i, i + 14 < 40 ? i + 14 : STAYS,
                             k == 1   ? 4096
                             : k == 2 ? 100
                                      : 8,
                             site);
        category[i] = k == 1 ? first : k == 2 ? CATEGORY_GRADIENT : CATEGORY_TEMPORARY;
        letter[i] = k == 0 ? PHASE_FORWARD : PHASE_BACKWARD;
    }
    for (uint32_t i = 0; blamed && i < 1 + n_olds + 2 * TURN; i++)
        bits_add(told, i);
    struct finder finder = {.verdicts = &verdicts,
                            .timeline = recording_settle(recording, 40),
                            .allocations = &recording->device.allocations,
                            .arena = &recording->arena,
                            .lives.told = told};
    assert_true(gradients_made(&finder, moment, made));
    assert_int_equal(made[0], wanted_first);
    assert_int_equal(made[1], wanted_second);
    recording_close(recording);
    return finder.gradients_unsure;
}

/* Possible older gradients are freed by the second forward, so all gradients of a backward are new: 4,096 and 100
 * bytes. */
static void test_nothing_to_add_to(void **state) {
    (void)state;
    assert_false(made_is(1, 10, false, CATEGORY_GRADIENT, 4196, 4196));
    assert_false(made_is(1, 10, true, CATEGORY_GRADIENT, 0, 0)); /* a leak keeps copies of them */
}

/* The old one stays until moment 30, past the second forward. One gradient of its size is made, so it is new, and only
 * a gradient of a parameter's size counts. The second turn has no forward after it; it ends with the recording, after
 * 40 events. */
static void test_made_beside_an_older_one(void **state) {
    (void)state;
    assert_false(made_is(1, 30, false, CATEGORY_GRADIENT, 4096, 4196));
}

/* If the new one is freed at once, backward added it to the older one, and no gradient counts as made. */
static void test_added_to_an_older_one(void **state) {
    (void)state;
    assert_true(made_is(1, 30, false, CATEGORY_TEMPORARY, 0, 100));
}

/* Five older allocations for one gradient: training keeps at most four for each parameter, so some of them are
 * gradients. */
static void test_too_many_older_ones(void **state) {
    (void)state;
    assert_true(made_is(5, 30, false, CATEGORY_GRADIENT, 0, 4196));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_add_to), cmocka_unit_test(test_made_beside_an_older_one),
        cmocka_unit_test(test_added_to_an_older_one), cmocka_unit_test(test_too_many_older_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
