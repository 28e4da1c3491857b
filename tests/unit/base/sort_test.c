/* Sorting rows, at once and in steps, against qsort of the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sort.h"
#include "dice.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3000 };

/* A row's value is the place that it had: equal keys keep their order. */
static int row_compare(const void *a, const void *b) {
    const struct sort_row *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static void rows_fill(struct sort_row *rows, uint32_t count, uint64_t bits, struct dice *dice) {
    memset(rows, 0, count * sizeof *rows);
    for (uint32_t i = 0; i < count; i++) {
        rows[i].key = dice_roll_64(dice) & bits;
        rows[i].value = i;
    }
}

static void rows_check(const struct sort_row *rows, const struct sort_row *wanted, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(rows[i].key, wanted[i].key);
        assert_int_equal(rows[i].value, wanted[i].value);
    }
}

static void test_as_qsort(void **unused) {
    static const uint64_t bits[] = {0, 0x7, 0xff00, 0xf00000000000000f, UINT64_MAX};
    static const uint32_t counts[] = {0, 1, 2, 255, 1000, ROWS}, most[] = {1, 7, 1000, ROWS, UINT32_MAX};
    static struct sort_row rows[ROWS], stepped[ROWS], spare[ROWS], wanted[ROWS];
    struct dice dice = {1};
    (void)unused;
    for (uint32_t n = 0; n < sizeof bits / sizeof *bits * 6 * 5; n++) {
        uint32_t count = counts[n / 5 % 6], steps = 0;
        struct sorting sorting;
        rows_fill(rows, count, bits[n / 30], &dice);
        memcpy(stepped, rows, sizeof rows);
        memcpy(wanted, rows, sizeof rows);
        qsort(wanted, count, sizeof *wanted, row_compare);
        sort_rows(rows, spare, count);
        rows_check(rows, wanted, count);
        sorting_begin(&sorting, stepped, spare, count, most[n % 5]);
        while (sorting_step(&sorting))
            assert_true(++steps <= 8 * (1 + count));
        rows_check(sorting.rows, wanted, count);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_qsort)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
