/* Annotations as bands below the plot, in two levels. */
#include "render/png/chart_maker.h"

#include <string.h>

enum { PHASE_ROWS = 2 };

/* The part of the window that a phase takes, in 1/1024; -1: it lies outside. */
static int32_t phase_share(const struct chart_maker *maker, const struct phase *phase) {
    const struct view *view = &maker->out->view;
    int64_t from = phase_q16(maker->in->timeline, view->axis, phase->start_us),
            to = phase_q16(maker->in->timeline, view->axis, phase->end_us);
    from = from < view->from_q16 ? view->from_q16 : from;
    to = to > view->to_q16 ? view->to_q16 : to;
    if (to < from || from >= view->to_q16 || to <= view->from_q16)
        return -1;
    return (int32_t)((to - from) / ((view->to_q16 - view->from_q16) / 1024 + 1));
}

/* Chooses the label for `room`: the longest form of the name that fits. In a room of at least 10 em (some 20 letters),
 * a name that does not fit is cut. False: there is no label. */
static bool phase_label(const struct chart_maker *maker, const struct phase *phase, int32_t room, char *text,
                        size_t capacity) {
    struct text whole = trace_text(maker->in->timeline->trace, phase->name), name;
    for (uint32_t nth = 0; name = phase_name(whole, nth), name.nbytes > 0; nth++) {
        chart_bytes_text(name, text, capacity);
        if (chart_text_width(maker, maker->small, text) <= room)
            return true;
    }
    chart_bytes_text(phase_name(whole, 0), text, capacity);
    return room >= 10 * maker->em;
}

static bool phase_will_say(const struct chart_maker *maker, const struct phase *phase, int32_t width) {
    char text[FONT_TEXT_NBYTES];
    int32_t share = phase_share(maker, phase);
    int32_t room = (int32_t)((int64_t)share * width / 1024) - maker->em * 2 / 3;
    return share > 0 && phase_label(maker, phase, room, text, sizeof text);
}

/* The number of rows that are worth their room: at least one phase in them has a label. */
static uint32_t phase_rows_wanted(const struct chart_maker *maker, int32_t width) {
    const struct phases *phases = &maker->phases;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < phases->count; i++) {
        const struct phase *phase = &phases->phase[i];
        if (!phase->internal && phase->plain_depth >= rows && phase->plain_depth < PHASE_ROWS &&
            phase_will_say(maker, phase, width))
            rows = phase->plain_depth + 1U;
    }
    return rows;
}

/* The compiler's timers get no row, because the page too shows them only on request. */
void chart_phases_fit(struct chart_maker *maker, int32_t width) {
    struct phases *phases = &maker->phases;
    uint32_t kept = 0, rows = phase_rows_wanted(maker, width);
    for (uint32_t i = 0; i < phases->count; i++) {
        const struct phase *phase = &phases->phase[i];
        if (!phase->internal && phase->plain_depth < rows && phase_share(maker, phase) >= 0)
            phases->phase[kept++] = *phase;
    }
    phases->count = kept;
}

void chart_phases_find(struct chart_maker *maker) {
    if (!phases_find(maker->in->timeline, &maker->out->arena, &maker->phases))
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

/* Puts a phase. A box without room for a name that tells it from others is left out. */
static void phase_put(struct chart_maker *maker, const struct phase *phase, struct rect band,
                      uint32_t color) {
    char text[FONT_TEXT_NBYTES];
    int32_t pad = maker->em / 3;
    if (!phase_label(maker, phase, band.width - 2 * pad, text, sizeof text))
        return;
    chart_put(maker, CHART_FILL, band, color);
    chart_put_sentence(maker, (struct rect){band.x + pad, band.y, band.width - 2 * pad, 0}, maker->small,
                       maker->out->colors->text, text);
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
        /* leaves a pixel of space between neighbours */
        int32_t width = right - left > 4 * gap ? right - left - gap : right - left;
        struct rect band = {area.x + left, area.y + (int32_t)row * height + 2 * gap, width, height - 2 * gap};
        phase_put(maker, phase, band,
                  n[row]++ % 2 == 0 ? maker->out->colors->phase_odd : maker->out->colors->phase_even);
        drawn_to[row] = right;
    }
}
