#include "render/png/diff_chart.h"

#include "base/format.h"
#include "base/utf8.h"
#include "render/words/device.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_NBYTES = 2048, LINE_NBYTES = 512, CAUSES_MOST = 8 };

struct pad {
    const struct diff *diff;
    struct picture picture;
    int64_t left, right; /* the most moments before and after the compared one, over both sides */
};

/* Puts a paragraph of at most `most` lines. Returns the y below it. */
static int32_t paragraph_put(struct pad *pad, struct rect area, struct font_style style, uint32_t color,
                             uint32_t most, const char *text) {
    char line[LINE_NBYTES];
    int32_t height = canvas_line_height(style), bottom = area.y + area.height;
    for (uint32_t n = 0; *text != '\0' && n < most && area.y + height <= bottom; n++, area.y += height) {
        bool last = n + 1 == most || area.y + 2 * height > bottom;
        size_t used = font_break(pad->picture.font, style, text, area.width, line, LINE_NBYTES);
        picture_say(&pad->picture, area, style, color, last ? text : line);
        text += used + strspn(text + used, " ");
    }
    return area.y;
}

struct plot_side {
    const char *letter;
    uint32_t mark;
    const struct diff_side *side;
    const struct timeline *shown;
};

/* The place along the plot where a moment begins. The compared moments of both sides get the same place. */
static int32_t plot_x(const struct pad *pad, const struct plot_side *plot, int64_t moment, int32_t width) {
    return (int32_t)((moment - (int64_t)plot->side->moment + pad->left) * width / (pad->left + pad->right));
}

static void scene_put(struct pad *pad, const struct plot_side *plot, struct rect area) {
    int32_t from = plot_x(pad, plot, 0, area.width),
            to = plot_x(pad, plot, plot->shown->n_moments, area.width);
    /* A recording of a single event is drawn as a visible stripe. */
    int32_t least = pad->picture.em / 2;
    if (to - from < least)
        from = from + least > area.width ? area.width - least : from;
    area.x += from;
    area.width = to - from > least ? to - from : least;
    picture_draw_timeline(&pad->picture, plot->shown, plot->side->keep, false, area);
}

static void plot_title(const struct pad *pad, const struct plot_side *plot, char *text, size_t capacity) {
    uint64_t bytes = plot->letter[0] == 'A' ? pad->diff->comparison.a_bytes : pad->diff->comparison.b_bytes;
    char when[160] = "before the first event";
    if (plot->side->moment != 0)
        snprintf(when, sizeof when, "after event %s of %s", format_count(plot->side->moment - 1).text,
                 format_count(plot->side->timeline->device->n_events).text);
    snprintf(text, capacity, "%s \xc2\xb7 %s \xc2\xb7 %s %s", plot->side->file,
             device_words(plot->side->timeline->device->ordinal).text, format_bytes(bytes).text, when);
    utf8_trim(text);
}

static void plot_put(struct pad *pad, const struct plot_side *plot, struct rect area) {
    struct picture *picture = &pad->picture;
    char text[TEXT_NBYTES];
    int32_t letter = picture->em * 3 / 2, labels = picture->em * 11 / 2,
            head = canvas_line_height(picture->body) + picture->em / 2;
    picture_text(picture, (struct rect){area.x, area.y, letter, 0}, picture->bold, plot->mark, false,
                 FONT_CUT_END, plot->letter);
    plot_title(pad, plot, text, sizeof text);
    picture_text(picture, (struct rect){area.x + letter, area.y, area.width - letter, 0}, picture->body,
                 picture->colors->text, false, FONT_CUT_MIDDLE, text);
    struct rect inner = {area.x + labels, area.y + head, area.width - labels, area.height - head};
    if (inner.width < 16 || inner.height < 16)
        return;
    if (plot->shown->peak_bytes != 0)
        scene_put(pad, plot, inner);
    picture_ticks(picture, inner, area.x);
    canvas_frame(&picture->canvas, inner, (uint32_t)picture->scale, picture->colors->line, 255);
    int32_t begin = plot_x(pad, plot, plot->side->moment, inner.width),
            end = plot_x(pad, plot, (int64_t)plot->side->moment + 1, inner.width);
    int32_t x = inner.x + begin + (end - begin) / 2, half = picture->em / 3;
    canvas_dash(&picture->canvas, (struct rect){x, inner.y, picture->scale, inner.height},
                4 * (uint32_t)picture->scale, 4 * (uint32_t)picture->scale, plot->mark, 255);
    canvas_triangle(&picture->canvas, (struct rect){x - half, inner.y - half, 2 * half, half}, plot->mark);
}

static uint32_t delta_color(const struct pad *pad, int64_t delta) {
    const struct picture *picture = &pad->picture;
    return delta > 0   ? picture->colors->accent[1]
           : delta < 0 ? picture->colors->accent[3]
                       : picture->colors->quiet;
}

static int32_t heading_put(struct pad *pad, struct rect area, const char *text) {
    struct picture *picture = &pad->picture;
    picture_say(picture, area, picture->bold, picture->colors->text, text);
    return area.y + canvas_line_height(picture->bold) + picture->em / 4;
}

static int32_t causes_put(struct pad *pad, struct rect area) {
    struct picture *picture = &pad->picture;
    const struct causes *causes = &pad->diff->causes;
    char text[TEXT_NBYTES];
    int32_t bottom = area.y + area.height, bar = picture->em / 4;
    area.y = heading_put(pad, area, causes->count != 0 ? "Causes" : "No call site differs at these moments");
    for (uint32_t i = 0;
         i < causes->count && i < CAUSES_MOST && area.y + canvas_line_height(picture->small) <= bottom; i++) {
        int32_t top = area.y;
        struct rect inner = {area.x + picture->em * 3 / 4, area.y, area.width - picture->em * 3 / 4,
                             bottom - area.y};
        diff_cause_text(pad->diff, &causes->cause[i], true, text, sizeof text);
        area.y = paragraph_put(pad, inner, picture->small, picture->colors->text, 3, text);
        canvas_fill(&picture->canvas, (struct rect){area.x, top, bar, area.y - top},
                    delta_color(pad, causes->cause[i].bytes), 255);
        area.y += picture->em / 3;
    }
    return area.y;
}

static void site_row_put(struct pad *pad, const struct compare_site *site, struct rect area, unsigned unit) {
    struct picture *picture = &pad->picture;
    int64_t delta = compare_delta(site->a.bytes, site->b.bytes);
    int32_t column = picture->em * 6;
    char text[LINE_NBYTES];
    picture_text(picture, (struct rect){area.x, area.y, column, 0}, picture->small, delta_color(pad, delta),
                 true, FONT_CUT_END, format_change_in(delta, unit).text);
    diff_site_text(pad->diff, site, text, sizeof text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "  %s", diff_change_name(site->change));
    picture_text(
        picture,
        (struct rect){area.x + column + picture->em / 2, area.y, area.width - column - picture->em / 2, 0},
        picture->small, picture->colors->text, false, FONT_CUT_MIDDLE, text);
}

static void sites_put(struct pad *pad, struct rect area) {
    const struct comparison *comparison = &pad->diff->comparison;
    int32_t bottom = area.y + area.height,
            height = canvas_line_height(pad->picture.small) + pad->picture.em / 6;
    if (comparison->n_listed == 0 || comparison->site[0].change == CHANGE_SAME || area.height < 2 * height)
        return;
    area.y = heading_put(pad, area, "Call sites");
    unsigned unit =
        format_unit(magnitude_of(compare_delta(comparison->site[0].a.bytes, comparison->site[0].b.bytes)));
    for (uint32_t i = 0; i < comparison->n_listed && area.y + height <= bottom; i++, area.y += height)
        if (comparison->site[i].change != CHANGE_SAME)
            site_row_put(pad, &comparison->site[i], area, unit);
        else
            return;
}

static void headline(const struct pad *pad, char *text, size_t capacity) {
    int64_t delta = compare_delta(pad->diff->comparison.a_bytes, pad->diff->comparison.b_bytes);
    if (delta == 0)
        snprintf(text, capacity, "A and B hold the same");
    else
        snprintf(text, capacity, "B holds %s %s than A", format_bytes(magnitude_of(delta)).text,
                 delta > 0 ? "more" : "less");
    if (pad->diff->filter != NULL)
        snprintf(text + strlen(text), capacity - strlen(text), " (only: %s)", pad->diff->filter);
    utf8_trim(text);
}

static void scales_find(struct pad *pad, const struct plot_side *a, const struct plot_side *b) {
    int64_t behind_a = (int64_t)a->shown->n_moments - a->side->moment,
            behind_b = (int64_t)b->shown->n_moments - b->side->moment;
    uint64_t most = a->shown->peak_bytes > b->shown->peak_bytes ? a->shown->peak_bytes : b->shown->peak_bytes;
    pad->picture.top_bytes =
        most + most / 16 + 1; /* the reserved line is not drawn, so only live bytes count */
    pad->left = a->side->moment > b->side->moment ? a->side->moment : b->side->moment;
    pad->right = behind_a > behind_b ? behind_a : behind_b;
}

static void draw(struct pad *pad, const struct plot_side *a, const struct plot_side *b) {
    struct picture *picture = &pad->picture;
    int32_t em = picture->em;
    struct rect page = picture_page(picture);
    char text[TEXT_NBYTES];
    int32_t name =
        picture_text(picture, (struct rect){page.x + page.width / 2, page.y, page.width / 2, 0},
                     picture->small, picture->colors->quiet, true, FONT_CUT_END, "Strata " STRATA_VERSION);
    headline(pad, text, sizeof text);
    picture_say(picture, (struct rect){page.x, page.y, page.width - name - em, 0}, picture->title,
                picture->colors->text, text);
    int32_t top = page.y + canvas_line_height(picture->title) + em / 2;
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

enum chart_error diff_chart_png(struct buffer *out, const struct diff *diff, const struct timeline *shown_a,
                                const struct timeline *shown_b, const struct picture_options *options,
                                struct arena *memory) {
    struct pad pad = {.diff = diff};
    enum chart_error error = picture_open(&pad.picture, options, memory, 13, 12);
    if (error != CHART_OK)
        return error;
    const uint32_t *accent = pad.picture.colors->accent;
    struct plot_side a = {"A", accent[0], &diff->a, shown_a}, b = {"B", accent[2], &diff->b, shown_b};
    scales_find(&pad, &a, &b);
    draw(&pad, &a, &b);
    return picture_close(&pad.picture, out);
}
