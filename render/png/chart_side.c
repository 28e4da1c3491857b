/*
 * Below the legend, where there is room: the categories of what is alive at its moment, and the allocator's settings.
 *
 *     By category (inferred)
 *     [=====================|=======|====]
 *     # activation 4.0 GiB   # optimizer state 1.1 GiB
 *     Allocator
 *     expandable_segments:True
 */
#include "render/png/chart_maker.h"

#include "analysis/loop/category.h"
#include "analysis/model/allocator_settings.h"
#include "base/format.h"
#include "base/sort.h"

#include <stdio.h>
#include <string.h>

enum { SIDE_CATEGORIES = 6 };

static uint64_t sum_of(const struct chart_maker *maker, enum category category) {
    return maker->category_bytes[category];
}

bool chart_side_find(struct chart_maker *maker) {
    const struct chart_input *in = maker->in;
    const struct allocations *allocations = &in->timeline->device->allocations;
    if (in->verdicts == NULL)
        return true;
    uint32_t n, *alive = timeline_alive(in->timeline, in->moment, &maker->out->arena, &n);
    if (alive == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!filter_keeps(chart_keep(in), alive[i]))
            continue;
        maker->category_bytes[in->verdicts->category[alive[i]]] += allocations->size[alive[i]];
        maker->categories_inferred |=
            in->timeline->trace->contexts.context[allocations->context[alive[i]]].category == 0;
    }
    ARENA_DROP(&maker->out->arena, alive);
    return true;
}

/* Sorts the largest categories by falling bytes; equal ones stay in their own order. Returns how many. */
static uint32_t categories_ranked(const struct chart_maker *maker, enum category ranked[CATEGORY_COUNT]) {
    uint32_t n = 0;
    for (uint32_t category = 0; category < CATEGORY_COUNT; category++) {
        uint64_t sum = sum_of(maker, (enum category)category);
        if (sum != 0)
            INSERT(ranked, n, CATEGORY_COUNT, (enum category)category, other, sum > sum_of(maker, *other));
    }
    return n;
}

static uint32_t category_color(const struct chart_maker *maker, enum category category) {
    return raster_key_color(COLOR_BY_CATEGORY, category, maker->in->options->dark);
}

static void bar_put(struct chart_maker *maker, struct rect bar, const enum category *ranked, uint32_t n) {
    uint64_t whole = 0, before = 0;
    for (uint32_t i = 0; i < n; i++)
        whole += sum_of(maker, ranked[i]);
    uint32_t shift = 0; /* keeps the product with a width within 64 bits */
    while (whole >> shift >> 40 != 0)
        shift++;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t width = (uint64_t)bar.width, all = (whole >> shift) + 1;
        int32_t from = (int32_t)((before >> shift) * width / all);
        before += sum_of(maker, ranked[i]);
        int32_t to = i + 1 == n ? bar.width : (int32_t)((before >> shift) * width / all);
        if (to > from + maker->scale)
            chart_put(maker, CHART_FILL,
                      (struct rect){bar.x + from, bar.y, to - from - maker->scale, bar.height},
                      category_color(maker, ranked[i]));
    }
}

/* Puts names and sums, as many in a line as fit. Returns the y below them. */
static int32_t names_put(struct chart_maker *maker, struct rect area, const enum category *ranked,
                         uint32_t n) {
    int32_t x = 0, swatch = maker->em * 5 / 4, side = maker->em * 7 / 8;
    for (uint32_t i = 0; i < n && i < SIDE_CATEGORIES; i++) {
        char text[80];
        snprintf(text, sizeof text, "%s %s", category_label[ranked[i]].title,
                 format_bytes_in(sum_of(maker, ranked[i]), maker->unit).text);
        int32_t width = swatch + chart_text_width(maker, maker->small, text);
        if (x != 0 && x + width > area.width) {
            x = 0;
            area.y += chart_row(maker);
        }
        struct rect at = {area.x + x, area.y + (chart_line(maker->small) - side) / 2, side, side};
        chart_put(maker, CHART_SWATCH, at, category_color(maker, ranked[i]));
        chart_put_text(maker, (struct rect){area.x + x + swatch, area.y, area.width - x - swatch, 0},
                       CHART_LEFT, maker->small, maker->out->colors->text, text);
        x += width + maker->em;
    }
    return area.y + chart_row(maker);
}

static void settings_text(const struct chart_maker *maker, char text[ALLOCATOR_SETTINGS_TEXT]) {
    struct allocator_settings settings;
    text[0] = '\0';
    if (!allocator_settings_read(&settings, maker->in->timeline->trace))
        return;
    allocator_settings_print(&settings, text);
    if (text[0] == '\0')
        snprintf(text, ALLOCATOR_SETTINGS_TEXT, "default settings, expandable_segments off");
    for (char *comma = strchr(text, ','); comma != NULL && comma[1] != ' '; comma = strchr(comma, ','))
        *comma = ' '; /* so that a line can be broken there */
}

/* In the colouring by category the legend has the categories already, and one category alone needs no bar. */
static int32_t categories_put(struct chart_maker *maker, struct rect area) {
    enum category ranked[CATEGORY_COUNT];
    uint32_t n = categories_ranked(maker, ranked);
    if (maker->in->options->color_by == COLOR_BY_CATEGORY || n < 2)
        return area.y;
    area.y =
        chart_heading_put(maker, area, maker->categories_inferred ? "By category (inferred)" : "By category");
    bar_put(maker, (struct rect){area.x, area.y, area.width, maker->em}, ranked, n);
    area.y += maker->em * 5 / 4;
    return names_put(maker, area, ranked, n) + maker->em;
}

static int32_t settings_put(struct chart_maker *maker, struct rect area) {
    char text[ALLOCATOR_SETTINGS_TEXT];
    settings_text(maker, text);
    if (text[0] == '\0')
        return area.y;
    area.y = chart_heading_put(maker, area, "Allocator");
    return chart_put_lines(maker, area, maker->small, maker->out->colors->text, CHART_LINES_MAX, text) +
           maker->em;
}

int32_t chart_side_put(struct chart_maker *maker, struct rect area) {
    /* The last one is left out first if there is little room. */
    static int32_t (*const parts[])(struct chart_maker *, struct rect) = {categories_put, settings_put};
    int32_t bottom = area.y + area.height;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (CHART_MEASURED(maker, parts[i](maker, area)) > bottom)
            break;
        area.y = parts[i](maker, area);
    }
    return area.y;
}
