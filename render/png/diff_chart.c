#include "render/png/diff_chart.h"

#include "base/format.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "render/png/chart_maker.h"
#include "render/words/device.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_NBYTES = 2048, CAUSES_MOST = 8, CAUSE_LINES = 3 };

struct pair {
    struct chart_maker maker;
    const struct diff *diff;
    int64_t left, right; /* the most moments before and after the compared one, over both sides */
    uint64_t top_bytes;
};

struct half {
    const char *letter;
    uint32_t color;
    uint64_t bytes; /* at the compared moment */
    const struct diff_side *side;
    const struct timeline *shown;
    struct scene *scene;
};

/* The place along the plot where a moment begins. The compared moments of both sides get the same place. */
static int32_t moment_x(const struct pair *pair, const struct half *half, int64_t moment, int32_t width) {
    return (int32_t)((moment - (int64_t)half->side->moment + pair->left) * width /
                     (pair->left + pair->right));
}

static void scene_put(struct pair *pair, const struct half *half, struct rect area) {
    struct chart_maker *maker = &pair->maker;
    int32_t from = moment_x(pair, half, 0, area.width),
            to = moment_x(pair, half, half->shown->n_moments, area.width);
    /* A recording of a single event is drawn as a visible stripe. */
    int32_t least = maker->em / 2;
    if (to - from < least)
        from = from + least > area.width ? area.width - least : from;
    area.x += from;
    area.width = to - from > least ? to - from : least;
    struct view view = {.axis = AXIS_EVENTS,
                        .top_bytes = pair->top_bytes,
                        .width = (uint32_t)area.width,
                        .height = (uint32_t)area.height};
    view_fit(&view, half->shown);
    scene_init(half->scene, half->shown, maker->out->arena.host);
    half->scene->keep = half->side->keep;
    maker->failed |= !scene_build(half->scene, &view);
    chart_put_plot(maker, area, half->scene);
}

static void half_title(const struct half *half, char *text, size_t capacity) {
    char when[160] = "before the first event";
    if (half->side->moment != 0)
        snprintf(when, sizeof when, "after event %s of %s", format_count(half->side->moment - 1).text,
                 format_count(half->side->timeline->device->n_events).text);
    snprintf(text, capacity, "%s \xc2\xb7 %s \xc2\xb7 %s %s", half->side->file,
             device_words(half->side->timeline->device->ordinal).text, format_bytes(half->bytes).text, when);
    utf8_trim(text);
}

/* False: there is no room for a plot, or it is too large. */
static bool half_put(struct pair *pair, const struct half *half, struct rect area) {
    struct chart_maker *maker = &pair->maker;
    char text[TEXT_NBYTES];
    int32_t head = chart_line(maker->body) + maker->em / 2;
    struct view view = {.top_bytes = pair->top_bytes, .width = 1, .height = (uint32_t)(area.height - head)};
    int32_t labels = chart_y_labels_width(maker, &view);
    struct rect title = {area.x + labels, area.y, area.width - labels, 0},
                plot = {title.x, area.y + head, title.width, area.height - head};
    if (plot.width < 16 || plot.height < 16 || plot.width > VIEW_MAX_SIDE || plot.height > VIEW_MAX_SIDE)
        return false;
    chart_put_text(maker, title, CHART_LEFT, maker->bold, half->color, half->letter);
    title.x += maker->em * 3 / 2;
    title.width -= maker->em * 3 / 2;
    half_title(half, text, sizeof text);
    chart_put_text(maker, title, CHART_LEFT, maker->body, maker->out->colors->text, text);
    if (half->shown->peak_bytes != 0)
        scene_put(pair, half, plot);
    chart_y_axis_put(maker, &view, plot);
    chart_put(maker, CHART_FRAME, plot, maker->out->colors->line);
    int32_t begin = moment_x(pair, half, half->side->moment, plot.width),
            end = moment_x(pair, half, (int64_t)half->side->moment + 1, plot.width);
    int32_t x = plot.x + begin + (end - begin) / 2, wide = maker->em / 3;
    chart_put(maker, CHART_DASH, (struct rect){x, plot.y, maker->scale, plot.height}, half->color);
    chart_put(maker, CHART_MARKER, (struct rect){x - wide, plot.y - wide, 2 * wide, wide}, half->color);
    return true;
}

static uint32_t delta_color(const struct pair *pair, int64_t delta) {
    const struct inks *colors = pair->maker.out->colors;
    return delta > 0 ? colors->more : delta < 0 ? colors->less : colors->dim;
}

static int32_t causes_put(struct pair *pair, struct rect area) {
    struct chart_maker *maker = &pair->maker;
    const struct causes *causes = &pair->diff->causes;
    char text[TEXT_NBYTES];
    int32_t bottom = area.y + area.height, indent = maker->em * 3 / 4, line = chart_line(maker->small);
    area.y = chart_heading_put(maker, area,
                               causes->count != 0 ? "Causes" : "No call site differs at these moments");
    for (uint32_t i = 0; i < causes->count && i < CAUSES_MOST && area.y + line <= bottom; i++) {
        struct rect inner = {area.x + indent, area.y, area.width - indent, 0};
        int32_t room = (bottom - area.y) / line;
        diff_cause_text(pair->diff, &causes->cause[i], true, text, sizeof text);
        inner.height = chart_put_lines(maker, inner, maker->small, maker->out->colors->text,
                                       room < CAUSE_LINES ? room : CAUSE_LINES, text) -
                       area.y;
        chart_put(maker, CHART_FILL, (struct rect){area.x, area.y, maker->em / 4, inner.height},
                  delta_color(pair, causes->cause[i].bytes));
        area.y += inner.height + maker->em / 3;
    }
    return area.y;
}

static void site_row_put(struct pair *pair, const struct compare_site *site, struct rect area,
                         unsigned unit) {
    struct chart_maker *maker = &pair->maker;
    int64_t delta = compare_delta(site->a.bytes, site->b.bytes);
    int32_t column = maker->em * 6;
    char text[FONT_TEXT_NBYTES], mark[32];
    chart_put_text(maker, (struct rect){area.x, area.y, column, 0}, CHART_RIGHT, maker->small,
                   delta_color(pair, delta), format_change_in(delta, unit).text);
    snprintf(mark, sizeof mark, "  %s", diff_change_name(site->change));
    diff_site_text(pair->diff, site, text, sizeof text - sizeof mark);
    strcat(text, mark);
    column += maker->em / 2;
    chart_put_site(maker, (struct rect){area.x + column, area.y, area.width - column, 0},
                   maker->out->colors->text, text, mark);
}

static void sites_put(struct pair *pair, struct rect area) {
    const struct comparison *comparison = &pair->diff->comparison;
    int32_t bottom = area.y + area.height, height = chart_row(&pair->maker);
    if (comparison->n_listed == 0 || comparison->site[0].change == CHANGE_SAME || area.height < 2 * height)
        return;
    area.y = chart_heading_put(&pair->maker, area, "Call sites");
    unsigned unit =
        format_unit(magnitude_of(compare_delta(comparison->site[0].a.bytes, comparison->site[0].b.bytes)));
    for (uint32_t i = 0; i < comparison->n_listed && area.y + height <= bottom; i++, area.y += height)
        if (comparison->site[i].change != CHANGE_SAME)
            site_row_put(pair, &comparison->site[i], area, unit);
        else
            return;
}

static void headline(const struct diff *diff, char *text, size_t capacity) {
    int64_t delta = compare_delta(diff->comparison.a_bytes, diff->comparison.b_bytes);
    if (delta == 0)
        snprintf(text, capacity, "A and B hold the same");
    else
        snprintf(text, capacity, "B holds %s %s than A", format_bytes(magnitude_of(delta)).text,
                 delta > 0 ? "more" : "less");
    if (diff->filter != NULL)
        snprintf(text + strlen(text), capacity - strlen(text), " (only: %s)", diff->filter);
    utf8_trim(text);
}

/* Finds the scales that both halves share. */
static void scales_find(struct pair *pair, const struct half half[2]) {
    uint64_t most = larger_of(half[0].shown->peak_bytes, half[1].shown->peak_bytes);
    pair->top_bytes = most + most / 16 + 1; /* the reserved line is not drawn, so only live bytes count */
    for (uint32_t i = 0; i < 2; i++) {
        int64_t before = half[i].side->moment, behind = (int64_t)half[i].shown->n_moments - before;
        pair->left = before > pair->left ? before : pair->left;
        pair->right = behind > pair->right ? behind : pair->right;
    }
}

static bool pair_put(struct pair *pair, const struct half half[2]) {
    struct chart_maker *maker = &pair->maker;
    int32_t em = maker->em;
    struct rect page = chart_page(maker);
    char text[TEXT_NBYTES];
    headline(pair->diff, text, sizeof text);
    int32_t top = chart_title_put(maker, page, text) + em / 2, rest = page.y + page.height - top;
    bool beside = page.width >= 56 * em;
    int32_t side = page.width * 3 / 8 > 36 * em ? 36 * em : page.width * 3 / 8;
    struct rect plots = {page.x, top, page.width, rest * 3 / 5}, words = plots;
    if (beside) {
        plots = (struct rect){page.x, top, page.width - side - em * 3 / 2, rest};
        words = (struct rect){page.x + page.width - side, top, side, rest};
    } else {
        words.y += plots.height + em;
        words.height = rest - plots.height - em;
    }
    int32_t height = (plots.height - em) / 2;
    for (int32_t i = 0; i < 2; i++)
        if (!half_put(pair, &half[i],
                      (struct rect){plots.x, plots.y + i * (height + em), plots.width, height}))
            return false;
    int32_t y = causes_put(pair, (struct rect){words.x, words.y, words.width, words.height * 3 / 5}) + em / 2;
    sites_put(pair, (struct rect){words.x, y, words.width, words.y + words.height - y});
    return true;
}

enum chart_error diff_chart_png(struct buffer *out, const struct diff *diff, const struct timeline *shown_a,
                                const struct timeline *shown_b, const struct chart_options *options,
                                struct arena *memory) {
    const struct inks *ink = &inks[options->dark];
    const struct raster_style style = {.dark = options->dark, .scale = options->scale};
    struct chart_layout layout;
    struct pair pair = {.diff = diff};
    struct half half[2] = {{"A", ink->accent, diff->comparison.a_bytes, &diff->a, shown_a, &layout.scene[0]},
                           {"B", ink->mark_b, diff->comparison.b_bytes, &diff->b, shown_b, &layout.scene[1]}};
    struct font *font = font_open();
    if (font == NULL)
        return CHART_FONT;
    enum chart_error error = CHART_SIZE;
    if (chart_begin(&pair.maker, &layout, options, font, arena_share(memory))) {
        layout.style = &style;
        scales_find(&pair, half);
        error = !pair_put(&pair, half) ? CHART_SIZE : pair.maker.failed ? CHART_NO_MEMORY : CHART_OK;
    }
    if (error == CHART_OK)
        error = chart_write(out, font, &layout, options);
    chart_layout_release(&layout);
    font_close(font);
    return error;
}
