/* What a filter leaves in a scene, and how annotations become phases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout/groups.h"
#include "layout/phases.h"
#include "layout/scene.h"
#include "memory_host.h"

#include <stdlib.h>
#include <string.h>

/* ---- a recording: life i is born by event i; the even ones die at the end ---- */

enum { LIVES = 100, ANNOTATIONS_MAX = 300 };

struct recording {
    struct trace trace;
    struct device_trace device;
    struct arena arena;
    struct timeline timeline;
    uint32_t birth[LIVES], death[LIVES], stack[LIVES], context[LIVES];
    uint64_t size[LIVES], address[LIVES], streams[1];
    uint16_t stream[LIVES], pool[LIVES];
    uint8_t flags[LIVES];
    int64_t time_us[LIVES];
    struct pool_id pools[2];
    struct annotation annotations[ANNOTATIONS_MAX];
    struct frame frames[1];
    struct stack stacks[1];
    struct context contexts[1];
};

static void recording_add_lives(struct recording *recording) {
    for (uint32_t i = 0; i < LIVES; i++) {
        recording->birth[i] = i + 1;
        recording->death[i] = i % 2 == 0 || i + 11 > LIVES ? LIVES + 1 : i + 11;
        recording->size[i] = 1000 + i;
        recording->time_us[i] = 5000000 + (int64_t)i * 100;
    }
    recording->device.lives = (struct lives){.count = LIVES,
                                             .birth = recording->birth,
                                             .death = recording->death,
                                             .request = recording->death,
                                             .size = recording->size,
                                             .address = recording->address,
                                             .stack = recording->stack,
                                             .context = recording->context,
                                             .stream = recording->stream,
                                             .pool = recording->pool,
                                             .flags = recording->flags};
}

static struct recording *recording_open(void) {
    struct recording *recording = calloc(1, sizeof *recording);
    assert_non_null(recording);
    assert_true(trace_init(&recording->trace, plain_host, SIZE_MAX));
    struct trace *trace = &recording->trace;
    trace->devices = &recording->device;
    trace->n_devices = 1;
    trace->frames = (struct frame_table){1, 1, recording->frames};
    trace->stacks = (struct stack_table){1, 1, recording->stacks};
    trace->contexts = (struct context_table){1, 1, recording->contexts};
    trace->annotations = recording->annotations;
    recording->device.n_events = LIVES;
    recording->device.time_us = recording->time_us;
    recording->device.pools = recording->pools;
    recording->device.n_pools = 2;
    recording->device.streams = recording->streams;
    recording->device.n_streams = 1;
    recording_add_lives(recording);
    arena_init(&recording->arena, plain_host, SIZE_MAX);
    assert_true(timeline_init(&recording->timeline, trace, 0, &recording->arena));
    return recording;
}

static void recording_close(struct recording *recording) {
    arena_release(&recording->arena);
    trace_release(&recording->trace);
    free(recording);
}

/* ---- filter ---- */

static struct view whole_view(const struct timeline *timeline) {
    struct view view = {.width = 400, .height = 300, .top_bytes = 200000};
    view_fit(&view, timeline);
    return view;
}

static void test_what_is_not_kept_is_not_there(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct scene scene;
    scene_init(&scene, &recording->timeline, plain_host);
    struct view view = whole_view(&recording->timeline);
    assert_true(scene_build(&scene, &view));
    assert_int_equal(scene.n_bands, LIVES);
    uint64_t keep[LIVES / 64 + 1] = {UINT64_C(0xAAAAAAAAAAAAAAAA), UINT64_C(0xAAAAAAAAAAAAAAAA)};
    scene.keep = keep; /* the odd ones */
    assert_true(scene_build(&scene, &view));
    assert_int_equal(scene.n_bands, LIVES / 2);
    for (uint32_t i = 0; i < scene.n_bands; i++)
        assert_int_equal(scene.bands[i].life, 2 * i + 1);
    assert_null(scene_band(&scene, 4));
    scene.keep = NULL;
    assert_true(scene_build(&scene, &view));
    assert_int_equal(scene.n_bands, LIVES);
    scene_release(&scene);
    recording_close(recording);
}

static void test_what_lies_above_moves_down(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct scene scene;
    struct pick pick;
    scene_init(&scene, &recording->timeline, plain_host);
    struct view view = whole_view(&recording->timeline);
    uint64_t keep[LIVES / 64 + 1] = {1 << 6, 0};
    scene.keep = keep;
    assert_true(scene_build(&scene, &view));
    assert_true(scene_pick(&scene, view.width - 1, view.height - 1, &pick));
    assert_int_equal(pick.life, 6);
    assert_int_equal(pick.offset, 0);
    assert_true(scene_pick(&scene, view.width - 1, 0, &pick));
    assert_int_equal(pick.life, UINT32_MAX);
    scene_release(&scene);
    recording_close(recording);
}

static void test_groups_of_some_lives(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct group *groups;
    uint32_t n_groups, lives[] = {3, 8, 90};
    assert_true(
        groups_of(&recording->timeline, lives, 3, GROUP_BY_SITE, &recording->arena, &groups, &n_groups));
    assert_int_equal(n_groups, 1);
    assert_int_equal(groups[0].count, 3);
    assert_int_equal(groups[0].bytes, 1003 + 1008 + 1090);
    assert_true(
        groups_of(&recording->timeline, lives, 0, GROUP_BY_STACK, &recording->arena, &groups, &n_groups));
    assert_int_equal(n_groups, 0);
    recording_close(recording);
}

/* ---- phases ---- */

static void annotate(struct recording *recording, const char *name, enum annotation_stage stage, int64_t us) {
    uint32_t id = trace_string_add(&recording->trace, name, strlen(name));
    recording->annotations[recording->trace.n_annotations++] =
        (struct annotation){5000000 + us, id, 0, (uint8_t)stage};
}

static void assert_phase(const struct phase *phase, int64_t start_us, int64_t end_us, unsigned depth) {
    assert_int_equal(phase->start_us, start_us);
    assert_int_equal(phase->end_us, end_us);
    assert_int_equal(phase->depth, depth);
}

static void test_phases_nest(void **state) {
    (void)state;
    struct recording *recording = recording_open();
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
    struct recording *recording = recording_open();
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

static void test_too_deep_phases_are_left_out(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct phases phases;
    for (uint32_t i = 0; i < PHASE_OPEN_MAX + 5; i++)
        annotate(recording, "deep", ANNOTATION_START, (int64_t)i);
    for (uint32_t i = 0; i < PHASE_OPEN_MAX + 50; i++)
        annotate(recording, "deep", ANNOTATION_END, 200 + (int64_t)i);
    annotate(recording, "far", ANNOTATION_START, INT64_MAX - 5000000);
    assert_true(phases_find(&recording->timeline, &recording->arena, &phases));
    assert_int_equal(phases.count, PHASE_OPEN_MAX + 1);
    assert_int_equal(phases.rows, PHASE_OPEN_MAX);
    assert_phase(&phases.phase[PHASE_OPEN_MAX], INT64_C(1) << 46, INT64_MAX, 0);
    recording_close(recording);
}

static void test_where_phases_lie(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    assert_int_equal(phase_q16(&recording->timeline, AXIS_TIME, 250), 250 * 65536);
    assert_int_equal(phase_q16(&recording->timeline, AXIS_EVENTS, 250), 2 * 65536);
    assert_int_equal(phase_q16(&recording->timeline, AXIS_EVENTS, INT64_MAX), LIVES * 65536);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_kept_is_not_there),
        cmocka_unit_test(test_what_lies_above_moves_down),
        cmocka_unit_test(test_groups_of_some_lives),
        cmocka_unit_test(test_phases_nest),
        cmocka_unit_test(test_internal_phases_take_no_row),
        cmocka_unit_test(test_too_deep_phases_are_left_out),
        cmocka_unit_test(test_where_phases_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
