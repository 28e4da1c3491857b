#include "render/png/plan_chart.h"

#include "render/words/device.h"
#include "render/words/plan.h"

#include <stdio.h>

enum { ROWS_MOST = PLAN_CHANGES_MAX + PLAN_PLANS_MAX };

struct row {
    const struct plan_figures *figures;
    const struct plan_change *change; /* NULL: the row is a set */
    const struct plan_set *set;       /* NULL: the row is a change */
    uint32_t effort;                  /* sort key: cost, then share */
};

struct plan_sheet {
    const struct plan *plan;
    struct picture picture;
    struct row row[ROWS_MOST];
    uint32_t n_rows;
    uint64_t most_bytes; /* of the bars */
};

/* ---- rows: served ones first, then by effort ---- */

static bool is_served(const struct row *row) {
    return row->figures->fits == PLAN_YES || row->figures->fits == PLAN_WITH_RETRIES;
}

static uint64_t most_of(const struct plan_figures *figures) {
    return figures->reserved_known ? figures->reserved_max : figures->live_min;
}

static void row_add(struct plan_sheet *sheet, struct row row, uint8_t cost, uint32_t n_blocks) {
    uint32_t share = n_blocks != 0 ? plan_share(sheet->plan, n_blocks) : 0, at = sheet->n_rows++;
    row.effort = cost * UINT32_C(10000000) + (share < 9999999 ? share : 9999999);
    for (; at > 0; at--) {
        const struct row *other = &sheet->row[at - 1];
        if (is_served(other) > is_served(&row) ||
            (is_served(other) == is_served(&row) && other->effort <= row.effort))
            break;
        sheet->row[at] = *other;
    }
    sheet->row[at] = row;
    if (most_of(row.figures) > sheet->most_bytes)
        sheet->most_bytes = most_of(row.figures);
}

static bool set_is_listed(const struct plan *plan, const struct plan_set *set) {
    const struct plan_change *change = &plan->change[set->change[0]];
    return set->n_changes == 1 && (change->kind != PLAN_CHECKPOINT || set->n_blocks == change->n_blocks);
}

static void rows_find(struct plan_sheet *sheet) {
    const struct plan *plan = sheet->plan;
    sheet->most_bytes = plan->budget_bytes;
    for (uint32_t i = 0; i < plan->n_plans; i++)
        if (!set_is_listed(plan, &plan->plans[i]))
            row_add(sheet, (struct row){&plan->plans[i].figures, NULL, &plan->plans[i], 0},
                    plan->plans[i].cost, plan->plans[i].n_blocks);
    for (uint32_t i = 0; i < plan->n_changes; i++)
        row_add(sheet, (struct row){&plan->change[i].figures, &plan->change[i], NULL, 0},
                plan->change[i].cost, plan->change[i].n_blocks);
}

static void title_say(struct words *words, const struct plan *plan, const struct row *row) {
    if (row->change != NULL)
        plan_words_title(words, plan, row->change, row->change->n_blocks);
    else
        plan_words_set_title(words, plan, row->set);
    (void)words_end(words);
}

/* Writes "4.09 GiB, costs 27 % time". */
static void figures_say(struct words *words, const struct plan *plan, const struct row *row) {
    static const char *const fits[] = {"", "", ", after retries", ", unsure", ", not served"};
    const struct plan_figures *own = row->figures;
    words_say(words, own->reserved_known ? "" : "not below ");
    plan_words_range(words, own->live_min, own->reserved_known ? own->live_max : own->live_min);
    words_say(words, fits[own->fits]);
    words_say(words, "; costs ");
    if (row->change != NULL)
        plan_words_cost(words, plan, (enum plan_cost)row->change->cost, row->change->n_blocks);
    else
        plan_words_cost(words, plan, (enum plan_cost)row->set->cost, row->set->n_blocks);
    (void)words_end(words);
}

/* ---- bars ---- */

static int32_t bar_x(const struct plan_sheet *sheet, struct rect bar, uint64_t bytes) {
    return bar.x + (int32_t)(bytes / 4096 * (uint64_t)bar.width / (sheet->most_bytes / 4096 + 1));
}

static void whisker_put(struct plan_sheet *sheet, struct rect bar, uint64_t least, uint64_t most, int32_t y) {
    int32_t from = bar_x(sheet, bar, least), to = bar_x(sheet, bar, most), pen = sheet->picture.scale;
    if (to - from < 2 * pen)
        return;
    canvas_fill(&sheet->picture.canvas, (struct rect){from, y, to - from, pen}, sheet->picture.colors->text,
                255);
    for (int end = 0; end < 2; end++)
        canvas_fill(&sheet->picture.canvas,
                    (struct rect){end == 0 ? from : to - pen, y - 2 * pen, pen, 5 * pen},
                    sheet->picture.colors->text, 255);
}

static void bar_put(struct plan_sheet *sheet, const struct row *row, struct rect bar) {
    const struct plan_figures *own = row->figures;
    const struct picture_colors *colors = sheet->picture.colors;
    struct canvas *canvas = &sheet->picture.canvas;
    int32_t pen = sheet->picture.scale;
    uint64_t live = own->reserved_known ? own->live_max : own->live_min;
    struct rect part = {bar.x, bar.y, bar_x(sheet, bar, live) - bar.x, bar.height};
    canvas_fill(canvas, part, is_served(row) ? colors->accent[3] : colors->quiet, 255);
    if (own->reserved_known) {
        part.width = bar_x(sheet, bar, own->reserved_max) - bar.x;
        canvas_frame(canvas, part, (uint32_t)pen, colors->text, 255);
        whisker_put(sheet, bar, own->live_min, own->live_max, bar.y + bar.height / 3);
        whisker_put(sheet, bar, own->reserved_min, own->reserved_max, bar.y + bar.height * 2 / 3);
    }
    if (sheet->plan->budget_bytes != 0)
        canvas_fill(canvas,
                    (struct rect){bar_x(sheet, bar, sheet->plan->budget_bytes) - pen, bar.y - 2 * pen,
                                  2 * pen, bar.height + 4 * pen},
                    colors->accent[1], 255);
}

static void rows_put(struct plan_sheet *sheet, struct rect area) {
    struct picture *picture = &sheet->picture;
    int32_t line = canvas_line_height(picture->small), em = picture->em, height = 2 * line + em * 5 / 4;
    char text[PLAN_TEXT];
    for (uint32_t i = 0; i < sheet->n_rows && area.height >= height; i++) {
        const struct row *row = &sheet->row[i];
        struct words title = {text, sizeof text, 0}, figures = {text, sizeof text, 0};
        title_say(&title, sheet->plan, row);
        picture_text(picture, area, picture->bold, picture->colors->text, false, FONT_CUT_MIDDLE, text);
        struct rect at = {area.x, area.y + line + em / 4, area.width, em / 2};
        bar_put(sheet, row, at);
        figures_say(&figures, sheet->plan, row);
        at.y += em * 3 / 4;
        picture_say(picture, at, picture->small, picture->colors->quiet, text);
        area.y += height;
        area.height -= height;
    }
}

/* ---- the plot ---- */

static int32_t plot_y(const struct plan_sheet *sheet, struct rect plot, uint64_t bytes) {
    struct view view = {.top_bytes = sheet->picture.top_bytes, .width = 1, .height = (uint32_t)plot.height};
    struct y_scale scale = y_scale_of(&view);
    return plot.height - (int32_t)(y_scale_q8(&scale, bytes) >> 8);
}

static int32_t request_width(const struct plan_sheet *sheet) {
    return sheet->plan->ended_by_oom ? sheet->picture.em : 0;
}

/* Fills the area below a curve. Each pixel shows its highest value. */
static void curve_put(struct plan_sheet *sheet, struct rect plot, const uint64_t *column, uint32_t color,
                      uint8_t alpha) {
    for (int32_t x = 0; x < plot.width; x++) {
        uint32_t from = (uint32_t)((int64_t)x * PLAN_COLUMNS / plot.width),
                 to = (uint32_t)((int64_t)(x + 1) * PLAN_COLUMNS / plot.width);
        uint64_t most = column[from];
        for (uint32_t i = from + 1; i < to; i++)
            most = column[i] > most ? column[i] : most;
        int32_t y = plot_y(sheet, plot, most);
        /* The request that failed is the last moment, so it is drawn wide enough to be seen. */
        int32_t width = x + 1 == plot.width ? 1 + request_width(sheet) : 1;
        canvas_fill(&sheet->picture.canvas, (struct rect){plot.x + x, plot.y + y, width, plot.height - y},
                    color, alpha);
    }
}

static void again_put(struct plan_sheet *sheet, struct rect plot) {
    int32_t pen = sheet->picture.scale;
    for (uint32_t i = 0; i < PLAN_COLUMNS; i++)
        if (sheet->plan->again[i])
            canvas_fill(&sheet->picture.canvas,
                        (struct rect){plot.x + (int32_t)((int64_t)i * plot.width / PLAN_COLUMNS),
                                      plot.y + plot.height - 8 * pen, pen, 8 * pen},
                        sheet->picture.colors->background, 255);
}

static void limit_put(struct plan_sheet *sheet, struct rect plot) {
    char text[PLAN_TEXT];
    struct words words = {text, sizeof text, 0};
    struct picture *picture = &sheet->picture;
    int32_t y = plot.y + plot_y(sheet, plot, sheet->plan->budget_bytes),
            line = canvas_line_height(picture->small);
    uint32_t dash = (uint32_t)(6 * picture->scale);
    if (sheet->plan->budget_bytes == 0)
        return;
    canvas_dash(&picture->canvas,
                (struct rect){plot.x, y, plot.width + request_width(sheet), 2 * picture->scale}, dash,
                dash / 2, picture->colors->accent[1], 255);
    words_say(&words, "limit: ");
    plan_words_budget(&words, sheet->plan);
    (void)words_end(&words);
    y = y - line < plot.y ? y + 2 * picture->scale : y - line;
    picture_say(picture, (struct rect){plot.x + picture->em / 2, y, plot.width - picture->em, 0},
                picture->small, picture->colors->text, text);
}

static void plot_put(struct plan_sheet *sheet, struct rect plot, int32_t labels_x) {
    const struct plan *plan = sheet->plan;
    struct picture *picture = &sheet->picture;
    curve_put(sheet, plot, plan->recorded_column, picture->colors->accent[0],
              plan->least_column != NULL ? 60 : 110);
    if (plan->least_column != NULL) {
        curve_put(sheet, plot, plan->least_column, picture->colors->accent[3], 220);
        again_put(sheet, plot);
    }
    limit_put(sheet, plot);
    picture_ticks(picture, plot, labels_x);
    picture_x_axis(picture, plan->verdicts->timeline, plot);
    canvas_frame(&picture->canvas, plot, (uint32_t)picture->scale, picture->colors->line, 255);
}

static void top_find(struct plan_sheet *sheet) {
    uint64_t top = sheet->plan->budget_bytes;
    for (uint32_t i = 0; i < PLAN_COLUMNS; i++) {
        const uint64_t *least = sheet->plan->least_column;
        top = sheet->plan->recorded_column[i] > top ? sheet->plan->recorded_column[i] : top;
        top = least != NULL && least[i] > top ? least[i] : top;
    }
    sheet->picture.top_bytes = top + top / 16 + 1;
}

/* ---- all of it ---- */

static int32_t head_put(struct plan_sheet *sheet, struct rect page) {
    char title[PLAN_TEXT + 512], answer[PLAN_TEXT];
    struct words words = {answer, sizeof answer, 0};
    const struct plan *plan = sheet->plan;
    plan_words_answer(&words, plan);
    if (words_end(&words) == 0)
        snprintf(answer, sizeof answer, "%s",
                 plan->replay->grade == REPLAY_REFUSED
                     ? plan->replay->reason
                     : "The recording shows no limit: --gpu SIZE says what there is.");
    snprintf(title, sizeof title, "%.200s \xc2\xb7 %s: plan", sheet->picture.options->file,
             device_words(plan->program->device->ordinal).text);
    return picture_head(&sheet->picture, page, title, answer);
}

static void draw(struct plan_sheet *sheet) {
    struct picture *picture = &sheet->picture;
    int32_t em = picture->em;
    struct rect page = picture_page(picture);
    int32_t top = head_put(sheet, page), labels = em * 11 / 2, line = canvas_line_height(picture->small);
    int32_t side = page.width / 3 < 30 * em ? page.width / 3 : 30 * em, rest = page.y + page.height - top;
    struct rect plot = {page.x + labels, top, page.width - labels - side - em - request_width(sheet),
                        rest - line - em / 2 - picture_x_axis_height(picture)};
    if (plot.width < 16 || plot.height < 16 || sheet->plan->recorded_column == NULL)
        return;
    top_find(sheet);
    rows_find(sheet);
    plot_put(sheet, plot, page.x);
    rows_put(sheet, (struct rect){page.x + page.width - side, top, side, rest - line - em / 2});
    char text[512];
    snprintf(text, sizeof text,
             "Pale: in use as recorded%s. Filled: with the least plan; ticks at its foot: made again. Bars: "
             "in use, outlined what is reserved without a limit, lines from the least to the most.",
             sheet->plan->ended_by_oom ? ", behind the end with the request that failed" : "");
    picture_say(picture, (struct rect){page.x, page.y + page.height - line, page.width, 0}, picture->small,
                picture->colors->quiet, text);
}

enum chart_error plan_chart_png(struct buffer *out, const struct plan *plan,
                                const struct picture_options *options, struct arena *memory) {
    struct plan_sheet sheet = {.plan = plan};
    enum chart_error error = picture_open(&sheet.picture, options, memory, 14, 13);
    if (error != CHART_OK)
        return error;
    draw(&sheet);
    return picture_close(&sheet.picture, out);
}
