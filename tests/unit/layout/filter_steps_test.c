/* A filter marks the same allocations in many steps as in one. */
#include "dice.h"
#include "recording.h"

#include "layout/filter.h"

enum { SITES = 9, EVENTS = 160, ALLOCATIONS = 150 };

static struct recording *recording_of_sizes(struct dice *dice) {
    struct recording *recording = recording_open();
    for (uint32_t i = 1; i <= SITES; i++)
        recording_site(recording, "train.py", i % 3 == 0 ? "attention" : "step", i);
    for (uint32_t i = 0; i < ALLOCATIONS; i++)
        recording_allocation(recording, i, i + 1 + dice_below(dice, 20),
                             (uint64_t)dice_below(dice, 5000) << 10, dice_below(dice, SITES + 1));
    recording_settle(recording, EVENTS);
    return recording;
}

static void keep_in_steps(const struct filter *filter, struct recording *recording, uint32_t at_once,
                          uint64_t *keep) {
    const struct filter_facts facts = {.peak_moment = recording->timeline.peak_moment};
    uint32_t steps = filter_keep_steps(filter, &recording->timeline, at_once);
    for (uint32_t step = 0; step < steps; step++)
        assert_true(
            filter_keep_step(filter, &recording->timeline, &facts, step, at_once, &recording->arena, keep));
}

static void test_steps(void **state) {
    (void)state;
    static const char words[] = "size:>1M attention age:<15";
    struct dice dice = {1};
    struct recording *recording = recording_of_sizes(&dice);
    const struct allocations *allocations = &recording->device.allocations;
    struct filter filter;
    struct filter_error error;
    uint64_t once[ALLOCATIONS / 64 + 1];
    assert_true(filter_parse(&filter, words, sizeof words - 1, &error));
    assert_int_equal(filter_keep_steps(&filter, &recording->timeline, UINT32_MAX), 4);
    keep_in_steps(&filter, recording, UINT32_MAX, once);
    uint64_t n = filter_count(&recording->timeline, once);
    assert_true(n > 5 && n < 60);
    for (uint32_t i = 0; i < allocations->count; i++)
        if (filter_keeps(once, i))
            assert_true(allocations->size[i] > 1 << 20 && allocations->stack[i] % 3 == 0 &&
                        allocations->death[i] - allocations->birth[i] < 15);
    static const uint32_t at_once[] = {1, 7, 64, ALLOCATIONS - 1, ALLOCATIONS};
    for (uint32_t i = 0; i < sizeof at_once / sizeof *at_once; i++) {
        uint64_t keep[ALLOCATIONS / 64 + 1];
        assert_int_equal(filter_keep_steps(&filter, &recording->timeline, at_once[i]),
                         1 + 3 * (ALLOCATIONS / at_once[i] + 1));
        keep_in_steps(&filter, recording, at_once[i], keep);
        assert_memory_equal(keep, once, sizeof once);
    }
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
