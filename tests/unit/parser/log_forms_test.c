/* The table of forms: which of two rows takes a line that has the words of both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_host.h"
#include "parser/log/log_forms.h"

#include <string.h>

/* Has every line with the words of row `b` those of row `a` too? */
static bool includes(const struct log_form *a, const struct log_form *b) {
    for (unsigned i = 0; i < 2; i++) {
        bool found = a->needs[i] == NULL;
        for (unsigned k = 0; k < 2 && !found; k++)
            found = b->needs[k] != NULL && strstr(b->needs[k], a->needs[i]) != NULL;
        if (!found)
            return false;
    }
    return true;
}

/* Of one kind, the first row that reads a line takes it, so the one with more words must stand first. */
static void test_rows_with_more_words_come_first(void **state) {
    (void)state;
    for (uint32_t i = 0; i < log_n_forms; i++)
        for (uint32_t k = i + 1; k < log_n_forms; k++)
            if (log_forms[i].kind == log_forms[k].kind && includes(&log_forms[i], &log_forms[k]))
                fail_msg("\"%s\" takes the lines of \"%s\"", log_forms[i].needs[0], log_forms[k].needs[0]);
}

static const char *winner(const char *line, enum log_kind kind) {
    static struct log_hits hits;
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    assert_true(log_forms_find(log_words_make(&arena), word_text(line), &hits));
    arena_release(&arena);
    uint32_t form = log_form_of(&hits, kind, 0);
    return form != LOG_NONE ? log_forms[form].needs[0] : "none";
}

static void test_the_first_of_several_rows_wins(void **state) {
    (void)state;
    assert_string_equal(winner("NCCL WARN Failed to CUDA calloc async 24 bytes", FORM_ERROR),
                        "Failed to CUDA calloc async");
    assert_string_equal(winner("CUDA out of memory. Tried to allocate 2.00 GiB", FORM_ERROR),
                        "ried to allocate");
    assert_string_equal(winner("DataLoader worker (pid 7) is killed by signal: Killed.", FORM_SIGNAL),
                        "killed by signal: Killed");
    /* kinds go before rows: what Ray lists as possible is of another kind than a kill */
    assert_string_equal(winner("some potential root causes: killed by the OOM killer", FORM_OTHER),
                        "potential root causes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_with_more_words_come_first),
        cmocka_unit_test(test_the_first_of_several_rows_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
