/* Round values for axes; every expectation is worked out by hand. */
#include "dice.h"
#include "layout/ticks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static void assert_ticks(struct ticks ticks, int64_t step, uint32_t count, const int64_t *at) {
    assert_int_equal(ticks.step, step);
    assert_int_equal(ticks.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(ticks.at[i], at[i]);
}

static void test_decimal(void **state) {
    (void)state;
    assert_ticks(ticks_decimal(0, 10, 6), 2, 6, (const int64_t[]){0, 2, 4, 6, 8, 10});
    assert_ticks(ticks_decimal(0, 10, 5), 5, 3, (const int64_t[]){0, 5, 10});
    assert_ticks(ticks_decimal(1, 9, 10), 1, 9, (const int64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
    assert_ticks(ticks_decimal(0, 27358, 6), 5000, 6, (const int64_t[]){0, 5000, 10000, 15000, 20000, 25000});
    assert_ticks(ticks_decimal(18204, 18231, 3), 10, 3, (const int64_t[]){18210, 18220, 18230});
    /* Both ends are ticks themselves, or neither. */
    assert_ticks(ticks_decimal(100, 200, 3), 50, 3, (const int64_t[]){100, 150, 200});
    assert_ticks(ticks_decimal(101, 199, 2), 50, 1, (const int64_t[]){150});
}

static void test_decimal_below_zero(void **state) {
    (void)state;
    assert_ticks(ticks_decimal(-1, 1, 3), 1, 3, (const int64_t[]){-1, 0, 1});
    assert_ticks(ticks_decimal(-7, 12, 5), 5, 4, (const int64_t[]){-5, 0, 5, 10});
    assert_ticks(ticks_decimal(-99, -81, 2), 10, 1, (const int64_t[]){-90});
    assert_ticks(ticks_decimal(-90, -80, 2), 10, 2, (const int64_t[]){-90, -80});
}

static void test_one_value_and_none(void **state) {
    (void)state;
    assert_ticks(ticks_decimal(42, 42, 5), 1, 1, (const int64_t[]){42});
    assert_int_equal(ticks_decimal(5, 4, 5).count, 0);
    assert_int_equal(ticks_bytes(5, 4, 5).count, 0);
    assert_int_equal(ticks_bytes(UINT64_MAX, UINT64_MAX, 5).count, 0); /* not a value of `at` */
}

static void test_most_is_kept_within_its_limits(void **state) {
    (void)state;
    assert_ticks(ticks_decimal(0, 10, 0), 10, 2, (const int64_t[]){0, 10});
    assert_ticks(ticks_decimal(0, 10, 1), 10, 2, (const int64_t[]){0, 10});
    assert_int_equal(ticks_decimal(0, 63, UINT32_MAX).count, 64);
    struct ticks ticks = ticks_decimal(0, 64, UINT32_MAX); /* 65 of step 1 are one too many */
    assert_int_equal(ticks.step, 2);
    assert_int_equal(ticks.count, 33);
}

static void test_extreme_ranges(void **state) {
    const int64_t giant = 5000000000000000000;
    (void)state;
    assert_ticks(ticks_decimal(INT64_MIN, INT64_MAX, 3), giant, 3, (const int64_t[]){-giant, 0, giant});
    assert_ticks(ticks_decimal(INT64_MIN, INT64_MAX, 2), giant, 1, (const int64_t[]){0});
    assert_ticks(ticks_decimal(0, INT64_MAX, 2), giant, 2, (const int64_t[]){0, giant});
    assert_ticks(ticks_decimal(INT64_MAX, INT64_MAX, 2), 1, 1, (const int64_t[]){INT64_MAX});
    assert_ticks(ticks_decimal(INT64_MIN, INT64_MIN, 2), 1, 1, (const int64_t[]){INT64_MIN});
    assert_ticks(ticks_bytes(0, UINT64_MAX, 2), (int64_t)5 << 60, 2, (const int64_t[]){0, (int64_t)5 << 60});
}

static void test_bytes(void **state) {
    (void)state;
    assert_ticks(ticks_bytes(0, 80 * (uint64_t)GIB, 5), 20 * GIB, 5,
                 (const int64_t[]){0, 20 * GIB, 40 * GIB, 60 * GIB, 80 * GIB});
    assert_ticks(ticks_bytes(0, 1000, 6), 200, 6, (const int64_t[]){0, 200, 400, 600, 800, 1000});
    /* 0, 500 KiB, 1000 KiB: the step after 500 KiB is 1 MiB. */
    assert_ticks(ticks_bytes(0, 1 << 20, 3), 500 * KIB, 3, (const int64_t[]){0, 500 * KIB, 1000 * KIB});
    assert_ticks(ticks_bytes(0, 1 << 20, 2), MIB, 2, (const int64_t[]){0, MIB});
    assert_ticks(ticks_bytes(3 * (uint64_t)MIB + 1, 5 * (uint64_t)MIB, 2), MIB, 2,
                 (const int64_t[]){4 * MIB, 5 * MIB});
    assert_ticks(ticks_bytes(0, 0, 8), 1, 1, (const int64_t[]){0});
}

/* For many ranges: rising multiples of the step inside of the range, none left out, never too many. */
static void assert_complete(struct ticks ticks, int64_t low, int64_t high, uint32_t most) {
    assert_true(ticks.count <= most);
    for (uint32_t i = 0; i < ticks.count; i++) {
        assert_true(ticks.at[i] >= low && ticks.at[i] <= high);
        assert_int_equal(ticks.at[i] % ticks.step, 0);
        assert_true(i == 0 || ticks.at[i] - ticks.at[i - 1] == ticks.step);
    }
    if (ticks.count > 0) {
        assert_true(ticks.at[0] - low < ticks.step);
        assert_true(high - ticks.at[ticks.count - 1] < ticks.step);
    }
}

static void test_many_ranges(void **state) {
    struct dice dice = {1};
    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t seed = dice_roll_64(&dice);
        int64_t low = (int64_t)(seed >> 3) >> (i % 61);
        int64_t high = low + (int64_t)(seed >> 5 >> (i * 7 % 59));
        uint32_t most = 2 + i % 63;
        if (high < low) /* more than 64 bits */
            continue;
        assert_complete(ticks_decimal(-low, high, most), -low, high, most);
        assert_complete(ticks_decimal(low, high, most), low, high, most);
        assert_complete(ticks_bytes((uint64_t)low, (uint64_t)high, most), low, high, most);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimal),
        cmocka_unit_test(test_decimal_below_zero),
        cmocka_unit_test(test_one_value_and_none),
        cmocka_unit_test(test_most_is_kept_within_its_limits),
        cmocka_unit_test(test_extreme_ranges),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_many_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
