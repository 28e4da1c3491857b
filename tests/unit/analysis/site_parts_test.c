/* One line of the user's code that made an optimizer's state, temporaries and other memory, some of which was freed. */
#include "recording.h"

#include "analysis/compare/site_parts.h"

/* The four largest groups of one call site, by falling bytes: 40 freed there, 30 of state, 20 of temporaries, 10 of the rest. */
static void test_one_line_in_parts(void **state) {
    (void)state;
    static const uint64_t bytes[] = {10, 20, 30, 40};
    static uint8_t category[] = {CATEGORY_ACTIVATION, CATEGORY_TEMPORARY, CATEGORY_OPTIMIZER_STATE,
                                 CATEGORY_OPTIMIZER_STATE};
    static uint8_t letter[] = {PHASE_FORWARD, PHASE_OPTIMIZER, PHASE_OPTIMIZER, PHASE_OPTIMIZER};
    static const struct {
        uint64_t bytes;
        const char *suffix;
    } wanted[] = {{40, " (where it was freed)"},
                  {30, " (optimizer state)"},
                  {20, " (optimizer temporaries)"},
                  {10, ""}};
    struct recording *recording = recording_open();
    struct site_parts parts;
    uint32_t line = recording_site(recording, "/home/u/train.py", "step", 41);
    for (uint32_t i = 0; i < 4; i++)
        recording_allocation(recording, 1 + i, STAYS, bytes[i], line);
    recording->flags[3] = ALLOCATION_STACK_OF_FREE;
    struct verdicts verdicts = {
        .timeline = recording_settle(recording, 10), .category = category, .runs = {.letter = letter}};
    assert_true(site_parts_at(&parts, verdicts.timeline, &verdicts, 9, &recording->arena));
    assert_int_equal(parts.n_groups, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(parts.groups[i].bytes, wanted[i].bytes);
        assert_string_equal(group_part_suffix(&parts.groups[i]), wanted[i].suffix);
    }
    /* After the second birth only allocations made until then count. A temporary of a forward is no separate part. */
    letter[1] = PHASE_FORWARD;
    assert_true(site_parts_at(&parts, verdicts.timeline, &verdicts, 2, &recording->arena));
    assert_int_equal(parts.n_groups, 1);
    assert_int_equal(parts.groups[0].bytes, 30);
    assert_int_equal(parts.groups[0].count, 2);
    assert_string_equal(group_part_mark(&parts.groups[0]), "");
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_line_in_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
