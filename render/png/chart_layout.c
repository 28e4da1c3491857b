#include "render/png/chart_layout.h"
#include "render/words/device.h"

#include "base/format.h"
#include "base/numbers.h"
#include "render/png/chart_maker.h"

#include <stdio.h>
#include <string.h>

/* ---- sizes and colours ---- */

static uint32_t square_root(uint32_t n) {
    uint32_t root = 0;
    while ((uint64_t)(root + 1) * (root + 1) <= n)
        root++;
    return root;
}

/* Text grows with the square root of the picture: 12 px at 800x450, 15 px at 1600x900, 23 px at 3840x2160. So a large
 * picture has more room for data and can still be read at half its size. */
bool chart_begin(struct chart_maker *maker, struct chart_layout *layout, const struct chart_options *options,
                 struct font *font, struct arena_host host) {
    uint32_t wide = options->width * 9 / 16, side = options->height < wide ? options->height : wide;
    uint32_t em = square_root(side / 4), scale = options->scale;
    em = em < 12 ? 12 : em;
    uint32_t small = em * 15 / 16 < 12 ? 12 : em * 15 / 16;
    *layout = (struct chart_layout){.colors = &inks[options->dark],
                                    .width = options->width * scale,
                                    .height = options->height * scale,
                                    .scale = scale};
    arena_init(&layout->arena, host, SIZE_MAX);
    *maker = (struct chart_maker){.out = layout,
                                  .font = font,
                                  .width = (int32_t)layout->width,
                                  .height = (int32_t)layout->height,
                                  .scale = (int32_t)scale,
                                  .em = (int32_t)(em * scale),
                                  .title = {FONT_BOLD, em * 11 / 8 * scale},
                                  .body = {FONT_REGULAR, em * scale},
                                  .bold = {FONT_BOLD, em * scale},
                                  .small = {FONT_REGULAR, small * scale},
                                  .names = {FONT_REGULAR, small * 7 / 8 * scale}};
    return options->width >= 320 && options->width <= 7680 && options->height >= 240 &&
           options->height <= 4320 && scale >= 1 && scale <= 4;
}

struct rect chart_page(const struct chart_maker *maker) {
    return (struct rect){maker->em, maker->em * 3 / 4, maker->width - 2 * maker->em,
                         maker->height - maker->em * 3 / 2};
}

/* ---- window ---- */

static uint32_t moment_of_event_q16(const struct timeline *timeline, int64_t q16) {
    int64_t event = q16 >= 0 ? q16 / 65536 : -1;
    return event >= timeline->device->n_events ? timeline->device->n_events : (uint32_t)(event + 1);
}

uint32_t chart_moment_of_q16(const struct timeline *timeline, enum axis axis, int64_t q16) {
    return axis == AXIS_EVENTS ? moment_of_event_q16(timeline, q16)
                               : timeline_moment_at(timeline, q16 / 65536);
}

struct chart_window chart_window_of(const struct timeline *timeline, const struct chart_options *options) {
    bool timed = options->axis == AXIS_TIME && timeline_timed(timeline);
    struct view view = {.axis = timed ? AXIS_TIME : AXIS_EVENTS};
    struct chart_window window = {.axis = view.axis, .whole = options->from_q16 >= options->to_q16};
    view_fit(&view, timeline);
    window.from_q16 = window.whole ? view.from_q16 : options->from_q16;
    window.to_q16 = window.whole ? view.to_q16 : options->to_q16;
    window.first_moment = window.whole ? 0 : chart_moment_of_q16(timeline, window.axis, window.from_q16);
    /* The end is exclusive: an event that begins exactly there is not shown. */
    window.end_moment = window.whole ? timeline->n_moments
                                     : chart_moment_of_q16(timeline, window.axis, window.to_q16 - 1) + 1;
    if (window.end_moment <= window.first_moment)
        window.end_moment = window.first_moment + 1;
    window.peak_moment = timeline_peak_in(timeline, window.first_moment, window.end_moment);
    return window;
}

static uint64_t top_bytes_of(const struct chart_input *in) {
    const struct chart_window *window = &in->window;
    uint64_t top = timeline_headroom_in(in->timeline, window->first_moment, window->end_moment,
                                        in->options->capacity_bytes);
    return in->selection == NULL
               ? top
               : selection_headroom(in->selection, top, window->first_moment, window->end_moment);
}

/* ---- head ---- */

static void subtitle_facts(const struct chart_maker *maker, char *text, size_t capacity) {
    const struct timeline *timeline = maker->in->timeline;
    const struct chart_window *window = &maker->in->window;
    uint32_t n_events = timeline->device->n_events;
    char model[61] = "";
    if (timeline->device->ordinal >= 0)
        chart_string_text(maker, timeline->device->name, model, sizeof model);
    int used = snprintf(
        text, capacity, "%s%s%s \xc2\xb7 %s event%s", device_named("GPU", timeline->device->ordinal).text,
        model[0] != '\0' ? " \xc2\xb7 " : "", model, format_count(n_events).text, n_events == 1 ? "" : "s");
    if (timeline_timed(timeline) && n_events > 1)
        used += snprintf(text + used, capacity - (size_t)used, " \xc2\xb7 %s",
                         format_duration(timeline_start_us(timeline, timeline->n_moments - 1)).text);
    if (!window->whole)
        snprintf(text + used, capacity - (size_t)used, " \xc2\xb7 shown: events %s to %s",
                 format_count(window->first_moment > 0 ? window->first_moment - 1 : 0).text,
                 format_count(window->end_moment > 1 ? window->end_moment - 2 : 0).text);
}

/* Puts the subtitle. With a title, it begins with the file's name, elided so that the facts stay complete. */
static void subtitle_put(struct chart_maker *maker, struct rect line) {
    const struct inks *colors = maker->out->colors;
    char facts[256];
    subtitle_facts(maker, facts, sizeof facts);
    if (maker->in->options->title) {
        char separated[280];
        snprintf(separated, sizeof separated, " \xc2\xb7 %s", facts);
        int32_t room = line.width - chart_text_width(maker, maker->body, separated);
        int32_t used = room < 4 * maker->em
                           ? 0
                           : chart_put_text(maker, (struct rect){line.x, line.y, room, 0}, CHART_LEFT,
                                            maker->body, colors->dim, maker->in->options->file);
        line.x += used;
        line.width -= used;
        if (used > 0)
            memcpy(facts, separated, sizeof facts - 1);
    }
    facts[sizeof facts - 1] = '\0';
    chart_put_text(maker, line, CHART_LEFT, maker->body, colors->dim, facts);
}

int32_t chart_title_put(struct chart_maker *maker, struct rect page, const char *title) {
    int32_t line = chart_line(maker->title),
            name_y = page.y + line - chart_line(maker->small) - (int32_t)maker->title.px / 8;
    struct rect name = {page.x + page.width / 2, name_y, page.width / 2, 0};
    page.width -= maker->em + chart_put_text(maker, name, CHART_RIGHT, maker->small, maker->out->colors->dim,
                                             "Strata " STRATA_VERSION);
    chart_put_text(maker, page, CHART_LEFT, maker->title, maker->out->colors->text, title);
    return page.y + line;
}

static int32_t head_put(struct chart_maker *maker, struct rect page) {
    const struct chart_options *options = maker->in->options;
    page.y = chart_title_put(maker, page, options->title ? options->title : options->file);
    subtitle_put(maker, page);
    return page.y + chart_line(maker->body) + maker->em / 2;
}

/* ---- middle ---- */

/* The middle of the page, divided into parts. A part of width 0 is missing. */
struct parts {
    struct rect chart, legend;
};

static struct parts parts_beside(struct chart_maker *maker, struct rect area) {
    int32_t gap = maker->em * 3 / 2;
    int32_t most = area.width * 2 / 5 < 32 * maker->em ? area.width * 2 / 5 : 32 * maker->em;
    int32_t width = chart_legend_width(maker, 16 * maker->em, most);
    struct parts parts = {area, area};
    parts.chart.width -= width + gap;
    parts.legend.x += area.width - width;
    parts.legend.width = width;
    return parts;
}

static struct parts parts_below(struct chart_maker *maker, struct rect area) {
    int32_t wanted = chart_legend_height(maker), most = area.height * 2 / 5, gap = maker->em;
    int32_t height = wanted < most ? wanted : most;
    struct parts parts = {area, area};
    parts.chart.height -= height + gap;
    parts.legend.y += area.height - height;
    parts.legend.height = height;
    /* A wide legend is made narrower, because figures far from their names are hard to read. */
    if (parts.legend.width > 44 * maker->em)
        parts.legend.width = 44 * maker->em;
    return parts;
}

static struct parts parts_of(struct chart_maker *maker, struct rect area) {
    struct parts alone = {area, {0}};
    if (maker->out->plot_is_text)
        return alone;
    if (area.width >= 46 * maker->em && area.height * 2 <= area.width * 3)
        return parts_beside(maker, area);
    return area.height >= 26 * maker->em ? parts_below(maker, area) : alone;
}

/* Gives the plot what lane, phases and labels leave. */
static bool plot_place(struct chart_maker *maker, struct rect area) {
    struct chart_layout *out = maker->out;
    /* The width of the y labels depends on a height that is not known yet, so it is estimated. */
    chart_phases_fit(maker, area.width - chart_ghost_width(maker) - 4 * maker->em);
    int32_t lane = chart_lane_height(maker), below = chart_unused_height(maker) + chart_phases_height(maker);
    int32_t x_labels = 2 * chart_line(maker->small) + maker->em / 4;
    below += chart_map_height(maker, area.height);
    out->plot = (struct rect){area.x, area.y + lane, area.width, area.height - lane - below - x_labels};
    if (out->plot.height < 16 || out->plot.height > VIEW_MAX_SIDE)
        return false;
    out->view.height = (uint32_t)out->plot.height;
    int32_t labels = chart_y_labels_width(maker, &out->view);
    out->plot.x += labels;
    out->plot.width -= labels + chart_ghost_width(maker);
    if (out->plot.width < 16 || out->plot.width > VIEW_MAX_SIDE)
        return false;
    out->view.width = (uint32_t)out->plot.width;
    return true;
}

static void chart_parts_put(struct chart_maker *maker, struct rect area) {
    const struct rect plot = maker->out->plot;
    if (maker->in->style != NULL) {
        chart_put_plot(maker, plot, maker->out->scene);
        chart_names_put(maker);
    }
    chart_lane_put(maker, (struct rect){plot.x, area.y, plot.width, plot.y - area.y});
    int32_t below = plot.y + plot.height, unused = chart_unused_height(maker);
    chart_unused_put(maker, (struct rect){plot.x, below, plot.width, unused});
    chart_phases_put(maker, (struct rect){plot.x, below + unused, plot.width, chart_phases_height(maker)});
    int32_t map = chart_map_height(maker, area.height);
    chart_map_put(maker, (struct rect){area.x, area.y + area.height - map, area.width, map}, plot);
    chart_axes_put(maker);
    chart_ghost_put(maker, (struct rect){plot.x + plot.width, plot.y, chart_ghost_width(maker), plot.height});
}

/* ---- all of it ---- */

/* Builds the plot's bands as a page that opens with this window has them: bands that are too thin to be told apart
 * become one area per call site, or, in a narrow window, get edges of their own, which other labels of the axis show. */
static bool scene_make(struct chart_maker *maker, struct rect area) {
    struct chart_layout *out = maker->out;
    struct scene *scene = out->scene;
    uint32_t thin = SCENE_THIN_Q8 * out->scale;
    bool built = scene_build(scene, &out->view);
    if (built && maker->in->options->color_by == COLOR_BY_SITE && scene_is_dense(scene, thin))
        built = scene_fit_heights(scene, thin) || scene_group_sites(scene, NULL);
    if (built && (scene->view.top_bytes != out->view.top_bytes ||
                  scene->view.bottom_bytes != out->view.bottom_bytes)) {
        out->view = scene->view;
        if (!plot_place(maker, area))
            return false;
        built = scene_build(scene, &out->view);
    }
    maker->failed |= !built;
    return built;
}

/* Places the parts. Until the plot has enough room, a small picture goes without its legend, then without the lane of
 * unused memory, then without phases. */
static bool parts_place(struct chart_maker *maker, struct rect area, struct parts *parts) {
    *parts = parts_of(maker, area);
    bool placed = plot_place(maker, parts->chart);
    for (int step = 0; step < 3 && !placed && !maker->failed; step++) {
        *parts = (struct parts){.chart = area};
        maker->unused_bytes = step < 1 ? maker->unused_bytes : 0;
        maker->host_bytes = step < 1 ? maker->host_bytes : 0;
        maker->phases.count = step < 2 ? maker->phases.count : 0;
        placed = plot_place(maker, parts->chart);
    }
    return placed && (maker->out->plot_is_text || scene_make(maker, parts->chart));
}

static bool middle_put(struct chart_maker *maker, struct rect area) {
    struct parts parts;
    if (!parts_place(maker, area, &parts))
        return false;
    if (maker->out->plot_is_text) {
        chart_put(maker, CHART_FRAME, maker->out->plot, maker->out->colors->line);
        chart_empty_put(maker);
        return true;
    }
    chart_parts_put(maker, parts.chart);
    if (parts.legend.width > 0)
        chart_legend_put(maker, parts.legend);
    return true;
}

enum chart_error chart_layout_make(struct chart_layout *layout, const struct chart_input *input,
                                   struct font *font) {
    struct chart_maker maker;
    if (!chart_begin(&maker, layout, input->options, font, input->host))
        return CHART_SIZE;
    maker.in = input;
    maker.unit = format_unit(LARGEST(input->n_groups, i, input->groups[i].bytes));
    scene_init(layout->scene, chart_shown(input), input->host);
    layout->scene->keep = chart_keep(input);
    layout->style = input->style;
    layout->plot_is_text = chart_shown(input)->peak_bytes == 0;
    layout->view = (struct view){.axis = input->window.axis,
                                 .from_q16 = input->window.from_q16,
                                 .to_q16 = input->window.to_q16,
                                 .top_bytes = top_bytes_of(input)};
    if (!layout->plot_is_text && maker.height >= 24 * maker.em)
        chart_phases_find(&maker);
    if (!chart_unused_find(&maker) || !chart_map_find(&maker) || !chart_side_find(&maker))
        return CHART_NO_MEMORY;
    struct rect page = chart_page(&maker);
    int32_t top = head_put(&maker, page),
            notes = CHART_MEASURED(&maker, chart_notes_put(&maker, page)) - page.y;
    int32_t bottom = page.y + page.height - notes;
    chart_notes_put(&maker, (struct rect){page.x, bottom, page.width, notes});
    bool placed = middle_put(&maker, (struct rect){page.x, top, page.width, bottom - top});
    return maker.failed ? CHART_NO_MEMORY : placed ? CHART_OK : CHART_SIZE;
}

void chart_layout_release(struct chart_layout *layout) {
    scene_release(&layout->scene[0]);
    scene_release(&layout->scene[1]);
    arena_release(&layout->arena);
}
