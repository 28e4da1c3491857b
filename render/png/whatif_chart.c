#include "render/png/whatif_chart.h"

#include "base/format.h"
#include "render/png/picture.h"
#include "render/report/report_words.h"
#include "render/words/device.h"

#include <stdio.h>
#include <string.h>

enum { CURVES_MOST = 6, TEXT_NBYTES = 512 };

struct sheet_of_whatif {
    const struct whatif *whatif;
    const struct timeline *timeline;
    const struct whatif_chart_options *options;
    struct picture picture;
    uint32_t curve[CURVES_MOST], n_curves; /* numbers of the scenarios that have a curve */
};

static void text_put(struct sheet_of_whatif *sheet, struct rect area, struct font_style style, uint32_t color,
                     bool right, const char *text) {
    picture_text(&sheet->picture, area, style, color, right, FONT_CUT_END, text);
}

/* ---- which scenarios have a curve: those that differ from all before them, the lowest first ---- */

static bool is_drawn(const struct sheet_of_whatif *sheet, uint32_t index) {
    for (uint32_t i = 0; i < sheet->n_curves; i++)
        if (sheet->curve[i] == index)
            return true;
    return false;
}

static uint32_t lowest_left(const struct sheet_of_whatif *sheet) {
    const struct whatif *whatif = sheet->whatif;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < whatif->n_scenarios; i++) {
        bool own = whatif->scenario[i].same_as == i && !is_drawn(sheet, i);
        if (own && (best == UINT32_MAX ||
                    whatif->scenario[i].peak_max_bytes < whatif->scenario[best].peak_max_bytes))
            best = i;
    }
    return best;
}

static void curves_choose(struct sheet_of_whatif *sheet) {
    const struct whatif *whatif = sheet->whatif;
    sheet->picture.top_bytes = sheet->timeline->reserved_peak > sheet->timeline->peak_bytes
                                   ? sheet->timeline->reserved_peak
                                   : sheet->timeline->peak_bytes;
    for (uint32_t index; sheet->n_curves < CURVES_MOST && (index = lowest_left(sheet)) != UINT32_MAX;) {
        sheet->curve[sheet->n_curves++] = index;
        if (whatif->scenario[index].peak_max_bytes > sheet->picture.top_bytes)
            sheet->picture.top_bytes = whatif->scenario[index].peak_max_bytes;
    }
    sheet->picture.top_bytes += sheet->picture.top_bytes / 24 + 1;
}

static void line_put(struct sheet_of_whatif *sheet, struct rect area, const uint64_t *column,
                     uint32_t color) {
    struct view view = {.top_bytes = sheet->picture.top_bytes, .width = 1, .height = (uint32_t)area.height};
    struct y_scale scale = y_scale_of(&view);
    int32_t pen = 2 * sheet->picture.scale, last = -1;
    for (int32_t x = 0; x < area.width && column[x] != 0; x++) {
        int32_t y = area.height - (int32_t)(y_scale_q8(&scale, column[x]) >> 8);
        int32_t from = last >= 0 && last < y ? last : y, to = last > y ? last : y;
        canvas_fill(&sheet->picture.canvas, (struct rect){area.x + x, area.y + from, 1, to - from + pen},
                    color, 255);
        last = y;
    }
}

static void curves_put(struct sheet_of_whatif *sheet, struct rect area) {
    uint64_t *column = arena_column(sheet->picture.memory, (uint64_t)area.width, sizeof *column);
    for (uint32_t i = sheet->n_curves; column != NULL && i-- > 0;) {
        if (!whatif_curve(column, (uint32_t)area.width, sheet->whatif, sheet->curve[i],
                          sheet->picture.memory))
            sheet->picture.failed = true;
        else
            line_put(sheet, area, column, sheet->picture.colors->accent[i]);
    }
    sheet->picture.failed |= column == NULL;
    ARENA_DROP(sheet->picture.memory, column);
}

static void row_put(struct sheet_of_whatif *sheet, struct rect *area, uint32_t color, const char *name,
                    uint64_t low, uint64_t high) {
    int32_t height = canvas_line_height(sheet->picture.small) + sheet->picture.em / 4,
            swatch = sheet->picture.em;
    if (area->height < height)
        return;
    struct figure figure = format_range_in(low, high, format_unit(whatif_highest_bytes(sheet->whatif)));
    int32_t column =
        (int32_t)font_width(sheet->picture.font, sheet->picture.small, figure.text) + sheet->picture.em;
    canvas_fill(&sheet->picture.canvas,
                (struct rect){area->x, area->y + height / 2 - sheet->picture.scale * 2, swatch,
                              2 * sheet->picture.scale},
                color, 255);
    struct rect text = {area->x + swatch + sheet->picture.em / 2, area->y,
                        area->width - column - swatch - sheet->picture.em / 2, 0};
    text_put(sheet, text, sheet->picture.small, sheet->picture.colors->text, false, name);
    text_put(sheet, (struct rect){area->x + area->width - column, area->y, column, 0}, sheet->picture.small,
             sheet->picture.colors->text, true, figure.text);
    area->y += height;
    area->height -= height;
}

static uint32_t row_color(const struct sheet_of_whatif *sheet, uint32_t scenario) {
    for (uint32_t i = 0; i < sheet->n_curves; i++)
        if (sheet->curve[i] == sheet->whatif->scenario[scenario].same_as)
            return sheet->picture.colors->accent[i];
    return sheet->picture.colors->background;
}

static void heading_put(struct sheet_of_whatif *sheet, struct rect *area, const char *text) {
    int32_t height = canvas_line_height(sheet->picture.bold) + sheet->picture.em / 4;
    if (area->height < height)
        return;
    text_put(sheet, *area, sheet->picture.bold, sheet->picture.colors->text, false, text);
    area->y += height;
    area->height -= height;
}

static void rows_put(struct sheet_of_whatif *sheet, struct rect area) {
    const struct whatif *whatif = sheet->whatif;
    uint32_t ground = sheet->picture.colors->background;
    if (whatif_knows_reserved(whatif, whatif->recorded_peak_bytes) || whatif->n_scenarios != 0)
        heading_put(sheet, &area, "Peak reserved, without a limit");
    if (!sheet->options->extrapolated && whatif_knows_reserved(whatif, whatif->recorded_peak_bytes))
        row_put(sheet, &area, sheet->picture.colors->text, "in the recording, with its limit",
                whatif->recorded_peak_bytes, whatif->recorded_peak_bytes);
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (whatif->scenario[i].same_as == i)
            row_put(sheet, &area, row_color(sheet, i), whatif_scenario_title(&whatif->scenario[i]),
                    whatif->scenario[i].peak_min_bytes, whatif->scenario[i].peak_max_bytes);
    area.y += sheet->picture.em / 2;
    area.height -= sheet->picture.em / 2;
    if (whatif_has_requests(whatif) || whatif->budget.at_least_bytes != 0)
        heading_put(sheet, &area, "Bounds");
    if (whatif_has_requests(whatif)) {
        row_put(sheet, &area, ground, "requested at once", whatif->bounds.requested_peak_bytes,
                whatif->bounds.requested_peak_bytes);
        row_put(sheet, &area, ground, "the same, rounded up", whatif->bounds.rounded_peak_bytes,
                whatif->bounds.rounded_peak_bytes);
    }
    if (whatif->bounds.packed_bytes != 0)
        row_put(sheet, &area, ground, "packed, lifetimes known", whatif->bounds.packed_bytes,
                whatif->bounds.packed_bytes);
    if (whatif->budget.at_least_bytes != 0 && !sheet->options->extrapolated)
        row_put(sheet, &area, ground, "the process had at least", whatif->budget.at_least_bytes,
                whatif->budget.at_least_bytes);
    if (whatif->budget.at_most_bytes != 0 && !sheet->options->extrapolated)
        row_put(sheet, &area, ground, "and at most", whatif->budget.at_most_bytes,
                whatif->budget.at_most_bytes);
}

/* Draws the title and the replay's check. Returns the y below them. */
static int32_t head_put(struct sheet_of_whatif *sheet, struct rect page) {
    char text[TEXT_NBYTES];
    struct buffer nothing = {.host = arena_share(sheet->picture.memory)};
    struct sheet words = {.out = &nothing, .arena = sheet->picture.memory};
    snprintf(text, sizeof text, "%.200s \xc2\xb7 %s%s", sheet->options->file,
             device_words(sheet->timeline->device->ordinal).text,
             sheet->options->extrapolated ? "" : " under other allocator settings");
    page.y =
        picture_head(&sheet->picture, page, text,
                     sheet->options->extrapolated
                         ? "Modelled from two recordings of the program, both of which are replayed exactly."
                         : report_replay_text(&words, &sheet->whatif->replay),
                     sheet->options->version);
    sheet->picture.failed |= nothing.failed;
    buffer_release(&nothing);
    return page.y;
}

static void foot_put(struct sheet_of_whatif *sheet, struct rect line) {
    char text[TEXT_NBYTES];
    if (sheet->options->extrapolated)
        snprintf(
            text, sizeof text,
            "Areas: what would be in use. Lines: what would be reserved for it on a device without limits.");
    else
        snprintf(text, sizeof text,
                 "%s: reserved in the recording. Lines: modelled for this sequence of requests on a device "
                 "without limits; what is older than the recording is laid out anew.",
                 sheet->picture.dark ? "White" : "Black");
    text_put(sheet, line, sheet->picture.small, sheet->picture.colors->quiet, false,
             sheet->n_curves != 0 ? text : "Nothing is said about other settings.");
}

static void draw(struct sheet_of_whatif *sheet) {
    int32_t em = sheet->picture.em, width = (int32_t)sheet->picture.canvas.width,
            height = (int32_t)sheet->picture.canvas.height;
    struct rect page = {em, em * 3 / 4, width - 2 * em, height - em * 3 / 2};
    int32_t top = head_put(sheet, page), labels = em * 11 / 2,
            foot = canvas_line_height(sheet->picture.small) + em / 2 + picture_x_axis_height(&sheet->picture);
    int32_t side = page.width / 3 < 32 * em ? page.width / 3 : 32 * em, rest = page.y + page.height - top;
    struct rect plot = {page.x + labels, top, page.width - labels - side - em, rest - foot};
    foot_put(sheet, (struct rect){page.x, page.y + page.height - canvas_line_height(sheet->picture.small),
                                  page.width, 0});
    if (plot.width < 16 || plot.height < 16)
        return;
    picture_timeline(&sheet->picture, sheet->timeline, NULL, !sheet->options->extrapolated, plot);
    curves_put(sheet, plot);
    picture_ticks(&sheet->picture, plot, page.x);
    picture_x_axis(&sheet->picture, sheet->timeline, plot);
    canvas_frame(&sheet->picture.canvas, plot, (uint32_t)sheet->picture.scale, sheet->picture.colors->line,
                 255);
    rows_put(sheet, (struct rect){page.x + page.width - side, top, side, plot.height});
}

enum chart_error whatif_chart_png(struct buffer *out, const struct whatif *whatif,
                                  const struct timeline *timeline, const struct whatif_chart_options *options,
                                  struct arena *memory) {
    struct sheet_of_whatif sheet = {
        .whatif = whatif,
        .timeline = timeline,
        .options = options,
        .picture = {.dark = options->dark, .scale = (int32_t)options->scale, .memory = memory}};
    enum chart_error error = picture_open(&sheet.picture, options->width, options->height, 14, 13);
    if (error != CHART_OK)
        return error;
    curves_choose(&sheet);
    draw(&sheet);
    const struct png_text texts[] = {{"strata:fingerprint", options->fingerprint},
                                     {"strata:flags", options->flags}};
    return picture_close(&sheet.picture, out, options->version, texts, 2);
}
