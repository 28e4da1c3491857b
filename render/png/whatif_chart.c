#include "render/png/whatif_chart.h"

#include "base/format.h"
#include "render/png/canvas.h"
#include "render/png/chart_maker.h"
#include "render/png/png_write.h"
#include "render/report/report_replay.h"
#include "render/words/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CURVES_MOST = 6, TEXT_NBYTES = 512 };

struct colors_of_whatif {
    uint32_t background, text, quiet, line, curve[CURVES_MOST];
};

static const struct colors_of_whatif light = {
    0xffffff, 0x1f2328, 0x59636e, 0xd1d9e0, {0x1f5fc4, 0xb4530a, 0x7a3db8, 0x0b7a75, 0xc2255c, 0x7d6608}};
static const struct colors_of_whatif dark = {
    0x0d1117, 0xe6edf3, 0x9198a1, 0x3d444d, {0x7db0ff, 0xff9f5a, 0xc79bff, 0x5fd0c5, 0xff8fb1, 0xd9c35b}};

struct sheet_of_whatif {
    const struct whatif *whatif;
    const struct timeline *timeline;
    const struct whatif_chart_options *options;
    const struct colors_of_whatif *colors;
    struct arena *memory;
    struct canvas canvas;
    struct font *font;
    struct font_style bold, title, small;
    int32_t em;
    uint64_t top_bytes;
    uint32_t curve[CURVES_MOST], n_curves; /* scenarios */
    bool failed;
};

static void text_put(struct sheet_of_whatif *sheet, struct rect area, struct font_style style, uint32_t color,
                     bool right, const char *text) {
    if (canvas_line(&sheet->canvas, sheet->font, style, area, right, FONT_CUT_END, color, text) < 0)
        sheet->failed = true;
}

/* ---- which scenarios have a curve: those that differ from all before, the lowest first ---- */

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
    sheet->top_bytes = sheet->timeline->reserved_peak > sheet->timeline->peak_bytes
                           ? sheet->timeline->reserved_peak
                           : sheet->timeline->peak_bytes;
    for (uint32_t index; sheet->n_curves < CURVES_MOST && (index = lowest_left(sheet)) != UINT32_MAX;) {
        sheet->curve[sheet->n_curves++] = index;
        if (whatif->scenario[index].peak_max_bytes > sheet->top_bytes)
            sheet->top_bytes = whatif->scenario[index].peak_max_bytes;
    }
    sheet->top_bytes += sheet->top_bytes / 24 + 1;
}

/* ---- the plot ---- */

static void scene_put(struct sheet_of_whatif *sheet, struct rect area) {
    struct view view = {.axis = AXIS_EVENTS,
                        .top_bytes = sheet->top_bytes,
                        .width = (uint32_t)area.width,
                        .height = (uint32_t)area.height};
    struct raster_style style = {.dark = sheet->options->dark,
                                 .scale = sheet->options->scale,
                                 .reserved = !sheet->options->extrapolated};
    struct scene scene;
    struct raster raster;
    view_fit(&view, sheet->timeline);
    uint8_t *rgba = malloc((size_t)view.width * view.height * 4);
    scene_init(&scene, sheet->timeline, arena_share(sheet->memory));
    raster_init(&raster, arena_share(sheet->memory));
    if (rgba != NULL && scene_build(&scene, &view) && raster_draw(&raster, &scene, &style, rgba))
        canvas_blit(&sheet->canvas, area.x, area.y, rgba, view.width, view.height);
    else
        sheet->failed = true;
    raster_release(&raster);
    scene_release(&scene);
    free(rgba);
}

static void line_put(struct sheet_of_whatif *sheet, struct rect area, const uint64_t *column,
                     uint32_t color) {
    struct view view = {.top_bytes = sheet->top_bytes, .width = 1, .height = (uint32_t)area.height};
    struct y_scale scale = y_scale_of(&view);
    int32_t pen = 2 * (int32_t)sheet->options->scale, last = -1;
    for (int32_t x = 0; x < area.width && column[x] != 0; x++) {
        int32_t y = area.height - (int32_t)(y_scale_q8(&scale, column[x]) >> 8);
        int32_t from = last >= 0 && last < y ? last : y, to = last > y ? last : y;
        canvas_fill(&sheet->canvas, (struct rect){area.x + x, area.y + from, 1, to - from + pen}, color, 255);
        last = y;
    }
}

static void curves_put(struct sheet_of_whatif *sheet, struct rect area) {
    uint64_t *column = arena_column(sheet->memory, (uint64_t)area.width, sizeof *column);
    for (uint32_t i = sheet->n_curves; column != NULL && i-- > 0;) {
        if (!whatif_curve(column, (uint32_t)area.width, sheet->whatif, sheet->curve[i], sheet->memory))
            sheet->failed = true;
        else
            line_put(sheet, area, column, sheet->colors->curve[i]);
    }
    sheet->failed |= column == NULL;
    ARENA_DROP(sheet->memory, column);
}

static void ticks_put(struct sheet_of_whatif *sheet, struct rect area, int32_t left) {
    struct view view = {.top_bytes = sheet->top_bytes, .width = 1, .height = (uint32_t)area.height};
    struct ticks ticks = raster_ticks(&view, sheet->options->scale);
    struct y_scale scale = y_scale_of(&view);
    for (uint32_t i = 0; i < ticks.count; i++) {
        int32_t up = (int32_t)(y_scale_q8(&scale, (uint64_t)ticks.at[i]) >> 8);
        int32_t y = area.y + area.height - up - canvas_line_height(sheet->small) / 2;
        char text[64];
        chart_tick_text(&ticks, sheet->top_bytes, i, text, sizeof text);
        text_put(sheet, (struct rect){left, y, area.x - left - sheet->em / 2, 0}, sheet->small,
                 sheet->colors->quiet, true, text);
    }
}

/* ---- words ---- */

static void row_put(struct sheet_of_whatif *sheet, struct rect *area, uint32_t color, const char *name,
                    uint64_t low, uint64_t high) {
    char figure[128];
    int32_t height = canvas_line_height(sheet->small) + sheet->em / 4, swatch = sheet->em,
            column = sheet->em * 10;
    if (area->height < height)
        return;
    unsigned unit = format_unit(whatif_highest_bytes(sheet->whatif));
    struct figure least = format_bytes_in(low, unit), most = format_bytes_in(high, unit);
    if (strcmp(least.text, most.text) == 0)
        snprintf(figure, sizeof figure, "%s", most.text);
    else
        snprintf(figure, sizeof figure, "%s to %s", least.text, most.text);
    canvas_fill(&sheet->canvas,
                (struct rect){area->x, area->y + height / 2 - (int32_t)sheet->options->scale * 2, swatch,
                              2 * (int32_t)sheet->options->scale},
                color, 255);
    struct rect text = {area->x + swatch + sheet->em / 2, area->y,
                        area->width - column - swatch - sheet->em / 2, 0};
    text_put(sheet, text, sheet->small, sheet->colors->text, false, name);
    text_put(sheet, (struct rect){area->x + area->width - column, area->y, column, 0}, sheet->small,
             sheet->colors->text, true, figure);
    area->y += height;
    area->height -= height;
}

static uint32_t row_color(const struct sheet_of_whatif *sheet, uint32_t scenario) {
    for (uint32_t i = 0; i < sheet->n_curves; i++)
        if (sheet->curve[i] == sheet->whatif->scenario[scenario].same_as)
            return sheet->colors->curve[i];
    return sheet->colors->background;
}

static void heading_put(struct sheet_of_whatif *sheet, struct rect *area, const char *text) {
    int32_t height = canvas_line_height(sheet->bold) + sheet->em / 4;
    if (area->height < height)
        return;
    text_put(sheet, *area, sheet->bold, sheet->colors->text, false, text);
    area->y += height;
    area->height -= height;
}

static void rows_put(struct sheet_of_whatif *sheet, struct rect area) {
    const struct whatif *whatif = sheet->whatif;
    uint32_t ground = sheet->colors->background;
    if (whatif_knows_reserved(whatif, whatif->recorded_peak_bytes) || whatif->n_scenarios != 0)
        heading_put(sheet, &area, "Peak reserved");
    if (!sheet->options->extrapolated && whatif_knows_reserved(whatif, whatif->recorded_peak_bytes))
        row_put(sheet, &area, sheet->colors->text, "as recorded", whatif->recorded_peak_bytes,
                whatif->recorded_peak_bytes);
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        row_put(sheet, &area, row_color(sheet, i), whatif->scenario[i].name,
                whatif->scenario[i].peak_min_bytes, whatif->scenario[i].peak_max_bytes);
    area.y += sheet->em / 2;
    area.height -= sheet->em / 2;
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

/* ---- all of it ---- */

/* Title and the replay's check. Returns the y below. */
static int32_t head_put(struct sheet_of_whatif *sheet, struct rect page) {
    char text[TEXT_NBYTES];
    struct buffer nothing = {.host = arena_share(sheet->memory)};
    struct sheet words = {.out = &nothing, .arena = sheet->memory};
    snprintf(text, sizeof text, "Strata %.60s", sheet->options->version);
    text_put(sheet, (struct rect){page.x + page.width * 3 / 4, page.y, page.width / 4, 0}, sheet->small,
             sheet->colors->quiet, true, text);
    snprintf(text, sizeof text, "%.200s \xc2\xb7 %s%s", sheet->options->file,
             device_words(sheet->timeline->device->ordinal).text,
             sheet->options->extrapolated ? "" : " under other allocator settings");
    text_put(sheet, (struct rect){page.x, page.y, page.width * 3 / 4 - sheet->em, 0}, sheet->title,
             sheet->colors->text, false, text);
    page.y += canvas_line_height(sheet->title);
    text_put(sheet, page, sheet->small, sheet->colors->quiet, false,
             sheet->options->extrapolated
                 ? "Modelled from two recordings of the program, both of which are replayed exactly."
                 : report_replay_text(&words, &sheet->whatif->replay));
    sheet->failed |= nothing.failed;
    buffer_release(&nothing);
    return page.y + canvas_line_height(sheet->small) + sheet->em;
}

static void foot_put(struct sheet_of_whatif *sheet, struct rect line) {
    char text[TEXT_NBYTES];
    if (sheet->options->extrapolated)
        snprintf(
            text, sizeof text,
            "Areas: what would be in use. Lines: what would be reserved for it on a device without limits.");
    else
        snprintf(
            text, sizeof text,
            "%s: reserved as recorded. Lines: modelled for this sequence of requests on a device without "
            "limits; what is older than the recording is laid out anew.",
            sheet->options->dark ? "White" : "Black");
    text_put(sheet, line, sheet->small, sheet->colors->quiet, false,
             sheet->n_curves != 0 ? text : "Nothing is said about other settings.");
}

static void draw(struct sheet_of_whatif *sheet) {
    int32_t em = sheet->em, width = (int32_t)sheet->canvas.width, height = (int32_t)sheet->canvas.height;
    struct rect page = {em, em * 3 / 4, width - 2 * em, height - em * 3 / 2};
    int32_t top = head_put(sheet, page), labels = em * 11 / 2,
            foot = canvas_line_height(sheet->small) + em / 2;
    int32_t side = page.width / 3 < 32 * em ? page.width / 3 : 32 * em, rest = page.y + page.height - top;
    struct rect plot = {page.x + labels, top, page.width - labels - side - em, rest - foot};
    foot_put(sheet,
             (struct rect){page.x, page.y + page.height - canvas_line_height(sheet->small), page.width, 0});
    if (plot.width < 16 || plot.height < 16)
        return;
    scene_put(sheet, plot);
    curves_put(sheet, plot);
    ticks_put(sheet, plot, page.x);
    canvas_frame(&sheet->canvas, plot, sheet->options->scale, sheet->colors->line, 255);
    rows_put(sheet, (struct rect){page.x + page.width - side, top, side, plot.height});
}

static enum chart_error picture_write(struct buffer *out, const struct sheet_of_whatif *sheet) {
    char software[96];
    snprintf(software, sizeof software, "Strata %.80s", sheet->options->version);
    const struct png_text texts[] = {{"Software", software},
                                     {"strata:fingerprint", sheet->options->fingerprint},
                                     {"strata:flags", sheet->options->flags}};
    const struct png_picture picture = {sheet->canvas.rgba, NULL, sheet->canvas.width, sheet->canvas.height};
    if (png_write(out, &picture, texts, 3))
        return CHART_OK;
    return out->failed ? CHART_NO_MEMORY : CHART_PNG;
}

static void styles_set(struct sheet_of_whatif *sheet) {
    uint32_t px = 14 * sheet->options->scale;
    sheet->em = (int32_t)px;
    sheet->small = (struct font_style){FONT_REGULAR, 13 * sheet->options->scale};
    sheet->bold = (struct font_style){FONT_BOLD, px};
    sheet->title = (struct font_style){FONT_BOLD, 20 * sheet->options->scale};
}

enum chart_error whatif_chart_png(struct buffer *out, const struct whatif *whatif,
                                  const struct timeline *timeline, const struct whatif_chart_options *options,
                                  struct arena *memory) {
    struct sheet_of_whatif sheet = {.whatif = whatif,
                                    .timeline = timeline,
                                    .options = options,
                                    .colors = options->dark ? &dark : &light,
                                    .memory = memory};
    uint32_t side = options->width > options->height ? options->width : options->height;
    if (side * options->scale > VIEW_MAX_SIDE)
        return CHART_SIZE;
    sheet.font = font_open();
    if (sheet.font == NULL)
        return CHART_FONT;
    enum chart_error error = CHART_NO_MEMORY;
    if (canvas_init(&sheet.canvas, options->width * options->scale, options->height * options->scale,
                    sheet.colors->background)) {
        styles_set(&sheet);
        curves_choose(&sheet);
        draw(&sheet);
        error = sheet.failed ? CHART_NO_MEMORY : picture_write(out, &sheet);
        canvas_release(&sheet.canvas);
    }
    font_close(sheet.font);
    return error;
}
