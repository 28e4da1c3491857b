/* The largest call sites have colours of their own, preferably those that their names choose. */
#include "dice.h"
#include "recording.h"

#include "layout/site.h"

enum { SITES = 60, EVENTS = 200 };

static struct dice dice;

static struct recording *recording_of_sites(void) {
    struct recording *recording = recording_open();
    for (uint32_t i = 1; i <= SITES; i++)
        recording_site(recording, "train.py", "step", dice_below(&dice, 5000) + 1);
    for (uint32_t i = 0; i < EVENTS; i++)
        recording_allocation(recording, i / 2,
                             i + 1 + dice_below(&dice, 150) > EVENTS ? STAYS
                                                                     : i + 1 + dice_below(&dice, EVENTS - i),
                             1 + dice_below(&dice, 100000), 1 + dice_below(&dice, SITES));
    recording_settle(recording, EVENTS);
    return recording;
}

/* The most bytes that a call site has at any moment. */
static uint64_t most_of(const struct recording *recording, uint32_t site) {
    const struct timeline *timeline = &recording->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    uint64_t most = 0;
    for (uint32_t moment = 0; moment < timeline->n_moments; moment++) {
        uint64_t now = 0;
        for (uint32_t i = 0; i < allocations->count; i++)
            if (timeline->site[allocations->stack[i]] == site && allocations->birth[i] <= moment &&
                allocations->death[i] > moment)
                now += allocations->size[i];
        most = now > most ? now : most;
    }
    return most;
}

/* How many call sites have a higher maximum, or the same and a lower number. */
static uint32_t rank_of(const struct recording *recording, const uint64_t *most, uint32_t site) {
    uint32_t rank = 0;
    for (uint32_t other = 1; other < recording->timeline.trace->frames.count; other++)
        rank += most[other] > most[site] || (most[other] == most[site] && other < site);
    return rank;
}

static void slots_check(const struct recording *recording) {
    const struct timeline *timeline = &recording->timeline;
    uint32_t n_frames = timeline->trace->frames.count, wearers[2][SITE_COLORS] = {{0}};
    uint64_t most[SITES + 3] = {0};
    assert_in_range(n_frames, 1, SITES + 3);
    for (uint32_t site = 1; site < n_frames; site++)
        most[site] = most_of(recording, site);
    for (uint32_t site = 1; site < n_frames; site++) {
        uint32_t rank = rank_of(recording, most, site), slot = timeline->slot[site];
        if (most[site] == 0 || rank >= 2 * SITE_COLORS) {
            assert_int_equal(slot, SITE_REST);
            continue;
        }
        assert_int_equal(timeline->twin[site], rank / SITE_COLORS);
        assert_int_equal(wearers[rank / SITE_COLORS][slot]++, 0);
        if (rank == 0)
            assert_int_equal(slot, site_color_index(timeline->trace, site, SITE_COLORS));
    }
}

static void test_the_largest_have_colours_of_their_own(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 40; round++) {
        dice = (struct dice){round};
        struct recording *recording = recording_of_sites();
        slots_check(recording);
        recording_close(recording);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_largest_have_colours_of_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
