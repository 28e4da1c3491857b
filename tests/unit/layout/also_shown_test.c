/* Call sites that a picture shows but a list of one moment lacks, compared with sums over all allocations and
 * moments. */
#include "dice.h"
#include "recording.h"

#include "layout/also_shown.h"

enum { SITES = 14, EVENTS = 160, ALLOCATIONS = 120 };

static struct dice dice;

static struct recording *recording_of_sites(void) {
    struct recording *recording = recording_open();
    for (uint32_t i = 1; i <= SITES; i++)
        recording_site(recording, "train.py", "step", i);
    for (uint32_t i = 0; i < ALLOCATIONS; i++) {
        uint32_t birth = i < 10 ? 0 : i,
                 death = birth + 1 + dice_below(&dice, dice_below(&dice, 4) == 0 ? EVENTS : 12);
        recording_allocation(recording, birth, death > EVENTS ? STAYS : death,
                             (uint64_t)(1 + dice_below(&dice, 5000)) << 12, dice_below(&dice, SITES + 1));
    }
    recording_settle(recording, EVENTS);
    return recording;
}

/* Bytes of a site after each moment. */
static uint64_t site_at(const struct timeline *timeline, uint32_t site, uint32_t moment) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (timeline->site[allocations->stack[i]] == site && allocations->birth[i] <= moment &&
            allocations->death[i] > moment)
            bytes += allocations->size[i];
    return bytes;
}

struct wanted {
    uint64_t area, highest;
};

static struct wanted wanted_of(const struct timeline *timeline, uint32_t site, uint32_t first, uint32_t end) {
    struct wanted wanted = {0, 0};
    for (uint32_t m = first; m < end; m++) {
        uint64_t bytes = site_at(timeline, site, m);
        wanted.area += bytes >> 10;
        wanted.highest = bytes > wanted.highest ? bytes : wanted.highest;
    }
    return wanted;
}

static void also_check(const struct timeline *timeline, uint32_t first, uint32_t end, uint32_t moment,
                       const struct also_shown *also, uint32_t count) {
    uint64_t whole = 0, last = UINT64_MAX;
    uint32_t due = 0;
    for (uint32_t site = 0; site < timeline->trace->frames.count; site++)
        whole += wanted_of(timeline, site, first, end).area;
    for (uint32_t site = 0; site < timeline->trace->frames.count; site++) {
        bool listed = site_at(timeline, site, moment) != 0 &&
                      site_at(timeline, site, moment) >= timeline->live[moment] / 1000;
        uint64_t area = wanted_of(timeline, site, first, end).area;
        due += !listed && area != 0 && area >= whole / 100;
    }
    assert_int_equal(count, due < ALSO_SHOWN_MAX ? due : ALSO_SHOWN_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct wanted wanted = wanted_of(timeline, also[i].site, first, end);
        assert_true(wanted.area >= whole / 100 && wanted.area <= last);
        assert_int_equal(also[i].bytes, wanted.highest);
        last = wanted.area;
    }
}

static void test_sites_that_a_list_lacks(void **state) {
    (void)state;
    uint32_t found = 0;
    for (uint32_t round = 0; round < 60; round++) {
        dice = (struct dice){round};
        struct recording *recording = recording_of_sites();
        struct timeline *timeline = &recording->timeline;
        uint32_t first = round % 3 == 0 ? 0 : dice_below(&dice, EVENTS / 2),
                 end = first + 1 + dice_below(&dice, EVENTS - first);
        uint32_t moment = first + dice_below(&dice, end - first);
        static const uint32_t at_once[] = {1, 7, ALLOCATIONS, ALSO_AT_ONCE}; /* in many steps as in few */
        struct also_finding finding = {.timeline = timeline,
                                       .arena = &recording->arena,
                                       .first = first,
                                       .end = end,
                                       .moment = moment,
                                       .at_once = at_once[round % 4]};
        assert_true(also_shown_find(&finding));
        also_check(timeline, first, end, moment, finding.also, finding.count);
        found += finding.count;
        recording_close(recording);
    }
    assert_true(found > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sites_that_a_list_lacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
