/* Groups of releases in hand-made events. */
#include "recording.h"

#include "analysis/model/releases.h"
#include "base/numbers.h"

static void change(struct recording *recording, uint32_t event, enum segment_change change, uint64_t size,
                   uint32_t stack) {
    recording->segment_events[recording->device.n_segment_events++] =
        (struct segment_event){.event = event, .change = (uint8_t)change, .size = size, .stack = stack};
}

static struct releases found(struct recording *recording) {
    struct releases releases;
    recording_settle(recording, 100);
    assert_true(releases_find(&releases, &recording->trace, &recording->device, &recording->arena));
    return releases;
}

static void test_retry_and_empty_cache(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t train = recording_stack(recording, 0, "train.py", "step");
    uint32_t empty = recording_stack(recording, train, "memory.py", "empty_cache");
    uint32_t inner = recording_stack(recording, empty, "x.cpp", "release_blocks");
    change(recording, 10, SEGMENT_FREE, 20 * MIB, train);
    change(recording, 11, SEGMENT_UNMAP, 2 * MIB, train);
    change(recording, 12, SEGMENT_ALLOC, 30 * MIB, train);
    change(recording, 20, SEGMENT_FREE, 4 * MIB, inner);
    change(recording, 21, SEGMENT_ALLOC, 4 * MIB, inner); /* a call of empty_cache serves no request */
    change(recording, 30, SEGMENT_FREE, 6 * MIB, train);  /* no request follows */
    change(recording, 32, SEGMENT_FREE, 8 * MIB, train);
    recording->ooms[0] = (struct oom_event){.event = 33, .stack = train};
    recording->device.n_ooms = 1;
    struct releases releases = found(recording);
    assert_int_equal(releases.count, 4);
    assert_int_equal(releases.group[0].cause, RELEASE_RETRY);
    assert_int_equal(releases.group[0].bytes, 22 * MIB);
    assert_int_equal(releases.group[0].taken_bytes, 30 * MIB);
    assert_int_equal(releases.group[1].cause, RELEASE_EXPLICIT);
    assert_int_equal(releases.group[2].cause, RELEASE_EXPLICIT);
    assert_int_equal(releases.group[3].cause, RELEASE_RETRY);
    assert_true(releases.group[3].out_of_memory);
    assert_int_equal(releases.n_of_cause[RELEASE_RETRY], 2);
    assert_int_equal(releases.bytes_of_cause[RELEASE_EXPLICIT], 10 * MIB);
    recording_close(recording);
}

static void test_without_stacks(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t train = recording_stack(recording, 0, "train.py", "step");
    change(recording, 10, SEGMENT_FREE, 20 * MIB, 0);
    change(recording, 11, SEGMENT_ALLOC, 30 * MIB, train); /* stacks are recorded with allocations only */
    change(recording, 20, SEGMENT_FREE, 20 * MIB, 0);
    change(recording, 21, SEGMENT_MAP, 30 * MIB, 0);
    struct releases releases = found(recording);
    assert_int_equal(releases.group[0].cause, RELEASE_EXPLICIT);
    assert_int_equal(releases.group[1].cause, RELEASE_UNKNOWN);
    recording_close(recording);
}

static void test_a_collection(void **state) {
    (void)state;
    static const char json[] = "{\"garbage_collection_threshold\":0.8}";
    struct recording *recording = recording_open();
    uint32_t train = recording_stack(recording, 0, "train.py", "step");
    recording->trace.settings = recording_text(recording, json);
    change(recording, 10, SEGMENT_FREE, 20 * MIB, train);
    change(recording, 11, SEGMENT_ALLOC, 30 * MIB, train);
    assert_int_equal(found(recording).group[0].cause, RELEASE_COLLECTED);
    recording_close(recording);
}

static void test_nothing_given_back(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    change(recording, 1, SEGMENT_ALLOC, 30 * MIB, 0);
    assert_int_equal(found(recording).count, 0);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retry_and_empty_cache),
        cmocka_unit_test(test_without_stacks),
        cmocka_unit_test(test_a_collection),
        cmocka_unit_test(test_nothing_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
