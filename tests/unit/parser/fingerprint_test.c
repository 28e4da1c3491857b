/* Compares fingerprints of bytes in pieces with xxHash over all at once, compiled for any processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dice.h"
#include "parser/fingerprint.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MOST_NBYTES = 10000, ROUNDS = 3000 };

static void in_pieces(const uint8_t *bytes, size_t nbytes, struct dice *dice, char *text) {
    struct fingerprint *fingerprint = fingerprint_new();
    assert_non_null(fingerprint);
    uint32_t longest = 1 + dice_below(dice, MOST_NBYTES);
    for (size_t at = 0, piece; at < nbytes; at += piece) {
        piece = dice_below(dice, longest + 1);
        piece = piece < nbytes - at ? piece : nbytes - at;
        fingerprint_add(fingerprint, bytes + at, piece);
    }
    fingerprint_text(fingerprint, text);
    fingerprint_free(fingerprint);
}

/* Pieces begin anywhere, so that no step may rely on alignment. */
static void test_pieces(void **state) {
    (void)state;
    static uint8_t bytes[MOST_NBYTES];
    struct dice dice = {33};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)dice_roll(&dice);
    for (int round = 0; round < ROUNDS; round++) {
        size_t nbytes = dice_below(&dice, round % 2 == 0 ? 600 : MOST_NBYTES);
        size_t from = dice_below(&dice, (uint32_t)(MOST_NBYTES - nbytes));
        char text[FINGERPRINT_CHARACTERS + 1], wanted[FINGERPRINT_CHARACTERS + 1];
        XXH128_hash_t hash = XXH3_128bits(bytes + from, nbytes);
        snprintf(wanted, sizeof wanted, "xxh128:%016llx%016llx", (unsigned long long)hash.high64,
                 (unsigned long long)hash.low64);
        in_pieces(bytes + from, nbytes, &dice, text);
        assert_string_equal(text, wanted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
