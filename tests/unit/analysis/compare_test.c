/* Groups of one recording and sites of two: every byte is in one row, sites are matched, and highlights select the
 * same. */
#include "recording.h"

#include "analysis/compare/compare.h"
#include "base/numbers.h"

/* Three sites in two files, one of them with two callers; five live allocations at moment 6. */
static struct recording *small_recording(void) {
    struct recording *recording = recording_open();
    uint32_t main_ = recording_site(recording, "/u/train.py", "main", 1);
    uint32_t other = recording_site(recording, "/u/train.py", "main", 2);
    uint32_t via_main = recording_stack(recording, main_, "/u/model.py", "forward");
    uint32_t via_other = recording_stack(recording, other, "/u/model.py", "forward");
    const uint32_t *frame = recording->trace.stacks.frame;
    recording->trace.frames.frame[frame[via_main]].line =
        recording->trace.frames.frame[frame[via_other]].line =
            5; /* the same place in the code, recorded as two frames */
    recording_allocation(recording, 1, STAYS, 100, main_);
    recording_allocation(recording, 2, STAYS, 200, other);
    recording_allocation(recording, 3, STAYS, 400, via_main);
    recording_allocation(recording, 4, 9, 50, via_other);
    recording_allocation(recording, 5, STAYS, 10, 0);
    recording->stream[1] = 1;
    recording->device.n_streams = 2;
    recording_settle(recording, 20);
    return recording;
}

static void test_groups_add_up(void **state) {
    (void)state;
    static const uint32_t all[] = {0, 1, 2, 3, 4};
    static const struct {
        enum compare_by by;
        uint32_t n;
        uint64_t largest;
    } wanted[] = {{COMPARE_BY_SITE, 4, 450},
                  {COMPARE_BY_STACK, 5, 400},
                  {COMPARE_BY_FILE, 3, 450},
                  {COMPARE_BY_STREAM, 2, 560},
                  {COMPARE_BY_POOL, 1, 760}};
    struct recording *recording = small_recording();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct group *groups;
        uint32_t n;
        uint64_t bytes = 0, count = 0;
        assert_true(
            compare_groups(&recording->timeline, all, 5, wanted[i].by, NULL, &recording->arena, &groups, &n));
        for (uint32_t g = 0; g < n; g++) {
            uint32_t left[5] = {0, 1, 2, 3, 4}, n_left = 5;
            assert_true(compare_within(&recording->timeline, left, &n_left, wanted[i].by, groups[g].key, NULL,
                                       &recording->arena));
            assert_int_equal(n_left, groups[g].count);
            assert_true(g == 0 || groups[g].bytes <= groups[g - 1].bytes);
            bytes += groups[g].bytes;
            count += groups[g].count;
        }
        assert_int_equal(n, wanted[i].n);
        assert_int_equal(groups[0].bytes, wanted[i].largest);
        assert_int_equal(bytes, 760);
        assert_int_equal(count, 5);
    }
    recording_close(recording);
}

/* Groups of two moments: a group that one side lacks has no partner, and the largest difference comes first. */
static void test_pairs(void **state) {
    (void)state;
    static const struct group a[] = {{.bytes = 90, .key = 1}, {.bytes = 50, .key = 7}};
    static const struct group b[] = {{.bytes = 80, .key = 1}, {.bytes = 70, .key = 4}};
    struct recording *recording = small_recording();
    struct compare_pair *pairs;
    uint32_t n;
    assert_true(compare_pairs(a, 2, b, 2, &recording->arena, &pairs, &n));
    assert_int_equal(n, 3);
    assert_true(pairs[0].a == COMPARE_NONE && pairs[0].b == 1);
    assert_true(pairs[1].a == 1 && pairs[1].b == COMPARE_NONE);
    assert_true(pairs[2].a == 0 && pairs[2].b == 0);
    recording_close(recording);
}

static void test_names_are_cut(void **state) {
    (void)state;
    char text[64];
    struct recording *recording = small_recording();
    uint32_t site = recording->trace.stacks.frame[1];
    uint32_t n = compare_name(&recording->timeline, COMPARE_BY_SITE, site, NULL, text, sizeof text);
    assert_string_equal(text, "train.py:1 main");
    assert_int_equal(n, strlen(text));
    assert_int_equal(compare_name(&recording->timeline, COMPARE_BY_SITE, site, NULL, text, 6), 5);
    assert_string_equal(text, "train");
    assert_int_equal(compare_name(&recording->timeline, COMPARE_BY_STREAM, 1, NULL, text, 1), 0);
    assert_string_equal(text, "");
    recording_close(recording);
}

static struct comparison compared(struct recording *a, uint32_t moment_a, struct recording *b,
                                  uint32_t moment_b) {
    struct comparison comparison;
    uint64_t a_bytes = 0, b_bytes = 0;
    assert_true(
        compare_sites(&comparison, &(struct compare_side){.timeline = &a->timeline, .moment = moment_a},
                      &(struct compare_side){.timeline = &b->timeline, .moment = moment_b}, &a->arena));
    for (uint32_t i = 0; i < comparison.n_sites; i++) {
        a_bytes += comparison.site[i].a.bytes;
        b_bytes += comparison.site[i].b.bytes;
    }
    assert_int_equal(a_bytes, comparison.a_bytes);
    assert_int_equal(b_bytes, comparison.b_bytes);
    return comparison;
}

static void test_one_recording_at_two_moments(void **state) {
    (void)state;
    struct recording *recording = small_recording();
    struct comparison comparison = compared(recording, 2, recording, 20);
    assert_int_equal(comparison.a_bytes, 300);
    assert_int_equal(comparison.b_bytes, 710);
    assert_int_equal(comparison.n_listed, 4);
    assert_int_equal(comparison.site[0].change, CHANGE_NEW);
    assert_int_equal(compare_delta(comparison.site[0].a.bytes, comparison.site[0].b.bytes), 400);
    assert_int_equal(comparison.site[0].b.made, 2);
    assert_int_equal(comparison.site[0].b.least_bytes, 50);
    assert_int_equal(comparison.site[3].change, CHANGE_SAME);
    recording_close(recording);
}

/* The same program with a moved line, a renamed file, and a site that the other lacks. */
static void test_sites_are_found_again(void **state) {
    (void)state;
    struct recording *a = recording_open(), *b = recording_open();
    recording_allocation(a, 1, STAYS, 100, recording_site(a, "/u/train.py", "main", 1));
    recording_allocation(a, 2, STAYS, 200, recording_site(a, "/u/train.py", "loss", 20));
    recording_allocation(a, 3, STAYS, 300, recording_site(a, "/u/model.py", "forward", 5));
    recording_allocation(b, 1, STAYS, 100, recording_site(b, "/v/train.py", "main", 1));
    recording_allocation(b, 2, STAYS, 200, recording_site(b, "/v/train.py", "loss", 23));
    recording_allocation(b, 3, STAYS, 300, recording_site(b, "/v/net.py", "forward", 5));
    recording_allocation(b, 4, STAYS, 800, recording_site(b, "/v/extra.py", "keep", 9));
    recording_settle(a, 10);
    recording_settle(b, 10);
    struct comparison comparison = compared(a, 10, b, 10);
    assert_int_equal(comparison.n_sites, 4);
    static const enum site_match wanted[] = {SITE_ALONE, SITE_RENAMED, SITE_MOVED, SITE_SAME};
    for (uint32_t i = 0; i < 4; i++) /* by difference, then by bytes */
        assert_int_equal(comparison.site[i].match, wanted[i]);
    assert_false(profile_exists(&comparison.site[0].a));
    recording_close(b);
    recording_close(a);
}

static uint64_t highlighted(struct recording *recording, uint32_t by, uint32_t key) {
    uint64_t bits[RECORDING_ALLOCATIONS / 64 + 1] = {0}, bytes = 0;
    assert_true(
        highlight_bits(&recording->timeline, (struct highlight){by, key}, NULL, bits, &recording->arena));
    for (uint32_t i = 0; i < recording->device.allocations.count; i++)
        bytes += bits[i / 64] >> i % 64 & 1 ? recording->size[i] : 0;
    return bytes;
}

/* A frame selects all allocations whose stacks contain it; a site only those that it requested itself. */
static void test_highlights(void **state) {
    (void)state;
    struct recording *recording = small_recording();
    uint32_t main_frame = recording->trace.stacks.frame[1];
    assert_int_equal(highlighted(recording, COMPARE_BY_SITE, main_frame), 100);
    assert_int_equal(highlighted(recording, HIGHLIGHT_BY_FRAME, main_frame), 500);
    assert_int_equal(highlighted(recording, COMPARE_BY_FILE, main_frame), 300);
    assert_int_equal(highlighted(recording, COMPARE_BY_STREAM, 1), 200);
    assert_true(highlight_is_valid(&recording->trace, (struct highlight){HIGHLIGHT_BY_FRAME, main_frame}));
    assert_false(highlight_is_valid(&recording->trace, (struct highlight){HIGHLIGHT_BY_FRAME + 1, 0}));
    assert_false(highlight_is_valid(&recording->trace,
                                    (struct highlight){COMPARE_BY_SITE, recording->trace.frames.count}));
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_add_up),         cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_names_are_cut),         cmocka_unit_test(test_one_recording_at_two_moments),
        cmocka_unit_test(test_sites_are_found_again), cmocka_unit_test(test_highlights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
