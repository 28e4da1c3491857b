/*
 * Call sites whose colour fills a good part of the picture and that the legend does not list, because nothing or next to
 * nothing of them is alive at its moment: the gradients of a picture whose peak lies in forward.
 */
#include "render/png/chart_maker.h"

#include "layout/site.h"

/* What a site covers: KiB times moments of the window, as far as 64 bits hold it. */
static uint64_t life_area(const struct chart_maker *maker, uint32_t life) {
    const struct lives *lives = &maker->in->timeline->device->lives;
    const struct chart_window *window = &maker->in->window;
    uint32_t from = lives->birth[life] > window->first_moment ? lives->birth[life] : window->first_moment;
    uint32_t to = lives->death[life] < window->end_moment ? lives->death[life] : window->end_moment;
    uint64_t kib = lives->size[life] >> 10, moments = to > from ? to - from : 0;
    return moments != 0 && kib > UINT64_MAX / moments ? UINT64_MAX : kib * moments;
}

static uint64_t area_sum(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Into `area[site]`; returns their sum. O(lives). */
static uint64_t areas_find(const struct chart_maker *maker, uint64_t *area) {
    const struct timeline *timeline = maker->in->timeline;
    const struct lives *lives = &timeline->device->lives;
    uint64_t whole = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (!filter_keeps(chart_keep(maker->in), i))
            continue;
        uint64_t own = life_area(maker, i), *site = &area[timeline->site[lives->stack[i]]];
        *site = area_sum(*site, own);
        whole = area_sum(whole, own);
    }
    return whole;
}

/* Rows of the legend speak for their sites as long as they hold a thousandth of what is alive. */
static void areas_drop_listed(const struct chart_maker *maker, uint64_t *area) {
    uint64_t least = chart_shown(maker->in)->live[maker->in->moment] / 1000;
    for (uint32_t i = 0; i < maker->in->n_groups; i++)
        if (maker->in->groups[i].bytes >= least)
            area[maker->in->groups[i].site] = 0;
}

bool chart_also_find(struct chart_maker *maker) {
    uint32_t n_sites = maker->in->timeline->trace->frames.count;
    maker->n_also = 0;
    if (maker->in->options->color_by != COLOR_BY_SITE || maker->out->plot_is_text)
        return true;
    uint64_t *area = arena_column(&maker->out->arena, n_sites, sizeof *area);
    if (area == NULL)
        return false;
    for (uint32_t i = 0; i < n_sites; i++)
        area[i] = 0;
    uint64_t least = areas_find(maker, area) / 100;
    areas_drop_listed(maker, area);
    for (; maker->n_also < CHART_ALSO_MAX; maker->n_also++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < n_sites; i++)
            best = area[i] > area[best] ? i : best;
        if (area[best] == 0 || area[best] < least)
            break;
        maker->also[maker->n_also] = best;
        area[best] = 0;
    }
    ARENA_DROP(&maker->out->arena, area);
    return true;
}

static int32_t also_row(const struct chart_maker *maker) {
    return chart_line(maker->small) + maker->em / 5;
}

static int32_t also_heading(const struct chart_maker *maker) {
    return chart_line(maker->bold) + maker->em / 4;
}

int32_t chart_also_height(const struct chart_maker *maker) {
    return maker->n_also == 0 ? 0
                              : also_heading(maker) + (int32_t)maker->n_also * also_row(maker) + maker->em;
}

void chart_also_put(struct chart_maker *maker, struct rect area) {
    const struct trace *trace = maker->in->timeline->trace;
    int32_t side = maker->em * 7 / 8, indent = maker->em * 3 / 2;
    if (maker->n_also == 0)
        return;
    chart_put_text(maker, area, CHART_LEFT, maker->bold, maker->out->colors.text, "Also in the picture");
    area.y += also_heading(maker);
    for (uint32_t i = 0; i < maker->n_also; i++, area.y += also_row(maker)) {
        char text[FONT_TEXT_NBYTES];
        struct rect swatch = {area.x, area.y + (chart_line(maker->small) - side) / 2, side, side};
        site_text(trace, maker->also[i], text, sizeof text);
        chart_put(maker, CHART_SWATCH, swatch,
                  raster_site_color(trace, maker->also[i], maker->in->options->dark));
        chart_put_text(maker, (struct rect){area.x + indent, area.y, area.width - indent, 0}, CHART_LEFT,
                       maker->small, maker->out->colors.text, text);
    }
}
