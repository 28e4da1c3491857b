/* Annotations as bands below the plot: what the program said it was doing. Two levels are shown. */
#include "render/png/chart_maker.h"

enum { PHASE_ROWS = 2 };

/* In 1/64 of the window; -1: outside. Also tells how much of the window a phase takes. */
static int32_t phase_share(const struct chart_maker *maker, const struct phase *phase) {
    const struct view *view = &maker->out->view;
    int64_t from = phase_q16(maker->in->timeline, view->axis, phase->start_us),
            to = phase_q16(maker->in->timeline, view->axis, phase->end_us);
    from = from < view->from_q16 ? view->from_q16 : from;
    to = to > view->to_q16 ? view->to_q16 : to;
    if (to < from || from >= view->to_q16 || to <= view->from_q16)
        return -1;
    return (int32_t)((to - from) / ((view->to_q16 - view->from_q16) / 64 + 1));
}

/* Rows that are worth their room: in each, one phase at least can be seen well. */
static uint32_t phase_rows_wanted(const struct chart_maker *maker) {
    const struct phases *phases = &maker->phases;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < phases->count; i++) {
        const struct phase *phase = &phases->phase[i];
        if (!phase->internal && phase->plain_depth >= rows && phase->plain_depth < PHASE_ROWS &&
            phase_share(maker, phase) > 0)
            rows = phase->plain_depth + 1U;
    }
    return rows;
}

/* Leaves those that are shown; the page hides the compiler's timers too, unless asked for them. */
static void phases_filter(struct chart_maker *maker) {
    struct phases *phases = &maker->phases;
    uint32_t kept = 0, rows = phase_rows_wanted(maker);
    for (uint32_t i = 0; i < phases->count; i++) {
        const struct phase *phase = &phases->phase[i];
        if (!phase->internal && phase->plain_depth < rows && phase_share(maker, phase) >= 0)
            phases->phase[kept++] = *phase;
    }
    phases->count = kept;
}

void chart_phases_find(struct chart_maker *maker) {
    if (phases_find(maker->in->timeline, &maker->out->arena, &maker->phases))
        phases_filter(maker);
    else
        maker->failed = true;
}

static int32_t phase_row_height(const struct chart_maker *maker) {
    return chart_line(maker->small) + 2 * maker->scale;
}

static int32_t phase_rows(const struct chart_maker *maker) {
    int32_t rows = 0;
    for (uint32_t i = 0; i < maker->phases.count; i++)
        if (maker->phases.phase[i].plain_depth + 1 > rows)
            rows = maker->phases.phase[i].plain_depth + 1;
    return rows;
}

int32_t chart_phases_height(const struct chart_maker *maker) {
    return phase_rows(maker) * phase_row_height(maker);
}

static int32_t phase_x(const struct chart_maker *maker, int64_t us) {
    int32_t x = chart_axis_x(maker, phase_q16(maker->in->timeline, maker->out->view.axis, us));
    return x < 0 ? 0 : x;
}

/* A name is written where it fits, or enough of it to be recognised. */
static void phase_put_name(struct chart_maker *maker, const struct phase *phase, struct rect band) {
    char text[FONT_TEXT_NBYTES];
    int32_t pad = maker->em / 3;
    chart_string_text(maker, phase->name, text, sizeof text);
    if (band.width < 6 * maker->em && band.width < chart_text_width(maker, maker->small, text) + 2 * pad)
        return;
    chart_put_text(maker, (struct rect){band.x + pad, band.y, band.width - 2 * pad, 0}, CHART_LEFT,
                   maker->small, maker->out->colors.text, text);
}

void chart_phases_put(struct chart_maker *maker, struct rect area) {
    int32_t drawn_to[PHASE_ROWS] = {0}, height = phase_row_height(maker), gap = maker->scale;
    uint32_t n[PHASE_ROWS] = {0};
    for (uint32_t i = 0; i < maker->phases.count; i++) {
        const struct phase *phase = &maker->phases.phase[i];
        uint32_t row = phase->plain_depth;
        int32_t left = phase_x(maker, phase->start_us), right = phase_x(maker, phase->end_us);
        left = left < drawn_to[row] ? drawn_to[row] : left;
        right = right < left + gap ? left + gap : right;
        if (left + gap > area.width)
            continue;
        /* A pixel between neighbours tells them apart. */
        int32_t width = right - left > 4 * gap ? right - left - gap : right - left;
        struct rect band = {area.x + left, area.y + (int32_t)row * height + 2 * gap, width, height - 2 * gap};
        chart_put(maker, CHART_FILL, band, maker->out->colors.phase[n[row]++ % 2]);
        phase_put_name(maker, phase, band);
        drawn_to[row] = right;
    }
}
