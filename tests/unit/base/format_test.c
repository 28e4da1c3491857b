#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/format.h"
#include "base/numbers.h"

#include <locale.h>

static void bytes_have_one_decimal_where_it_says_something(void **state) {
    (void)state;
    assert_string_equal(format_bytes(0).text, "0 B");
    assert_string_equal(format_bytes(512).text, "512 B");
    assert_string_equal(format_bytes(1023).text, "1,023 B");
    assert_string_equal(format_bytes(KIB).text, "1 KiB");
    assert_string_equal(format_bytes(1536).text, "1.5 KiB");
    assert_string_equal(format_bytes(80 * GIB).text, "80.0 GiB");
    assert_string_equal(format_bytes(80 * GIB + 1).text, "80.0 GiB");
    assert_string_equal(format_bytes(117126144).text, "111.7 MiB");
    assert_string_equal(format_bytes(712 * GIB / 10).text, "71.2 GiB");
}

static void bytes_round_half_up_and_carry_into_the_next_unit(void **state) {
    (void)state;
    assert_string_equal(format_bytes(MIB + MIB / 20).text,
                        "1.0 MiB"); /* 1.05 MiB in whole bytes is just below the half */
    assert_string_equal(format_bytes(MIB + MIB / 20 + 1).text, "1.1 MiB");
    assert_string_equal(format_bytes(MIB - 1).text, "1.0 MiB");
    assert_string_equal(format_bytes(GIB - 52429).text,
                        "1,023.9 MiB"); /* the last byte count that is not 1024.0 MiB */
    assert_string_equal(format_bytes(GIB - 52428).text, "1.0 GiB");
    assert_string_equal(format_bytes(UINT64_MAX).text, "16.0 EiB");
}

static void assert_in(uint64_t bytes, uint64_t most, const char *text) {
    assert_string_equal(format_bytes_in(bytes, format_unit(most)).text, text);
}

static void figures_of_one_table_share_unit_and_decimals(void **state) {
    (void)state;
    assert_in(2 * GIB, 2 * GIB, "2.00 GiB");
    assert_in(GIB / 4, 2 * GIB, "0.25 GiB");
    assert_in(51 * GIB / 10, 51 * GIB, "5.10 GiB");
    assert_in(1, 2 * GIB, "<0.01 GiB");
    assert_in(0, 2 * GIB, "0.00 GiB");
    assert_in(GIB, 100 * GIB, "1.0 GiB");
    assert_in(1, 100 * GIB, "<0.1 GiB");
    assert_in(999 * MIB, 999 * MIB, "999.0 MiB");
    assert_in(1000 * MIB, 1000 * MIB, "0.98 GiB");
    assert_in(512, 999, "512 B");
    assert_in(MIB - 1, 2 * MIB, "1.00 MiB");
    assert_in(UINT64_MAX, UINT64_MAX, "16.00 EiB");
    assert_string_equal(format_change_in(-1, format_unit_fine(50 * GIB)).text, "-<0.1 MiB");
    assert_string_equal(format_change_in(24 << 20, format_unit_fine(50 * GIB)).text, "+24.0 MiB");
    assert_string_equal(format_change_in(24 << 20, format_unit_fine(90 * MIB)).text, "+24.00 MiB");
    assert_string_equal(format_change_in(24 << 20, format_unit_fine(150 * GIB)).text, "+0.02 GiB");
    assert_string_equal(format_bytes_in(7 * GIB, format_unit_fine(7 * GIB)).text, "7,168.0 MiB");
    assert_string_equal(format_bytes_in(900, format_unit_fine(90 << 10)).text, "0.88 KiB");
}

static void bytes_change_has_a_sign(void **state) {
    (void)state;
    assert_string_equal(format_bytes_change(0).text, "0 B");
    assert_string_equal(format_bytes_change((int64_t)(3 * GIB / 2)).text, "+1.5 GiB");
    assert_string_equal(format_bytes_change(-512).text, "-512 B");
    assert_string_equal(format_bytes_change(INT64_MIN).text, "-8.0 EiB");
}

static void counts_have_separators(void **state) {
    (void)state;
    assert_string_equal(format_count(0).text, "0");
    assert_string_equal(format_count(999).text, "999");
    assert_string_equal(format_count(1000).text, "1,000");
    assert_string_equal(format_count(18204).text, "18,204");
    assert_string_equal(format_count(123456).text, "123,456");
    assert_string_equal(format_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void durations_have_three_digits_or_two_units(void **state) {
    (void)state;
    assert_string_equal(format_duration(0).text, "0 \xc2\xb5s");
    assert_string_equal(format_duration(999).text, "999 \xc2\xb5s");
    assert_string_equal(format_duration(1000).text, "1 ms");
    assert_string_equal(format_duration(4240).text, "4.2 ms");
    assert_string_equal(format_duration(9949).text, "9.9 ms");
    assert_string_equal(format_duration(9950).text, "10 ms");
    assert_string_equal(format_duration(450000).text, "450 ms");
    assert_string_equal(format_duration(999499).text, "999 ms");
    assert_string_equal(format_duration(999500).text, "1.0 s");
    assert_string_equal(format_duration(12300000).text, "12.3 s");
    assert_string_equal(format_duration(59949999).text, "59.9 s");
    assert_string_equal(format_duration(59950000).text, "1 min");
    assert_string_equal(format_duration(192000000).text, "3 min 12 s");
    assert_string_equal(format_duration(INT64_C(3599600000)).text, "1 h");
    assert_string_equal(format_duration(INT64_C(7500000000)).text, "2 h 5 min");
    assert_string_equal(format_duration(INT64_C(273600000000)).text, "3 d 4 h");
    assert_string_equal(format_duration(-12300000).text, "-12.3 s");
    assert_string_equal(format_duration(INT64_MIN).text, "-106,751,991 d 4 h");
}

static void shares_never_claim_nothing_or_all(void **state) {
    (void)state;
    assert_string_equal(format_share(0, 0).text, "0 %");
    assert_string_equal(format_share(0, 5).text, "0 %");
    assert_string_equal(format_share(5, 5).text, "100 %");
    assert_string_equal(format_share(31, 100).text, "31 %");
    assert_string_equal(format_share(1, 3).text, "33 %");
    assert_string_equal(format_share(2, 3).text, "67 %");
    assert_string_equal(format_share(1, 1000).text, "<1 %");
    assert_string_equal(format_share(999, 1000).text, ">99 %");
    const uint64_t half = UINT64_C(1) << 63; /* twice 2^63 wraps to 0; the code once divided by it */
    assert_string_equal(format_share(0, half).text, "0 %");
    assert_string_equal(format_share(1, half).text, "<1 %");
    assert_string_equal(format_share(half / 2, half).text, "50 %");
    assert_string_equal(format_share(half - 1, half).text, ">99 %");
    assert_string_equal(format_share(half, half).text, "100 %");
    assert_string_equal(format_share(UINT64_MAX - 1, UINT64_MAX).text, ">99 %");
    assert_string_equal(format_share(UINT64_MAX / 2, UINT64_MAX).text, "50 %");
    assert_string_equal(format_share(300, 100).text, "300 %");
}

/* A locale with a decimal comma must not change a picture or a report. */
static void the_locale_does_not_matter(void **state) {
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        skip();
    assert_string_equal(format_bytes(1536).text, "1.5 KiB");
    assert_string_equal(format_duration(12300000).text, "12.3 s");
    setlocale(LC_ALL, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_one_decimal_where_it_says_something),
        cmocka_unit_test(bytes_round_half_up_and_carry_into_the_next_unit),
        cmocka_unit_test(figures_of_one_table_share_unit_and_decimals),
        cmocka_unit_test(bytes_change_has_a_sign),
        cmocka_unit_test(counts_have_separators),
        cmocka_unit_test(durations_have_three_digits_or_two_units),
        cmocka_unit_test(shares_never_claim_nothing_or_all),
        cmocka_unit_test(the_locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
