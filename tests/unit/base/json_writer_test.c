/* The JSON writer: its escaping, its commas and its shares, with cJSON as the control that reads it back. */
#include "base/json_writer.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* after the four above */
#include <cmocka.h>

static void text_is(struct buffer *out, const char *expected) {
    buffer_add(out, "", 1);
    assert_false(out->failed);
    assert_string_equal((const char *)out->bytes, expected);
    buffer_release(out);
}

static void test_lines_and_compact(void **state) {
    (void)state;
    struct buffer out = {0};
    struct json_writer json = json_writer_of(&out);
    json_object(&json, NULL, JSON_LINES);
    json_u64(&json, "most", UINT64_MAX);
    json_i64(&json, "least", INT64_MIN);
    json_array(&json, "rows", JSON_LINES);
    for (uint64_t i = 0; i < 2; i++) {
        json_object(&json, NULL, JSON_COMPACT);
        json_u64(&json, "i", i);
        json_array(&json, "inside", JSON_LINES); /* an array in a compact one is compact, too */
        json_bool(&json, NULL, i != 0);
        json_null(&json, NULL);
        json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_array(&json, "empty", JSON_LINES);
    json_end(&json);
    json_end(&json);
    text_is(&out, "{\n  \"most\": 18446744073709551615,\n  \"least\": -9223372036854775808,\n  \"rows\": [\n"
                  "    {\"i\":0,\"inside\":[false,null]},\n    {\"i\":1,\"inside\":[true,null]}\n  ],\n"
                  "  \"empty\": []\n}");
}

static void test_every_byte_is_read_back(void **state) {
    (void)state;
    for (int for_page = 0; for_page < 2; for_page++) {
        struct buffer out = {0};
        struct json_writer json = json_writer_of(&out);
        json.for_page = for_page != 0;
        char text[128];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)(i + 1 < sizeof text ? i + 1 : 'x'); /* 1 to 127 */
        json_string(&json, NULL, text, sizeof text);
        buffer_add(&out, "", 1);
        cJSON *read = cJSON_Parse((const char *)out.bytes);
        assert_non_null(read);
        assert_int_equal(strlen(read->valuestring), sizeof text);
        assert_memory_equal(read->valuestring, text, sizeof text);
        assert_int_equal(strchr((const char *)out.bytes, '<') == NULL, for_page);
        cJSON_Delete(read);
        buffer_release(&out);
    }
}

/* Names in a hostile snapshot must not control a terminal. */
static void test_unseen_characters_are_escaped(void **state) {
    (void)state;
    struct buffer out = {0};
    struct json_writer json = json_writer_of(&out);
    static const char text[] =
        "\x1b[2J\x7f\xc2\x80\xc2\x9f\xc2\xa0\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6\n\0\xff";
    json_string(&json, NULL, text, sizeof text - 1);
    text_is(&out,
            "\"\\u001b[2J\\u007f\\u0080\\u009f\xc2\xa0\\u2028\\u202e\\u2066\\n\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void share_is(uint64_t part, uint64_t whole, const char *expected) {
    struct buffer out = {0};
    struct json_writer json = json_writer_of(&out);
    json_share(&json, NULL, part, whole);
    text_is(&out, expected);
}

/* Shares of wholes near 2^64, where doubles and 64-bit products both fail. */
static void test_shares_are_exact(void **state) {
    (void)state;
    share_is(1, 3, "0.333333");
    share_is(2, 3, "0.666667");
    share_is(0, 0, "0.000000");
    share_is(UINT64_MAX, UINT64_MAX, "1.000000");
    share_is(UINT64_MAX - 1, UINT64_MAX, "1.000000");
    share_is(UINT64_C(1) << 62, UINT64_C(1) << 63, "0.500000");
    share_is(UINT64_MAX / 7 * 3, UINT64_MAX, "0.428571");
    share_is(5, 2, "2.500000");
    share_is(1, 2000000, "0.000001");
    share_is(1, 2000001, "0.000000");
}

static void test_failure_is_kept(void **state) {
    (void)state;
    struct buffer out = {.failed = true};
    struct json_writer json = json_writer_of(&out);
    json_object(&json, NULL, JSON_LINES);
    json_text(&json, "text", "x");
    json_text(&json, "none", NULL);
    json_end(&json);
    assert_true(out.failed);
    assert_int_equal(out.nbytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_and_compact),
        cmocka_unit_test(test_every_byte_is_read_back),
        cmocka_unit_test(test_unseen_characters_are_escaped),
        cmocka_unit_test(test_shares_are_exact),
        cmocka_unit_test(test_failure_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
