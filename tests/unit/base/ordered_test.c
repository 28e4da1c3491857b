/* Compares ordered sets with a plain sorted array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ordered.h"
#include "dice.h"
#include "memory_host.h"

#include <string.h>

enum { ROUNDS = 20000, KEYS = 1500 };

struct control {
    uint64_t key[KEYS];
    uint32_t count;
};

static uint32_t control_seek(const struct control *control, uint64_t key) {
    uint32_t at = 0;
    while (at < control->count && control->key[at] < key)
        at++;
    return at;
}

static void control_flip(struct control *control, uint64_t key, bool there) {
    uint32_t at = control_seek(control, key);
    if (there) {
        memmove(control->key + at, control->key + at + 1, (control->count - at - 1) * sizeof key);
        control->count--;
        return;
    }
    memmove(control->key + at + 1, control->key + at, (control->count - at) * sizeof key);
    control->key[at] = key;
    control->count++;
}

/* Key k is kept as (k / 8, k % 8), so that both halves decide. */
static void assert_same(const struct ordered *set, const struct ordered_store *store,
                        const struct control *control) {
    struct ordered_place place = {0};
    for (uint32_t i = 0; i < control->count; i++, place = ordered_next(set, store, place)) {
        const struct ordered_key *key = ordered_at(set, store, place);
        assert_non_null(key);
        assert_int_equal(key->first * 8 + key->second, control->key[i]);
        assert_int_equal(key->value, (uint32_t)control->key[i] * 3);
    }
    assert_null(ordered_at(set, store, place));
    for (uint32_t i = control->count; i-- > 0;) {
        place = ordered_before(set, store, place);
        assert_int_equal(ordered_at(set, store, place)->value, (uint32_t)control->key[i] * 3);
    }
    assert_null(ordered_at(set, store, ordered_before(set, store, place)));
}

static void test_as_a_sorted_array(void **state) {
    (void)state;
    static struct control control;
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    struct ordered_store store = {.arena = &arena};
    struct ordered set = {0}, other = {0};
    struct dice dice = {1};
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t key = dice_below(&dice, KEYS);
        uint32_t at = control_seek(&control, key);
        bool there = at < control.count && control.key[at] == key;
        assert_int_equal(ordered_remove(&set, &store, key / 8, key % 8), there);
        if (!there)
            assert_true(ordered_add(&set, &store, key / 8, key % 8, (uint32_t)key * 3));
        control_flip(&control, key, there);
        const struct ordered_key *found =
            ordered_at(&set, &store, ordered_seek(&set, &store, key / 8, key % 8));
        at = control_seek(&control, key);
        assert_int_equal(found != NULL, at < control.count);
        if (found != NULL)
            assert_int_equal(found->value, (uint32_t)control.key[at] * 3);
        if (round % 1000 == 0)
            assert_same(&set, &store, &control);
    }
    assert_same(&set, &store, &control);
    ordered_release(&set, &store);
    assert_int_equal(set.count, 0);
    uint32_t leaves = store.count; /* another set takes the leaves that were given back */
    for (uint64_t i = 0; i < 500; i++)
        assert_true(ordered_add(&other, &store, i, 0, 0));
    assert_int_equal(store.count, leaves);
    arena_release(&arena);
}

/* Moves keys a little, as what is left of a free block does, and far; sometimes to the rank that they have. */
static void test_moved_keys(void **state) {
    (void)state;
    static struct control control;
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    struct ordered_store store = {.arena = &arena};
    struct ordered set = {0};
    struct dice dice = {7};
    for (int round = 0; round < ROUNDS; round++) {
        /* few keys, then many: one in the set itself, a single leaf, many leaves */
        uint32_t wanted = round < ROUNDS / 4 ? 1 : round < ROUNDS / 2 ? 20 : KEYS / 2;
        uint64_t key = dice_below(&dice, KEYS), near = key + dice_below(&dice, 5) - 2;
        uint64_t to = near < KEYS && round % 2 != 0 ? near : dice_below(&dice, KEYS);
        uint32_t at = control_seek(&control, key), other = control_seek(&control, to);
        bool there = at < control.count && control.key[at] == key;
        bool taken = to != key && other < control.count && control.key[other] == to;
        struct ordered_place place = ordered_seek(&set, &store, key / 8, key % 8);
        const struct ordered_key *found = ordered_at(&set, &store, place);
        assert_int_equal(found != NULL, at < control.count);
        if (found != NULL)
            assert_int_equal(found->value, (uint32_t)control.key[at] * 3);
        if (there && !taken) {
            assert_true(ordered_move(&set, &store, place, to / 8, to % 8, (uint32_t)to * 3));
            control_flip(&control, key, true);
            control_flip(&control, to, false);
        } else if (!there && control.count < wanted) {
            assert_true(ordered_add(&set, &store, key / 8, key % 8, (uint32_t)key * 3));
            control_flip(&control, key, false);
        }
        assert_int_equal(set.count, control.count);
        if (round % 100 == 0)
            assert_same(&set, &store, &control);
    }
    assert_same(&set, &store, &control);
    arena_release(&arena);
}

/* Thousands of sets with a single key need no leaves. */
static void test_one_key_alone(void **state) {
    (void)state;
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    struct ordered_store store = {.arena = &arena};
    struct ordered set = {0};
    static struct control control;
    for (uint64_t key = 10; key < 15; key++) {
        assert_same(&set, &store, &control);
        assert_true(ordered_add(&set, &store, key / 8, key % 8, (uint32_t)key * 3));
        control_flip(&control, key, false);
        assert_same(&set, &store, &control);
        assert_int_equal(ordered_at(&set, &store, ordered_seek(&set, &store, 1, 0))->value, key * 3);
        assert_null(ordered_at(&set, &store, ordered_seek(&set, &store, 2, 0)));
        assert_false(ordered_remove(&set, &store, 2, 0));
        assert_true(ordered_remove(&set, &store, key / 8, key % 8));
        control_flip(&control, key, true);
    }
    assert_int_equal(arena.used_nbytes, 0);
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_a_sorted_array),
                                       cmocka_unit_test(test_moved_keys),
                                       cmocka_unit_test(test_one_key_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
