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
    struct chart_part parts[CATEGORY_COUNT];
    uint32_t n = 0;
    for (uint32_t category = 0; category < CATEGORY_COUNT; category++) {
        struct chart_part part = {raster_key_color(COLOR_BY_CATEGORY, category, maker->in->options->dark),
                                  maker->category_bytes[category], category_label[category].title,
                                  format_bytes_in(maker->category_bytes[category], maker->unit)};
        if (part.bytes != 0)
            INSERT(parts, n, CATEGORY_COUNT, part, other, part.bytes > other->bytes);
    }
    if (maker->in->options->color_by == COLOR_BY_CATEGORY || n < 2)
        return area.y;
    if (n > SIDE_CATEGORIES)
        parts[SIDE_CATEGORIES].name = NULL;
    area.y =
        chart_heading_put(maker, area, maker->categories_inferred ? "By category (inferred)" : "By category");
    return chart_bar_put(maker, area, parts, n) + maker->em;
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
