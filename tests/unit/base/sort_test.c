/* Sorts rows, at once and in steps, and compares with qsort of the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sort.h"
#include "dice.h"
#include "memory_host.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3000 };

/* A row's value is its original place, because equal keys must keep their order. */
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

/* Three bytes, so that records are not aligned as their keys are. */
struct record {
    uint8_t tens, ones, place;
};

static uint64_t record_key(const void *at, uint32_t nth) {
    const struct record *record = at;
    return nth == 0 ? record->tens : 9u - record->ones;
}

/* Sorts by rising tens, then falling ones; equal records keep their order. */
static int record_compare(const void *left, const void *right) {
    const struct record *a = left, *b = right;
    if (a->tens != b->tens)
        return a->tens < b->tens ? -1 : 1;
    return a->ones != b->ones ? (a->ones > b->ones ? -1 : 1) : a->place - b->place;
}

static void test_records(void **unused) {
    struct record records[200], wanted[200];
    struct dice dice = {2};
    struct arena arena;
    (void)unused;
    arena_init(&arena, plain_host, SIZE_MAX);
    for (uint32_t i = 0; i < 200; i++)
        records[i] = (struct record){(uint8_t)(dice_roll_64(&dice) % 10), (uint8_t)(dice_roll_64(&dice) % 10),
                                     (uint8_t)i};
    memcpy(wanted, records, sizeof records);
    qsort(wanted, 200, sizeof *wanted, record_compare);
    assert_true(sort_records(records, 200, sizeof *records, record_key, 2, &arena));
    assert_memory_equal(records, wanted, sizeof records);
    assert_true(sort_records(NULL, 0, sizeof *records, record_key, 2, &arena));
    arena_release(&arena);

    /* Without memory nothing moves. */
    memcpy(wanted, records, sizeof records);
    records[0].tens = wanted[0].tens = 200;
    arena_init(&arena, plain_host, 1);
    assert_false(sort_records(records, 200, sizeof *records, record_key, 2, &arena));
    assert_memory_equal(records, wanted, sizeof records);
    arena_release(&arena);
}

static void test_end(void **unused) {
    const struct sort_row rows[] = {{1, 0}, {1, 1}, {2, 2}};
    (void)unused;
    assert_int_equal(sort_rows_end(rows, 3, 0), 2);
    assert_int_equal(sort_rows_end(rows, 3, 2), 3);
    assert_int_equal(sort_rows_end(rows, 3, 3), 3);
}

/* The best ten of many rows with few keys, of which equal ones keep their order, as sorting all of them finds them. */
static void test_insert(void **unused) {
    enum { BEST = 10 };
    static struct sort_row rows[200], wanted[200];
    struct sort_row best[BEST];
    struct dice dice = {7};
    (void)unused;
    for (uint32_t count = 0; count <= 200; count += 4) {
        uint32_t n = 0;
        rows_fill(rows, count, 15, &dice);
        memcpy(wanted, rows, sizeof wanted);
        qsort(wanted, count, sizeof *wanted, row_compare);
        for (uint32_t i = 0; i < count; i++)
            INSERT(best, n, BEST, rows[i], other, rows[i].key < other->key);
        assert_int_equal(n, count < BEST ? count : BEST);
        rows_check(best, wanted, n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_qsort), cmocka_unit_test(test_records),
                                       cmocka_unit_test(test_end), cmocka_unit_test(test_insert)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
