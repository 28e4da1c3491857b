#include "render/png/diff_chart.h"

#include "base/format.h"
#include "render/png/canvas.h"
#include "render/png/chart_maker.h"
#include "render/png/colors.h"
#include "render/png/png_write.h"
#include "render/words/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_NBYTES = 2048, LINE_NBYTES = 512, CAUSES_MOST = 8 };

struct colors_of_diff {
    uint32_t background, text, quiet, line, more, less, mark_a, mark_b;
};

static const struct colors_of_diff light = {0xffffff, 0x1f2328, 0x59636e, 0xd1d9e0,
                                            0xb4530a, 0x0b7a75, 0x1f5fc4, 0x7a3db8};
static const struct colors_of_diff dark = {0x0d1117, 0xe6edf3, 0x9198a1, 0x3d444d,
                                           0xff9f5a, 0x5fd0c5, 0x7db0ff, 0xc79bff};

struct pad {
    const struct diff *diff;
    const struct diff_chart_options *options;
    const struct colors_of_diff *colors;
    struct canvas canvas;
    struct font *font;
    struct arena *memory;
    struct font_style body, bold, title, small;
    int32_t em;
    uint64_t top_bytes;  /* of both plots */
    int64_t left, right; /* moments before and after the compared one, of the longer side */
    bool failed;
};

/* ---- texts ---- */

/* One line in `area`, elided to its width; returns the width drawn. */
static int32_t text_put(struct pad *pad, struct rect area, struct font_style style, uint32_t color,
                        bool right, enum font_cut cut, const char *text) {
    int32_t width = canvas_line(&pad->canvas, pad->font, style, area, right, cut, color, text);
    pad->failed |= width < 0;
    return width < 0 ? 0 : width;
}

/* The longest start of whole words that fits; one word at least. Returns its length. */
static size_t line_fit(struct pad *pad, struct font_style style, const char *text, int32_t width,
                       char line[LINE_NBYTES]) {
    size_t best = 0;
    for (size_t end = strcspn(text, " ");; end += 1 + strcspn(text + end + 1, " ")) {
        if (end >= LINE_NBYTES)
            break;
        memcpy(line, text, end);
        line[end] = '\0';
        if (best != 0 && (int32_t)font_width(pad->font, style, line) > width)
            break;
        best = end;
        if (text[end] == '\0')
            break;
    }
    best = best == 0 ? (strlen(text) < LINE_NBYTES ? strlen(text) : LINE_NBYTES - 1) : best;
    memcpy(line, text, best);
    line[best] = '\0';
    return best;
}

/* A paragraph of at most `most` lines; returns the y below it. */
static int32_t paragraph_put(struct pad *pad, struct rect area, struct font_style style, uint32_t color,
                             uint32_t most, const char *text) {
    char line[LINE_NBYTES];
    int32_t height = canvas_line_height(style), bottom = area.y + area.height;
    for (uint32_t n = 0; *text != '\0' && n < most && area.y + height <= bottom; n++, area.y += height) {
        bool last = n + 1 == most || area.y + 2 * height > bottom;
        size_t used = line_fit(pad, style, text, area.width, line);
        text_put(pad, area, style, color, false, FONT_CUT_END, last ? text : line);
        text += used + strspn(text + used, " ");
    }
    return area.y;
}

/* ---- plots ---- */

struct plot_side {
    const char *letter;
    uint32_t mark;
    const struct diff_side *side;
    const struct timeline *shown;
};

/* Position of a moment's beginning along the plot: the compared moments of both sides have the same. */
static int32_t plot_x(const struct pad *pad, const struct plot_side *plot, int64_t moment, int32_t width) {
    return (int32_t)((moment - (int64_t)plot->side->moment + pad->left) * width / (pad->left + pad->right));
}

static void scene_put(struct pad *pad, const struct plot_side *plot, struct rect area) {
    int32_t from = plot_x(pad, plot, 0, area.width),
            to = plot_x(pad, plot, plot->shown->n_moments, area.width);
    struct view view = {.axis = AXIS_EVENTS, .top_bytes = pad->top_bytes, .height = (uint32_t)area.height};
    struct raster_style style = {.dark = pad->options->dark, .scale = pad->options->scale};
    struct scene scene;
    struct raster raster;
    /* A recording of a single event is a stripe that can be seen. */
    int32_t least = pad->em / 2;
    if (to - from < least)
        from = from + least > area.width ? area.width - least : from;
    view.width = to - from > least ? (uint32_t)(to - from) : (uint32_t)least;
    view_fit(&view, plot->shown);
    uint8_t *rgba = malloc((size_t)view.width * view.height * 4);
    scene_init(&scene, plot->shown, arena_share(pad->memory));
    scene.keep = plot->side->keep;
    raster_init(&raster, arena_share(pad->memory));
    if (rgba != NULL && scene_build(&scene, &view) && raster_draw(&raster, &scene, &style, rgba))
        canvas_blit(&pad->canvas, area.x + from, area.y, rgba, view.width, view.height);
    else
        pad->failed = true;
    raster_release(&raster);
    scene_release(&scene);
    free(rgba);
}

static void labels_put(struct pad *pad, struct rect area, int32_t x, int32_t width) {
    struct view view = {.top_bytes = pad->top_bytes, .width = 1, .height = (uint32_t)area.height};
    struct ticks ticks = raster_ticks(&view, pad->options->scale);
    struct y_scale scale = y_scale_of(&view);
    for (uint32_t i = 0; i < ticks.count; i++) {
        int32_t up = (int32_t)(y_scale_q8(&scale, (uint64_t)ticks.at[i]) >> 8);
        int32_t y = area.y + area.height - up - canvas_line_height(pad->small) / 2;
        char text[64];
        chart_tick_text(&ticks, pad->top_bytes, i, text, sizeof text);
        text_put(pad, (struct rect){x, y, width, 0}, pad->small, pad->colors->quiet, true, FONT_CUT_END,
                 text);
    }
}

static void plot_title(const struct pad *pad, const struct plot_side *plot, char *text, size_t capacity) {
    uint64_t bytes = plot->letter[0] == 'A' ? pad->diff->comparison.a_bytes : pad->diff->comparison.b_bytes;
    char when[160] = "before the first event";
    if (plot->side->moment != 0)
        snprintf(when, sizeof when, "after event %s of %s", format_count(plot->side->moment - 1).text,
                 format_count(plot->side->timeline->device->n_events).text);
    snprintf(text, capacity, "%s \xc2\xb7 %s \xc2\xb7 %s %s", plot->side->file,
             device_words(plot->side->timeline->device->ordinal).text, format_bytes(bytes).text, when);
}

static void plot_put(struct pad *pad, const struct plot_side *plot, struct rect area) {
    char text[TEXT_NBYTES];
    int32_t letter = pad->em * 3 / 2, labels = pad->em * 11 / 2,
            head = canvas_line_height(pad->body) + pad->em / 2;
    text_put(pad, (struct rect){area.x, area.y, letter, 0}, pad->bold, plot->mark, false, FONT_CUT_END,
             plot->letter);
    plot_title(pad, plot, text, sizeof text);
    text_put(pad, (struct rect){area.x + letter, area.y, area.width - letter, 0}, pad->body,
             pad->colors->text, false, FONT_CUT_MIDDLE, text);
    struct rect inner = {area.x + labels, area.y + head, area.width - labels, area.height - head};
    if (inner.width < 16 || inner.height < 16)
        return;
    if (plot->shown->peak_bytes != 0)
        scene_put(pad, plot, inner);
    labels_put(pad, inner, area.x, labels - pad->em / 2);
    canvas_frame(&pad->canvas, inner, pad->options->scale, pad->colors->line, 255);
    int32_t begin = plot_x(pad, plot, plot->side->moment, inner.width),
            end = plot_x(pad, plot, (int64_t)plot->side->moment + 1, inner.width);
    int32_t x = inner.x + begin + (end - begin) / 2, half = pad->em / 3;
    canvas_dash(&pad->canvas, (struct rect){x, inner.y, (int32_t)pad->options->scale, inner.height},
                4 * pad->options->scale, 4 * pad->options->scale, plot->mark, 255);
    canvas_triangle(&pad->canvas, (struct rect){x - half, inner.y - half, 2 * half, half}, plot->mark);
}

/* ---- words ---- */

static uint32_t delta_color(const struct pad *pad, int64_t delta) {
    return delta > 0 ? pad->colors->more : delta < 0 ? pad->colors->less : pad->colors->quiet;
}

static int32_t heading_put(struct pad *pad, struct rect area, const char *text) {
    text_put(pad, area, pad->bold, pad->colors->text, false, FONT_CUT_END, text);
    return area.y + canvas_line_height(pad->bold) + pad->em / 4;
}

static int32_t causes_put(struct pad *pad, struct rect area) {
    const struct causes *causes = &pad->diff->causes;
    char text[TEXT_NBYTES];
    int32_t bottom = area.y + area.height, bar = pad->em / 4;
    area.y = heading_put(pad, area, causes->count != 0 ? "Causes" : "No call site differs at these moments");
    for (uint32_t i = 0;
         i < causes->count && i < CAUSES_MOST && area.y + canvas_line_height(pad->small) <= bottom; i++) {
        int32_t top = area.y;
        struct rect inner = {area.x + pad->em * 3 / 4, area.y, area.width - pad->em * 3 / 4, bottom - area.y};
        diff_cause_text(pad->diff, &causes->cause[i], text, sizeof text);
        area.y = paragraph_put(pad, inner, pad->small, pad->colors->text, 3, text);
        canvas_fill(&pad->canvas, (struct rect){area.x, top, bar, area.y - top},
                    delta_color(pad, causes->cause[i].bytes), 255);
        area.y += pad->em / 3;
    }
    return area.y;
}

static void site_row_put(struct pad *pad, const struct compare_site *site, struct rect area, unsigned unit) {
    int64_t delta = compare_delta(site->a.bytes, site->b.bytes);
    int32_t column = pad->em * 6;
    char text[LINE_NBYTES];
    text_put(pad, (struct rect){area.x, area.y, column, 0}, pad->small, delta_color(pad, delta), true,
             FONT_CUT_END, format_change_in(delta, unit).text);
    diff_site_text(pad->diff, site, text, sizeof text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "  %s", diff_change_name(site->change));
    text_put(pad, (struct rect){area.x + column + pad->em / 2, area.y, area.width - column - pad->em / 2, 0},
             pad->small, pad->colors->text, false, FONT_CUT_MIDDLE, text);
}

static void sites_put(struct pad *pad, struct rect area) {
    const struct comparison *comparison = &pad->diff->comparison;
    int32_t bottom = area.y + area.height, height = canvas_line_height(pad->small) + pad->em / 6;
    if (comparison->n_listed == 0 || comparison->site[0].change == CHANGE_SAME || area.height < 2 * height)
        return;
    area.y = heading_put(pad, area, "Call sites");
    int64_t largest = compare_delta(comparison->site[0].a.bytes, comparison->site[0].b.bytes);
    unsigned unit = format_unit(largest < 0 ? 0 - (uint64_t)largest : (uint64_t)largest);
    for (uint32_t i = 0; i < comparison->n_listed && area.y + height <= bottom; i++, area.y += height)
        if (comparison->site[i].change != CHANGE_SAME)
            site_row_put(pad, &comparison->site[i], area, unit);
        else
            return;
}

static void headline(const struct pad *pad, char *text, size_t capacity) {
    int64_t delta = compare_delta(pad->diff->comparison.a_bytes, pad->diff->comparison.b_bytes);
    uint64_t size = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
    if (delta == 0)
        snprintf(text, capacity, "A and B hold the same");
    else
        snprintf(text, capacity, "B holds %s %s than A", format_bytes(size).text,
                 delta > 0 ? "more" : "less");
    if (pad->diff->filter != NULL)
        snprintf(text + strlen(text), capacity - strlen(text), " (only: %s)", pad->diff->filter);
}

/* ---- all of it ---- */

static void scales_find(struct pad *pad, const struct plot_side *a, const struct plot_side *b) {
    int64_t behind_a = (int64_t)a->shown->n_moments - a->side->moment,
            behind_b = (int64_t)b->shown->n_moments - b->side->moment;
    uint64_t most = a->shown->peak_bytes > b->shown->peak_bytes ? a->shown->peak_bytes : b->shown->peak_bytes;
    pad->top_bytes = most + most / 16 + 1; /* the reserved line is not drawn, so only what is alive counts */
    pad->left = a->side->moment > b->side->moment ? a->side->moment : b->side->moment;
    pad->right = behind_a > behind_b ? behind_a : behind_b;
}

static void draw(struct pad *pad, const struct plot_side *a, const struct plot_side *b) {
    int32_t width = (int32_t)pad->canvas.width, height = (int32_t)pad->canvas.height, em = pad->em;
    struct rect page = {em, em * 3 / 4, width - 2 * em, height - em * 3 / 2};
    char text[TEXT_NBYTES];
    snprintf(text, sizeof text, "Strata %.60s", pad->options->version);
    int32_t name = text_put(pad, (struct rect){page.x + page.width / 2, page.y, page.width / 2, 0},
                            pad->small, pad->colors->quiet, true, FONT_CUT_END, text);
    headline(pad, text, sizeof text);
    text_put(pad, (struct rect){page.x, page.y, page.width - name - em, 0}, pad->title, pad->colors->text,
             false, FONT_CUT_END, text);
    int32_t top = page.y + canvas_line_height(pad->title) + em / 2;
    bool beside = page.width >= 56 * em;
    int32_t side = beside ? page.width * 3 / 8 : 0, rest = page.y + page.height - top;
    side = side > 36 * em ? 36 * em : side;
    struct rect plots = {page.x, top, page.width - (beside ? side + em * 3 / 2 : 0),
                         beside ? rest : rest * 3 / 5};
    struct rect words = {page.x + page.width - side, top, side, rest};
    if (!beside)
        words = (struct rect){page.x, top + plots.height + em, page.width, rest - plots.height - em};
    int32_t half = (plots.height - em) / 2;
    plot_put(pad, a, (struct rect){plots.x, plots.y, plots.width, half});
    plot_put(pad, b, (struct rect){plots.x, plots.y + half + em, plots.width, half});
    int32_t y = causes_put(pad, (struct rect){words.x, words.y, words.width, words.height * 3 / 5}) + em / 2;
    sites_put(pad, (struct rect){words.x, y, words.width, words.y + words.height - y});
}

static enum chart_error picture_write(struct buffer *out, const struct pad *pad) {
    char software[96];
    snprintf(software, sizeof software, "Strata %.80s", pad->options->version);
    const struct png_text texts[] = {{"Software", software},
                                     {"strata:fingerprint", pad->diff->a.fingerprint},
                                     {"strata:fingerprint_b", pad->diff->b.fingerprint},
                                     {"strata:flags", pad->options->flags}};
    const struct png_picture picture = {pad->canvas.rgba, NULL, pad->canvas.width, pad->canvas.height};
    if (png_write(out, &picture, texts, 4))
        return CHART_OK;
    return out->failed ? CHART_NO_MEMORY : CHART_PNG;
}

static void styles_set(struct pad *pad) {
    uint32_t px = 13 * pad->options->scale;
    pad->em = (int32_t)px;
    pad->body = (struct font_style){FONT_REGULAR, px};
    pad->small = (struct font_style){FONT_REGULAR, 12 * pad->options->scale};
    pad->bold = (struct font_style){FONT_BOLD, px};
    pad->title = (struct font_style){FONT_BOLD, 20 * pad->options->scale};
}

enum chart_error diff_chart_png(struct buffer *out, const struct diff *diff, const struct timeline *shown_a,
                                const struct timeline *shown_b, const struct diff_chart_options *options,
                                struct arena *memory) {
    struct pad pad = {
        .diff = diff, .options = options, .colors = options->dark ? &dark : &light, .memory = memory};
    struct plot_side a = {"A", pad.colors->mark_a, &diff->a, shown_a},
                     b = {"B", pad.colors->mark_b, &diff->b, shown_b};
    uint32_t side = options->width > options->height ? options->width : options->height;
    if (side * options->scale > VIEW_MAX_SIDE)
        return CHART_SIZE;
    pad.font = font_open();
    if (pad.font == NULL)
        return CHART_FONT;
    enum chart_error error = CHART_NO_MEMORY;
    if (canvas_init(&pad.canvas, options->width * options->scale, options->height * options->scale,
                    pad.colors->background)) {
        styles_set(&pad);
        scales_find(&pad, &a, &b);
        draw(&pad, &a, &b);
        error = pad.failed ? CHART_NO_MEMORY : picture_write(out, &pad);
        canvas_release(&pad.canvas);
    }
    font_close(pad.font);
    return error;
}
