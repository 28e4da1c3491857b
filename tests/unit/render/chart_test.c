/* The picture's layout at many sizes: nothing overlaps, nothing leaves the page, the plot stays the raster's.
 */
#include "recording.h"

#include "render/png/chart.h"
#include "render/png/chart_groups.h"
#include "render/png/chart_layout.h"

#include <png.h>
#include <stdio.h>

/* ---- a recording: LIVES allocations, each freed HELD events later ---- */

enum { LIVES = 200, HELD = 40, EVENTS = LIVES * 2, SITES = 30, PHASES = 6 };
static const int64_t first_us = INT64_C(1700000000000000);

/* Among them hostile ones. */
static const char *site_name(uint32_t site) {
    if (site == 1)
        return "<img src=x>\n\x1b[31m\xe2\x80\xae\xff\xfe";
    return site % 3 ? "forward" : "a_name_that_is_much_too_long_for_any_column_of_a_legend";
}

/* Call site i is the one frame of stack i. */
static void recording_add_sites(struct recording *recording) {
    for (uint32_t i = 1; i <= SITES; i++) {
        char file[64];
        snprintf(file, sizeof file, "/home/u/model_%u.py", i);
        assert_int_equal(recording_site(recording, file, site_name(i), i * 11), i);
    }
}

static void recording_add_lives(struct recording *recording) {
    for (uint32_t i = 0; i < LIVES; i++) {
        uint32_t death = i % 7 == 0 ? EVENTS + 1 : i + 1 + HELD + i % 5;
        recording_life(recording, i < 10 ? 0 : i + 1, death, (uint64_t)(i % 13 + 1) << 26, i % SITES + 1);
        recording->request[i] = i % 9 == 1 ? death - 20 : death;
    }
}

static void recording_add_phases(struct recording *recording) {
    for (uint32_t i = 0; i < PHASES / 2; i++) {
        int64_t outer_us = first_us + (int64_t)i * 120000, inner_us = outer_us + 5000;
        recording_annotation_at(recording, outer_us, "ProfilerStep#1", ANNOTATION_START);
        recording_annotation_at(recording, inner_us, "## forward ##", ANNOTATION_START);
        recording_annotation_at(recording, inner_us + 60000, "## forward ##", ANNOTATION_END);
        recording_annotation_at(recording, outer_us + 110000, "ProfilerStep#1", ANNOTATION_END);
    }
}

static void recording_add_events(struct recording *recording) {
    struct device_trace *device = &recording->device;
    for (uint32_t i = 0; i < EVENTS; i++)
        recording->time_us[i] = first_us + (int64_t)i * 1000;
    device->time_us = recording->time_us;
    recording->ooms[0] = (struct oom_event){EVENTS - 30, 0, UINT64_C(5) << 30, UINT64_C(1) << 29};
    recording->ooms[1] = (struct oom_event){EVENTS - 1, 0, UINT64_C(5) << 30, UINT64_C(1) << 29};
    device->n_ooms = 2;
    recording_add_lives(recording);
    recording_add_phases(recording);
}

/* A diagnostic that says `message`. */
static void recording_note(struct trace *trace, const char *code, const char *message, int32_t device) {
    assert_true(trace_diagnose(trace, code, device, NULL));
    uint32_t text = trace_string_add(trace, message, strlen(message));
    trace->diagnostics[trace->n_diagnostics - 1].message = text;
}

static struct recording *recording_of_sites(bool with_events) {
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

static struct chart_options options_of(uint32_t width, uint32_t height, uint32_t scale) {
    return (struct chart_options){.file = "/data/runs/rank3_memory_snapshot.pickle",
                                  .fingerprint = "xxh128:0123456789abcdef0123456789abcdef",
                                  .flags = "--scale 1",
                                  .version = "0.0.0",
                                  .width = width,
                                  .height = height,
                                  .scale = scale,
                                  .legend_moment = UINT32_MAX};
}

/* ---- layout ---- */

static bool rects_overlap(struct rect a, struct rect b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

static bool rect_is_inside(struct rect a, int32_t width, int32_t height) {
    return a.x >= 0 && a.y >= 0 && a.x + a.width <= width && a.y + a.height <= height;
}

static bool box_may_touch_text(const struct chart_box *box) {
    return box->kind == CHART_FILL ||
           box->kind == CHART_GHOST; /* phases and requests lie below their names */
}

static void assert_layout_is_sound(const struct chart_layout *layout, const struct chart_options *options) {
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

static void layout_check(struct recording *recording, const struct chart_options *options,
                         struct font *font) {
    struct arena scratch;
    struct group *groups;
    struct chart_input input = {.timeline = &recording->timeline,
                                .host = plain_host,
                                .options = options,
                                .window = chart_window_of(&recording->timeline, options)};
    input.moment = options->legend_moment == UINT32_MAX ? input.window.peak_moment : options->legend_moment;
    arena_init(&scratch, plain_host, SIZE_MAX);
    struct selection selection;
    if (options->filter != NULL) {
        assert_true(selection_make(&selection, &recording->timeline, options->filter, &scratch));
        input.selection = &selection;
    }
    struct raster_style style = {.color_by = options->color_by};
    assert_true(chart_groups_find(&input, &style, &scratch, &groups, &input.n_groups));
    input.groups = groups;
    struct chart_layout layout;
    assert_int_equal(chart_layout_make(&layout, &input, font), CHART_OK);
    assert_layout_is_sound(&layout, options);
    chart_layout_release(&layout);
    arena_release(&scratch);
}

static const uint32_t sizes[][3] = {{320, 240, 1},  {320, 240, 4},   {400, 900, 1},   {800, 450, 1},
                                    {800, 450, 2},  {640, 640, 1},   {1000, 300, 1},  {1600, 900, 1},
                                    {1600, 900, 3}, {3840, 2160, 1}, {7680, 4320, 1}, {7680, 240, 1},
                                    {320, 4320, 1}, {3840, 2160, 4}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void nothing_overlaps_at_any_size(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct font *font = font_open();
    assert_non_null(font);
    for (uint32_t i = 0; i < SIZES; i++) {
        struct chart_options options = options_of(sizes[i][0], sizes[i][1], sizes[i][2]);
        layout_check(recording, &options, font);
        options.title = "A title that goes on and on until there is no room for any more of it in this "
                        "picture or the next one";
        options.axis = AXIS_TIME;
        options.legend_moment = 17;
        options.capacity_bytes = UINT64_C(80) << 30;
        layout_check(recording, &options, font);
        options.color_by = COLOR_BY_STREAM;
        options.axis = AXIS_EVENTS;
        options.from_q16 = 100 * 65536;
        options.to_q16 = 103 * 65536 + 1;
        layout_check(recording, &options, font);
    }
    font_close(font);
    recording_close(recording);
}

/* ---- random texts ---- */

struct dice {
    uint64_t state;
};

static uint32_t dice_below(struct dice *dice, uint32_t limit) {
    dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((dice->state >> 33) * limit >> 31);
}

/* Words of all scripts, controls, wrong UTF-8, of any length. */
static void random_text(struct dice *dice, char *text, size_t capacity) {
    static const char *const parts[] = {"forward",
                                        "x",
                                        " ",
                                        "__init__",
                                        "W",
                                        "\xe8\xae\xb0\xe5\xbf\x86",
                                        "\xf0\x9f\x94\xa5",
                                        "\xff\xfe",
                                        "\x1b[31m",
                                        "\n",
                                        "e\xcc\x81",
                                        "\xe2\x80\xae",
                                        "Linear(in_features=4096)",
                                        ":",
                                        "7"};
    size_t used = 0;
    for (uint32_t n = dice_below(dice, 1 + dice_below(dice, 40)); n > 0; n--) {
        const char *part = parts[dice_below(dice, sizeof parts / sizeof *parts)];
        if (used + strlen(part) + 1 > capacity)
            break;
        memcpy(text + used, part, strlen(part));
        used += strlen(part);
    }
    text[used] = '\0';
}

static void recording_rename(struct recording *recording, struct dice *dice) {
    char text[512];
    struct frame *frames = recording->trace.frames.frame;
    for (uint32_t i = 1; i <= SITES; i++) {
        random_text(dice, text, sizeof text);
        frames[i].name = recording_text(recording, text);
        random_text(dice, text, sizeof text - 3);
        strcat(text, ".py");
        frames[i].file = recording_text(recording, text);
        frames[i].line = dice_below(dice, 1u << 31);
    }
    for (uint32_t i = 0; i < 2 * PHASES; i++) {
        random_text(dice, text, sizeof text);
        recording->annotations[i].name = recording_text(recording, text);
    }
    for (uint32_t i = 0; i < LIVES; i++)
        recording->size[i] = UINT64_C(1) << dice_below(dice, 38);
}

static void nothing_overlaps_with_random_texts(void **state) {
    (void)state;
    struct dice dice = {42};
    struct font *font = font_open();
    assert_non_null(font);
    for (uint32_t run = 0; run < 50; run++) {
        struct recording *recording = recording_of_sites(true);
        char title[512];
        recording_rename(recording, &dice);
        arena_release(&recording->arena);
        assert_true(timeline_init(&recording->timeline, &recording->trace, 0, &recording->arena));
        random_text(&dice, title, sizeof title);
        struct chart_options options = options_of(320 + dice_below(&dice, 2200),
                                                  240 + dice_below(&dice, 1400), 1 + dice_below(&dice, 3));
        options.title = title;
        options.axis = dice_below(&dice, 2) ? AXIS_TIME : AXIS_EVENTS;
        options.color_by = (enum color_by)dice_below(&dice, COLOR_BY_CATEGORY + 1);
        options.filter = dice_below(&dice, 2) ? &own_filter : NULL;
        options.capacity_bytes = dice_below(&dice, 2) ? UINT64_C(80) << 30 : 0;
        options.legend_moment = dice_below(&dice, EVENTS);
        layout_check(recording, &options, font);
        recording_close(recording);
    }
    font_close(font);
}

/* The flags of a peak and of an OOM may be anywhere, also at the same pixel and at either edge. */
static void flags_never_collide(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct font *font = font_open();
    assert_non_null(font);
    struct chart_options options = options_of(800, 450, 1);
    for (uint32_t oom = 0; oom < EVENTS; oom += 7)
        for (uint32_t moment = 0; moment <= EVENTS; moment += 50) {
            recording->ooms[1].event = oom;
            options.legend_moment = moment;
            layout_check(recording, &options, font);
        }
    font_close(font);
    recording_close(recording);
}

/* By lifetime, at the end, when only the long ones are alive: the colours that the window shows are all there. */
static void every_colour_is_explained(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(320, 240, 1);
    options.color_by = COLOR_BY_AGE;
    struct chart_input input = {.timeline = &recording->timeline,
                                .host = plain_host,
                                .options = &options,
                                .window = chart_window_of(&recording->timeline, &options),
                                .moment = EVENTS};
    struct raster_style style = {.color_by = options.color_by};
    struct arena scratch;
    struct group *groups;
    uint32_t n_groups, n_alive = 0;
    bool shown[RASTER_KEYS] = {false};
    uint64_t bytes = 0;
    arena_init(&scratch, plain_host, SIZE_MAX);
    assert_true(chart_groups_find(&input, &style, &scratch, &groups, &n_groups));
    for (uint32_t i = 0; i < n_groups; i++) {
        shown[groups[i].site] = true;
        bytes += groups[i].bytes;
        n_alive += groups[i].count != 0;
    }
    for (uint32_t i = 0; i < LIVES; i++)
        assert_true(shown[raster_key(&recording->timeline, &style, i)]);
    assert_int_equal(bytes, recording->timeline.live[EVENTS]);
    assert_true(n_alive > 0 && n_alive < n_groups);
    arena_release(&scratch);
    recording_close(recording);
}

/* ---- figures beside the plot ---- */

/* Is it nothing but a figure and its unit? Then where the unit begins, else NULL. */
static const char *unit_of_figure(const char *text) {
    const char *unit = text + strspn(text, "<0123456789.,");
    return unit != text && *unit == ' ' && (strcmp(unit, " B") == 0 || strcmp(unit + 2, "iB") == 0) ? unit + 1
                                                                                                    : NULL;
}

static uint64_t highest_of_site(const struct recording *recording, uint32_t site) {
    const struct lives *lives = &recording->device.lives;
    uint64_t highest = 0;
    for (uint32_t moment = 0; moment <= EVENTS; moment++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < lives->count; i++)
            if (lives->stack[i] == site && lives->birth[i] <= moment && lives->death[i] > moment)
                bytes += lives->size[i];
        highest = bytes > highest ? bytes : highest;
    }
    return highest;
}

/* Boxes of a site below "Also in the picture": its swatch, its figure, its name. */
static void also_is_right(const struct recording *recording, const char *figure, const char *name) {
    unsigned site = 0;
    char wanted[32];
    assert_int_equal(sscanf(name, "model_%u.py", &site), 1);
    uint64_t mib = highest_of_site(recording, site) >> 20; /* all sizes are whole MiB */
    if (mib >= 1000)
        snprintf(wanted, sizeof wanted, "%u,%03u.0 MiB", (unsigned)(mib / 1000), (unsigned)(mib % 1000));
    else
        snprintf(wanted, sizeof wanted, "%u.0 MiB", (unsigned)mib);
    assert_string_equal(figure, wanted);
}

/* At the end only few call sites have anything alive; those that are gone have the bytes of their own highest moment. */
static void figures_beside_the_plot_share_a_unit(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(3840, 2160, 1);
    struct font *font = font_open();
    assert_non_null(font);
    for (uint32_t i = 0; i < LIVES; i++) /* sites 1 to 5 keep nothing to the end */
        if (recording->device.lives.stack[i] <= 5 && recording->device.lives.death[i] > EVENTS)
            recording->device.lives.size[i] = 0;
    recording_settle(recording, EVENTS);
    options.legend_moment = EVENTS;
    struct arena scratch;
    struct group *groups;
    struct chart_layout layout;
    struct chart_input input = {.timeline = &recording->timeline,
                                .host = plain_host,
                                .options = &options,
                                .window = chart_window_of(&recording->timeline, &options),
                                .moment = EVENTS};
    struct raster_style style = {.color_by = COLOR_BY_SITE};
    arena_init(&scratch, plain_host, SIZE_MAX);
    assert_true(chart_groups_find(&input, &style, &scratch, &groups, &input.n_groups));
    input.groups = groups;
    assert_int_equal(chart_layout_make(&layout, &input, font), CHART_OK);
    uint32_t n_figures = 0, n_also = 0, n_texts = 0;
    bool also = false;
    const char *texts[3] = {"", "", ""};
    for (uint32_t i = 0; i < layout.n_boxes; i++) {
        if (layout.boxes[i].kind != CHART_TEXT)
            continue;
        const char *text = layout.boxes[i].text, *unit = unit_of_figure(text);
        texts[n_texts++ % 3] = text;
        bool is_ghost = layout.boxes[i].style.weight == FONT_BOLD; /* the request that failed */
        if (unit != NULL && !is_ghost && layout.boxes[i].rect.x > layout.plot.x + layout.plot.width) {
            assert_string_equal(unit, "MiB");
            assert_non_null(strchr(text, '.'));
            n_figures++;
        }
        /* The legend's own rows, which follow, begin with a count. */
        also = (also || strcmp(text, "Also in the picture") == 0) && strstr(text, "\xc3\x97") == NULL;
        if (also && strncmp(text, "model_", 6) == 0) {
            also_is_right(recording, texts[(n_texts + 1) % 3], text);
            n_also++;
        }
    }
    assert_true(n_figures > 10);
    assert_true(n_also >= 3);
    chart_layout_release(&layout);
    arena_release(&scratch);
    font_close(font);
    recording_close(recording);
}

/* ---- what is said ---- */

/* The layout of a recording, its texts one a line in `said`. Groups are of the options' moment. */
static void layout_texts(struct recording *recording, const struct chart_options *options, char *said,
                         size_t capacity) {
    struct font *font = font_open();
    assert_non_null(font);
    struct chart_input input = {.timeline = &recording->timeline,
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

/* A recording of one long allocation and one that waits for another stream. */
static struct recording *recording_of_two(uint64_t pending_bytes) {
    struct recording *recording = recording_open();
    uint32_t stack = recording_site(recording, "/home/u/train.py", "step", 7);
    recording_life(recording, 1, STAYS, UINT64_C(1) << 30, stack);
    uint32_t pending = recording_life(recording, 2, 80, pending_bytes, stack);
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

static void ooms_are_told_without_a_plot(void **state) {
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
        strstr(said, "OOM: asked 5 GiB, 512 MiB free \xc2\xb7 event 0 (0 \xc2\xb5s)\nOOM: asked"));
    assert_null(strstr(said, "more"));
    recording->device.n_ooms = 4;
    for (uint32_t i = 0; i < SIZES; i++) {
        options = options_of(sizes[i][0], sizes[i][1], sizes[i][2]);
        layout_texts(recording, &options, said, sizeof said);
        assert_non_null(strstr(said, "OOM: asked 5 GiB, 512 MiB free"));
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

/* The legend says of which moment it is, but a moment outside of the window has no place above the plot. */
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

static void text_behind_nul_is_shown(void **state) {
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

/* ---- window ---- */

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

/* ---- picture ---- */

/* The value of a tEXt chunk, NULL: there is none. The length is in `nbytes`. */
static const char *text_find(const struct buffer *png, const char *key, size_t *nbytes) {
    for (size_t at = 8; at + 12 <= png->nbytes;) {
        const uint8_t *chunk = png->bytes + at;
        size_t length = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
        if (memcmp(chunk + 4, "tEXt", 4) == 0 && length > strlen(key) &&
            memcmp(chunk + 8, key, strlen(key) + 1) == 0) {
            *nbytes = length - strlen(key) - 1;
            return (const char *)chunk + 8 + strlen(key) + 1;
        }
        at += 12 + length;
    }
    return NULL;
}

static uint8_t *png_decode(const struct buffer *png, png_image *image) {
    *image = (png_image){.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(image, png->bytes, png->nbytes));
    image->format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(*image));
    assert_non_null(pixels);
    assert_true(png_image_finish_read(image, NULL, pixels, 0, NULL));
    return pixels;
}

static void raster_expect(const struct timeline *timeline, const struct view *view,
                          const struct chart_options *options, uint8_t *rgba) {
    struct scene scene;
    struct raster raster;
    struct raster_style style = {.dark = options->dark, .reserved = true, .scale = options->scale};
    scene_init(&scene, timeline, plain_host);
    raster_init(&raster, plain_host);
    assert_true(scene_build(&scene, view));
    assert_true(raster_draw(&raster, &scene, &style, rgba));
    raster_release(&raster);
    scene_release(&scene);
}

static void plot_check(struct recording *recording, const struct chart_options *options) {
    struct buffer png = {0};
    size_t nbytes;
    png_image image;
    unsigned x, y, width, height;
    assert_int_equal(chart_png(&png, &recording->timeline, options, &recording->arena), CHART_OK);
    const char *plot = text_find(&png, "strata:plot", &nbytes);
    assert_non_null(plot);
    char text[64] = {0};
    assert_true(nbytes < sizeof text);
    memcpy(text, plot, nbytes);
    assert_int_equal(sscanf(text, "%u %u %u %u", &x, &y, &width, &height), 4);
    uint8_t *pixels = png_decode(&png, &image);
    assert_int_equal(image.width, options->width * options->scale);
    assert_int_equal(image.height, options->height * options->scale);
    struct view view = {
        .width = width, .height = height, .top_bytes = timeline_headroom(&recording->timeline)};
    view_fit(&view, &recording->timeline);
    uint8_t *expected = malloc((size_t)width * height * 4);
    assert_non_null(expected);
    raster_expect(&recording->timeline, &view, options, expected);
    for (unsigned row = 0; row < height; row++)
        assert_memory_equal(pixels + ((size_t)(y + row) * image.width + x) * 4,
                            expected + (size_t)row * width * 4, (size_t)width * 4);
    free(expected);
    free(pixels);
    buffer_release(&png);
}

static void the_plot_is_exactly_the_rasters(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    for (uint32_t i = 0; i < 8; i++) {
        struct chart_options options = options_of(sizes[i][0], sizes[i][1], sizes[i][2]);
        options.dark = i % 2;
        options.no_names = true;
        plot_check(recording, &options);
    }
    recording_close(recording);
}

static void the_same_input_gives_the_same_bytes(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(800, 450, 1);
    struct buffer first = {0}, second = {0};
    size_t nbytes;
    assert_int_equal(chart_png(&first, &recording->timeline, &options, &recording->arena), CHART_OK);
    assert_int_equal(chart_png(&second, &recording->timeline, &options, &recording->arena), CHART_OK);
    assert_int_equal(first.nbytes, second.nbytes);
    assert_memory_equal(first.bytes, second.bytes, first.nbytes);
    const char *fingerprint = text_find(&first, "strata:fingerprint", &nbytes);
    assert_non_null(fingerprint);
    assert_int_equal(nbytes, 39);
    assert_memory_equal(fingerprint, options.fingerprint, 39);
    assert_non_null(text_find(&first, "strata:flags", &nbytes));
    assert_non_null(text_find(&first, "Software", &nbytes));
    buffer_release(&first);
    buffer_release(&second);
    recording_close(recording);
}

static void impossible_sizes_are_refused(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    static const uint32_t bad[][3] = {{319, 240, 1},  {320, 239, 1},  {7681, 900, 1}, {1600, 4321, 1},
                                      {1600, 900, 0}, {1600, 900, 5}, {7680, 4320, 4}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct chart_options options = options_of(bad[i][0], bad[i][1], bad[i][2]);
        struct buffer png = {0};
        assert_int_equal(chart_png(&png, &recording->timeline, &options, &recording->arena), CHART_SIZE);
        assert_int_equal(png.nbytes, 0);
        buffer_release(&png);
    }
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_overlaps_at_any_size),
        cmocka_unit_test(nothing_overlaps_with_random_texts),
        cmocka_unit_test(flags_never_collide),
        cmocka_unit_test(every_colour_is_explained),
        cmocka_unit_test(figures_beside_the_plot_share_a_unit),
        cmocka_unit_test(grave_notes_come_first),
        cmocka_unit_test(ooms_are_told_without_a_plot),
        cmocka_unit_test(another_devices_history_is_named),
        cmocka_unit_test(a_moment_outside_has_no_flag),
        cmocka_unit_test(hatching_that_is_not_drawn_is_not_explained),
        cmocka_unit_test(text_behind_nul_is_shown),
        cmocka_unit_test(an_empty_recording_says_why),
        cmocka_unit_test(a_window_has_its_own_peak),
        cmocka_unit_test(the_plot_is_exactly_the_rasters),
        cmocka_unit_test(the_same_input_gives_the_same_bytes),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
