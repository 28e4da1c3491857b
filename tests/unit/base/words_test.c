/* Sentences whose marks are replaced by figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/words.h"

static void expect(struct words *words, const char *wanted) {
    assert_int_equal(words_end(words), word_length(wanted));
    assert_string_equal(words->text, wanted);
}

static void test_marks(void **unused) {
    char text[200];
    struct words words = {text, sizeof text, 0};
    (void)unused;
    WORDS_TELL(&words, "%n gradient%s of %b %(is|are) kept, %n step%s", 1, 3 << 20, 2);
    words_say(&words, "; ");
    WORDS_TELL(&words, "%n gradient%s %(is|are) %p (%(a|)) of %d", 20000, 31, 100, 20000);
    expect(&words, "1 gradient of 3 MiB is kept, 2 steps; 20,000 gradients are 31 % () of 20000");
}

static bool add_site(void *context, char mark) {
    if (mark == 'S')
        words_say(context, "train.py:7");
    return mark == 'S';
}

/* Unknown marks stay as they are, also at the end. */
static void test_other_marks(void **unused) {
    char text[200];
    struct words words = {text, sizeof text, 0};
    (void)unused;
    words_tell(&words, "%S keeps %b; %U, 1 % of it, %", (const uint64_t[]){512}, add_site, &words);
    WORDS_TELL(&words, " %S %n", 7);
    expect(&words, "train.py:7 keeps 512 B; %U, 1 % of it, % %S 7");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_other_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
