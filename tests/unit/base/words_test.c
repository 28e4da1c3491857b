/* Sentences whose marks are replaced by figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
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

/* A digit names the figure, in any order; the marks without one still take the next. */
static void test_named_figures(void **unused) {
    char text[200];
    struct words words = {text, sizeof text, 0};
    (void)unused;
    WORDS_TELL(&words, "%2n step%s, %0n gradient%s (%1b) %0(is|are) kept, %2(it|they), %d, %0s", 2, 512, 1);
    words_say(&words, "; ");
    WORDS_TELL(&words, "%0p of it, %b, 100 %, %9", 31, 100);
    expect(&words, "1 step, 2 gradients (512 B) are kept, it, 2, s; 31 % of it, 31 B, 100 %, %9");
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

/* A text is cut before the character that does not fit whole. */
static void test_cut_on_a_character(void **state) {
    (void)state;
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"; /* 1, 2, 3, 4 and 1 bytes */
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t most = 0; most < sizeof whole / sizeof *whole; most++)
        assert_int_equal(utf8_fit(text, most), whole[most]);
    assert_int_equal(utf8_fit("\x80\x80\x80\x80\x80", 4), 1); /* no text: cut anywhere */
    for (uint32_t most = 0; most <= strlen(text); most++) {
        char cut[16];
        snprintf(cut, most + 1, "%s", text); /* as a full buffer cuts it */
        assert_int_equal(utf8_whole(text, most), whole[most]);
        utf8_trim(cut);
        assert_int_equal(strlen(cut), whole[most]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_named_figures),
        cmocka_unit_test(test_other_marks),
        cmocka_unit_test(test_cut_on_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
