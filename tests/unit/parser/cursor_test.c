/* The cursor over sources that return a byte at a time, whole blocks, an error, or nothing. */
#include "memory_input.h"
#include "parser/cursor.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { MIB = 1 << 20, BLOCK_NBYTES = 512 << 10 };

/* ---- sources ---- */

/* Bytes whose values follow from their offsets; without line breaks unless `line_nbytes` is set. */
struct counting {
    uint64_t nbytes, used;
    size_t step; /* the most bytes that one read returns; 0: all that are requested */
    size_t line_nbytes;
    uint64_t fails_at; /* the read after this byte fails; 0: none */
    uint64_t n_reads, n_reads_after_end;
};

static uint8_t byte_at(const struct counting *counting, uint64_t offset) {
    if (counting->line_nbytes != 0 && (offset + 1) % counting->line_nbytes == 0)
        return '\n';
    uint8_t byte = (uint8_t)(offset * 131 + (offset >> 8) * 7 + (offset >> 16));
    return byte == '\n' ? 'n' : byte;
}

static int64_t counting_read(void *context, void *to, size_t nbytes) {
    struct counting *counting = context;
    counting->n_reads++;
    counting->n_reads_after_end += counting->used == counting->nbytes;
    if (counting->fails_at != 0 && counting->used >= counting->fails_at) {
        errno = ENXIO;
        return -1;
    }
    assert_true(nbytes > 0);
    size_t n = counting->step != 0 && counting->step < nbytes ? counting->step : nbytes;
    if (n > counting->nbytes - counting->used)
        n = (size_t)(counting->nbytes - counting->used);
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = byte_at(counting, counting->used + i);
    counting->used += n;
    return (int64_t)n;
}

/* ---- a cursor over one ---- */

struct fixture {
    struct arena arena;
    struct read_source source;
    struct read_error error;
    struct cursor cursor;
};

static void fixture_open(struct fixture *fixture, struct counting *counting, size_t limit_nbytes) {
    *fixture = (struct fixture){.source = {.read = counting_read, .context = counting}};
    arena_init(&fixture->arena, plain_host, limit_nbytes);
    assert_true(cursor_init(&fixture->cursor, &fixture->source, NULL, &fixture->arena, &fixture->error));
}

static void fixture_close(struct fixture *fixture) {
    cursor_release(&fixture->cursor);
    assert_int_equal(fixture->arena.used_nbytes, 0);
    arena_release(&fixture->arena);
}

static void expect_bytes(const struct counting *counting, const uint8_t *bytes, uint64_t offset,
                         size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != byte_at(counting, offset + i))
            fail_msg("byte %zu of %zu, at %d, is another one", i, nbytes, (int)offset);
}

/* Takes the bytes from `offset` to `end` one by one. (Millions of assertions would take a sanitized build a minute.) */
static void expect_taken(struct fixture *fixture, const struct counting *counting, uint64_t offset,
                         uint64_t end) {
    for (; offset < end; offset++)
        if (cursor_u8(&fixture->cursor) != byte_at(counting, offset))
            fail_msg("the byte at %d is another one", (int)offset);
}

/* After the first error no byte can be read, and the error stays the same. */
static void expect_stopped(struct fixture *fixture, enum read_code code, uint64_t offset) {
    struct cursor *cursor = &fixture->cursor;
    assert_int_equal(fixture->error.code, code);
    assert_int_equal(fixture->error.offset, offset);
    assert_true(cursor->p == cursor->end);
    assert_false(cursor_need(cursor, 1));
    assert_int_equal(cursor_u8(cursor), 0);
    assert_int_equal(cursor_uint(cursor, 8), 0);
    const uint8_t *line;
    size_t nbytes;
    assert_false(cursor_line(cursor, MIB, &line, &nbytes));
    assert_false(cursor_fail(cursor, READ_LIMIT, 7, "a second error"));
    assert_int_equal(fixture->error.code, code);
    assert_int_equal(fixture->error.offset, offset);
    assert_null(strstr(fixture->error.message, "second"));
}

/* ---- taking bytes ---- */

static const size_t steps[] = {0, 1, 7, 4096, BLOCK_NBYTES - 1, BLOCK_NBYTES + 1};
enum { N_STEPS = sizeof steps / sizeof steps[0] };

/* Values of every width cross every border of a block; the offset before each is right. */
static void test_values_across_blocks(void **state) {
    (void)state;
    for (size_t s = 0; s < N_STEPS; s++) {
        struct counting counting = {.nbytes = 3 * BLOCK_NBYTES + 5, .step = steps[s]};
        struct fixture fixture;
        fixture_open(&fixture, &counting, SIZE_MAX);
        uint64_t offset = 0;
        for (unsigned width = 1; counting.nbytes - offset >= 8; width = width % 8 + 1) {
            assert_int_equal(cursor_offset(&fixture.cursor), offset);
            uint64_t value = cursor_uint(&fixture.cursor, width);
            for (unsigned i = 0; i < 8; i++)
                if ((value >> 8 * i & 0xFF) != (i < width ? byte_at(&counting, offset + i) : 0))
                    fail_msg("byte %u of %u, at %d, is another one", i, width, (int)offset);
            offset += width;
        }
        expect_taken(&fixture, &counting, offset, counting.nbytes);
        assert_int_equal(fixture.error.code, READ_OK);
        fixture_close(&fixture);
    }
}

static void test_the_end(void **state) {
    (void)state;
    for (uint64_t nbytes = 0; nbytes < 10; nbytes++) {
        struct counting counting = {.nbytes = nbytes, .step = 3};
        struct fixture fixture;
        fixture_open(&fixture, &counting, SIZE_MAX);
        struct cursor *cursor = &fixture.cursor;
        assert_false(cursor_fill(cursor, (size_t)nbytes + 1)); /* looking ahead is not an error */
        assert_int_equal(fixture.error.code, READ_OK);
        assert_int_equal(cursor->end - cursor->p, nbytes);
        assert_true(cursor_need(cursor, (size_t)nbytes));
        cursor->p += nbytes / 2;
        assert_false(cursor_need(cursor, 100));
        expect_stopped(&fixture, READ_TRUNCATED, nbytes);
        assert_int_equal(counting.n_reads_after_end, 1); /* a source that has ended is not read again */
        fixture_close(&fixture);
    }
}

static void test_a_source_that_fails(void **state) {
    (void)state;
    static const uint64_t places[] = {1, 8, BLOCK_NBYTES, 2 * BLOCK_NBYTES + 3};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct counting counting = {.nbytes = 4 * BLOCK_NBYTES, .step = 1, .fails_at = places[i]};
        struct fixture fixture;
        fixture_open(&fixture, &counting, SIZE_MAX);
        expect_taken(&fixture, &counting, 0, places[i]);
        assert_int_equal(fixture.error.code, READ_OK); /* bytes that were read before are valid */
        assert_int_equal(cursor_u8(&fixture.cursor), 0);
        assert_int_equal(fixture.error.errno_value, ENXIO);
        expect_stopped(&fixture, READ_IO, places[i]);
        fixture_close(&fixture);
    }
}

/* A source that decodes another one has set the error, which says more than "I/O error". */
struct failing_decoder {
    struct read_error *error;
};

static int64_t decoder_read(void *context, void *to, size_t nbytes) {
    struct failing_decoder *decoder = context;
    (void)to;
    (void)nbytes;
    *decoder->error = (struct read_error){.code = READ_CORRUPT, .offset = 99, .message = "bits"};
    errno = EIO;
    return -1;
}

static void test_a_decoder_that_fails(void **state) {
    (void)state;
    struct fixture fixture = {0};
    struct failing_decoder decoder = {&fixture.error};
    fixture.source = (struct read_source){.read = decoder_read, .context = &decoder};
    arena_init(&fixture.arena, plain_host, SIZE_MAX);
    assert_true(cursor_init(&fixture.cursor, &fixture.source, NULL, &fixture.arena, &fixture.error));
    assert_false(cursor_need(&fixture.cursor, 1));
    expect_stopped(&fixture, READ_CORRUPT, 99);
    assert_int_equal(fixture.error.errno_value, 0);
    fixture_close(&fixture);
}

/* ---- looking ahead ---- */

static void test_lookahead(void **state) {
    (void)state;
    for (size_t s = 0; s < N_STEPS; s++) {
        struct counting counting = {.nbytes = 2 * MIB, .step = steps[s]};
        struct fixture fixture;
        fixture_open(&fixture, &counting, SIZE_MAX);
        const size_t capacity = fixture.cursor.capacity;
        const uint64_t stride = CURSOR_LOOKAHEAD / 2 + 17;
        for (uint64_t offset = 0; offset + CURSOR_LOOKAHEAD <= counting.nbytes; offset += stride) {
            assert_true(cursor_fill(&fixture.cursor, CURSOR_LOOKAHEAD));
            assert_int_equal(cursor_offset(&fixture.cursor), offset);
            expect_bytes(&counting, fixture.cursor.p, offset, CURSOR_LOOKAHEAD);
            fixture.cursor.p += stride;
        }
        assert_int_equal(fixture.cursor.capacity, capacity); /* as much as the cursor always has */
        fixture_close(&fixture);
    }
}

/* A length that the input claims takes no memory before the bytes arrive. */
static void test_growth_follows_the_bytes(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 100, BLOCK_NBYTES, 3 * MIB + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct counting counting = {.nbytes = sizes[i]};
        struct fixture fixture;
        fixture_open(&fixture, &counting, SIZE_MAX);
        const size_t least = fixture.arena.peak_nbytes;
        assert_false(cursor_need(&fixture.cursor, SIZE_MAX / 4));
        assert_true(fixture.arena.peak_nbytes <= least + 2 * sizes[i]);
        expect_stopped(&fixture, READ_TRUNCATED, sizes[i]);
        fixture_close(&fixture);
    }
}

static void test_a_long_value(void **state) {
    (void)state;
    for (size_t s = 0; s < N_STEPS; s++) {
        const size_t step =
            s == 1 || s == 2 ? 977 : steps[s]; /* a sanitized build is slow at a million reads */
        struct counting counting = {.nbytes = 5 * MIB, .step = step};
        struct fixture fixture;
        fixture_open(&fixture, &counting, SIZE_MAX);
        fixture.cursor.p += cursor_need(&fixture.cursor, 1000) ? 1000 : 0;
        assert_true(cursor_need(&fixture.cursor, 4 * MIB));
        assert_int_equal(cursor_offset(&fixture.cursor), 1000);
        expect_bytes(&counting, fixture.cursor.p, 1000, 4 * MIB);
        assert_true(fixture.arena.peak_nbytes <= 8 * MIB);
        fixture.cursor.p += 4 * MIB;
        assert_int_equal(cursor_u8(&fixture.cursor), byte_at(&counting, 1000 + 4 * MIB));
        fixture_close(&fixture);
    }
}

/* ---- blocks that are lent ---- */

/* A counting source that lends its blocks. Blocks lent before the last one are overwritten. */
struct lender {
    struct counting counting; /* must come first, because its read function gets it */
    uint8_t room[2][READ_LENT_ROOM + BLOCK_NBYTES];
    unsigned n_lent;
};

static int64_t lender_lend(void *context, uint8_t **bytes) {
    struct lender *lender = context;
    uint8_t *room = lender->room[lender->n_lent++ % 2];
    memset(room, '?', sizeof lender->room[0]);
    int64_t got = counting_read(&lender->counting, room + READ_LENT_ROOM, BLOCK_NBYTES);
    if (got > 0)
        *bytes = room + READ_LENT_ROOM;
    return got;
}

static void fixture_lend(struct fixture *fixture, struct lender *lender, struct counting counting) {
    lender->counting = counting;
    *fixture = (struct fixture){
        .source = {.read = counting_read, .lend = lender_lend, .context = &lender->counting}};
    arena_init(&fixture->arena, plain_host, SIZE_MAX);
    assert_true(cursor_init(&fixture->cursor, &fixture->source, NULL, &fixture->arena, &fixture->error));
}

static struct lender lender;

/* Reads as the pickle machine does, looking this far ahead, to the last byte. */
static void test_lent_blocks(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 4096, READ_LENT_ROOM - 1, READ_LENT_ROOM, BLOCK_NBYTES - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct fixture fixture;
        uint64_t offset = 0;
        fixture_lend(&fixture, &lender, (struct counting){.nbytes = 2 * MIB + 5, .step = lengths[i]});
        const size_t stride = CURSOR_LOOKAHEAD / 2 + 17;
        for (; cursor_fill(&fixture.cursor, CURSOR_LOOKAHEAD); offset += stride) {
            assert_int_equal(cursor_offset(&fixture.cursor), offset);
            expect_bytes(&lender.counting, fixture.cursor.p, offset, CURSOR_LOOKAHEAD);
            fixture.cursor.p += stride;
        }
        assert_int_equal(fixture.cursor.end - fixture.cursor.p, lender.counting.nbytes - offset);
        expect_bytes(&lender.counting, fixture.cursor.p, offset, (size_t)(lender.counting.nbytes - offset));
        assert_true(fixture.cursor.from != fixture.cursor.buffer);
        fixture_close(&fixture);
    }
}

/* A value longer than a lent block is gathered, and everything after it is read. */
static void test_a_long_value_of_lent_blocks(void **state) {
    (void)state;
    for (size_t nbytes = READ_LENT_ROOM; nbytes < 4 * MIB; nbytes = nbytes * 2 + 1) {
        struct fixture fixture;
        fixture_lend(&fixture, &lender, (struct counting){.nbytes = 5 * MIB, .step = 40000});
        fixture.cursor.p += cursor_need(&fixture.cursor, 1000) ? 1000 : 0;
        assert_true(cursor_need(&fixture.cursor, nbytes));
        assert_int_equal(cursor_offset(&fixture.cursor), 1000);
        expect_bytes(&lender.counting, fixture.cursor.p, 1000, nbytes);
        assert_true(fixture.arena.peak_nbytes <= 8 * MIB);
        fixture.cursor.p += nbytes;
        expect_taken(&fixture, &lender.counting, 1000 + nbytes, lender.counting.nbytes);
        assert_false(cursor_need(&fixture.cursor, 1));
        expect_stopped(&fixture, READ_TRUNCATED, lender.counting.nbytes);
        fixture_close(&fixture);
    }
}

static void test_a_lender_that_fails(void **state) {
    (void)state;
    struct fixture fixture;
    fixture_lend(&fixture, &lender,
                 (struct counting){.nbytes = 5 * MIB, .step = BLOCK_NBYTES, .fails_at = 2 * BLOCK_NBYTES});
    expect_taken(&fixture, &lender.counting, 0, 2 * BLOCK_NBYTES);
    assert_int_equal(fixture.error.code, READ_OK);
    assert_int_equal(cursor_u8(&fixture.cursor), 0);
    assert_int_equal(fixture.error.errno_value, ENXIO);
    expect_stopped(&fixture, READ_IO, 2 * BLOCK_NBYTES);
    fixture_close(&fixture);
}

/* ---- memory ---- */

static void test_the_memory_limit(void **state) {
    (void)state;
    struct counting counting = {.nbytes = 8 * MIB};
    struct fixture fixture;
    fixture_open(&fixture, &counting, 2 * MIB);
    assert_true(cursor_need(&fixture.cursor, MIB));
    assert_false(cursor_need(&fixture.cursor, 4 * MIB));
    assert_non_null(strstr(fixture.error.message, "--max-memory"));
    expect_stopped(&fixture, READ_NO_MEMORY, 0);
    assert_true(fixture.arena.peak_nbytes <= 2 * MIB);
    fixture_close(&fixture);

    struct cursor cursor;
    arena_init(&fixture.arena, plain_host, 1000);
    fixture.error = (struct read_error){0};
    assert_false(cursor_init(&cursor, &fixture.source, NULL, &fixture.arena, &fixture.error));
    assert_int_equal(fixture.error.code, READ_NO_MEMORY);
    cursor_release(&cursor);
    arena_release(&fixture.arena);
}

/* ---- lines ---- */

static void test_lines(void **state) {
    (void)state;
    static const size_t lengths[] = {1, 2, 80, CURSOR_LOOKAHEAD + 1, BLOCK_NBYTES, BLOCK_NBYTES + 3};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const size_t length = lengths[i];
        struct counting counting = {
            .nbytes = 2 * MIB / length * length, .line_nbytes = length, .step = i % 2 == 0 ? 0 : 977};
        struct fixture fixture;
        const uint8_t *line;
        size_t nbytes;
        fixture_open(&fixture, &counting, SIZE_MAX);
        for (uint64_t offset = 0; offset < counting.nbytes; offset += length) {
            assert_true(cursor_line(&fixture.cursor, length - 1, &line, &nbytes));
            assert_int_equal(nbytes, length - 1);
            assert_int_equal(cursor_offset(&fixture.cursor), offset + length);
            expect_bytes(&counting, line, offset, nbytes);
        }
        assert_false(cursor_line(&fixture.cursor, length, &line, &nbytes));
        expect_stopped(&fixture, READ_TRUNCATED, counting.nbytes);
        fixture_close(&fixture);
    }
}

/* The limit is the length without the end of the line; a line beyond it is refused before all of it is read. */
static void test_line_limit(void **state) {
    (void)state;
    const uint8_t *line;
    size_t nbytes;
    struct fixture fixture;
    struct counting counting = {.nbytes = 300, .line_nbytes = 100};
    fixture_open(&fixture, &counting, SIZE_MAX);
    assert_true(cursor_line(&fixture.cursor, 99, &line, &nbytes));
    assert_false(cursor_line(&fixture.cursor, 98, &line, &nbytes));
    assert_non_null(strstr(fixture.error.message, "98 bytes"));
    expect_stopped(&fixture, READ_BAD_LENGTH, 100);
    fixture_close(&fixture);

    counting = (struct counting){.nbytes = UINT64_MAX / 2}; /* an endless line */
    fixture_open(&fixture, &counting, SIZE_MAX);
    assert_false(cursor_line(&fixture.cursor, MIB, &line, &nbytes));
    expect_stopped(&fixture, READ_BAD_LENGTH, 0);
    assert_true(counting.used <= 3 * MIB);
    fixture_close(&fixture);
}

/* ---- progress ---- */

struct watch {
    uint64_t n_reports, last_offset, stop_at;
};

static bool watch_report(void *context, uint64_t nbytes, uint64_t n_events) {
    struct watch *watch = context;
    assert_int_equal(n_events, 12);
    assert_true(nbytes > watch->last_offset);
    watch->last_offset = nbytes;
    return ++watch->n_reports != watch->stop_at;
}

static void test_progress_and_interruption(void **state) {
    (void)state;
    for (uint64_t stop_at = 0; stop_at <= 3; stop_at += 3) {
        struct counting counting = {.nbytes = 40 * MIB};
        struct watch watch = {.stop_at = stop_at};
        const struct read_progress progress = {watch_report, &watch};
        struct fixture fixture;
        fixture_open(&fixture, &counting, SIZE_MAX);
        fixture.cursor.progress = &progress;
        fixture.cursor.n_events = 12;
        while (cursor_fill(&fixture.cursor, 1))
            fixture.cursor.p = fixture.cursor.end;
        assert_in_range(watch.n_reports, stop_at == 0 ? 5 : stop_at, stop_at == 0 ? 10 : stop_at);
        if (stop_at != 0)
            expect_stopped(&fixture, READ_INTERRUPTED, watch.last_offset);
        else
            assert_int_equal(fixture.error.code, READ_OK);
        fixture_close(&fixture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_across_blocks),
        cmocka_unit_test(test_the_end),
        cmocka_unit_test(test_a_source_that_fails),
        cmocka_unit_test(test_a_decoder_that_fails),
        cmocka_unit_test(test_lookahead),
        cmocka_unit_test(test_growth_follows_the_bytes),
        cmocka_unit_test(test_a_long_value),
        cmocka_unit_test(test_lent_blocks),
        cmocka_unit_test(test_a_long_value_of_lent_blocks),
        cmocka_unit_test(test_a_lender_that_fails),
        cmocka_unit_test(test_the_memory_limit),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_line_limit),
        cmocka_unit_test(test_progress_and_interruption),
    };
    return cmocka_run_group_tests_name("cursor", tests, NULL, NULL);
}
