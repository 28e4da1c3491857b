#include "render/png/whatif_chart.h"

#include "base/format.h"
#include "render/report/report_words.h"
#include "render/words/device.h"

#include <stdio.h>
#include <string.h>

enum { CURVES_MOST = 6, TEXT_NBYTES = 512 };

struct sheet_of_whatif {
    const struct whatif *whatif;
    const struct timeline *timeline;
    bool extrapolated;
    struct picture picture;
    uint32_t curve[CURVES_MOST], n_curves; /* numbers of the scenarios that have a curve */
};

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
    struct picture *picture = &sheet->picture;
    const struct whatif *whatif = sheet->whatif;
    picture->top_bytes = sheet->timeline->reserved_peak > sheet->timeline->peak_bytes
                             ? sheet->timeline->reserved_peak
                             : sheet->timeline->peak_bytes;
    for (uint32_t index; sheet->n_curves < CURVES_MOST && (index = lowest_left(sheet)) != UINT32_MAX;) {
        sheet->curve[sheet->n_curves++] = index;
        if (whatif->scenario[index].peak_max_bytes > picture->top_bytes)
            picture->top_bytes = whatif->scenario[index].peak_max_bytes;
    }
    picture->top_bytes += picture->top_bytes / 24 + 1;
}

static void line_put(struct sheet_of_whatif *sheet, struct rect area, const uint64_t *column,
                     uint32_t color) {
    struct picture *picture = &sheet->picture;
    struct view view = {.top_bytes = picture->top_bytes, .width = 1, .height = (uint32_t)area.height};
    struct y_scale scale = y_scale_of(&view);
    int32_t pen = 2 * picture->scale, last = -1;
    for (int32_t x = 0; x < area.width && column[x] != 0; x++) {
        int32_t y = area.height - (int32_t)(y_scale_q8(&scale, column[x]) >> 8);
        int32_t from = last >= 0 && last < y ? last : y, to = last > y ? last : y;
        canvas_fill(&picture->canvas, (struct rect){area.x + x, area.y + from, 1, to - from + pen}, color,
                    255);
        last = y;
    }
}

static void curves_put(struct sheet_of_whatif *sheet, struct rect area) {
    struct picture *picture = &sheet->picture;
    uint64_t *column = arena_column(picture->memory, (uint64_t)area.width, sizeof *column);
    for (uint32_t i = sheet->n_curves; column != NULL && i-- > 0;) {
        if (!whatif_curve(column, (uint32_t)area.width, sheet->whatif, sheet->curve[i], picture->memory))
            picture->failed = true;
        else
            line_put(sheet, area, column, picture->colors->accent[i]);
    }
    picture->failed |= column == NULL;
    ARENA_DROP(picture->memory, column);
}

static void row_put(struct sheet_of_whatif *sheet, struct rect *area, uint32_t color, const char *name,
                    uint64_t low, uint64_t high) {
    struct picture *picture = &sheet->picture;
    int32_t height = canvas_line_height(picture->small) + picture->em / 4, swatch = picture->em;
    if (area->height < height)
        return;
    struct figure figure = format_range_in(low, high, format_unit(whatif_highest_bytes(sheet->whatif)));
    int32_t column = (int32_t)font_width(picture->font, picture->small, figure.text) + picture->em;
    canvas_fill(&picture->canvas,
                (struct rect){area->x, area->y + height / 2 - picture->scale * 2, swatch, 2 * picture->scale},
                color, 255);
    struct rect text = {area->x + swatch + picture->em / 2, area->y,
                        area->width - column - swatch - picture->em / 2, 0};
    picture_say(picture, text, picture->small, picture->colors->text, name);
    picture_text(picture, (struct rect){area->x + area->width - column, area->y, column, 0}, picture->small,
                 picture->colors->text, true, FONT_CUT_END, figure.text);
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
    struct picture *picture = &sheet->picture;
    int32_t height = canvas_line_height(picture->bold) + picture->em / 4;
    if (area->height < height)
        return;
    picture_say(picture, *area, picture->bold, picture->colors->text, text);
    area->y += height;
    area->height -= height;
}

static void rows_put(struct sheet_of_whatif *sheet, struct rect area) {
    struct picture *picture = &sheet->picture;
    const struct whatif *whatif = sheet->whatif;
    uint32_t ground = picture->colors->background;
    if (whatif_knows_reserved(whatif, whatif->recorded_peak_bytes) || whatif->n_scenarios != 0)
        heading_put(sheet, &area, "Peak reserved, without a limit");
    if (!sheet->extrapolated && whatif_knows_reserved(whatif, whatif->recorded_peak_bytes))
        row_put(sheet, &area, picture->colors->text, "in the recording, with its limit",
                whatif->recorded_peak_bytes, whatif->recorded_peak_bytes);
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (whatif->scenario[i].same_as == i)
            row_put(sheet, &area, row_color(sheet, i), whatif_scenario_title(&whatif->scenario[i]),
                    whatif->scenario[i].peak_min_bytes, whatif->scenario[i].peak_max_bytes);
    area.y += picture->em / 2;
    area.height -= picture->em / 2;
    bool requested = whatif_has_requests(whatif), recorded = !sheet->extrapolated;
    const struct whatif_bounds *bounds = &whatif->bounds;
    const struct whatif_budget *budget = &whatif->budget;
    const struct {
        bool known;
        const char *name;
        uint64_t bytes;
    } rows[] = {{requested, "requested at once", bounds->requested_peak_bytes},
                {requested, "the same, rounded up", bounds->rounded_peak_bytes},
                {bounds->packed_bytes != 0, "packed, lifetimes known", bounds->packed_bytes},
                {recorded && budget->at_least_bytes != 0, "the process had at least", budget->at_least_bytes},
                {recorded && budget->at_most_bytes != 0, "and at most", budget->at_most_bytes}};
    if (requested || budget->at_least_bytes != 0)
        heading_put(sheet, &area, "Bounds");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].known)
            row_put(sheet, &area, ground, rows[i].name, rows[i].bytes, rows[i].bytes);
}

/* Draws the title and the replay's check. Returns the y below them. */
static int32_t head_put(struct sheet_of_whatif *sheet, struct rect page) {
    struct picture *picture = &sheet->picture;
    char text[TEXT_NBYTES];
    struct buffer nothing = {.host = arena_share(picture->memory)};
    struct sheet words = {.out = &nothing, .arena = picture->memory};
    snprintf(text, sizeof text, "%.200s \xc2\xb7 %s%s", picture->options->file,
             device_words(sheet->timeline->device->ordinal).text,
             sheet->extrapolated ? "" : " under other allocator settings");
    page.y =
        picture_head(picture, page, text,
                     sheet->extrapolated
                         ? "Modelled from two recordings of the program, both of which are replayed exactly."
                         : report_replay_text(&words, &sheet->whatif->replay));
    picture->failed |= nothing.failed;
    buffer_release(&nothing);
    return page.y;
}

static void foot_put(struct sheet_of_whatif *sheet, struct rect line) {
    struct picture *picture = &sheet->picture;
    char text[TEXT_NBYTES];
    if (sheet->extrapolated)
        snprintf(
            text, sizeof text,
            "Areas: what would be in use. Lines: what would be reserved for it on a device without limits.");
    else
        snprintf(text, sizeof text,
                 "%s: reserved in the recording. Lines: modelled for this sequence of requests on a device "
                 "without limits; what is older than the recording is laid out anew.",
                 picture->options->dark ? "White" : "Black");
    picture_say(picture, line, picture->small, picture->colors->quiet,
                sheet->n_curves != 0 ? text : "Nothing is said about other settings.");
}

static void draw(struct sheet_of_whatif *sheet) {
    struct picture *picture = &sheet->picture;
    int32_t em = picture->em;
    struct rect page = picture_page(picture);
    int32_t top = head_put(sheet, page), labels = em * 11 / 2,
            foot = canvas_line_height(picture->small) + em / 2 + picture_x_axis_height(picture);
    int32_t side = page.width / 3 < 32 * em ? page.width / 3 : 32 * em, rest = page.y + page.height - top;
    struct rect plot = {page.x + labels, top, page.width - labels - side - em, rest - foot};
    foot_put(sheet,
             (struct rect){page.x, page.y + page.height - canvas_line_height(picture->small), page.width, 0});
    if (plot.width < 16 || plot.height < 16)
        return;
    picture_draw_timeline(picture, sheet->timeline, NULL, !sheet->extrapolated, plot);
    curves_put(sheet, plot);
    picture_ticks(picture, plot, page.x);
    picture_x_axis(picture, sheet->timeline, plot);
    canvas_frame(&picture->canvas, plot, (uint32_t)picture->scale, picture->colors->line, 255);
    rows_put(sheet, (struct rect){page.x + page.width - side, top, side, plot.height});
}

enum chart_error whatif_chart_png(struct buffer *out, const struct whatif *whatif,
                                  const struct timeline *timeline, bool extrapolated,
                                  const struct picture_options *options, struct arena *memory) {
    struct sheet_of_whatif sheet = {.whatif = whatif, .timeline = timeline, .extrapolated = extrapolated};
    enum chart_error error = picture_open(&sheet.picture, options, memory, 14, 13);
    if (error != CHART_OK)
        return error;
    curves_choose(&sheet);
    draw(&sheet);
    return picture_close(&sheet.picture, out);
}
