/* Hash tables against arrays that are searched from end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/hashed.h"
#include "dice.h"
#include "memory_host.h"

enum { KEYS = 3000, TURNS = 40000 };

/* Adds and removes few different keys in turn, so that most removals leave a gap in a run of keys. */
static void test_keys(void **unused) {
    static uint32_t number[KEYS]; /* 0: not in the map */
    struct dice dice = {1};
    struct key_map map = {0};
    struct arena arena;
    uint32_t count = 0;
    (void)unused;
    arena_init(&arena, plain_host, SIZE_MAX);
    assert_int_equal(key_map_find(&map, 1), KEY_NOT_FOUND);
    for (uint32_t turn = 1; turn <= TURNS; turn++) {
        uint32_t key = (uint32_t)(dice_roll_64(&dice) % KEYS);
        uint32_t slot = key_map_find(&map, key * UINT64_C(512));
        assert_int_equal(slot != KEY_NOT_FOUND ? map.slot[slot].number : 0, number[key]);
        if (slot != KEY_NOT_FOUND)
            key_map_remove(&map, slot);
        else
            assert_true(key_map_add(&map, &arena, key * UINT64_C(512), turn));
        number[key] = slot != KEY_NOT_FOUND ? 0 : turn;
        count += number[key] != 0 ? 1 : UINT32_MAX;
        assert_int_equal(map.count, count);
    }
    assert_true(map.mask >= 2 * map.count);
    arena_release(&arena);
}

static uint32_t tens_hash(const void *rows, uint32_t row) {
    return ((const uint32_t *)rows)[row] / 10;
}

/* Rows of ten different values have one hash, so a row is found behind others. */
static void test_rows(void **unused) {
    static uint32_t rows[KEYS];
    struct row_table table = {0};
    struct arena arena;
    (void)unused;
    arena_init(&arena, plain_host, SIZE_MAX);
    for (uint32_t i = 1; i < KEYS; i++) {
        rows[i] = (i * 7) % KEYS;
        assert_true(row_table_reserve(&table, &arena, tens_hash, rows));
        uint32_t *slot = ROW_SEEK(&table, rows[i] / 10, row, rows[row] == rows[i]);
        assert_int_equal(*slot, 0);
        *slot = i;
        table.count++;
    }
    for (uint32_t i = 1; i < KEYS; i++)
        assert_int_equal(*ROW_SEEK(&table, rows[i] / 10, row, rows[row] == rows[i]), i);
    assert_int_equal(*ROW_SEEK(&table, 0, row, rows[row] == KEYS + 1), 0);
    arena_release(&arena);
}

/* Without memory a table stays as it is. */
static void test_no_memory(void **unused) {
    struct key_map map = {0};
    struct row_table table = {0};
    struct arena arena;
    (void)unused;
    arena_init(&arena, plain_host, 1);
    assert_false(key_map_add(&map, &arena, 1, 1));
    assert_false(row_table_reserve(&table, &arena, tens_hash, NULL));
    assert_int_equal(map.mask + map.count + table.mask, 0);
    arena_release(&arena);
}

/* Keys that somebody chose to meet in one slot under an unkeyed multiplication, and such as differ in their highest
 * bits alone, lie apart. */
static void test_chosen_keys(void **unused) {
    const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* times the golden ratio's constant: 1 */
    (void)unused;
    assert_int_equal(inverse * UINT64_C(0x9e3779b97f4a7c15), 1);
    for (int kind = 0; kind < 3; kind++) {
        struct key_map map = {0};
        struct arena arena;
        uint64_t distance = 0;
        arena_init(&arena, plain_host, SIZE_MAX);
        for (uint32_t i = 1; i <= KEYS; i++) {
            uint64_t key = kind == 0 ? i * inverse : (uint64_t)i << (kind == 1 ? 40 : 52);
            if (key_map_find(&map, key) == KEY_NOT_FOUND)
                assert_true(key_map_add(&map, &arena, key, i));
        }
        for (uint32_t at = 0; at <= map.mask; at++)
            if (map.slot[at].number != 0)
                distance += (at - key_home(&map, map.slot[at].key)) & map.mask;
        assert_true(distance < 4 * map.count);
        arena_release(&arena);
    }
}

/* Two sequences that are chosen so that they are one under one key are two under another, and the order of values
 * counts. */
static void test_chosen_sequences(void **unused) {
    const uint64_t before[2] = {hash_key[0], hash_key[1]};
    uint64_t a = hash_mix(hash_mix(0, 512), 1024);
    (void)unused;
    uint64_t chosen = hash_mix(0, 2048) ^ hash_mix(0, 512) ^ 1024; /* behind 2048 it gives a's hash */
    assert_true(hash_mix(hash_mix(0, 2048), chosen) == a);
    assert_true(hash_mix(hash_mix(0, 1024), 512) != a);
    hash_key[0] = UINT64_C(0x2545f4914f6cdd1d);
    assert_true(hash_mix(hash_mix(0, 2048), chosen) != hash_mix(hash_mix(0, 512), 1024));
    memcpy(hash_key, before, sizeof before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys), cmocka_unit_test(test_rows), cmocka_unit_test(test_chosen_keys),
        cmocka_unit_test(test_chosen_sequences), cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
