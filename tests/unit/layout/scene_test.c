/* Filters in a scene, and phases from annotations. */
#define RECORDING_ANNOTATIONS 300
#include "recording.h"

#include "layout/groups.h"
#include "layout/phases.h"
#include "layout/scene.h"

/* ---- a recording: event i makes allocation i; the even ones are freed at the end ---- */

enum { ALLOCATIONS = 100, FIRST_US = 5000000 };

static struct recording *recording_of_allocations(void) {
    struct recording *recording = recording_open();
    for (uint32_t i = 0; i < ALLOCATIONS; i++) {
        recording_allocation(recording, i + 1, i % 2 == 0 || i + 11 > ALLOCATIONS ? STAYS : i + 11, 1000 + i,
                             0);
        recording->time_us[i] = FIRST_US + (int64_t)i * 100;
    }
    recording->device.time_us = recording->time_us;
    recording_settle(recording, ALLOCATIONS);
    return recording;
}

/* ---- filter ---- */

static struct view whole_view(const struct timeline *timeline) {
    struct view view = {.width = 400, .height = 300, .top_bytes = 200000};
    view_fit(&view, timeline);
    return view;
}

static void test_filtered_allocations_are_left_out(void **state) {
    (void)state;
    struct recording *recording = recording_of_allocations();
    struct scene scene;
    scene_init(&scene, &recording->timeline, plain_host);
    struct view view = whole_view(&recording->timeline);
    assert_true(scene_build(&scene, &view));
    assert_int_equal(scene.n_bands, ALLOCATIONS);
    uint64_t keep[ALLOCATIONS / 64 + 1] = {UINT64_C(0xAAAAAAAAAAAAAAAA), UINT64_C(0xAAAAAAAAAAAAAAAA)};
    scene.keep = keep; /* the odd ones */
    scene_forget(&scene);
    assert_true(scene_build_changed(&scene, &view));
    assert_int_equal(scene.n_bands, ALLOCATIONS / 2);
    for (uint32_t i = 0; i < scene.n_bands; i++)
        assert_int_equal(scene.bands[i].allocation, 2 * i + 1);
    assert_null(scene_band(&scene, 4));
    scene.keep = NULL;
    assert_true(scene_build(&scene, &view));
    assert_int_equal(scene.n_bands, ALLOCATIONS);
    scene_release(&scene);
    recording_close(recording);
}

/* Another height shows the existing bands, in stack order again; other columns are built anew. */
static void test_only_other_columns_are_built_again(void **state) {
    (void)state;
    struct recording *recording = recording_of_allocations();
    struct scene scene, fresh;
    struct band before[ALLOCATIONS];
    scene_init(&scene, &recording->timeline, plain_host);
    scene_init(&fresh, &recording->timeline, plain_host);
    struct view view = whole_view(&recording->timeline);
    assert_true(scene_build(&scene, &view));
    memcpy(before, scene.bands, sizeof before);
    uint64_t lit[ALLOCATIONS / 64 + 1] = {UINT64_C(0xAAAAAAAAAAAAAAAA), UINT64_C(0xAAAAAAAAAAAAAAAA)};
    assert_true(scene_group_sites(&scene, lit));
    assert_memory_not_equal(scene.bands, before, sizeof before);
    uint64_t visited = scene.rows_visited;
    view.height++;
    assert_true(scene_build_changed(&scene, &view));
    assert_int_equal(scene.n_groups, 0);
    assert_int_equal(scene.view.height, view.height);
    assert_int_equal(scene.rows_visited, visited);
    assert_memory_equal(scene.bands, before, sizeof before);
    view.width = 37;
    assert_true(scene_build_changed(&scene, &view));
    assert_true(scene_build(&fresh, &view));
    assert_int_equal(scene.n_bands, fresh.n_bands);
    assert_memory_equal(scene.bands, fresh.bands, fresh.n_bands * sizeof *before);
    assert_memory_equal(scene.moment, fresh.moment, view.width * sizeof *fresh.moment);
    scene_release(&scene);
    scene_release(&fresh);
    recording_close(recording);
}

static void test_bands_above_move_down(void **state) {
    (void)state;
    struct recording *recording = recording_of_allocations();
    struct scene scene;
    struct pick pick;
    scene_init(&scene, &recording->timeline, plain_host);
    struct view view = whole_view(&recording->timeline);
    uint64_t keep[ALLOCATIONS / 64 + 1] = {1 << 6, 0};
    scene.keep = keep;
    assert_true(scene_build(&scene, &view));
    assert_true(scene_pick(&scene, view.width - 1, view.height - 1, &pick));
    assert_int_equal(pick.allocation, 6);
    assert_int_equal(pick.offset, 0);
    assert_true(scene_pick(&scene, view.width - 1, 0, &pick));
    assert_int_equal(pick.allocation, UINT32_MAX);
    scene_release(&scene);
    recording_close(recording);
}

/* Of bands with equal bytes all are thin or none is, also at three pixels of height. */
static void test_dense_is_more_than_half_of_the_bytes(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    for (uint32_t i = 0; i < 16; i++)
        recording_allocation(recording, i, STAYS, 1024, 0);
    struct scene scene;
    scene_init(&scene, recording_settle(recording, ALLOCATIONS), plain_host);
    struct view view = {.width = 300, .height = 64, .top_bytes = 16 * 1024}; /* four pixels for each */
    view_fit(&view, scene.timeline);
    assert_true(scene_build(&scene, &view));
    assert_false(scene_is_dense(&scene, 4 * 256));
    assert_true(scene_is_dense(&scene, 4 * 256 + 1));
    scene_release(&scene);
    recording_close(recording);
}

static void test_groups_of_some_allocations(void **state) {
    (void)state;
    struct recording *recording = recording_of_allocations();
    struct group *groups;
    uint32_t n_groups, allocations[] = {3, 8, 90};
    assert_true(groups_of(&recording->timeline, allocations, 3, NULL, GROUP_BY_SITE, &recording->arena,
                          &groups, &n_groups));
    assert_int_equal(n_groups, 1);
    assert_int_equal(groups[0].count, 3);
    assert_int_equal(groups[0].bytes, 1003 + 1008 + 1090);
    assert_true(groups_of(&recording->timeline, allocations, 0, NULL, GROUP_BY_STACK, &recording->arena,
                          &groups, &n_groups));
    assert_int_equal(n_groups, 0);
    recording_close(recording);
}

/* ---- phases ---- */

static void annotate(struct recording *recording, const char *name, enum annotation_stage stage, int64_t us) {
    recording_annotation_at(recording, FIRST_US + us, name, stage);
}

static void assert_phase(const struct phase *phase, int64_t start_us, int64_t end_us, unsigned depth) {
    assert_int_equal(phase->start_us, start_us);
    assert_int_equal(phase->end_us, end_us);
    assert_int_equal(phase->depth, depth);
}

static void test_phases_nest(void **state) {
    (void)state;
    struct recording *recording = recording_of_allocations();
    struct phases phases;
    annotate(recording, "lost", ANNOTATION_END, 10);
    annotate(recording, "a", ANNOTATION_START, 100);
    annotate(recording, "b", ANNOTATION_START, 200);
    annotate(recording, "b", ANNOTATION_END, 300);
    annotate(recording, "c", ANNOTATION_START, 400);
    annotate(recording, "a", ANNOTATION_END, 500);
    annotate(recording, "d", ANNOTATION_START, 600);
    assert_true(phases_find(&recording->timeline, &recording->arena, &phases));
    assert_int_equal(phases.count, 4);
    assert_int_equal(phases.rows, 2);
    assert_phase(&phases.phase[0], 100, 500, 0);
    assert_phase(&phases.phase[1], 200, 300, 1);
    assert_phase(&phases.phase[2], 400, 500, 1);
    assert_phase(&phases.phase[3], 600, INT64_MAX, 0);
    recording_close(recording);
}

static void test_internal_phases_take_no_row(void **state) {
    (void)state;
    struct recording *recording = recording_of_allocations();
    struct phases phases;
    annotate(recording, "_compile.compile_inner (dynamo_timed)", ANNOTATION_START, 100);
    annotate(recording, "forward", ANNOTATION_START, 200);
    assert_true(phases_find(&recording->timeline, &recording->arena, &phases));
    assert_int_equal(phases.internal_count, 1);
    assert_true(phases.phase[0].internal);
    assert_int_equal(phases.phase[1].depth, 1);
    assert_int_equal(phases.phase[1].plain_depth, 0);
    assert_int_equal(phases.rows, 2);
    assert_int_equal(phases.plain_rows, 1);
    recording_close(recording);
}

static void assert_names(const char *whole, const char *first, const char *second, const char *third) {
    const char *const wanted[] = {first, second, third};
    for (uint32_t nth = 0; nth < 3; nth++) {
        struct text name = phase_name((struct text){(const uint8_t *)whole, word_length(whole)}, nth);
        assert_true(text_is(name, wanted[nth]));
    }
    assert_int_equal(phase_name((struct text){(const uint8_t *)whole, word_length(whole)}, 3).nbytes, 0);
}

static void test_names_of_phases_get_shorter(void **state) {
    (void)state;
    assert_names("## forward ##", "forward", "fwd", "");
    assert_names("Backward", "Backward", "bwd", "");
    assert_names("backward pass", "backward pass", "", "");
    assert_names("Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step", "optimizer", "opt");
    assert_names("Optimizer.zero_grad#SGD.zero_grad", "Optimizer.zero_grad#SGD.zero_grad", "zero_grad", "");
    assert_names("ProfilerStep#12", "ProfilerStep#12", "#12", "");
    assert_names("step #", "step #", "", "");
    assert_names("#7", "#7", "", "");
    assert_names("## ##", "## ##", "", "");
    assert_names("", "", "", "");
}

static void test_too_deep_phases_are_left_out(void **state) {
    (void)state;
    struct recording *recording = recording_of_allocations();
    struct phases phases;
    for (uint32_t i = 0; i < PHASE_OPEN_MAX + 5; i++)
        annotate(recording, "deep", ANNOTATION_START, (int64_t)i);
    for (uint32_t i = 0; i < PHASE_OPEN_MAX + 50; i++)
        annotate(recording, "deep", ANNOTATION_END, 200 + (int64_t)i);
    annotate(recording, "far", ANNOTATION_START, INT64_MAX - FIRST_US);
    assert_true(phases_find(&recording->timeline, &recording->arena, &phases));
    assert_int_equal(phases.count, PHASE_OPEN_MAX + 1);
    assert_int_equal(phases.rows, PHASE_OPEN_MAX);
    assert_phase(&phases.phase[PHASE_OPEN_MAX], INT64_C(1) << 46, INT64_MAX, 0);
    recording_close(recording);
}

static void test_where_phases_lie(void **state) {
    (void)state;
    struct recording *recording = recording_of_allocations();
    assert_int_equal(phase_q16(&recording->timeline, AXIS_TIME, 250), 250 * 65536);
    assert_int_equal(phase_q16(&recording->timeline, AXIS_EVENTS, 250), 2 * 65536);
    assert_int_equal(phase_q16(&recording->timeline, AXIS_EVENTS, INT64_MAX), ALLOCATIONS * 65536);
    recording_close(recording);
}

/* Reserved memory of many times what is in use does not press it to the ground: it keeps a third of the picture. */
static void test_reserved_leaves_a_third(void **unused) {
    (void)unused;
    for (uint64_t times = 1; times <= 64; times *= 2) {
        struct recording *recording = recording_open();
        recording_allocation(recording, 1, STAYS, 1000000, 0);
        struct timeline *timeline = recording_settle(recording, 4);
        timeline->reserved_peak = times * 1000000;
        uint64_t top = timeline_headroom_in(timeline, 0, timeline->n_moments, 0);
        assert_in_range(top, 1000000 + 1, 3000000);
        assert_int_equal(top > timeline->reserved_peak, times <= 2);
        assert_in_range(timeline_headroom_in(timeline, 0, timeline->n_moments, 100000000), top, top);
        recording_close(recording);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filtered_allocations_are_left_out),
        cmocka_unit_test(test_only_other_columns_are_built_again),
        cmocka_unit_test(test_bands_above_move_down),
        cmocka_unit_test(test_groups_of_some_allocations),
        cmocka_unit_test(test_dense_is_more_than_half_of_the_bytes),
        cmocka_unit_test(test_phases_nest),
        cmocka_unit_test(test_internal_phases_take_no_row),
        cmocka_unit_test(test_names_of_phases_get_shorter),
        cmocka_unit_test(test_too_deep_phases_are_left_out),
        cmocka_unit_test(test_where_phases_lie),
        cmocka_unit_test(test_reserved_leaves_a_third),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
