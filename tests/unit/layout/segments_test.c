/* Segments and blocks of hand-made recordings at several moments, and why they hold more than is used. */
#include "recording.h"

#include "analysis/model/fragmentation.h"
#include "base/numbers.h"
#include "dice.h"

enum { BASE = 0x10000000 };

static void change(struct recording *recording, uint32_t event, enum segment_change change, uint64_t address,
                   uint64_t size) {
    recording->segment_events[recording->device.n_segment_events++] =
        (struct segment_event){.event = event, .change = (uint8_t)change, .address = address, .size = size};
}

static struct held state_after(struct recording *recording, uint32_t event) {
    struct segments segments;
    struct held held;
    assert_true(segments_init(&segments, &recording->device, &recording->arena));
    assert_true(
        fragmentation_state(&held, &recording->timeline, &segments, NULL, event + 1, &recording->arena));
    return held;
}

static struct fragmentation causes_after(struct recording *recording, uint32_t event) {
    struct segments segments;
    struct fragmentation found;
    int64_t sum = 0;
    assert_true(segments_init(&segments, &recording->device, &recording->arena));
    assert_true(
        fragmentation_find(&found, &recording->timeline, &segments, NULL, event + 1, &recording->arena));
    for (unsigned i = 0; i < GAP_CAUSES; i++)
        sum += found.cause_bytes[i];
    assert_int_equal(sum, found.gap_bytes);
    return found;
}

static void assert_segment(const struct held *held, uint32_t index, uint64_t address, uint64_t size,
                           uint32_t n_blocks) {
    assert_int_equal(held->segment[index].address, address);
    assert_int_equal(held->segment[index].size, size);
    assert_int_equal(held->segment[index].n_blocks, n_blocks);
}

/* A segment that came and went, one that stays, and blocks with remainders. */
static void test_segments_come_and_go(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, 0, 1, (const int64_t[]){4 << 20, -(16 << 20), 0});
    change(recording, 2, SEGMENT_ALLOC, BASE, 20 * MIB);
    change(recording, 5, SEGMENT_ALLOC, 2 * BASE, 2 * MIB);
    change(recording, 15, SEGMENT_FREE, 2 * BASE, 2 * MIB);
    recording_allocation_at(recording, 4, STAYS, 4 * MIB, BASE);
    uint32_t small = recording_allocation_at(recording, 7, 12, 1000, 2 * BASE + 512);
    recording->request[small] = 10;
    recording_allocation_at(recording, 8, 14, 15 * MIB + 100,
                            BASE + 4 * MIB); /* less than 1 MiB is left after it, which is its remainder */
    recording_settle(recording, 20);
    assert_int_equal(state_after(recording, 0).n_segments, 0);
    struct held held = state_after(recording, 8);
    assert_int_equal(held.n_segments, 2);
    assert_segment(&held, 0, BASE, 20 * MIB, 2);
    assert_int_equal(held.block[1].size, 16 * MIB);
    assert_segment(&held, 1, 2 * BASE, 2 * MIB, 3);
    assert_int_equal(held.block[2].allocation, ALLOCATION_NONE);
    assert_int_equal(held.block[3].size, 1024);
    assert_int_equal(held.block[3].state, BLOCK_ALLOCATED);
    assert_int_equal(state_after(recording, 10).block[3].state, BLOCK_PENDING_FREE);
    assert_int_equal(held.segment[1].flags, SEGMENT_SMALL);
    struct fragmentation found = causes_after(recording, 8);
    assert_int_equal(found.cause_bytes[GAP_ROUNDING], 24 + 412);
    assert_int_equal(found.cause_bytes[GAP_UNSPLIT], MIB - 512);
    assert_int_equal(found.cause_bytes[GAP_FREE_BLOCKS], 2 * MIB - 1024);
    assert_int_equal(found.n_pinned, 1);
    assert_int_equal(found.pinned[0].allocation, small);
    assert_int_equal(causes_after(recording, 13).cause_bytes[GAP_EMPTY_SEGMENTS], 2 * MIB);
    recording_close(recording);
}

static void test_pages_join_and_part(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, SEGMENT_EXPANDABLE, 1, (const int64_t[]){30 << 20, -(30 << 20), 0});
    change(recording, 5, SEGMENT_MAP, BASE + 20 * MIB, 20 * MIB);
    change(recording, 11, SEGMENT_UNMAP, BASE + 60 * MIB, 20 * MIB);
    recording_allocation_at(recording, 8, STAYS, 30 * MIB, BASE);
    recording_settle(recording, 20);
    struct held held = state_after(recording, 3);
    assert_int_equal(held.n_segments, 2); /* the pages between were not there yet */
    assert_segment(&held, 0, BASE, 20 * MIB, 1);
    assert_segment(&held, 1, BASE + 40 * MIB, 40 * MIB, 1);
    held = state_after(recording, 9);
    assert_int_equal(held.n_segments, 1);
    assert_segment(&held, 0, BASE, 80 * MIB, 2);
    struct fragmentation found = causes_after(recording, 9);
    assert_int_equal(found.cause_bytes[GAP_EXPANDABLE_TAIL], 50 * MIB);
    assert_int_equal(found.cause_bytes[GAP_FREE_BLOCKS], 0);
    recording_close(recording);
}

static void test_private_pools_keep_to_themselves(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording->pools[2] = (struct pool_id){0, 7};
    recording->device.n_pools = 3;
    recording_segment(recording, BASE, 0, 2, (const int64_t[]){4 << 20, -(16 << 20), 0});
    recording_allocation_at(recording, 0, STAYS, 4 * MIB, BASE);
    recording_settle(recording, 3);
    assert_int_equal(causes_after(recording, 1).cause_bytes[GAP_PRIVATE], 16 * MIB);
    recording_close(recording);
}

/* Blocks that overlap or lie in no segment are left out, and counted. */
static void test_contradictions_are_counted(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_segment(recording, BASE, 0, 1, (const int64_t[]){-(20 << 20), 0});
    recording_allocation_at(recording, 1, STAYS, 4 * MIB, BASE);
    recording_allocation_at(recording, 2, STAYS, 8 * MIB, BASE + 2 * MIB);
    recording_allocation_at(recording, 3, STAYS, MIB, BASE + 2 * MIB);
    recording_allocation_at(recording, 4, STAYS, 5 * MIB, 4 * BASE);
    change(recording, 6, SEGMENT_ALLOC, BASE + 10 * MIB, 20 * MIB);
    recording_settle(recording, 20);
    struct held held = state_after(recording, 10);
    assert_int_equal(held.n_outside, 2);
    (void)causes_after(recording, 10);
    (void)causes_after(recording, 3);
    recording_close(recording);
}

enum { PLACES = 48, CHANGES = 12 };

/* The memory at a moment, place by place. */
struct places {
    bool there[PLACES];
};

static void assert_places(struct recording *recording, uint32_t event, const struct places *wanted) {
    struct held held = state_after(recording, event);
    struct places found = {{false}};
    for (uint32_t i = 0; i < held.n_segments; i++)
        for (uint64_t at = 0; at < held.segment[i].size; at += MIB) {
            uint64_t place = (held.segment[i].address + at - BASE) / MIB;
            assert_false(found.there[place]); /* nothing is there twice */
            found.there[place] = true;
        }
    assert_memory_equal(&found, wanted, sizeof found);
}

/* Undoes an event; returns how many places contradict it. */
static uint32_t place_by_place(struct places *places, const struct segment_event *event) {
    bool gone = event->change == SEGMENT_FREE || event->change == SEGMENT_UNMAP;
    uint32_t first = (uint32_t)((event->address - BASE) / MIB), contradicted = 0;
    for (uint32_t i = 0; i < event->size / MIB; i++) {
        contradicted += places->there[first + i] == gone;
        places->there[first + i] = gone;
    }
    return contradicted;
}

/* Events and segments that overlap in any way, compared with a walk over single places. */
static void test_ranges_that_overlap(void **state) {
    (void)state;
    struct dice dice = {7};
    for (int round = 0; round < 200; round++) {
        struct recording *recording = recording_open();
        struct places places[CHANGES + 1] = {0};
        uint64_t contradicted = 0;
        for (uint32_t i = 0; i < CHANGES; i++) {
            uint32_t first = dice_below(&dice, PLACES), count = dice_below(&dice, PLACES - first) + 1;
            change(recording, i, dice_below(&dice, 2) ? SEGMENT_MAP : SEGMENT_UNMAP, BASE + first * MIB,
                   count * MIB);
        }
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t first = dice_below(&dice, PLACES - 16), size = dice_below(&dice, 16) + 1;
            recording_segment(recording, BASE + first * MIB, SEGMENT_EXPANDABLE, 1,
                              (const int64_t[]){-(int64_t)(size * MIB), 0});
            contradicted +=
                place_by_place(&places[CHANGES], &(struct segment_event){.change = SEGMENT_FREE,
                                                                         .address = BASE + first * MIB,
                                                                         .size = size * MIB});
        }
        recording_settle(recording, CHANGES);
        for (uint32_t i = CHANGES; i-- > 0;) {
            places[i] = places[i + 1];
            contradicted += place_by_place(&places[i], &recording->segment_events[i]);
        }
        for (uint32_t i = 0; i < CHANGES; i++)
            assert_places(recording, i, &places[i + 1]);
        struct segments segments;
        assert_true(segments_init(&segments, &recording->device, &recording->arena));
        assert_int_equal(segments.contradicted_bytes, contradicted * MIB);
        recording_close(recording);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segments_come_and_go),
        cmocka_unit_test(test_pages_join_and_part),
        cmocka_unit_test(test_private_pools_keep_to_themselves),
        cmocka_unit_test(test_contradictions_are_counted),
        cmocka_unit_test(test_ranges_that_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
