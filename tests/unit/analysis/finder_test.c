/* The saving of a finding: the curve without some lives or parts of lives, compared with a count by hand. */
#include "recording.h"

#include "analysis/findings/finder.h"

/*
 * Moments     1    2    3    4    5        bytes
 * a           100  100  100  -    -
 * b           -    50   50   50   50
 * c           -    -    30   -    -
 * all         100  150  180  50   50       peak 180, at moment 3
 */
static struct finder *finder_made(struct recording *recording, struct verdicts *verdicts) {
    uint32_t stack = recording_site(recording, "/home/u/train.py", "step", 41);
    recording_allocation(recording, 1, 4, 100, stack);
    recording_allocation(recording, 2, STAYS, 50, stack);
    recording_allocation(recording, 3, 4, 30, stack);
    assert_true(verdicts_judge(verdicts, recording_settle(recording, 5), &recording->arena));
    assert_true(findings_step(verdicts, 0, &recording->arena));
    assert_non_null(verdicts->finder);
    return verdicts->finder;
}

static uint64_t saved(struct finder *finder, uint32_t allocation, uint32_t from, uint32_t to) {
    struct finding finding = {0};
    finder_remove(finder, allocation, from, to);
    finder_saves(finder, &finding);
    assert_true(finding.saves_known);
    return finding.saves;
}

static void test_savings(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct verdicts verdicts = {0};
    struct finder *finder = finder_made(recording, &verdicts);
    assert_int_equal(saved(finder, 0, 1, 4), 100); /* 180 less 80: b and c at moment 3 */
    assert_int_equal(saved(finder, 2, 3, 4), 30);  /* 150 at moments 2 and 3 */
    assert_int_equal(saved(finder, 0, 3, 4), 30);  /* 80 at moment 3, but 150 at moment 2 */
    assert_int_equal(saved(finder, 1, 4, 6), 0);   /* only after the peak */
    /* The removals add up until the finder puts them back: first both together, then none. */
    finder_remove(finder, 0, 1, 4);
    assert_int_equal(saved(finder, 1, 2, 6), 150);
    assert_int_equal(saved(finder, 2, 4, 4), 0);
    recording_close(recording);
}

/* At moment 3 only the set's live allocations count. */
static void test_count_at_a_moment(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct verdicts verdicts = {0};
    struct finder *finder = finder_made(recording, &verdicts);
    struct finding finding = {.at_moment = 4};
    for (uint32_t i = 0; i < 3; i++)
        finder_count(finder, &finding, i);
    assert_int_equal(finding.count, 1);
    assert_int_equal(finding.bytes, 50);
    recording_close(recording);
}

static void test_how_sure_and_how_bad(void **state) {
    (void)state;
    assert_int_equal(severity_of_saving(100, 1000), SEVERITY_HIGH);
    assert_int_equal(severity_of_saving(99, 1000), SEVERITY_MEDIUM);
    assert_int_equal(severity_of_saving(30, 1000), SEVERITY_MEDIUM);
    assert_int_equal(severity_of_saving(29, 1000), SEVERITY_LOW);
    assert_int_equal(confidence_of_turns(2), CONFIDENCE_POSSIBLE);
    assert_int_equal(confidence_of_turns(3), CONFIDENCE_LIKELY);
    assert_int_equal(confidence_of_turns(4), CONFIDENCE_CERTAIN);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_savings),
                                       cmocka_unit_test(test_count_at_a_moment),
                                       cmocka_unit_test(test_how_sure_and_how_bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
