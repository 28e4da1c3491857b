#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

static void assert_holds(const struct buffer *buffer, const char *text) {
    assert_int_equal(buffer->nbytes, strlen(text));
    assert_memory_equal(buffer->bytes, text, strlen(text));
}

static void starts_empty_and_can_be_released(void **state) {
    (void)state;
    struct buffer buffer = {0};
    buffer_release(&buffer);
    assert_null(buffer.bytes);
    assert_int_equal(buffer.nbytes, 0);
}

static void adds_in_order(void **state) {
    (void)state;
    struct buffer buffer = {0};
    buffer_add(&buffer, "a\0b", 3);
    buffer_add_text(&buffer, "cd");
    buffer_add(&buffer, NULL, 0);
    assert_int_equal(buffer.nbytes, 5);
    assert_memory_equal(buffer.bytes, "a\0bcd", 5);
    assert_false(buffer.failed);
    buffer_release(&buffer);
}

static void extend_returns_room_at_the_end(void **state) {
    (void)state;
    struct buffer buffer = {0};
    assert_non_null(buffer_extend(&buffer, 0));
    buffer_add_text(&buffer, "xy");
    uint8_t *room = buffer_extend(&buffer, 3);
    assert_non_null(room);
    memcpy(room, "123", 3);
    assert_holds(&buffer, "xy123");
    buffer_release(&buffer);
}

static void keeps_everything_while_growing(void **state) {
    (void)state;
    struct buffer buffer = {0};
    for (uint32_t i = 0; i < 100000; i++)
        buffer_add(&buffer, &i, sizeof i);
    assert_int_equal(buffer.nbytes, 400000);
    for (uint32_t i = 0; i < 100000; i++)
        assert_memory_equal(buffer.bytes + (size_t)i * 4, &i, sizeof i);
    buffer_release(&buffer);
}

static void prints_with_a_format(void **state) {
    (void)state;
    struct buffer buffer = {0};
    buffer_printf(&buffer, "%s", "");
    buffer_printf(&buffer, "%d-%s", 12, "ab");
    assert_holds(&buffer, "12-ab");
    buffer_release(&buffer);
}

/* vsnprintf needs an extra byte for its terminator, so the test tries every amount of room around the limit. */
static void prints_at_every_distance_from_the_end(void **state) {
    (void)state;
    for (size_t room = 0; room < 12; room++) {
        struct buffer buffer = {0};
        buffer_add(&buffer, "x", 1);
        assert_true(buffer.capacity > 12);
        size_t filled = buffer.capacity - room;
        memset(buffer_extend(&buffer, filled - 1), 'x', filled - 1);
        buffer_printf(&buffer, "%08d", 1234567);
        assert_int_equal(buffer.nbytes, filled + 8);
        assert_memory_equal(buffer.bytes + filled, "01234567", 8);
        buffer_release(&buffer);
    }
}

static void failure_sticks(void **state) {
    (void)state;
    struct buffer buffer = {0};
    buffer_add_text(&buffer, "kept");
    assert_null(buffer_extend(&buffer, SIZE_MAX));
    assert_true(buffer.failed);
    buffer_add_text(&buffer, "lost");
    buffer_printf(&buffer, "lost");
    assert_null(buffer_extend(&buffer, 1));
    assert_holds(&buffer, "kept");
    buffer_release(&buffer);
    assert_false(buffer.failed);
}

/* ---- limited memory ---- */

static void *counted_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    size_t *taken = context;
    *taken += new_nbytes - old_nbytes;
    if (new_nbytes != 0)
        return realloc(ptr, new_nbytes);
    free(ptr);
    return NULL;
}

/* Two buffers and the arena's own memory together keep the limit. */
static void shares_the_limit_of_an_arena(void **state) {
    (void)state;
    enum { LIMIT_NBYTES = 1 << 20 };
    size_t taken = 0;
    struct arena arena;
    arena_init(&arena, (struct arena_host){counted_resize, &taken}, LIMIT_NBYTES);
    assert_non_null(arena_alloc(&arena, 300 << 10));
    struct buffer first = {.host = arena_share(&arena)}, second = {.host = arena_share(&arena)};
    assert_non_null(buffer_extend(&first, 300 << 10));
    assert_false(arena.limit_hit);
    while (!second.failed)
        buffer_add_text(&second, "sixteen bytes...");
    assert_true(arena.limit_hit);
    assert_true(taken <= LIMIT_NBYTES && taken > LIMIT_NBYTES / 4 * 3);
    assert_int_equal(arena.used_nbytes, taken);

    buffer_release(&second); /* and gives its memory to the others */
    assert_non_null(buffer_extend(&first, 200 << 10));
    assert_non_null(buffer_extend(&second, 100 << 10));
    buffer_release(&first);
    buffer_release(&second);
    arena_release(&arena);
    assert_int_equal(taken, 0);
}

struct counted {
    size_t taken, n_moves;
};

static void *moves_count(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    struct counted *counted = context;
    counted->n_moves++;
    return counted_resize(&counted->taken, ptr, old_nbytes, new_nbytes);
}

/* A buffer near its limit must not grow by exactly the bytes needed, because it would copy itself at every addition. */
static void moves_seldom_near_a_limit(void **state) {
    (void)state;
    enum { LIMIT_NBYTES = 1 << 20 };
    struct counted counted = {0};
    struct arena arena;
    arena_init(&arena, (struct arena_host){moves_count, &counted}, LIMIT_NBYTES);
    struct buffer buffer = {.host = arena_share(&arena)};
    while (!buffer.failed)
        buffer_add_text(&buffer, "sixteen bytes...");
    assert_true(buffer.nbytes > LIMIT_NBYTES - 32);
    assert_true(counted.n_moves < 64);
    buffer_release(&buffer);
    arena_release(&arena);
    assert_int_equal(counted.taken, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty_and_can_be_released),
        cmocka_unit_test(adds_in_order),
        cmocka_unit_test(extend_returns_room_at_the_end),
        cmocka_unit_test(keeps_everything_while_growing),
        cmocka_unit_test(prints_with_a_format),
        cmocka_unit_test(prints_at_every_distance_from_the_end),
        cmocka_unit_test(failure_sticks),
        cmocka_unit_test(shares_the_limit_of_an_arena),
        cmocka_unit_test(moves_seldom_near_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
