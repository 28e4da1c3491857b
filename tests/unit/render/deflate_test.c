/* zlib inflates the pieces to the original bytes, however many threads work. */
#include "render/deflate.h"

#include "dice.h"
#include "memory_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { N_PIECES = 9 };

struct sample {
    struct payload_piece pieces[N_PIECES];
    uint8_t *raw[N_PIECES];
};

/* Samples: nothing, one byte, constant bytes, incompressible bytes, a whole piece. */
static void sample_make(struct sample *sample) {
    static const uint32_t sizes[N_PIECES] = {
        0, 1, 2, 1000, 65535, 65536, 100000, PAYLOAD_PIECE_NBYTES - 1, PAYLOAD_PIECE_NBYTES};
    struct dice dice = {1};
    for (unsigned i = 0; i < N_PIECES; i++) {
        sample->raw[i] = malloc(sizes[i] + 1);
        assert_non_null(sample->raw[i]);
        for (uint32_t j = 0; j < sizes[i]; j++) {
            uint32_t noise = dice_roll(&dice);
            sample->raw[i][j] = i % 2 == 0 ? (uint8_t)(noise >> 24) : (uint8_t)(j / 100);
        }
        sample->pieces[i] = (struct payload_piece){.raw = sample->raw[i], .raw_nbytes = sizes[i]};
    }
}

static void sample_free(struct sample *sample) {
    deflate_release(sample->pieces, N_PIECES, plain_host);
    for (unsigned i = 0; i < N_PIECES; i++) {
        assert_null(sample->pieces[i].packed);
        free(sample->raw[i]);
    }
}

static void test_inflates_to_the_same(void **state) {
    struct sample sample;
    (void)state;
    sample_make(&sample);
    assert_true(deflate_pieces(sample.pieces, N_PIECES, 3, plain_host));
    for (unsigned i = 0; i < N_PIECES; i++) {
        const struct payload_piece *piece = &sample.pieces[i];
        uLongf nbytes = piece->raw_nbytes + 1;
        uint8_t *back = malloc(nbytes);
        assert_int_equal(uncompress(back, &nbytes, piece->packed, piece->packed_nbytes), Z_OK);
        assert_int_equal(nbytes, piece->raw_nbytes);
        assert_memory_equal(back, piece->raw, nbytes);
        free(back);
    }
    assert_in_range(sample.pieces[7].packed_nbytes, 1, PAYLOAD_PIECE_NBYTES / 20);
    sample_free(&sample);
}

static void test_threads_change_nothing(void **state) {
    struct sample one, many;
    (void)state;
    sample_make(&one);
    sample_make(&many);
    assert_true(deflate_pieces(one.pieces, N_PIECES, 1, plain_host));
    assert_true(deflate_pieces(many.pieces, N_PIECES, 7, plain_host));
    for (unsigned i = 0; i < N_PIECES; i++) {
        assert_int_equal(one.pieces[i].packed_nbytes, many.pieces[i].packed_nbytes);
        assert_memory_equal(one.pieces[i].packed, many.pieces[i].packed, one.pieces[i].packed_nbytes);
    }
    sample_free(&one);
    sample_free(&many);
}

/* Fails once the calls that `context` counts are used up. */
static void *counting_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    int *left = context;
    if (new_nbytes != 0 && (*left)-- <= 0)
        return NULL;
    return plain_resize(NULL, ptr, old_nbytes, new_nbytes);
}

static void test_no_memory(void **state) {
    struct sample sample;
    (void)state;
    sample_make(&sample);
    for (int most = 0; most < 2 * N_PIECES; most++) {
        int left = most;
        const struct arena_host host = {.context = &left, .resize = counting_resize};
        assert_false(deflate_pieces(sample.pieces, N_PIECES, 2, host));
        for (unsigned i = 0; i < N_PIECES; i++)
            assert_null(sample.pieces[i].packed);
    }
    sample_free(&sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inflates_to_the_same),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("deflate", tests, NULL, NULL);
}
