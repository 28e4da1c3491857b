/* Call sites that the picture shows and the legend does not list (layout/also_shown.h). */
#include "render/png/chart_maker.h"

#include <string.h>

#include "base/format.h"
#include "base/numbers.h"

/* The unit of the legend, so that figures can be compared at a glance. */
static unsigned unit_of(const struct chart_maker *maker) {
    return format_unit(larger_of(LARGEST(maker->in->n_groups, i, maker->in->groups[i].bytes),
                                 LARGEST(maker->n_also, i, maker->also[i].bytes)));
}

bool chart_also_find(struct chart_maker *maker) {
    const struct chart_window *window = &maker->in->window;
    struct arena scratch;
    struct also_finding finding = {.timeline = maker->in->timeline,
                                   .keep = chart_keep(maker->in),
                                   .arena = &scratch,
                                   .first = window->first_moment,
                                   .end = window->end_moment,
                                   .moment = maker->in->moment,
                                   .at_once = ALSO_AT_ONCE};
    bool done = true;
    arena_init(&scratch, maker->out->arena.host, SIZE_MAX);
    if (maker->in->options->color_by == COLOR_BY_SITE && !maker->out->plot_is_text)
        done = also_shown_find(&finding);
    arena_release(&scratch);
    maker->n_also = finding.count;
    memcpy(maker->also, finding.also, sizeof maker->also);
    maker->unit = unit_of(maker);
    return done;
}

/* Adds a row such as "backward of MmBackward0 123.4 MiB". */
static void also_row_put(struct chart_maker *maker, const struct also_shown *also, struct rect row) {
    const struct chart_colors *colors = &maker->out->colors;
    const struct group group = {.site = also->site, .of_free = also->of_free};
    int32_t side = maker->em * 7 / 8, indent = maker->em * 3 / 2;
    char text[FONT_TEXT_NBYTES];
    chart_group_text(maker->in->timeline, COLOR_BY_SITE, &group, text, sizeof text);
    chart_put(maker, CHART_SWATCH,
              (struct rect){row.x, row.y + (chart_line(maker->small) - side) / 2, side, side},
              chart_site_color(maker, also->site));
    int32_t figure = chart_put_text(maker, row, CHART_RIGHT, maker->small, colors->text,
                                    format_bytes_in(also->bytes, maker->unit).text);
    chart_put_site(maker, (struct rect){row.x + indent, row.y, row.width - indent - figure - maker->em, 0},
                   colors->text, text, chart_group_mark(COLOR_BY_SITE, &group));
}

int32_t chart_also_put(struct chart_maker *maker, struct rect area) {
    const struct chart_colors *colors = &maker->out->colors;
    if (maker->n_also == 0)
        return area.y;
    int32_t used = chart_put_text(maker, area, CHART_LEFT, maker->bold, colors->text, "Also in the picture");
    int32_t rest = area.width - used - maker->em;
    if (chart_text_width(maker, maker->small, "at its highest") <= rest)
        chart_put_text(maker, (struct rect){area.x + area.width - rest, area.y, rest, 0}, CHART_RIGHT,
                       maker->small, colors->quiet, "at its highest");
    area.y += chart_line(maker->bold) + maker->em / 4;
    for (uint32_t i = 0; i < maker->n_also; i++, area.y += chart_row(maker))
        also_row_put(maker, &maker->also[i], area);
    return area.y + maker->em;
}
