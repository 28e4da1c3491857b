/* JSON of every kind: whole, cut off everywhere, and with one thing wrong, which must be refused with its code and
 * offset. */
#include "memory_input.h"
#include "parser/json/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct trace trace;
static struct read_error error;

static bool read_text(const char *text, size_t nbytes, size_t step, size_t limit_nbytes) {
    trace_release(&trace);
    return memory_input_trace(&trace, text, nbytes, step, limit_nbytes, &error);
}

static int teardown(void **state) {
    (void)state;
    trace_release(&trace);
    return 0;
}

static uint64_t events_of(const struct trace *of) {
    uint64_t n_events = 0;
    for (uint32_t i = 0; i < of->n_devices; i++)
        n_events += of->devices[i].n_events;
    return n_events;
}

/* ---- small files of every kind ---- */

#define ALLOC "{\"action\":\"alloc\",\"addr\":512,\"size\":100,\"stream\":0}"
#define FREE  "{\"action\":\"free_completed\",\"addr\":512,\"size\":100,\"stream\":0}"
#define MEMORY(ts, bytes, total)                                                                       \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"args\":{\"Bytes\":" bytes \
    ",\"Total Allocated\":" total                                                                      \
    ",\"Total Reserved\":4096,\"Addr\":512,\"Device Id\":0,\"Device Type\":1}}"

static const char snapshot[] = "{\"device_traces\":[[" ALLOC "," FREE "]],\"segments\":[]}";
static const char profile[] =
    "{\"schemaVersion\":1,\"traceEvents\":[" MEMORY("1.5", "100", "100") "," MEMORY("2", "-100", "0") "]}";
static const char timeline[] = "[[1000,1,100,0],[2000,2,-100,0]]";
static const char coalesced[] = "[[1,2,3],[[0,0,0,0,0,0,0,0,0],[0,100,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0]]]";

static const struct {
    const char *text;
    size_t nbytes;
} files[] = {{snapshot, sizeof snapshot - 1},
             {profile, sizeof profile - 1},
             {timeline, sizeof timeline - 1},
             {coalesced, sizeof coalesced - 1}};
enum { N_FILES = sizeof files / sizeof files[0] };

static void test_small_files(void **state) {
    (void)state;
    static const size_t steps[] = {0, 1, 7};
    for (size_t i = 0; i < N_FILES; i++)
        for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
            if (!read_text(files[i].text, files[i].nbytes, steps[k], SIZE_MAX))
                fail_msg("%s (offset %d)", error.message, (int)error.offset);
            assert_int_equal(trace.n_devices, 1);
            assert_int_equal(events_of(&trace), 2);
            assert_int_equal(trace.devices[0].allocations.count, 1);
            assert_int_equal(trace.devices[0].allocations.size[0], 100);
            assert_int_equal(trace.n_diagnostics, i == 1 ? 0 : 1); /* unequal_actions, category_totals */
        }
}

/* A cut file never gives more events than a longer one, and has a note that it was cut. */
static void test_every_cut(void **state) {
    (void)state;
    for (size_t i = 0; i < N_FILES; i++) {
        uint64_t most = 0;
        for (size_t nbytes = 1; nbytes < files[i].nbytes; nbytes++) {
            if (read_text(files[i].text, nbytes, 0, SIZE_MAX)) {
                assert_true(trace_has_diagnostic(&trace, "truncated"));
                assert_true(events_of(&trace) >= most && events_of(&trace) > 0);
                most = events_of(&trace);
            } else {
                if (error.code != READ_TRUNCATED || error.offset != nbytes)
                    fail_msg("cut at %zu, %.*s: %s (offset %d)", nbytes, (int)nbytes, files[i].text,
                             error.message, (int)error.offset);
                assert_int_equal(most, 0);
            }
        }
        assert_int_equal(most, 2);
    }
}

/* ---- one thing wrong ---- */

static void expect_refused(const char *text, enum read_code code, uint64_t offset) {
    static const size_t steps[] = {0, 1, 5};
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        if (read_text(text, strlen(text), steps[k], SIZE_MAX))
            fail_msg("%.60s is read", text);
        if (error.code != code || error.offset != offset || error.message[0] == '\0')
            fail_msg("%.60s: %s at %d instead of %s at %d: %s", text, read_code_name(error.code),
                     (int)error.offset, read_code_name(code), (int)offset, error.message);
    }
}

static void test_structure(void **state) {
    (void)state;
    expect_refused("{", READ_TRUNCATED, 1);
    expect_refused("[", READ_TRUNCATED, 1);
    expect_refused("[[", READ_TRUNCATED, 2);
    expect_refused("{\"segments\"", READ_TRUNCATED, 11);
    expect_refused("{\"segments\" []}", READ_TRUNCATED, 15); /* may be a quote inside of a string */
    expect_refused("{segments:[]}", READ_BAD_VALUE, 1);
    expect_refused("{\"a\":}", READ_BAD_VALUE, 5);
    expect_refused("{\"segments\":[}", READ_BAD_VALUE, 13);
    expect_refused("{\"traceEvents\":[}", READ_BAD_VALUE, 16);
    expect_refused("{\"device_traces\":[[}]]}", READ_BAD_VALUE, 19);
}

static void test_shapes(void **state) {
    (void)state;
    expect_refused("{}", READ_BAD_SHAPE, 0);
    expect_refused("{\"a\":1}", READ_BAD_SHAPE, 0);
    expect_refused("[1]", READ_BAD_SHAPE, 0);
    expect_refused("[[1,2,3],[4]]", READ_BAD_SHAPE, 0);
    expect_refused("{\"allocator_settings\":{}}", READ_BAD_SHAPE, 25);
    expect_refused("{\"traceEvents\":[]}", READ_BAD_SHAPE, 0);
}

/* Text with `count` times `middle` in it; to be freed. */
static char *repeated(const char *begin, const char *middle, size_t count, const char *end) {
    struct bytes bytes = {0};
    bytes_add_text(&bytes, begin);
    for (size_t i = 0; i < count; i++)
        bytes_add_text(&bytes, middle);
    bytes_add_text(&bytes, end);
    BYTES(&bytes, "\0");
    return (char *)bytes.at;
}

static void test_limits(void **state) {
    (void)state;
    static const char begin[] = "{\"device_traces\":[[[";
    char *text = repeated(begin, "[", JSON_MAX_DEPTH + 1, "");
    expect_refused(text, READ_LIMIT, sizeof begin - 1 + JSON_MAX_DEPTH);
    free(text);
    text = repeated("{\"device_traces\":[[\"", "x", JSON_MAX_VALUE_NBYTES + 1, "\"]]}");
    assert_false(read_text(text, strlen(text), 0, SIZE_MAX));
    assert_int_equal(error.code, READ_LIMIT);
    assert_in_range(error.offset, sizeof begin - 1, strlen(text));
    free(text);
    text = repeated("{\"device_traces\":[[{\"action\":\"alloc\",\"addr\":1,\"size\":2,\"x\":[", "[],", 1000,
                    "0]}]]}");
    assert_true(read_text(text, strlen(text), 0, SIZE_MAX)); /* only a part of them */
    assert_int_equal(events_of(&trace), 1);
    free(text);
}

/* The tree of one value counts towards the limit and exceeds it; the same file without the value is read. */
static void test_the_memory_limit(void **state) {
    (void)state;
    enum { LIMIT_NBYTES = 16 << 20 };
    char *tree = repeated("{\"device_traces\":[[" ALLOC ",{\"x\":[", "[],", 300000, "0]}]]}");
    char *skipped = repeated("{\"x\":[", "[],", 300000, "0],\"device_traces\":[[" ALLOC "]]}");
    assert_true(read_text(skipped, strlen(skipped), 0, LIMIT_NBYTES));
    assert_false(read_text(tree, strlen(tree), 0, LIMIT_NBYTES));
    assert_int_equal(error.code, READ_NO_MEMORY);
    assert_true(trace.arena.limit_hit);
    assert_true(trace.arena.peak_nbytes <= LIMIT_NBYTES);
    assert_true(read_text(tree, strlen(tree), 0, 64 << 20));
    free(tree);
    free(skipped);
}

/* Rows and texts have 32-bit numbers. The test fakes a nearly full table by setting only its counts. */
static void test_full_tables(void **state) {
    (void)state;
    struct memory_input input = {.at = (const uint8_t *)snapshot, .nbytes = sizeof snapshot - 1};
    const struct read_source source = {.read = memory_input_read, .context = &input};
    trace_release(&trace);
    assert_true(trace_init(&trace, plain_host, SIZE_MAX));
    trace.strings.start[trace.strings.count] = UINT32_MAX - 2;
    assert_false(trace_read(&trace, &source, NULL, &error));
    assert_int_equal(error.code, READ_LIMIT);
    assert_non_null(strstr(error.message, "4 GiB of text"));

    void *column = NULL;
    uint32_t capacity = 0;
    trace.arena.full = false;
    assert_false(arena_grow(&trace.arena, &column, &capacity, (uint64_t)UINT32_MAX + 1, 1));
    assert_true(trace.arena.full);
    assert_false(trace.arena.limit_hit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_files), cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_structure),   cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_the_memory_limit),
        cmocka_unit_test(test_full_tables),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, teardown);
}
