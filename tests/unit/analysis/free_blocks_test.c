/* Free blocks of hand-made segments, at the end and at an earlier moment. */
#include "recording.h"

#include "analysis/model/free_blocks.h"
#include "base/numbers.h"

enum { BASE = 0x10000000 };

static struct free_blocks_summary free_blocks_at_end(struct recording *recording) {
    struct free_blocks_summary summary;
    assert_true(free_blocks_find(&summary, &recording->device, &recording->arena));
    return summary;
}

static struct free_blocks_summary free_blocks_after(struct recording *recording, uint32_t event,
                                                    bool exact_wanted) {
    struct free_blocks_summary summary;
    bool exact;
    assert_true(free_blocks_at(&summary, &exact, &recording->device, event + 1, &recording->arena));
    assert_int_equal(exact, exact_wanted);
    return summary;
}

static void assert_free_blocks(const struct free_blocks *free_blocks, uint32_t n_segments, uint64_t reserved,
                               uint64_t free_bytes, uint32_t n_free_blocks, uint64_t largest) {
    assert_int_equal(free_blocks->n_segments, n_segments);
    assert_int_equal(free_blocks->reserved_bytes, reserved);
    assert_int_equal(free_blocks->free_bytes, free_bytes);
    assert_int_equal(free_blocks->n_free_blocks, n_free_blocks);
    assert_int_equal(free_blocks->largest_bytes, largest);
}

static void test_final_free_blocks_by_group(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, 0, 1, (const int64_t[]){10 << 20, -(6 << 20), 4 << 20, 0});
    recording_segment(recording, 2 * BASE, SEGMENT_SMALL, 1, (const int64_t[]){1024, -((2 << 20) - 1024), 0});
    recording_segment(recording, 3 * BASE, 0, 1, (const int64_t[]){-(20 << 20), 0});
    recording_segment(recording, 4 * BASE, 0, 2, (const int64_t[]){-(3 << 20), 1 << 20, 0});
    recording->blocks[2].state = BLOCK_PENDING_FREE;
    recording->blocks[0].requested_size -= 300;
    struct free_blocks_summary summary = free_blocks_at_end(recording);
    assert_int_equal(summary.n_groups, 3); /* by pool, stream, large before small */
    assert_free_blocks(&summary.groups[0].free_blocks, 2, 40 * MIB, 26 * MIB, 2, 20 * MIB);
    assert_free_blocks(&summary.groups[1].free_blocks, 1, 2 * MIB, 2 * MIB - 1024, 1, 2 * MIB - 1024);
    assert_free_blocks(&summary.groups[2].free_blocks, 1, 4 * MIB, 3 * MIB, 1, 3 * MIB);
    assert_true(summary.groups[1].small);
    assert_int_equal(summary.groups[2].pool, 2);
    assert_int_equal(summary.all.pending_bytes, 4 * MIB);
    assert_int_equal(summary.all.used_bytes, 11 * MIB + 1024);
    assert_int_equal(free_blocks_rounding(&summary.all), 300);
    assert_int_equal(summary.all.n_empty, 1);
    assert_int_equal(summary.all.empty_bytes, 20 * MIB);
    assert_int_equal(summary.count_of_size[1], 3); /* 1 MiB to 10 MiB */
    assert_int_equal(summary.bytes_of_size[2], 20 * MIB);
    recording_close(recording);
}

/* Bytes of a segment that no block covers are free, but are not a free block. */
static void test_a_segment_larger_than_its_blocks(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, 0, 1, (const int64_t[]){1 << 20, 0});
    recording->segments[0].total_size = 5 * MIB;
    struct free_blocks_summary summary = free_blocks_at_end(recording);
    assert_free_blocks(&summary.all, 1, 5 * MIB, 4 * MIB, 0, 0);
    recording_close(recording);
}

/* Free blocks are joined again when the allocation between them is gone. */
static void test_blocks_join_again(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, 0, 1, (const int64_t[]){4 << 20, -(6 << 20), 0});
    recording_allocation_at(recording, 1, STAYS, 4 * MIB, BASE);
    recording_allocation_at(recording, 12, 15, MIB, BASE + 4 * MIB);
    recording_settle(recording, 20);
    struct free_blocks_summary summary = free_blocks_after(recording, 10, true);
    assert_free_blocks(&summary.all, 1, 10 * MIB, 6 * MIB, 1, 6 * MIB);
    /* While the allocation between them is live. */
    assert_int_equal(free_blocks_after(recording, 12, false).all.free_bytes, 5 * MIB);
    recording_close(recording);
}

static void test_gaps_between_live_allocations(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, 0, 1, (const int64_t[]){-(10 << 20), 0});
    uint32_t pending =
        recording_allocation_at(recording, 1, 15, MIB + 1, BASE + MIB); /* rounded up to 1 MiB + 512 */
    recording_allocation_at(recording, 2, 16, 2 * MIB, BASE + 4 * MIB);
    recording_allocation_at(recording, 3, 5, MIB, BASE); /* gone before */
    recording->request[pending] = 8;
    recording_settle(recording, 20);
    struct free_blocks_summary summary = free_blocks_after(recording, 10, false);
    assert_free_blocks(&summary.all, 1, 10 * MIB, 7 * MIB - 512, 3, 4 * MIB);
    assert_int_equal(summary.all.pending_bytes, MIB + 512);
    assert_int_equal(summary.all.used_bytes, 2 * MIB);
    assert_int_equal(summary.count_of_size[1], 3);
    assert_int_equal(free_blocks_at_end(recording).all.largest_bytes, 10 * MIB);
    recording_close(recording);
}

static void segment_event(struct recording *recording, uint32_t event, enum segment_change change,
                          uint64_t address, uint64_t size) {
    recording->segment_events[recording->device.n_segment_events++] =
        (struct segment_event){.event = event, .change = (uint8_t)change, .address = address, .size = size};
}

static void test_segments_that_came_and_went_since(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, 0, 1, (const int64_t[]){-(20 << 20), 0});
    recording_segment(recording, 2 * BASE, 0, 1, (const int64_t[]){-(20 << 20), 0});
    segment_event(recording, 5, SEGMENT_ALLOC, BASE, 20 * MIB);
    segment_event(recording, 11, SEGMENT_FREE, 3 * BASE, 30 * MIB);
    segment_event(recording, 12, SEGMENT_ALLOC, 2 * BASE, 20 * MIB);
    segment_event(recording, 13, SEGMENT_ALLOC, 3 * BASE, 40 * MIB); /* the older segment counts */
    segment_event(recording, 14, SEGMENT_FREE, 3 * BASE, 40 * MIB);
    recording_allocation_at(recording, 6, 15, 4 * MIB, 3 * BASE);
    recording_settle(recording, 20);
    struct free_blocks_summary summary = free_blocks_after(recording, 10, false);
    assert_int_equal(summary.n_groups, 2);
    assert_int_equal(summary.groups[0].pool, POOL_UNKNOWN); /* the pool of segments that were given back */
    assert_free_blocks(&summary.groups[0].free_blocks, 1, 30 * MIB, 26 * MIB, 1, 26 * MIB);
    assert_free_blocks(&summary.groups[1].free_blocks, 1, 20 * MIB, 20 * MIB, 1, 20 * MIB);
    assert_int_equal(summary.groups[1].free_blocks.empty_bytes, 20 * MIB);
    recording_close(recording);
}

/* Pages of an expandable segment: pages unmapped later are added to the final ones, pages mapped later are removed. */
static void test_pages_of_an_expandable_segment(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, SEGMENT_EXPANDABLE, 1, (const int64_t[]){4 << 20, -(4 << 20), 0});
    segment_event(recording, 11, SEGMENT_UNMAP, BASE + 8 * MIB, 10 * MIB);
    segment_event(recording, 12, SEGMENT_MAP, BASE + 6 * MIB, 2 * MIB);
    recording_allocation_at(recording, 1, STAYS, 4 * MIB, BASE);
    recording_settle(recording, 20);
    struct free_blocks_summary summary = free_blocks_after(recording, 10, false);
    assert_int_equal(summary.n_groups,
                     2); /* the pages between them were not there yet, so they do not touch */
    assert_free_blocks(&summary.all, 2, 16 * MIB, 12 * MIB, 2, 10 * MIB);
    recording->segment_events[1].event = 5;
    recording->segment_events[0].event = 5;
    segment_event(recording, 11, SEGMENT_UNMAP, BASE + 8 * MIB, 10 * MIB);
    summary = free_blocks_after(recording, 10, false);
    assert_int_equal(summary.n_groups, 1);
    assert_int_equal(summary.groups[0].pool, 1);
    assert_free_blocks(&summary.all, 1, 18 * MIB, 14 * MIB, 1, 14 * MIB);
    recording_close(recording);
}

/* Ranges that overlap, have size 0 or end with the address space are used as they are. */
static void test_hostile_ranges(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, UINT64_MAX - MIB, 0, 1, (const int64_t[]){-(4 << 20), 0});
    recording_segment(recording, BASE, 0, 1, (const int64_t[]){-(4 << 20), 0});
    recording_segment(recording, BASE + MIB, 0, 2, (const int64_t[]){-(1 << 20), 0});
    segment_event(recording, 11, SEGMENT_FREE, UINT64_MAX - 10, UINT64_MAX);
    segment_event(recording, 12, SEGMENT_FREE, BASE, 0);
    recording_allocation_at(recording, 1, 15, UINT64_MAX, BASE + 2 * MIB);
    recording_settle(recording, 20);
    struct free_blocks_summary summary = free_blocks_after(recording, 10, false);
    assert_int_equal(summary.all.reserved_bytes, 5 * MIB);
    assert_int_equal(summary.all.used_bytes, 2 * MIB);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_final_free_blocks_by_group),
        cmocka_unit_test(test_a_segment_larger_than_its_blocks),
        cmocka_unit_test(test_blocks_join_again),
        cmocka_unit_test(test_gaps_between_live_allocations),
        cmocka_unit_test(test_segments_that_came_and_went_since),
        cmocka_unit_test(test_pages_of_an_expandable_segment),
        cmocka_unit_test(test_hostile_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
