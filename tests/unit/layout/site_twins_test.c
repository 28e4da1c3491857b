/* Call sites that share a colour wear different textures, the largest at the peak none. */
#include "dice.h"
#include "recording.h"

#include "layout/groups.h"
#include "layout/site.h"

enum { SITES = 60, LEGEND = 24, EVENTS = 200 };

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

/* Of two call sites of one colour the one with more at the peak comes first, and wears the plainer texture. */
static void twins_check(const struct timeline *timeline, const struct group *groups, uint32_t n_groups) {
    const struct trace *trace = timeline->trace;
    for (uint32_t i = 0; i < n_groups; i++) {
        uint32_t before = 0, index = site_color_index(trace, groups[i].site);
        for (uint32_t k = 0; k < i; k++)
            if (site_color_index(trace, groups[k].site) == index && groups[k].bytes != groups[i].bytes)
                before++;
        uint32_t twin = timeline->twin[groups[i].site];
        if (before < SITE_TEXTURES)
            assert_int_equal(twin, before);
        for (uint32_t k = 0; k < i && i < LEGEND && before <= SITE_TEXTURES; k++)
            assert_false(site_color_index(trace, groups[k].site) == index &&
                         timeline->twin[groups[k].site] == twin);
    }
}

static void test_call_sites_of_one_colour_are_told_apart(void **state) {
    (void)state;
    uint32_t shared = 0;
    for (uint32_t round = 0; round < 40; round++) {
        dice = (struct dice){round};
        struct recording *recording = recording_of_sites();
        const struct timeline *timeline = &recording->timeline;
        struct group *groups;
        uint32_t n_groups;
        assert_true(
            groups_at(timeline, timeline->peak_moment, GROUP_BY_SITE, &recording->arena, &groups, &n_groups));
        twins_check(timeline, groups, n_groups);
        for (uint32_t i = 0; i < n_groups; i++)
            shared += timeline->twin[groups[i].site] != 0;
        recording_close(recording);
    }
    assert_true(shared > 1000);
}

/* What no allocation has needs no texture, and neither has what has no stack. */
static void test_one_call_site_is_plain(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t a = recording_site(recording, "train.py", "step", 7),
             b = recording_site(recording, "train.py", "step", 7);
    recording_allocation(recording, 1, STAYS, 100, a);
    recording_allocation(recording, 1, STAYS, 100, 0);
    const struct timeline *timeline = recording_settle(recording, 10);
    assert_int_equal(
        timeline->twin[0] + timeline->twin[timeline->site[a]] + timeline->twin[timeline->site[b]], 0);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_sites_of_one_colour_are_told_apart),
        cmocka_unit_test(test_one_call_site_is_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
