/* Hand-made profiles of ranks: which steps have tables, and which ranks are compared with each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/compare/cohorts.h"
#include "base/numbers.h"
#include "memory_host.h"

/* Keeps the first eight steps, then two for each doubling. */
static void test_which_steps_are_kept(void **state) {
    (void)state;
    uint32_t kept[4] = {0};
    for (uint32_t i = 0; i < 64; i++)
        kept[i < 8 ? 0 : i < 16 ? 1 : i < 32 ? 2 : 3] += rank_step_is_kept(i);
    assert_int_equal(kept[0], 8);
    for (unsigned doubling = 1; doubling < 4; doubling++)
        assert_int_equal(kept[doubling], 2);
}

static void test_steps_and_tables_are_found_by_number(void **state) {
    (void)state;
    struct rank_step step[] = {
        {.number = 3, .complete = true}, {.number = 5, .complete = true}, {.number = 9}};
    struct rank_table table[] = {{.step = 5, .at = RANK_AT_END}, {.step = RANK_NO_STEP, .at = RANK_AT_PEAK}};
    struct rank_profile profile = {.n_steps = 3, .step = step, .n_tables = 2, .table = table};
    assert_ptr_equal(rank_step_of(&profile, 5), &step[1]);
    assert_null(rank_step_of(&profile, 4));
    assert_ptr_equal(rank_table_of(&profile, RANK_NO_STEP, RANK_AT_PEAK), &table[1]);
    assert_null(rank_table_of(&profile, 5, RANK_AT_FORWARD));
    assert_int_equal(rank_complete_steps(&profile), 2);
    assert_int_equal(rank_last_step(&profile), 5);
}

static struct rank_call calls[2][4];
static struct rank_step steps[3] = {
    {.number = 0, .complete = true}, {.number = 1, .complete = true}, {.number = 2, .complete = true}};

static struct rank_profile profile_of(unsigned which, uint32_t first_site) {
    for (uint32_t i = 0; i < 4; i++)
        calls[which][i] = (struct rank_call){.site = first_site + i, .made = {4, 2, 1}};
    return (struct rank_profile){.n_steps = 3,
                                 .step = steps,
                                 .n_calls = 4,
                                 .call = calls[which],
                                 .oom_step = RANK_NO_STEP,
                                 .oom_phase = -1};
}

/* Cohorts are numbered from 0 in the order of their first rows. They differ by step, group or program. */
static void test_who_is_compared_with_whom(void **state) {
    (void)state;
    struct rank_profile one = profile_of(0, 100), other = profile_of(1, 900);
    struct arena arena;
    uint32_t cohort[4], n_cohorts = 0;
    const struct cohort_row rows[][4] = {
        {{&one, 7, 0, 0}, {&one, 7, 0, 1}, {&one, 8, 0, 0}, {&one, 8, 0, 1}},
        {{&one, -1, 5, 0}, {&one, -1, 6, 1}, {&one, -1, 6, 2}, {&one, -1, 5, 3}},
        {{&one, -1, 0, 0}, {&other, -1, 0, 1}, {&one, -1, 0, 2}, {&other, -1, 0, 3}},
        {{&one, -1, 0, 0}, {&one, -1, 0, 1}, {&one, -1, 0, 2}, {&one, -1, 0, 3}},
    };
    static const uint32_t wanted[][4] = {{0, 0, 1, 1}, {0, 1, 1, 0}, {0, 1, 0, 1}, {0, 0, 0, 0}};
    arena_init(&arena, plain_host, SIZE_MAX);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(cohorts_find(rows[i], 4, &arena, cohort, &n_cohorts));
        assert_memory_equal(cohort, wanted[i], sizeof cohort);
        assert_int_equal(n_cohorts, i == 3 ? 1 : 2);
    }
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_steps_are_kept),
        cmocka_unit_test(test_steps_and_tables_are_found_by_number),
        cmocka_unit_test(test_who_is_compared_with_whom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
