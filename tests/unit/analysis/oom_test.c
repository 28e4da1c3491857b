/* The state at an out-of-memory event, and who holds which memory, in hand-made states. */
#include "recording.h"

#include "analysis/findings/figures.h"
#include "analysis/findings/oom.h"
#include "analysis/model/allocator_settings.h"
#include "analysis/model/fragmentation.h"
#include "analysis/model/pool_use.h"
#include "base/numbers.h"

enum { PRIVATE_POOL = 2 };

/* 6 MiB are in use in two segments of 12 MiB; a private pool holds 4 MiB with nothing in use. */
static struct recording *held_recording(void) {
    static const int64_t first[] = {4 << 20, -(4 << 20), 0}, second[] = {2 << 20, -(2 << 20), 0},
                         own[] = {-(4 << 20), 0};
    struct recording *recording = recording_open();
    uint32_t site = recording_site(recording, "/u/train.py", "step", 7);
    recording->device.n_pools = 3;
    recording->pools[1] = (struct pool_id){0, 0};
    recording->pools[PRIVATE_POOL] = (struct pool_id){0, 1};
    recording_segment(recording, 0x10000000, 0, 1, first);
    recording_segment(recording, 0x20000000, 0, 1, second);
    recording_segment(recording, 0x30000000, 0, PRIVATE_POOL, own);
    recording->address[recording_allocation(recording, 3, STAYS, 4 * MIB, site)] = 0x10000000;
    recording->address[recording_allocation(recording, 4, STAYS, 2 * MIB, site)] = 0x20000000;
    recording_settle(recording, 20);
    return recording;
}

static void test_missing_bytes(void **state) {
    (void)state;
    static const struct {
        uint64_t asked, free, lacking;
    } cases[] = {{MIB, MIB, 0},
                 {11 * MIB, MIB, 0}, /* 10 are reserved and not in use */
                 {12 * MIB, MIB, MIB},
                 {OOM_UNKNOWN, MIB, 0},
                 {100 * MIB, OOM_UNKNOWN, 0}};
    struct recording *recording = held_recording();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oom_state found;
        oom_state_of(&found, &recording->timeline,
                     &(struct oom_event){.event = 10, .size = cases[i].asked, .device_free = cases[i].free});
        assert_int_equal(found.moment, 11);
        assert_int_equal(found.live_bytes, 6 * MIB);
        assert_int_equal(found.reserved_bytes, 16 * MIB);
        assert_int_equal(found.unused_bytes, 10 * MIB);
        assert_int_equal(found.lacking_bytes, cases[i].lacking);
        assert_true(found.reserved_known);
    }
    recording_close(recording);
}

static void test_free_blocks_of_a_request(void **state) {
    (void)state;
    struct recording *recording = held_recording();
    struct oom_state found;
    oom_state_of(&found, &recording->timeline, &(struct oom_event){.event = 10, .size = MIB});
    assert_true(oom_free_blocks_of(&found, &recording->device, &recording->arena));
    assert_true(found.free_blocks_known && found.at_end);
    recording->device.n_blocks = 0;
    oom_state_of(&found, &recording->timeline, &(struct oom_event){.event = 10, .size = MIB});
    assert_true(oom_free_blocks_of(&found, &recording->device, &recording->arena));
    assert_false(found.free_blocks_known);
    recording_close(recording);
}

/* The causes add up to the gap. Memory that a private pool keeps does not count as a hole. */
static void test_causes_of_the_gap(void **state) {
    (void)state;
    struct recording *recording = held_recording();
    struct segments segments;
    struct fragmentation found;
    assert_true(segments_init(&segments, &recording->device, &recording->arena));
    assert_true(fragmentation_find(&found, &recording->timeline, &segments, NULL, 20, &recording->arena));
    int64_t sum = 0;
    for (uint32_t i = 0; i < GAP_CAUSES; i++)
        sum += found.cause_bytes[i];
    assert_int_equal(found.gap_bytes, 10 * MIB);
    assert_int_equal(sum, found.gap_bytes);
    assert_int_equal(found.cause_bytes[GAP_PRIVATE], 4 * MIB);
    assert_int_equal(found.largest_free_bytes, 4 * MIB);
    recording_close(recording);
}

static void test_pools(void **state) {
    (void)state;
    struct recording *recording = held_recording();
    struct segments segments;
    struct held held;
    struct pool_uses uses;
    assert_true(segments_init(&segments, &recording->device, &recording->arena));
    assert_true(fragmentation_state(&held, &recording->timeline, &segments, NULL, 20, &recording->arena));
    assert_true(pool_uses_find(&uses, &recording->device, &held, &recording->arena));
    assert_int_equal(uses.count, 2);
    assert_false(uses.use[0].is_private);
    assert_int_equal(uses.use[0].n_segments, 2);
    assert_int_equal(uses.use[0].live_bytes, 6 * MIB);
    assert_int_equal(uses.use[0].free_bytes, 6 * MIB);
    assert_true(uses.use[1].is_private);
    assert_int_equal(uses.use[1].reserved_bytes, 4 * MIB);
    assert_int_equal(uses.use[1].free_bytes, 4 * MIB);
    recording_close(recording);
}

/* ---- figures that limits are set on ---- */

static void test_figures(void **state) {
    (void)state;
    struct recording *recording = held_recording();
    struct verdicts verdicts;
    struct figures figures;
    assert_true(verdicts_init(&verdicts, &recording->timeline, &recording->arena));
    figures_find(&figures, &verdicts, &recording->timeline, NULL, 0);
    assert_null(figures.doubt);
    assert_int_equal(figures.peak, 6 * MIB);
    assert_int_equal(figures.end, 6 * MIB);
    assert_int_equal(figures.reserved, 16 * MIB);
    assert_int_equal(figures.gap, 16 * MIB); /* before the first event nothing was in use */
    assert_true(figures.has_start && figures.has_reserved && !figures.has_growth);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        sum += figures.category[i];
    assert_int_equal(sum, figures.peak);
    figures_find(&figures, &verdicts, &recording->timeline, NULL, 3);
    assert_false(figures.has_start); /* there are no steps to leave out */
    recording_close(recording);
}

/* ---- settings ---- */

static void test_settings(void **state) {
    (void)state;
    static const struct {
        const char *text, *printed;
        enum settings_problem problem;
        size_t bad_at;
    } cases[] = {
        {"expandable_segments:True", "expandable_segments:True", SETTINGS_FINE, 0},
        {"max_split_size_mb:128,expandable_segments:True", "expandable_segments:True,max_split_size_mb:128",
         SETTINGS_FINE, 0},
        {"garbage_collection_threshold:0.8", "garbage_collection_threshold:0.8", SETTINGS_FINE, 0},
        {"expandable_segments:False", "", SETTINGS_FINE, 0},
        {"expandable_segments:True,max_split_size_mb:19", "expandable_segments:True", SETTINGS_WRONG, 25},
        {"no_such_key:1,expandable_segments:True", "expandable_segments:True", SETTINGS_UNKNOWN, 0},
        {"", "", SETTINGS_FINE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct allocator_settings settings = allocator_settings_default(), again = settings;
        char text[ALLOCATOR_SETTINGS_TEXT];
        size_t bad_at = 0;
        assert_int_equal(allocator_settings_add(&settings, cases[i].text, strlen(cases[i].text), &bad_at),
                         cases[i].problem);
        assert_int_equal(bad_at, cases[i].bad_at);
        allocator_settings_print(&settings, text);
        assert_string_equal(text, cases[i].printed);
        /* The printed settings parse to the same settings. */
        assert_int_equal(allocator_settings_add(&again, text, strlen(text), &bad_at), SETTINGS_FINE);
        allocator_settings_print(&again, text);
        assert_string_equal(text, cases[i].printed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_bytes),     cmocka_unit_test(test_free_blocks_of_a_request),
        cmocka_unit_test(test_causes_of_the_gap), cmocka_unit_test(test_pools),
        cmocka_unit_test(test_figures),           cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
