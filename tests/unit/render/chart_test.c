/* The picture's layout at many sizes: nothing overlaps, nothing leaves the page, every colour and figure is explained. */
#include "chart_made.h"
#include "dice.h"

/* ---- layout ---- */

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
        assert_true(selection_make(&selection, &recording->timeline, options->filter, NULL, &scratch));
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
    for (uint32_t i = 0; i < ALLOCATIONS; i++)
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

/* Coloured by lifetime, at the end, when only the long-lived are left: the legend explains all colours in the
 * window. */
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
    for (uint32_t i = 0; i < ALLOCATIONS; i++)
        assert_true(shown[raster_key(&recording->timeline, &style, i)]);
    assert_int_equal(bytes, recording->timeline.live[EVENTS]);
    assert_true(n_alive > 0 && n_alive < n_groups);
    arena_release(&scratch);
    recording_close(recording);
}

/* ---- figures beside the plot ---- */

/* The unit in a text that is only a figure and its unit; NULL: another text. */
static const char *unit_of_figure(const char *text) {
    const char *unit = text + strspn(text, "<0123456789.,");
    return unit != text && *unit == ' ' && (strcmp(unit, " B") == 0 || strcmp(unit + 2, "iB") == 0) ? unit + 1
                                                                                                    : NULL;
}

static void figures_beside_the_plot_share_a_unit(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(3840, 2160, 1);
    struct font *font = font_open();
    assert_non_null(font);
    struct arena scratch;
    struct group *groups;
    struct chart_layout layout;
    struct chart_input input = {.timeline = &recording->timeline,
                                .host = plain_host,
                                .options = &options,
                                .window = chart_window_of(&recording->timeline, &options),
                                .moment = recording->timeline.peak_moment};
    struct raster_style style = {.color_by = COLOR_BY_SITE};
    arena_init(&scratch, plain_host, SIZE_MAX);
    assert_true(chart_groups_find(&input, &style, &scratch, &groups, &input.n_groups));
    input.groups = groups;
    assert_int_equal(chart_layout_make(&layout, &input, font), CHART_OK);
    uint32_t n_figures = 0;
    for (uint32_t i = 0; i < layout.n_boxes; i++) {
        if (layout.boxes[i].kind != CHART_TEXT)
            continue;
        const char *text = layout.boxes[i].text, *unit = unit_of_figure(text);
        bool is_ghost = layout.boxes[i].style.weight == FONT_BOLD; /* the request that failed */
        if (unit != NULL && !is_ghost && layout.boxes[i].rect.x > layout.plot.x + layout.plot.width) {
            assert_string_equal(unit, "GiB");
            assert_non_null(strchr(text, '.'));
            n_figures++;
        }
    }
    assert_true(n_figures > 10);
    chart_layout_release(&layout);
    arena_release(&scratch);
    font_close(font);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_overlaps_at_any_size),
        cmocka_unit_test(nothing_overlaps_with_random_texts),
        cmocka_unit_test(flags_never_collide),
        cmocka_unit_test(every_colour_is_explained),
        cmocka_unit_test(figures_beside_the_plot_share_a_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
