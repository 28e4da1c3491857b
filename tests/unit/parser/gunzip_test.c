/*
 * Compares gzip read by ISA-L (as from a file) with gzip read by zlib (as from a pipe). Both must give the same bytes,
 * and end or fail at the same offset, whatever was cut off or changed, and however the bytes arrive. Without ISA-L the
 * test compares zlib with itself.
 */
#include "dice.h"
#include "memory_input.h"
#include "parser/container/inflate.h"
#include "parser/container/packed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { MOST_NBYTES = 1 << 16, PLAIN_NBYTES = 5000 };

/* ---- inputs ---- */

/* Text-like and repetitive at first, then noise: blocks with code tables, long matches, and a stored block. */
static void plain_make(uint8_t *plain) {
    struct dice dice = {7};
    for (unsigned i = 0; i < PLAIN_NBYTES; i++) {
        uint32_t noise = dice_roll(&dice);
        plain[i] = i < 4000 ? (uint8_t)("the quick brown fox "[(i * 7 + noise / (1U << 30)) % 20])
                            : (uint8_t)(noise >> 24);
    }
}

static void member_add(struct bytes *bytes, const uint8_t *plain, size_t nbytes, int level, int strategy,
                       gz_header *header) {
    uint8_t packed[2 * MOST_NBYTES];
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, strategy), Z_OK);
    if (header != NULL)
        assert_int_equal(deflateSetHeader(&stream, header), Z_OK);
    stream.next_in = plain;
    stream.avail_in = (uInt)nbytes;
    stream.next_out = packed;
    stream.avail_out = sizeof packed;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes_add(bytes, packed, stream.total_out);
    deflateEnd(&stream);
}

static void member_add_named(struct bytes *bytes, const uint8_t *plain, size_t nbytes) {
    gz_header header = {.name = (Bytef *)"snapshot.pickle", .comment = (Bytef *)"made by a test", .hcrc = 1};
    header.extra = (Bytef *)"ab\2\0xy";
    header.extra_len = 6;
    member_add(bytes, plain, nbytes, 6, Z_DEFAULT_STRATEGY, &header);
}

/* Several members, an empty one among them. */
static struct bytes packed_make(void) {
    uint8_t plain[PLAIN_NBYTES];
    struct bytes bytes = {0};
    plain_make(plain);
    member_add_named(&bytes, plain, 300);
    member_add(&bytes, plain, 0, 6, Z_DEFAULT_STRATEGY, NULL);
    member_add(&bytes, plain, 200, 0, Z_DEFAULT_STRATEGY, NULL);
    member_add(&bytes, plain, 250, 6, Z_FIXED, NULL);
    member_add(&bytes, plain + 3700, 600, 9, Z_DEFAULT_STRATEGY, NULL);
    return bytes;
}

/* ---- reading with either library ---- */

struct outcome {
    uint8_t bytes[MOST_NBYTES];
    size_t nbytes;
    uint64_t offset;
    enum source_end end;
    struct read_error error;
};

static struct memory_input input, input_again;

static bool again(void *context, struct read_source *source) {
    (void)context;
    input_again = (struct memory_input){.at = input.at, .nbytes = input.nbytes};
    *source = (struct read_source){.read = memory_input_read, .context = &input_again};
    return true;
}

static const struct read_helpers helpers = {.again = again};

static void gunzip(struct outcome *outcome, const struct bytes *bytes, size_t step, size_t room, bool fast) {
    struct arena arena;
    struct cursor cursor;
    struct packed packed;
    input = (struct memory_input){.at = bytes->at, .nbytes = bytes->nbytes, .step = step};
    const struct read_source source = {
        .read = memory_input_read, .context = &input, .helpers = fast ? &helpers : NULL};
    memset(outcome, 0, sizeof *outcome);
    arena_init(&arena, plain_host, SIZE_MAX);
    assert_true(cursor_init(&cursor, &source, NULL, &arena, &outcome->error));
    assert_true(packed_open(&packed, &cursor, PACKED_GZIP));
    struct read_source unpacked = packed_source(&packed);
    for (int64_t got = 1; got > 0; outcome->nbytes += got > 0 ? (size_t)got : 0) {
        size_t left = sizeof outcome->bytes - outcome->nbytes;
        got = unpacked.read(unpacked.context, outcome->bytes + outcome->nbytes, left < room ? left : room);
    }
    packed_explain(&packed);
    outcome->end = packed.end;
    outcome->offset = cursor_offset(&cursor);
    packed_release(&packed);
    cursor_release(&cursor);
    arena_release(&arena);
}

static struct outcome by_zlib, by_isal;

/* Compares both results. They may notice damage at different offsets; the bytes before it do not matter. */
static void expect_same(const struct bytes *bytes, size_t step, size_t room) {
    gunzip(&by_zlib, bytes, 0, MOST_NBYTES, false);
    gunzip(&by_isal, bytes, step, room, true);
    assert_int_equal(by_isal.end, by_zlib.end);
    assert_int_equal(by_isal.error.code, by_zlib.error.code);
    assert_int_equal(by_isal.error.offset, by_zlib.error.offset);
    assert_string_equal(by_isal.error.message, by_zlib.error.message);
    if (by_zlib.end == SOURCE_FAILED)
        return;
    assert_int_equal(by_isal.offset, by_zlib.offset);
    assert_int_equal(by_isal.nbytes, by_zlib.nbytes);
    assert_memory_equal(by_isal.bytes, by_zlib.bytes, by_zlib.nbytes);
}

/* ---- tests ---- */

static void test_members(void **state) {
    struct bytes bytes = packed_make();
    (void)state;
    for (size_t step = 0; step < 20; step++)
        for (size_t room = 1; room < 2000; room = room * 3 + 1)
            expect_same(&bytes, step, room);
    assert_int_equal(by_zlib.end, SOURCE_COMPLETE);
    assert_int_equal(by_zlib.nbytes, 1350);
    bytes_release(&bytes);
}

static void test_bytes_after_the_last_member(void **state) {
    static const char *const tails[] = {"x",
                                        "\x1f",
                                        "\x1f\x8b",
                                        "\x1f\x8b\x08",
                                        "\x1f\x8b\x07zzzzzzzzzzzzzzzz",
                                        "\x1f\x8b\x08zzzzzzzzzzzzzzzzzzzzzzzzzzz",
                                        "------------------------------"};
    (void)state;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        struct bytes bytes = packed_make();
        bytes_add_text(&bytes, tails[i]);
        for (size_t step = 0; step < 3; step++)
            expect_same(&bytes, step, MOST_NBYTES);
        bytes_release(&bytes);
    }
}

static void test_cut_anywhere(void **state) {
    struct bytes bytes = packed_make();
    const size_t whole = bytes.nbytes;
    (void)state;
    for (bytes.nbytes = 0; bytes.nbytes < whole; bytes.nbytes++)
        for (size_t step = 0; step < 3; step++)
            expect_same(&bytes, step, step == 2 ? 7 : MOST_NBYTES);
    bytes_release(&bytes);
}

static void test_any_bit_wrong(void **state) {
    struct bytes bytes = packed_make();
    unsigned n_damaged = 0;
    (void)state;
    for (size_t bit = 0; bit < bytes.nbytes * 8; bit++) {
        bytes.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (gzip_recognises(bytes.at, bytes.nbytes)) {
            expect_same(&bytes, 0, MOST_NBYTES);
            n_damaged += by_zlib.end == SOURCE_FAILED;
        }
        bytes.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_in_range(n_damaged, bytes.nbytes * 5,
                    bytes.nbytes * 8); /* a changed name in a header is no damage */
    bytes_release(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_bytes_after_the_last_member),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_any_bit_wrong),
    };
    return cmocka_run_group_tests_name("gunzip", tests, NULL, NULL);
}
