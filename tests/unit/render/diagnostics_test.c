/* The sentences of diagnostics: made from their numbers, or, without numbers, taken from the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_host.h"
#include "render/words/diagnostics.h"

#include <string.h>

static void assert_said(const struct trace *trace, uint32_t index, const char *expected) {
    struct text text = trace_text(trace, trace->diagnostics[index].message);
    assert_int_equal(text.nbytes, strlen(expected));
    assert_memory_equal(text.at, expected, text.nbytes);
}

static void test_sentences_are_made_of_keys_and_numbers(void **state) {
    (void)state;
    struct trace trace;
    const uint64_t one[DIAGNOSTIC_NUMBERS] = {1}, many[DIAGNOSTIC_NUMBERS] = {12034, 1};
    assert_true(trace_init(&trace, plain_host, SIZE_MAX));
    assert_true(trace_diagnose(&trace, "unknown_actions", ORDINAL_NONE, one));
    assert_true(trace_diagnose(&trace, "truncated/json", ORDINAL_NONE, many));
    assert_true(trace_diagnose(&trace, "no_such_code", 3, NULL));
    assert_true(diagnostics_say(&trace));
    assert_said(&trace, 0, "1 event was left out: its action is not known.");
    assert_said(&trace, 1, "The file ends too early, at byte 12,034: the 1 event before that is used.");
    assert_said(&trace, 2, "no_such_code");
    uint32_t n_strings = trace.strings.count;
    assert_true(diagnostics_say(&trace));
    assert_int_equal(trace.strings.count, n_strings);
    trace_release(&trace);
}

/* Pages store a message, from 0.2.0 on also its numbers. With numbers, the program prints its own sentence. */
static void test_messages_of_pages_are_kept_without_numbers(void **state) {
    (void)state;
    struct trace trace;
    const uint64_t two[DIAGNOSTIC_NUMBERS] = {2};
    assert_true(trace_init(&trace, plain_host, SIZE_MAX));
    uint32_t old = trace_string_add(&trace, "Said of old.", 12);
    assert_true(trace_diagnose(&trace, "unknown_actions", ORDINAL_NONE, two));
    assert_true(trace_diagnose(&trace, "unknown_actions", ORDINAL_NONE, NULL));
    assert_true(trace_diagnose(&trace, "of_a_later_version", ORDINAL_NONE, two));
    for (uint32_t i = 0; i < 3; i++)
        trace.diagnostics[i].message = old;
    trace.diagnostics[1].key = 0;
    assert_true(diagnostics_say(&trace));
    assert_said(&trace, 0, "2 events were left out: their action is not known.");
    assert_said(&trace, 1, "Said of old.");
    assert_said(&trace, 2, "Said of old.");
    trace_release(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences_are_made_of_keys_and_numbers),
        cmocka_unit_test(test_messages_of_pages_are_kept_without_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
