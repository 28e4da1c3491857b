/* Files around a pickle: gzip, zip, pages; whole, damaged and cut off. zlib writes them here. */
#include "memory_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <zlib.h>

#include <cmocka.h>

/* A snapshot with one allocation, followed by bytes that only make it longer. */
static const char snapshot[] = "\x80\4}(\x8c\x0d"
                               "device_traces\x94](](}(\x8c\6action\x94\x8c\5alloc\x94\x8c\4addr\x94M\0\2"
                               "\x8c\4size\x94K\x64ueeu.";
enum { SNAPSHOT_NBYTES = sizeof snapshot - 1 };

static struct trace trace;
static struct read_error error;

static bool read_bytes(const struct bytes *bytes) {
    trace_release(&trace);
    return memory_input_trace(&trace, bytes->at, bytes->nbytes, 0, SIZE_MAX, &error);
}

static void expect_snapshot(const struct bytes *bytes, size_t step) {
    trace_release(&trace);
    if (!memory_input_trace(&trace, bytes->at, bytes->nbytes, step, SIZE_MAX, &error))
        fail_msg("%s (offset %d)", error.message, (int)error.offset);
    assert_int_equal(trace.n_devices, 1);
    assert_int_equal(trace.devices[0].allocations.count, 1);
    assert_int_equal(trace.devices[0].allocations.size[0], 100);
}

static void expect_read(const struct bytes *bytes) {
    expect_snapshot(bytes, 0);
    assert_false(trace_has_diagnostic(&trace, "truncated"));
    expect_snapshot(bytes, 1);
    expect_snapshot(bytes, 7);
}

static void expect_refused(const struct bytes *bytes, enum read_code code) {
    assert_false(read_bytes(bytes));
    if (error.code != code)
        fail_msg("%s instead of %s: %s", read_code_name(error.code), read_code_name(code), error.message);
}

/* Appends `from`, deflated; window bits: 31 for gzip, -15 for a member of a zip. */
static void bytes_add_deflated(struct bytes *to, const void *from, size_t nbytes, int window_bits) {
    z_stream stream = {0};
    uint8_t *room = malloc(nbytes + 1024);
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (void *)(uintptr_t)from;
    stream.avail_in = (unsigned)nbytes;
    stream.next_out = room;
    stream.avail_out = (unsigned)nbytes + 1024;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes_add(to, room, stream.total_out);
    deflateEnd(&stream);
    free(room);
}

/* ---- gzip ---- */

static struct bytes gzipped(const void *from, size_t nbytes) {
    struct bytes bytes = {0};
    bytes_add_deflated(&bytes, from, nbytes, 31);
    return bytes;
}

static void test_gzip(void **state) {
    (void)state;
    struct bytes bytes = gzipped(snapshot, SNAPSHOT_NBYTES);
    expect_read(&bytes);
    struct bytes twice = gzipped(bytes.at, bytes.nbytes);
    expect_read(&twice);
    BYTES(&bytes, "\0\0\0 what gzip ignores, too");
    expect_read(&bytes);
    bytes_release(&bytes);
    bytes_release(&twice);
}

static void test_gzip_members(void **state) {
    (void)state;
    struct bytes bytes = {0};
    for (size_t cut = 0; cut <= SNAPSHOT_NBYTES; cut += 10) {
        bytes.nbytes = 0;
        bytes_add_deflated(&bytes, snapshot, cut, 31);
        bytes_add_deflated(&bytes, snapshot, 0, 31);
        bytes_add_deflated(&bytes, snapshot + cut, SNAPSHOT_NBYTES - cut, 31);
        expect_read(&bytes);
    }
    bytes_release(&bytes);
}

/* gzip has a checksum, so no flipped bit may give another recording. */
static void test_gzip_damage(void **state) {
    (void)state;
    struct bytes bytes = gzipped(snapshot, SNAPSHOT_NBYTES);
    size_t n_harmless = 0;
    for (size_t i = 10; i < bytes.nbytes; i++) {
        bytes.at[i] ^= 0x10;
        if (read_bytes(&bytes)) {
            expect_snapshot(&bytes, 0); /* some bits are only padding */
            n_harmless++;
        } else {
            assert_true(error.code == READ_CORRUPT || error.code == READ_TRUNCATED);
            assert_true(error.offset <= bytes.nbytes);
        }
        bytes.at[i] ^= 0x10;
    }
    assert_true(n_harmless <= 1);
    bytes.at[bytes.nbytes - 5] ^= 1; /* the check sum itself */
    expect_refused(&bytes, READ_CORRUPT);
    bytes_release(&bytes);
}

static void test_gzip_cuts(void **state) {
    (void)state;
    struct bytes bytes = gzipped(snapshot, SNAPSHOT_NBYTES);
    size_t nbytes = bytes.nbytes;
    for (bytes.nbytes = 3; bytes.nbytes < nbytes; bytes.nbytes++) {
        if (read_bytes(&bytes))
            assert_true(trace_has_diagnostic(&trace, "truncated"));
        else
            assert_int_equal(error.code, READ_TRUNCATED);
    }
    bytes.nbytes = nbytes - 3; /* the recording is complete, its checksum is not */
    assert_true(read_bytes(&bytes));
    bytes_release(&bytes);
}

static void test_bombs_end_at_the_limit(void **state) {
    (void)state;
    enum { NBYTES = 64 << 20 };
    struct bytes bomb = {0};
    uint8_t *values = malloc(NBYTES);
    memset(values, 'N', NBYTES); /* a stack of None without end */
    memcpy(values, "\x80\4](", 4);
    bytes_add_deflated(&bomb, values, NBYTES, 31);
    free(values);
    trace_release(&trace);
    assert_false(memory_input_trace(&trace, bomb.at, bomb.nbytes, 0, 16 << 20, &error));
    assert_int_equal(error.code, READ_NO_MEMORY);
    assert_true(trace.arena.limit_hit);
    assert_true(trace.arena.peak_nbytes <= 16 << 20);
    bytes_release(&bomb);
}

static void test_layers_are_limited(void **state) {
    (void)state;
    struct bytes bytes = gzipped(snapshot, SNAPSHOT_NBYTES);
    for (int layers = 1; layers <= 5; layers++) {
        if (layers <= 4)
            expect_read(&bytes);
        else
            expect_refused(&bytes, READ_LIMIT);
        struct bytes outer = gzipped(bytes.at, bytes.nbytes);
        bytes_release(&bytes);
        bytes = outer;
    }
    bytes_release(&bytes);
}

/* ---- zip ---- */

static void add_number(struct bytes *to, uint64_t value, unsigned nbytes) {
    for (unsigned i = 0; i < nbytes; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i);
        bytes_add(to, &byte, 1);
    }
}

enum size_place { SIZES_IN_HEADER, SIZES_IN_ZIP64, SIZES_BEHIND, SIZES_BEHIND_64 };

struct zip_options {
    uint32_t method;
    uint32_t flags;
    enum size_place sizes;
    uint32_t crc_error;
};

/* One member: header, data and an optional data descriptor. */
static void add_member(struct bytes *to, const char *name, const void *data, size_t nbytes,
                       struct zip_options options) {
    struct bytes packed = {0};
    bool behind = options.sizes >= SIZES_BEHIND, zip64 = options.sizes == SIZES_IN_ZIP64;
    if (options.method == 8)
        bytes_add_deflated(&packed, data, nbytes, -15);
    else
        bytes_add(&packed, data, nbytes);
    uint32_t crc = (uint32_t)crc32(0, data, (unsigned)nbytes) ^ options.crc_error;
    BYTES(to, "PK\3\4\x2d\0");
    add_number(to, options.flags | (behind ? 8 : 0), 2);
    add_number(to, options.method, 2);
    add_number(to, 0, 4);
    add_number(to, behind ? 0 : crc, 4);
    add_number(to, behind ? 0 : zip64 ? UINT32_MAX : packed.nbytes, 4);
    add_number(to, behind ? 0 : zip64 ? UINT32_MAX : nbytes, 4);
    add_number(to, strlen(name), 2);
    add_number(to, zip64 ? 26 : 0, 2);
    bytes_add_text(to, name);
    if (zip64) {
        BYTES(to, "\x99\x99\2\0ab\1\0\x10\0"); /* a foreign extra field, then the one that matters */
        add_number(to, nbytes, 8);
        add_number(to, packed.nbytes, 8);
    }
    bytes_add(to, packed.at, packed.nbytes);
    if (behind) {
        BYTES(to, "PK\7\x08");
        add_number(to, crc, 4);
        add_number(to, packed.nbytes, options.sizes == SIZES_BEHIND ? 4 : 8);
        add_number(to, nbytes, options.sizes == SIZES_BEHIND ? 4 : 8);
    }
    bytes_release(&packed);
}

/* A zip like torch.save's; other members may come first. */
static struct bytes zipped(struct zip_options options) {
    static const char other[] = "little PK\7\x08 and so on, not the end: PK\7\x08";
    struct bytes bytes = {0};
    add_member(&bytes, "archive/byteorder", other, sizeof other - 1, options);
    options.crc_error = 0;
    add_member(&bytes, "archive/xdata.pkl", "no", 2, options);
    return bytes;
}

static void finish_zip(struct bytes *bytes) {
    BYTES(bytes, "PK\1\2 the directory");
}

static void test_zip(void **state) {
    (void)state;
    for (uint32_t method = 0; method <= 8; method += 8)
        for (int sizes = SIZES_IN_HEADER; sizes <= SIZES_BEHIND_64; sizes++) {
            struct zip_options options = {.method = method, .sizes = (enum size_place)sizes};
            struct bytes bytes = zipped(options);
            add_member(&bytes, "archive/data.pkl", snapshot, SNAPSHOT_NBYTES, options);
            finish_zip(&bytes);
            expect_read(&bytes);
            struct bytes packed = gzipped(bytes.at, bytes.nbytes);
            expect_read(&packed);
            bytes_release(&packed);
            bytes_release(&bytes);
        }
}

static void test_zip_refusals(void **state) {
    (void)state;
    struct bytes bytes = zipped((struct zip_options){0});
    size_t begin = bytes.nbytes;
    finish_zip(&bytes);
    expect_refused(&bytes, READ_NO_DATA);
    assert_int_equal(error.offset, begin);
    static const struct {
        struct zip_options options;
        enum read_code code;
    } cases[] = {
        {{.flags = 1}, READ_NO_DATA},
        {{.method = 12}, READ_NO_DATA},
        {{.crc_error = 1}, READ_CORRUPT},
        {{.method = 8, .crc_error = 1}, READ_CORRUPT},
        {{.method = 8, .crc_error = 1, .sizes = SIZES_BEHIND}, READ_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes.nbytes = begin;
        add_member(&bytes, "data.pkl", snapshot, SNAPSHOT_NBYTES, cases[i].options);
        finish_zip(&bytes);
        expect_refused(&bytes, cases[i].code);
    }
    bytes_release(&bytes);
}

/* Sizes that are missing or wrong. */
static void test_zip_sizes(void **state) {
    (void)state;
    static const char name[] = "data.pkl";
    for (int extra = 0; extra < 2; extra++) {
        struct bytes bytes = {0};
        BYTES(&bytes, "PK\3\4\x2d\0\0\0\0\0\0\0\0\0\0\0\0\0");
        add_number(&bytes, UINT64_MAX, 8);
        add_number(&bytes, sizeof name - 1, 2);
        add_number(&bytes, extra != 0 ? 20 : 0, 2);
        BYTES(&bytes, name);
        if (extra != 0) {
            BYTES(&bytes, "\1\0\x10\0");
            add_number(&bytes, UINT64_MAX, 8);
            add_number(&bytes, UINT64_MAX, 8);
        }
        bytes_add(&bytes, snapshot, SNAPSHOT_NBYTES);
        if (extra == 0) {
            expect_refused(&bytes, READ_CORRUPT);
            assert_int_equal(error.offset, 0);
        } else {
            expect_snapshot(&bytes, 0); /* all bytes that exist */
            assert_true(trace_has_diagnostic(&trace, "truncated"));
        }
        bytes_release(&bytes);
    }
}

static void test_zip_cuts(void **state) {
    (void)state;
    for (uint32_t method = 0; method <= 8; method += 8) {
        struct zip_options options = {.method = method};
        struct bytes bytes = zipped(options);
        add_member(&bytes, "archive/data.pkl", snapshot, SNAPSHOT_NBYTES, options);
        size_t nbytes = bytes.nbytes;
        for (bytes.nbytes = 4; bytes.nbytes < nbytes; bytes.nbytes++) {
            if (read_bytes(&bytes))
                assert_true(trace_has_diagnostic(&trace, "truncated"));
            else
                assert_int_equal(error.code, READ_TRUNCATED);
        }
        bytes_release(&bytes);
    }
}

/* ---- pages ---- */

static void add_base64(struct bytes *to, const uint8_t *from, size_t nbytes) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < nbytes; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < nbytes ? from[i + k] : 0);
        char text[4];
        for (unsigned k = 0; k < 4; k++)
            text[k] = i + k > nbytes ? '=' : alphabet[bits >> (18 - 6 * k) & 63];
        bytes_add(to, text, 4);
    }
}

static struct bytes page_of(const char *begin, const void *data, size_t nbytes, const char *end) {
    struct bytes bytes = {0};
    bytes_add_text(&bytes, begin);
    add_base64(&bytes, data, nbytes);
    bytes_add_text(&bytes, end);
    return bytes;
}

static const char page_begin[] =
    "\n<!DOCTYPE html>\n<html><script>\nconst local_files = [{\"name\": \"a \\\"base\", \"base64\": \"";
static const char page_end[] = "\"}]\nadd_local_files(local_files)</script>";

static void test_memory_viz_pages(void **state) {
    (void)state;
    char padded[SNAPSHOT_NBYTES + 3] = {0};
    memcpy(padded, snapshot, SNAPSHOT_NBYTES);
    for (size_t padding = 0; padding <= 3; padding++) {
        struct bytes bytes = page_of(page_begin, padded, SNAPSHOT_NBYTES + padding, page_end);
        expect_read(&bytes);
        bytes_release(&bytes);
    }
    struct bytes bytes = page_of("<HTML>const local_files=[{\"base64\" :\t\"", padded, sizeof padded, "");
    expect_snapshot(&bytes, 0); /* the page is cut, the pickle is not */
    bytes_release(&bytes);
}

static void test_page_refusals(void **state) {
    (void)state;
    struct bytes bytes = page_of("<html>", "", 0, "<img src='data:image/png;base64,AAAA'></html>");
    expect_refused(&bytes, READ_NO_DATA);
    assert_non_null(strstr(error.message, "raw.json.gz"));
    bytes_release(&bytes);
    bytes = page_of("<!doctype html><title>x</title>const local_files = []", "", 0, "");
    expect_refused(&bytes, READ_NO_DATA);
    bytes_release(&bytes);
    bytes = page_of(page_begin, snapshot, SNAPSHOT_NBYTES, page_end);
    size_t wrong = sizeof page_begin - 1 + 20;
    bytes.at[wrong] = '!';
    expect_refused(&bytes, READ_CORRUPT);
    assert_int_equal(error.offset, wrong);
    bytes_release(&bytes);
    bytes = page_of("<html><script type=\"application/octet-stream\" id=\"payload\">", "STRATAP0abcdefghijkl",
                    20, "</script>");
    expect_refused(&bytes, READ_UNKNOWN_KIND);
    bytes_release(&bytes);
    bytes = page_of("<html><script type=\"application/octet-stream\" id=\"payload\">", "STRATAP1", 8, "");
    expect_refused(&bytes, READ_TRUNCATED);
    bytes_release(&bytes);
}

static void test_page_cuts(void **state) {
    (void)state;
    struct bytes bytes = page_of(page_begin, snapshot, SNAPSHOT_NBYTES, page_end);
    size_t begin = sizeof page_begin - 1, nbytes = begin + (SNAPSHOT_NBYTES + 2) / 3 * 4;
    for (bytes.nbytes = begin + 2; bytes.nbytes < nbytes - 4; bytes.nbytes++) {
        if (read_bytes(&bytes))
            assert_true(trace_has_diagnostic(&trace, "truncated"));
        else
            assert_true(error.code == READ_TRUNCATED || error.code == READ_EMPTY);
    }
    bytes_release(&bytes);
}

static int teardown(void **state) {
    (void)state;
    trace_release(&trace);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_gzip_members),
        cmocka_unit_test(test_gzip_damage),
        cmocka_unit_test(test_gzip_cuts),
        cmocka_unit_test(test_bombs_end_at_the_limit),
        cmocka_unit_test(test_layers_are_limited),
        cmocka_unit_test(test_zip),
        cmocka_unit_test(test_zip_refusals),
        cmocka_unit_test(test_zip_sizes),
        cmocka_unit_test(test_zip_cuts),
        cmocka_unit_test(test_memory_viz_pages),
        cmocka_unit_test(test_page_refusals),
        cmocka_unit_test(test_page_cuts),
    };
    return cmocka_run_group_tests_name("containers", tests, NULL, teardown);
}
