/* The curve, its peaks and what is unused, against a plain sum over all allocations at each moment. */
#include "dice.h"
#include "recording.h"

enum { EVENTS = 1000, MOMENTS = EVENTS + 1 };

struct plain {
    uint64_t live[MOMENTS], reserved[MOMENTS];
};

static struct recording *recording_make(struct dice *dice, struct plain *plain) {
    struct recording *recording = recording_open();
    uint64_t reserved = 0;
    *plain = (struct plain){0};
    for (uint32_t birth = 0; birth < EVENTS; birth += dice_below(dice, 5)) {
        uint32_t death = dice_below(dice, 4) == 0 ? STAYS : birth + 1 + dice_below(dice, 300);
        uint64_t size = 1 + dice_below(dice, 1000);
        if (recording->device.allocations.count == RECORDING_ALLOCATIONS)
            break;
        recording_allocation(recording, birth, death, size, 0);
        for (uint32_t m = birth; m < death && m < MOMENTS; m++)
            plain->live[m] += size;
    }
    for (uint32_t i = 0; i < RECORDING_SEGMENTS; i++) {
        uint32_t event = i * EVENTS / RECORDING_SEGMENTS + dice_below(dice, EVENTS / RECORDING_SEGMENTS);
        uint64_t size = 1000 + dice_below(dice, 100000);
        recording->segment_events[recording->device.n_segment_events++] =
            (struct segment_event){.event = event, .size = size, .change = SEGMENT_ALLOC};
        for (uint32_t m = event + 1; m < MOMENTS; m++)
            plain->reserved[m] += size;
        reserved += size;
    }
    recording->segments[recording->device.n_segments++] = (struct segment){.total_size = reserved};
    return recording;
}

static void range_check(const struct timeline *timeline, const struct plain *plain, uint32_t from,
                        uint32_t to) {
    uint32_t peak = from;
    uint64_t unused = 0;
    for (uint32_t m = from; m < to; m++) {
        peak = plain->live[m] > plain->live[peak] ? m : peak;
        if (plain->reserved[m] > plain->live[m] && plain->reserved[m] - plain->live[m] > unused)
            unused = plain->reserved[m] - plain->live[m];
    }
    assert_int_equal(timeline_peak_in(timeline, from, to), peak);
    assert_int_equal(timeline_unused_in(timeline, from, to), unused);
}

static void test_curves_are_those_of_a_plain_sum(void **state) {
    (void)state;
    struct dice dice = {1};
    static struct plain plain;
    for (int round = 0; round < 20; round++) {
        struct recording *recording = recording_make(&dice, &plain);
        const struct timeline *timeline = recording_settle(recording, EVENTS);
        assert_memory_equal(timeline->live, plain.live, sizeof plain.live);
        assert_int_equal(timeline->start_bytes, plain.live[0]);
        assert_int_equal(timeline->end_bytes, plain.live[EVENTS]);
        range_check(timeline, &plain, 0, MOMENTS);
        assert_int_equal(timeline->peak_moment, timeline_peak_in(timeline, 0, MOMENTS));
        for (uint32_t from = 0; from + 64 <= MOMENTS; from += 64) /* as the page asks */
            range_check(timeline, &plain, from, from + 64);
        for (int i = 0; i < 500; i++) {
            uint32_t from = dice_below(&dice, MOMENTS);
            range_check(timeline, &plain, from, from + 1 + dice_below(&dice, MOMENTS - from));
        }
        recording_close(recording);
    }
}

/* Times that are known to rise are not looked at again, with the same result. */
static void test_times_that_are_known_to_rise(void **state) {
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct recording *recording = recording_open();
        recording->device.times_rise = known != 0;
        const struct timeline *timeline = recording_settle(recording, EVENTS);
        struct run_us run = run_us_of(&recording->device);
        assert_int_equal(run.first, recording->device.time_us[0]);
        assert_int_equal(run.to, (EVENTS - 1) * 10 + (EVENTS - 1) * 10 / 100);
        assert_int_equal(timeline->end_us, run.to);
        assert_ptr_equal(timeline->clock, recording->device.time_us);
        recording_close(recording);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curves_are_those_of_a_plain_sum),
        cmocka_unit_test(test_times_that_are_known_to_rise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
