/*
 * Files that another program changes while they are read. Each change happens between two reads of the parser, at an
 * exact byte. The reading thread is ahead by at most its ring of blocks (4 MiB and the block that it is reading), so it
 * reads everything beyond that after the change.
 */
#include "cli/input.h"
#include "memory_input.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20, FILE_NBYTES = 16 * MIB, CHANGE_AT = 1 * MIB, READ_AHEAD_NBYTES = 6 * MIB };

/* ---- the file ---- */

static const char head[] = "\x80\4}(\x8c\x0d"
                           "device_traces](](";
static const char event[] = "}(\x8c\6action\x8c\5alloc\x8c\4addrM%\0\x8c\4sizeK\x64u";
static const char tail[] = "eeu.";

/* One device, with enough allocations for FILE_NBYTES. */
static struct bytes recording_make(void) {
    struct bytes bytes = {0};
    BYTES(&bytes, head);
    while (bytes.nbytes < FILE_NBYTES - sizeof event)
        BYTES(&bytes, event);
    BYTES(&bytes, tail);
    return bytes;
}

static char path[] = P_tmpdir "/strata-input-XXXXXX";
static struct bytes whole;

static int setup(void **state) {
    (void)state;
    int fd = mkstemp(path);
    whole = recording_make();
    return fd < 0 || close(fd) != 0 ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    bytes_release(&whole);
    return unlink(path);
}

static void file_write(const struct bytes *bytes, size_t from, size_t to) {
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    while (from < to) {
        ssize_t n = pwrite(fd, bytes->at + from, to - from, (off_t)from);
        assert_true(n > 0);
        from += (size_t)n;
    }
    assert_int_equal(close(fd), 0);
}

static void file_cut(size_t nbytes) {
    assert_int_equal(truncate(path, (off_t)nbytes), 0);
}

/* ---- reading it while it changes ---- */

struct changing {
    struct read_source source;
    void (*change)(void);
    uint64_t nbytes; /* handed out */
};

static int64_t changing_read(void *context, void *to, size_t nbytes) {
    struct changing *changing = context;
    if (changing->nbytes >= CHANGE_AT && changing->change != NULL) {
        changing->change();
        changing->change = NULL;
    }
    int64_t got = changing->source.read(changing->source.context, to, nbytes);
    changing->nbytes += got > 0 ? (uint64_t)got : 0;
    return got;
}

static struct trace trace;
static struct read_error error;

/* Reads the file, which at first holds `nbytes` of the recording. `*seen_nbytes`: the bytes that could be read. */
static bool read_changing(size_t nbytes, void (*change)(void), uint64_t *seen_nbytes) {
    struct input input;
    char fingerprint[FINGERPRINT_CHARACTERS + 1];
    file_cut(0);
    file_write(&whole, 0, nbytes);
    assert_true(input_open(&input, path));
    struct changing changing = {.source = input_source(&input), .change = change};
    struct read_source source = {.read = changing_read, .context = &changing};
    assert_true(trace_init(&trace, plain_host, SIZE_MAX));
    bool done = trace_read(&trace, &source, NULL, &error);
    assert_null(changing.change);
    assert_true(input_finish(&input, fingerprint));
    assert_int_equal(strlen(fingerprint), FINGERPRINT_CHARACTERS);
    input_close(&input);
    *seen_nbytes = changing.nbytes;
    return done;
}

/* Expects the events of a file that was always this short. */
static void expect_cut_at(uint64_t nbytes) {
    struct trace cut;
    struct read_error none;
    assert_true(memory_input_trace(&cut, whole.at, (size_t)nbytes, 0, SIZE_MAX, &none));
    assert_true(trace_has_diagnostic(&trace, "truncated"));
    assert_int_equal(trace.n_devices, 1);
    assert_int_equal(trace.devices[0].n_events, cut.devices[0].n_events);
    trace_release(&cut);
}

static void cut_ahead(void) {
    file_cut(10 * MIB + 5);
}

static void test_cut_ahead_of_the_reader(void **state) {
    (void)state;
    uint64_t seen;
    assert_true(read_changing(whole.nbytes, cut_ahead, &seen));
    assert_int_equal(seen, 10 * MIB + 5);
    expect_cut_at(seen);
    trace_release(&trace);
}

static void cut_to_nothing(void) {
    file_cut(0);
}

/* Bytes that were read before the cut count; none is read again. */
static void test_cut_behind_the_reader(void **state) {
    (void)state;
    uint64_t seen;
    assert_true(read_changing(whole.nbytes, cut_to_nothing, &seen));
    assert_in_range(seen, CHANGE_AT, READ_AHEAD_NBYTES);
    expect_cut_at(seen);
    trace_release(&trace);
}

static void grow(void) {
    file_write(&whole, 10 * MIB, whole.nbytes);
}

static void test_a_file_that_is_still_being_written(void **state) {
    (void)state;
    uint64_t seen;
    assert_true(read_changing(10 * MIB, grow, &seen));
    assert_int_equal(seen, whole.nbytes);
    assert_false(trace_has_diagnostic(&trace, "truncated"));
    assert_int_equal(trace.devices[0].n_events,
                     (whole.nbytes - (sizeof head - 1) - (sizeof tail - 1)) / (sizeof event - 1));
    trace_release(&trace);
}

static void overwrite(void) {
    static const uint8_t wrong[MIB] = {0};
    struct bytes bytes = {.at = malloc(9 * MIB), .nbytes = 9 * MIB};
    assert_non_null(bytes.at);
    memcpy(bytes.at + 8 * MIB, wrong, MIB);
    file_write(&bytes, 8 * MIB, 9 * MIB);
    free(bytes.at);
}

static void test_overwritten_ahead_of_the_reader(void **state) {
    (void)state;
    uint64_t seen;
    assert_false(read_changing(whole.nbytes, overwrite, &seen));
    assert_true(error.code == READ_BAD_OPCODE || error.code == READ_BAD_VALUE);
    assert_in_range(error.offset, 8 * MIB - sizeof event, 8 * MIB + sizeof event);
    trace_release(&trace);
}

static void replace(void) {
    assert_int_equal(unlink(path), 0);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

/* The name belongs to another file now; the program reads the opened one to its end. */
static void test_replaced(void **state) {
    (void)state;
    uint64_t seen;
    assert_true(read_changing(whole.nbytes, replace, &seen));
    assert_int_equal(seen, whole.nbytes);
    trace_release(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_ahead_of_the_reader),
        cmocka_unit_test(test_cut_behind_the_reader),
        cmocka_unit_test(test_a_file_that_is_still_being_written),
        cmocka_unit_test(test_overwritten_ahead_of_the_reader),
        cmocka_unit_test(test_replaced),
    };
    return cmocka_run_group_tests_name("input", tests, setup, teardown);
}
