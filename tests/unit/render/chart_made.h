/*
 * For the tests of the picture: a recording with everything that a picture shows (hostile names, phases, annotations,
 * out of memory, too long notes), and checks that every layout must pass.
 */
#pragma once

#include "recording.h"

#include "render/png/chart.h"
#include "render/png/chart_maker.h"

#include <stdio.h>

/* ---- a recording: ALLOCATIONS allocations, each freed HELD events later ---- */

enum { ALLOCATIONS = 200, HELD = 40, EVENTS = ALLOCATIONS * 2, SITES = 30, PHASES = 6 };
static const int64_t first_us = INT64_C(1700000000000000);

/* The name of a call site; some names are hostile. */
static inline const char *site_name(uint32_t site) {
    if (site == 1)
        return "<img src=x>\n\x1b[31m\xe2\x80\xae\xff\xfe";
    return site % 3 ? "forward" : "a_name_that_is_much_too_long_for_any_column_of_a_legend";
}

/* Call site i is the one frame of stack i. */
static inline void recording_add_sites(struct recording *recording) {
    for (uint32_t i = 1; i <= SITES; i++) {
        char file[64];
        snprintf(file, sizeof file, "/home/u/model_%u.py", i);
        assert_int_equal(recording_site(recording, file, site_name(i), i * 11), i);
    }
}

static inline void recording_add_allocations(struct recording *recording) {
    for (uint32_t i = 0; i < ALLOCATIONS; i++) {
        bool older = i < 10; /* the later freed below */
        uint32_t death = older && i != 0 ? 20 + HELD - i : i % 7 == 0 ? EVENTS + 1 : i + 1 + HELD + i % 5;
        recording_allocation(recording, older ? 0 : i + 1, death, (uint64_t)(i % 13 + 1) << 26,
                             i % SITES + 1);
        recording->request[i] = i % 9 == 1 ? death - 20 : death;
    }
}

static inline void recording_add_phases(struct recording *recording) {
    for (uint32_t i = 0; i < PHASES / 2; i++) {
        int64_t outer_us = first_us + (int64_t)i * 120000, inner_us = outer_us + 5000;
        recording_annotation_at(recording, outer_us, "ProfilerStep#1", ANNOTATION_START);
        recording_annotation_at(recording, inner_us, "## forward ##", ANNOTATION_START);
        recording_annotation_at(recording, inner_us + 60000, "## forward ##", ANNOTATION_END);
        recording_annotation_at(recording, outer_us + 110000, "ProfilerStep#1", ANNOTATION_END);
    }
}

static inline void recording_add_events(struct recording *recording) {
    struct device_trace *device = &recording->device;
    for (uint32_t i = 0; i < EVENTS; i++)
        recording->time_us[i] = first_us + (int64_t)i * 1000;
    device->time_us = recording->time_us;
    recording->ooms[0] = (struct oom_event){EVENTS - 30, 0, UINT64_C(5) << 30, UINT64_C(1) << 29};
    recording->ooms[1] = (struct oom_event){EVENTS - 1, 0, UINT64_C(5) << 30, UINT64_C(1) << 29};
    device->n_ooms = 2;
    recording_add_allocations(recording);
    recording_add_phases(recording);
}

/* Adds a diagnostic with this message. */
static inline void recording_note(struct trace *trace, const char *code, const char *message,
                                  int32_t device) {
    assert_true(trace_diagnose(trace, code, device, NULL));
    uint32_t text = trace_string_add(trace, message, strlen(message));
    trace->diagnostics[trace->n_diagnostics - 1].message = text;
}

static inline struct recording *recording_of_sites(bool with_events) {
    struct recording *recording = recording_open();
    recording_add_sites(recording);
    if (with_events)
        recording_add_events(recording);
    for (uint32_t i = 0; i < 4; i++)
        recording_note(
            &recording->trace, "note",
            "A note that is so long that it cannot possibly fit into one line of a picture, however "
            "wide that picture may be, and therefore is cut at its end, as notes are when they are "
            "too long for one line of a picture.",
            i == 3 ? 5 : ORDINAL_NONE);
    recording_settle(recording, with_events ? EVENTS : 0);
    return recording;
}

static const struct filter_query own_filter = {
    .filter = {.n_words = 1, .word = {{.kind = FILTER_OWN, .low = 1}}}, .text = "own:yes"};

static inline struct chart_options options_of(uint32_t width, uint32_t height, uint32_t scale) {
    return (struct chart_options){.file = "/data/runs/rank3_memory_snapshot.pickle",
                                  .fingerprint = "xxh128:0123456789abcdef0123456789abcdef",
                                  .flags = "--scale 1",
                                  .width = width,
                                  .height = height,
                                  .scale = scale,
                                  .legend_moment = UINT32_MAX};
}

static inline bool rects_overlap(struct rect a, struct rect b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

static inline bool rect_is_inside(struct rect a, int32_t width, int32_t height) {
    return a.x >= 0 && a.y >= 0 && a.x + a.width <= width && a.y + a.height <= height;
}

static inline bool box_may_touch_text(const struct chart_box *box) {
    /* phases and requests lie below their names, a frame lies around them */
    return box->kind == CHART_FILL || box->kind == CHART_GHOST || box->kind == CHART_FRAME;
}

static inline void assert_layout_is_sound(const struct chart_layout *layout,
                                          const struct chart_options *options) {
    int32_t width = (int32_t)(options->width * options->scale),
            height = (int32_t)(options->height * options->scale);
    assert_true(rect_is_inside(layout->plot, width, height));
    assert_int_equal(layout->plot.width, layout->view.width);
    assert_int_equal(layout->plot.height, layout->view.height);
    for (uint32_t i = 0; i < layout->n_boxes; i++) {
        const struct chart_box *box = &layout->boxes[i];
        if (!rect_is_inside(box->rect, width, height) ||
            (!layout->plot_is_text && rects_overlap(box->rect, layout->plot)))
            fail_msg("%ux%u at scale %u: box %u (%s) leaves its place", options->width, options->height,
                     options->scale, i, box->text ? box->text : "no text");
        for (uint32_t k = 0; k < i && box->kind == CHART_TEXT; k++)
            if (!box_may_touch_text(&layout->boxes[k]) && rects_overlap(box->rect, layout->boxes[k].rect))
                fail_msg("%ux%u at scale %u: \"%s\" lies over \"%s\"", options->width, options->height,
                         options->scale, box->text,
                         layout->boxes[k].text ? layout->boxes[k].text : "a shape");
    }
}

static const uint32_t sizes[][3] = {{320, 240, 1},  {320, 240, 4},   {400, 900, 1},   {800, 450, 1},
                                    {800, 450, 2},  {640, 640, 1},   {1000, 300, 1},  {1600, 900, 1},
                                    {1600, 900, 3}, {3840, 2160, 1}, {7680, 4320, 1}, {7680, 240, 1},
                                    {320, 4320, 1}, {3840, 2160, 4}};
enum { SIZES = sizeof sizes / sizeof *sizes };
