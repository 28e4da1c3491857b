/* Compares base64 with the vectors of RFC 4648 and with the reader of pages, which shares no code with the writer. */
#include "base/base64.h"

#include "memory_input.h"
#include "parser/container/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_vectors(void **state) {
    static const char *const vectors[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xFB\xFF\xBF", "+/+/"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint8_t text[16] = "###############";
        size_t nbytes = strlen(vectors[i][0]), length = strlen(vectors[i][1]);
        assert_int_equal(base64_nbytes(nbytes), length);
        base64_encode(text, (const uint8_t *)vectors[i][0], nbytes);
        assert_memory_equal(text, vectors[i][1], length);
        assert_int_equal(text[length], '#');
    }
}

/* Every byte at every place of a group, at lengths around whole groups. */
static void test_round_trip(void **state) {
    enum { MOST_NBYTES = 3 * 256 + 2 };
    (void)state;
    for (size_t nbytes = MOST_NBYTES - 8; nbytes <= MOST_NBYTES; nbytes++) {
        uint8_t bytes[MOST_NBYTES], text[(MOST_NBYTES + 2) / 3 * 4 + 1], back[MOST_NBYTES + 1];
        for (size_t i = 0; i < nbytes; i++)
            bytes[i] = (uint8_t)(i * 7);
        base64_encode(text, bytes, nbytes);
        text[base64_nbytes(nbytes)] = '<';

        struct memory_input input = {.at = text, .nbytes = base64_nbytes(nbytes) + 1, .step = 5};
        struct arena arena;
        struct cursor cursor;
        struct read_error error = {.code = READ_OK};
        struct base64 base64;
        arena_init(&arena, plain_host, SIZE_MAX);
        struct read_source source = {.read = memory_input_read, .context = &input};
        assert_true(cursor_init(&cursor, &source, NULL, &arena, &error));
        base64_open(&base64, &cursor, '<');
        struct read_source decoded = base64_source(&base64);
        size_t got = 0;
        for (int64_t n = 1; n > 0; got += (size_t)n) {
            n = decoded.read(decoded.context, back + got, sizeof back - got);
            assert_true(n >= 0);
        }
        assert_int_equal(got, nbytes);
        assert_memory_equal(back, bytes, nbytes);
        cursor_release(&cursor);
        arena_release(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
