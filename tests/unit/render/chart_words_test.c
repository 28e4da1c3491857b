/* The words of a picture: notes, flags, legends, and why a picture is empty. */
#include "chart_made.h"

/* ---- texts ---- */

/* Writes the texts of a recording's layout to `said`, one a line. The groups are those of the options' moment. */
static void layout_texts_with(struct recording *recording, const struct verdicts *verdicts,
                              const struct chart_options *options, char *said, size_t capacity) {
    struct font *font = font_open();
    assert_non_null(font);
    struct chart_input input = {.timeline = &recording->timeline,
                                .verdicts = verdicts,
                                .host = plain_host,
                                .options = options,
                                .window = chart_window_of(&recording->timeline, options)};
    input.moment = options->legend_moment == UINT32_MAX ? input.window.peak_moment : options->legend_moment;
    struct chart_layout layout;
    assert_int_equal(chart_layout_make(&layout, &input, font), CHART_OK);
    assert_layout_is_sound(&layout, options);
    said[0] = '\0';
    for (uint32_t i = 0; i < layout.n_boxes; i++)
        if (layout.boxes[i].kind == CHART_TEXT && strlen(said) + strlen(layout.boxes[i].text) + 2 < capacity)
            strcat(strcat(said, layout.boxes[i].text), "\n");
    chart_layout_release(&layout);
    font_close(font);
}

static void layout_texts(struct recording *recording, const struct chart_options *options, char *said,
                         size_t capacity) {
    layout_texts_with(recording, NULL, options, said, capacity);
}

/* A recording of one long allocation and one that waits for another stream. */
static struct recording *recording_of_two(uint64_t pending_bytes) {
    struct recording *recording = recording_open();
    uint32_t stack = recording_site(recording, "/home/u/train.py", "step", 7);
    recording_allocation(recording, 1, STAYS, UINT64_C(1) << 30, stack);
    uint32_t pending = recording_allocation(recording, 2, 80, pending_bytes, stack);
    recording->request[pending] = 20;
    return recording;
}

static void grave_notes_come_first(void **state) {
    (void)state;
    static const char *const codes[] = {"orphan_frees",   "baseline_blocks", "live_end_differs",
                                        "reserved_shift", "no_history",      "overflow",
                                        "truncated"};
    struct recording *recording = recording_of_two(1 << 20);
    char said[4096];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char message[64];
        snprintf(message, sizeof message, "This is %s.", codes[i]);
        recording_note(&recording->trace, codes[i], message, ORDINAL_NONE);
    }
    recording_note(&recording->trace, "truncated", "Of another device.", 5);
    recording_settle(recording, 100);
    struct chart_options small = options_of(500, 280, 1), usual = options_of(800, 450, 1);
    layout_texts(recording, &small, said, sizeof said);
    assert_non_null(strstr(said, "!\nThis is overflow.\nand 6 more\n"));
    layout_texts(recording, &usual, said, sizeof said);
    assert_non_null(strstr(said, "!\nThis is overflow.\n!\nThis is truncated.\nand 5 more\n"));
    recording_close(recording);
}

static void ooms_are_named_without_a_plot(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    char said[4096];
    for (uint32_t i = 0; i < 4; i++)
        recording->ooms[i] = (struct oom_event){i, 0, UINT64_C(5) << 30, UINT64_C(1) << 29};
    struct chart_options options = options_of(800, 450, 1);
    recording->device.n_ooms = 2;
    recording_settle(recording, 4);
    layout_texts(recording, &options, said, sizeof said);
    assert_non_null(
        strstr(said, "OOM: 5.0 GiB requested, 512 MiB free \xc2\xb7 event 0 (0 \xc2\xb5s)\nOOM: "));
    assert_null(strstr(said, "more"));
    recording->device.n_ooms = 4;
    for (uint32_t i = 0; i < SIZES; i++) {
        options = options_of(sizes[i][0], sizes[i][1], sizes[i][2]);
        layout_texts(recording, &options, said, sizeof said);
        assert_non_null(strstr(said, "OOM: 5.0 GiB requested, 512 MiB free"));
        assert_non_null(strstr(said, "and 1 more\n"));
    }
    recording_close(recording);
}

static void another_devices_history_is_named(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    char said[4096];
    recording_settle(recording, 0);
    struct device_trace devices[2] = {recording->device, recording->device};
    devices[0].n_events = 50;
    devices[1].ordinal = 1;
    recording->trace.devices = devices;
    recording->trace.n_devices = 2;
    recording->timeline.device = &devices[1];
    struct chart_options options = options_of(1600, 900, 1);
    layout_texts(recording, &options, said, sizeof said);
    for (char *at = said; *at != '\0'; at++)
        *at = *at == '\n' ? ' ' : *at;
    assert_non_null(strstr(said, "Device 0 has a history of 50 events."));
    recording->timeline.device = &devices[0];
    layout_texts(recording, &options, said, sizeof said);
    assert_null(strstr(said, "Device"));
    recording_close(recording);
}

/* The legend names its moment, but a moment outside of the window has no flag above the plot. */
static void a_moment_outside_has_no_flag(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(1600, 900, 1);
    char said[8192];
    options.from_q16 = 100 * 65536;
    options.to_q16 = 200 * 65536;
    options.legend_moment = 151;
    layout_texts(recording, &options, said, sizeof said);
    assert_non_null(strstr(said, "legend: event 150 (150 ms)"));
    options.legend_moment = 51;
    layout_texts(recording, &options, said, sizeof said);
    assert_null(strstr(said, "legend: "));
    assert_non_null(strstr(said, "After event 50 (50 ms)"));
    options.legend_moment = recording->timeline.peak_moment;
    options.from_q16 = (recording->timeline.peak_moment + 20) * INT64_C(65536);
    options.to_q16 = options.from_q16 + 20 * 65536;
    layout_texts(recording, &options, said, sizeof said);
    assert_null(strstr(said, "legend: "));
    assert_non_null(strstr(said, "At the peak, event "));
    recording_close(recording);
}

static void hatching_that_is_not_drawn_is_not_explained(void **state) {
    (void)state;
    for (uint32_t thin = 0; thin < 2; thin++) {
        struct recording *recording = recording_of_two(thin ? 1 << 20 : 1 << 28);
        struct chart_options options = options_of(1600, 900, 1);
        char said[4096];
        recording_settle(recording, 100);
        layout_texts(recording, &options, said, sizeof said);
        assert_int_equal(strstr(said, "hatched: ") != NULL, !thin);
        recording_close(recording);
    }
}

static void text_after_nul_is_shown(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(1600, 900, 1);
    char said[8192];
    uint32_t name = trace_string_add(&recording->trace, "ann|x\0y", 7);
    recording->device.name = trace_string_add(&recording->trace,
                                              "H1\0"
                                              "00",
                                              5);
    for (uint32_t i = 0; i < recording->trace.n_annotations; i++)
        recording->annotations[i].name = name;
    layout_texts(recording, &options, said, sizeof said);
    assert_non_null(strstr(said, "\nann|x\xef\xbf\xbdy\n"));
    assert_non_null(strstr(said, "H1\xef\xbf\xbd"
                                 "00"));
    recording_close(recording);
}

static void an_empty_recording_says_why(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(false);
    struct font *font = font_open();
    assert_non_null(font);
    for (uint32_t i = 0; i < SIZES; i++) {
        struct chart_options options = options_of(sizes[i][0], sizes[i][1], sizes[i][2]);
        struct chart_input input = {.timeline = &recording->timeline,
                                    .host = plain_host,
                                    .options = &options,
                                    .window = chart_window_of(&recording->timeline, &options)};
        struct chart_layout layout;
        uint32_t n_inside = 0;
        assert_int_equal(chart_layout_make(&layout, &input, font), CHART_OK);
        assert_layout_is_sound(&layout, &options);
        assert_true(layout.plot_is_text);
        for (uint32_t k = 0; k < layout.n_boxes; k++)
            n_inside +=
                layout.boxes[k].kind == CHART_TEXT && rects_overlap(layout.boxes[k].rect, layout.plot);
        assert_true(n_inside > 0);
        chart_layout_release(&layout);
    }
    font_close(font);
    recording_close(recording);
}

static void a_window_has_its_own_peak(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(800, 450, 1);
    struct chart_window window = chart_window_of(&recording->timeline, &options);
    assert_true(window.whole);
    assert_int_equal(window.first_moment, 0);
    assert_int_equal(window.end_moment, EVENTS + 1);
    assert_int_equal(window.peak_moment, recording->timeline.peak_moment);
    options.from_q16 = 3 * 65536;
    options.to_q16 = 7 * 65536;
    window = chart_window_of(&recording->timeline, &options);
    assert_false(window.whole);
    assert_int_equal(window.first_moment, 4);
    assert_int_equal(window.end_moment, 8);
    assert_int_equal(window.peak_moment, timeline_peak_in(&recording->timeline, 4, 8));
    recording_close(recording);
}

/* What to paste for a plan stands where a finding would send to strata plan, whole or not at all. */
static void a_plan_stands_in_its_finding(void **state) {
    (void)state;
    static const char *const codes[] = {"export CONF=short:True",
                                        "export PYTORCH_ALLOC_CONF=expandable_segments:True"};
    static struct verdicts verdicts;
    struct recording *recording = recording_of_sites(true);
    char said[8192];
    assert_true(verdicts_init(&verdicts, &recording->timeline, &recording->arena));
    struct finding finding = {
        .kind = FINDING_FRAGMENTATION, .severity = SEVERITY_HIGH, .confidence = CONFIDENCE_CERTAIN};
    verdicts.findings.finding = &finding;
    verdicts.findings.count = 1;
    struct chart_options options = options_of(1600, 900, 1);
    layout_texts_with(recording, &verdicts, &options, said, sizeof said);
    assert_non_null(strstr(said, "Run strata"));
    for (uint32_t i = 0; i < 32; i++) {
        const char *code = codes[i % 2];
        options = options_of(1600 - i * 40, 900, 1);
        options.plan = "[model] a plan";
        options.plan_code = code;
        layout_texts_with(recording, &verdicts, &options, said, sizeof said);
        assert_null(strstr(said, "Run strata"));
        const char *export = strstr(said, "export");
        assert_true(export == NULL ? i != 0 : strncmp(export, code, strlen(code)) == 0);
    }
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grave_notes_come_first),
        cmocka_unit_test(ooms_are_named_without_a_plot),
        cmocka_unit_test(another_devices_history_is_named),
        cmocka_unit_test(a_moment_outside_has_no_flag),
        cmocka_unit_test(hatching_that_is_not_drawn_is_not_explained),
        cmocka_unit_test(text_after_nul_is_shown),
        cmocka_unit_test(an_empty_recording_says_why),
        cmocka_unit_test(a_window_has_its_own_peak),
        cmocka_unit_test(a_plan_stands_in_its_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
