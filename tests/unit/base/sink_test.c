/* A buffer with a sink writes the same bytes as one in memory, and needs only a block of memory, however many they
 * are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json_writer.h"
#include "dice.h"
#include "memory_host.h"
#include "memory_input.h"
#include "render/page/html.h"

#include <stdio.h>
#include <string.h>

/* A sink that keeps its bytes, up to a limit. */
struct kept {
    struct buffer all;
    size_t most_nbytes;
    unsigned n_after_refusal;
    bool refused;
};

static bool keep(void *context, const void *bytes, size_t nbytes) {
    struct kept *kept = context;
    kept->n_after_refusal += kept->refused;
    if (nbytes > kept->most_nbytes - kept->all.nbytes) {
        kept->refused = true;
        return false;
    }
    buffer_add(&kept->all, bytes, nbytes);
    return true;
}

/* Additions of every kind and size, the same for the same seed. */
static void write_mixed(struct buffer *out, uint32_t seed) {
    static uint8_t block[200000];
    struct dice dice = {seed};
    for (int i = 0; i < 300; i++) {
        size_t nbytes = dice_below(&dice, dice_below(&dice, 16) == 0 ? sizeof block : 900);
        memset(block, 'a' + i % 26, nbytes);
        if (i % 3 == 0)
            buffer_add(out, block, nbytes);
        else if (i % 3 == 1)
            buffer_printf(out, "%d:%.*s|", i, (int)(nbytes % 5000), (const char *)block);
        else {
            uint8_t *to = buffer_extend(out, nbytes);
            if (to != NULL)
                memcpy(to, block, nbytes);
        }
    }
}

static void test_same_bytes_as_in_memory(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct buffer memory = {0};
        struct kept kept = {.most_nbytes = SIZE_MAX};
        struct buffer out = {.sink = {keep, &kept}};
        write_mixed(&memory, seed);
        write_mixed(&out, seed);
        assert_true(buffer_flush(&out));
        assert_int_equal(buffer_total(&out), memory.nbytes);
        assert_int_equal(kept.all.nbytes, memory.nbytes);
        assert_memory_equal(kept.all.bytes, memory.bytes, memory.nbytes);
        buffer_release(&memory);
        buffer_release(&out);
        buffer_release(&kept.all);
    }
}

static void test_refusal_sticks(void **state) {
    (void)state;
    struct kept kept = {.most_nbytes = 300000};
    struct buffer out = {.sink = {keep, &kept}};
    write_mixed(&out, 7);
    assert_false(buffer_flush(&out));
    assert_true(out.failed && out.refused && kept.refused);
    assert_int_equal(kept.n_after_refusal, 0);
    buffer_release(&out);
    buffer_release(&kept.all);
}

/* Compares each row that arrives with one made by snprintf. */
struct rows_check {
    uint64_t row, n_wrong;
    char expected[64];
    size_t at, length;
};

static void row_expect(struct rows_check *check) {
    check->length = (size_t)snprintf(check->expected, sizeof check->expected, "%s\n  {\"row\":%llu}",
                                     check->row == 0 ? "[" : ",", (unsigned long long)check->row);
    check->at = 0;
    check->row++;
}

static bool rows_compare(void *context, const void *bytes, size_t nbytes) {
    struct rows_check *check = context;
    const char *text = bytes;
    for (size_t i = 0; i < nbytes; i++) {
        if (check->at == check->length)
            row_expect(check);
        check->n_wrong += text[i] != check->expected[check->at++];
    }
    return true;
}

static void test_ten_million_rows_in_a_block(void **state) {
    (void)state;
    enum { ROWS = 10000000 };
    struct arena memory;
    struct rows_check check = {0};
    arena_init(&memory, plain_host, BUFFER_BLOCK_NBYTES + 4096);
    struct buffer out = {.host = arena_share(&memory), .sink = {rows_compare, &check}};
    struct json_writer json = json_writer_of(&out);
    json_array(&json, NULL, JSON_LINES);
    for (uint64_t i = 0; i < ROWS; i++) {
        json_object(&json, NULL, JSON_COMPACT);
        json_u64(&json, "row", i);
        json_end(&json);
    }
    assert_true(buffer_flush(&out));
    assert_int_equal(check.row, ROWS);
    assert_int_equal(check.at, check.length);
    assert_int_equal(check.n_wrong, 0);
    assert_true(memory.peak_nbytes <= BUFFER_BLOCK_NBYTES + 4096);
    buffer_release(&out);
    arena_release(&memory);
}

/* A page holds some 300 KB without its recording. */
static void test_page_in_a_block(void **state) {
    (void)state;
    const struct html_options options = {.file = "f", .fingerprint = "", .theme = "auto", .threads = 1};
    struct read_error error;
    struct trace trace;
    struct arena memory;
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(STRATA_SAMPLES "/oom.pickle", "rb");
    assert_non_null(file);
    size_t nbytes = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    assert_true(memory_input_trace(&trace, bytes, nbytes, 0, SIZE_MAX, &error));
    arena_init(&memory, plain_host, BUFFER_BLOCK_NBYTES * 2);
    struct kept kept = {.most_nbytes = SIZE_MAX};
    struct buffer whole = {0}, out = {.host = arena_share(&memory), .sink = {keep, &kept}};
    assert_int_equal(html_render(&whole, &trace, plain_host, &options, NULL), HTML_DONE);
    assert_int_equal(html_render(&out, &trace, plain_host, &options, NULL), HTML_DONE);
    assert_true(buffer_flush(&out));
    assert_true(whole.nbytes > memory.limit_nbytes);
    assert_int_equal(kept.all.nbytes, whole.nbytes);
    assert_memory_equal(kept.all.bytes, whole.bytes, whole.nbytes);
    assert_int_equal(trace.meta, 0);
    buffer_release(&whole);
    buffer_release(&out);
    buffer_release(&kept.all);
    arena_release(&memory);
    trace_release(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes_as_in_memory),
        cmocka_unit_test(test_refusal_sticks),
        cmocka_unit_test(test_ten_million_rows_in_a_block),
        cmocka_unit_test(test_page_in_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
