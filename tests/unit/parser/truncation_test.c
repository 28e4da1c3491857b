/*
 * Real files, cut off at each of their first bytes and at many other places. A cut file must give a true part of the
 * whole recording, and a note that it was cut.
 *
 *     STRATA_CORPUS=folder truncation_test          needs the files named below
 */
#include "dice.h"
#include "memory_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <zlib.h>

#include <cmocka.h>

#ifdef __SANITIZE_ADDRESS__ /* eight times as slow, so only a fifth of the random places */
enum { FIRST_CUTS = 4096, RANDOM_CUTS = 400, GZIP_CUTS = 60 };
#else
enum { FIRST_CUTS = 4096, RANDOM_CUTS = 2000, GZIP_CUTS = 300 };
#endif

static struct bytes file_read(const char *name) {
    struct bytes bytes = {0};
    char path[1024];
    uint8_t block[64 << 10];
    size_t got;
    snprintf(path, sizeof path, "%s/%s", getenv("STRATA_CORPUS"), name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s is not there", path);
    while ((got = fread(block, 1, sizeof block, file)) != 0)
        bytes_add(&bytes, block, got);
    (void)fclose(file);
    return bytes;
}

static struct bytes gzipped(const struct bytes *from) {
    struct bytes to = {.capacity = from->nbytes + 1024};
    to.at = malloc(to.capacity);
    z_stream stream = {.next_in = from->at,
                       .avail_in = (unsigned)from->nbytes,
                       .next_out = to.at,
                       .avail_out = (unsigned)to.capacity};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    to.nbytes = stream.total_out;
    deflateEnd(&stream);
    return to;
}

/* Allocations end as in the whole file, or go on to the cut. A file cut between a request to free and its completion
 * may have no completions; it then counts as recorded without them, and the request is the end. */
static bool deaths_agree(uint32_t part, uint32_t whole, uint32_t n_events) {
    return part == whole ||
           (whole > n_events && (part == n_events + 1 || (part == n_events && whole == n_events + 1)));
}

/* `part` has the same allocations as `whole` among those that began within its events. */
static bool allocations_agree(const struct allocations *part, const struct allocations *whole,
                              uint32_t n_events) {
    uint32_t w = whole->preexisting;
    for (uint32_t p = part->preexisting; p < part->count; p++, w++) {
        if (w == whole->count || part->birth[p] != whole->birth[w] || part->size[p] != whole->size[w] ||
            part->address[p] != whole->address[w] || !deaths_agree(part->death[p], whole->death[w], n_events))
            return false;
    }
    return w == whole->count || whole->birth[w] > n_events;
}

static bool device_agrees(const struct device_trace *part, const struct device_trace *whole) {
    if (whole == NULL || part->n_events > whole->n_events ||
        (part->time_us == NULL) != (whole->time_us == NULL))
        return false;
    for (uint32_t i = 0; part->time_us != NULL && i < part->n_events; i++)
        if (part->time_us[i] != whole->time_us[i])
            return false;
    return allocations_agree(&part->allocations, &whole->allocations, part->n_events);
}

static uint64_t events_of(const struct trace *trace) {
    uint64_t n_events = 0;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        n_events += trace->devices[i].n_events;
    return n_events;
}

/* The fault of the file cut here; NULL: none. `n_events` rises with the cut. */
static const char *cut_complaint(const struct trace *whole, const struct bytes *file, size_t cut,
                                 uint64_t *n_events) {
    struct trace part;
    struct read_error error;
    const char *complaint = NULL;
    *n_events = 0;
    if (memory_input_trace(&part, file->at, cut, 0, SIZE_MAX, &error)) {
        *n_events = events_of(&part);
        if (*n_events == 0)
            complaint = "read without an event";
        else if (!trace_has_diagnostic(&part, "truncated"))
            complaint = "does not say that it is cut";
        for (uint32_t i = 0; i < part.n_devices; i++)
            if (!device_agrees(&part.devices[i], trace_device(whole, part.devices[i].ordinal)))
                complaint = "differs from the whole file";
    } else if (error.code != READ_TRUNCATED && !(error.code == READ_EMPTY && cut == 0) &&
               !(error.code == READ_UNKNOWN_KIND && cut < 16) && error.code != READ_NO_DATA) {
        complaint = error.message[0] != '\0' ? "refused for another reason" : "refused without a reason";
    }
    trace_release(&part);
    return complaint;
}

static void check_cut(const struct trace *whole, const struct bytes *file, size_t cut, uint64_t *n_events) {
    const char *complaint = cut_complaint(whole, file, cut, n_events);
    if (complaint != NULL)
        fail_msg("cut at %zu of %zu bytes: %s", cut, file->nbytes, complaint);
}

/* `data_nbytes`: where the recording ends; a cut after it removes nothing. */
static void check_file(struct bytes *file, size_t data_nbytes, size_t random_cuts) {
    struct trace whole;
    struct read_error error;
    uint64_t n_events, most = 0;
    struct dice dice = {1};
    if (!memory_input_trace(&whole, file->at, file->nbytes, 0, SIZE_MAX, &error))
        fail_msg("%s (offset %d)", error.message, (int)error.offset);
    assert_false(trace_has_diagnostic(&whole, "truncated"));
    for (size_t cut = 0; cut < FIRST_CUTS && cut < data_nbytes; cut++)
        check_cut(&whole, file, cut, &n_events);
    for (size_t i = 0; i < random_cuts; i++) {
        check_cut(&whole, file, (size_t)(dice_roll_64(&dice) % data_nbytes), &n_events);
        most = n_events > most ? n_events : most;
    }
    check_cut(&whole, file, data_nbytes - 1, &n_events);
    assert_true(n_events == events_of(&whole));
    assert_true(most != 0);
    trace_release(&whole);
    bytes_release(file);
}

static bool has_corpus(void) {
    if (getenv("STRATA_CORPUS") != NULL)
        return true;
    print_message("skipped: STRATA_CORPUS is not set\n");
    return false;
}

static void check_pickle(const char *name) {
    if (!has_corpus())
        skip();
    struct bytes file = file_read(name);
    check_file(&file, file.nbytes, RANDOM_CUTS);
}

static void test_streams(void **state) {
    (void)state;
    check_pickle("streams_compile_context.pickle");
}

static void test_history_behind_segments(void **state) {
    (void)state;
    check_pickle("npu_multi_device.pkl");
}

static void test_four_devices(void **state) {
    (void)state;
    check_pickle("oom_expandable_4dev.pickle");
}

static void test_gzip(void **state) {
    (void)state;
    if (!has_corpus())
        skip();
    struct bytes file = file_read("oom_expandable_4dev.pickle");
    struct bytes packed = gzipped(&file);
    bytes_release(&file);
    check_file(&packed, packed.nbytes - 16, GZIP_CUTS);
}

static void test_page(void **state) {
    (void)state;
    if (!has_corpus())
        skip();
    struct bytes file = file_read("memory_viz_page_forward.html");
    const uint8_t *end = memmem(file.at, file.nbytes, "\"}]", 3);
    assert_non_null(end);
    check_file(&file, (size_t)(end - file.at) - 4, GZIP_CUTS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),      cmocka_unit_test(test_history_behind_segments),
        cmocka_unit_test(test_four_devices), cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_page),
    };
    return cmocka_run_group_tests_name("truncation", tests, NULL, NULL);
}
