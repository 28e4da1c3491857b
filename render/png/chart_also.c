/*
 * Call sites whose colour fills a good part of the picture and that the legend does not list, because nothing or next to
 * nothing of them is alive at its moment: the gradients of a picture whose peak lies in forward.
 */
#include "render/png/chart_maker.h"

#include "base/format.h"
#include "base/sort.h"
#include "render/png/chart_groups.h"

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

static bool life_is_of(const struct chart_maker *maker, uint32_t life, uint32_t site) {
    const struct timeline *timeline = maker->in->timeline;
    const struct lives *lives = &timeline->device->lives;
    const struct chart_window *window = &maker->in->window;
    return timeline->site[lives->stack[life]] == site && lives->birth[life] < window->end_moment &&
           lives->death[life] > window->first_moment && filter_keeps(chart_keep(maker->in), life);
}

/* The shown lives of a site in order of their births, their deaths as keys; returns their number. O(lives). */
static uint32_t lives_of(const struct chart_maker *maker, uint32_t site, struct sort_row *row) {
    const struct lives *lives = &maker->in->timeline->device->lives;
    uint32_t n = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        if (life_is_of(maker, i, site))
            row[n++] = (struct sort_row){lives->death[i], i};
    return n;
}

/* The most bytes at once of lives in order of their births; `by_death` has the same ones. */
static uint64_t highest_of(const struct chart_maker *maker, const uint32_t *born,
                           const struct sort_row *by_death, uint32_t n) {
    const struct lives *lives = &maker->in->timeline->device->lives;
    uint64_t bytes = 0, highest = 0;
    for (uint32_t i = 0, dead = 0; i < n; i++) {
        uint32_t birth = lives->birth[born[i]], first = maker->in->window.first_moment;
        for (birth = birth < first ? first : birth; by_death[dead].key <= birth; dead++)
            bytes -= lives->size[by_death[dead].value];
        bytes += lives->size[born[i]];
        highest = bytes > highest ? bytes : highest;
    }
    return highest;
}

/* Fills in what is said of a site. O(lives). False: no memory. */
static bool also_measure(struct chart_maker *maker, struct chart_also *also) {
    const struct lives *lives = &maker->in->timeline->device->lives;
    struct arena *arena = &maker->out->arena;
    struct sort_row *row = arena_column(arena, lives->count, sizeof *row),
                    *spare = arena_column(arena, lives->count, sizeof *spare);
    uint32_t *born = arena_column(arena, lives->count, sizeof *born);
    if (row == NULL || spare == NULL || born == NULL)
        return false;
    uint32_t n = lives_of(maker, also->site, row);
    also->of_free = true;
    for (uint32_t i = 0; i < n; i++) {
        born[i] = row[i].value;
        also->of_free = also->of_free && (lives->flags[row[i].value] & LIFE_STACK_OF_FREE) != 0;
    }
    sort_rows(row, spare, n);
    also->bytes = highest_of(maker, born, row, n);
    ARENA_DROP(arena, born);
    ARENA_DROP(arena, spare);
    ARENA_DROP(arena, row);
    return true;
}

/* The largest areas, each a hundredth of the whole at least. False: no memory. */
static bool also_choose(struct chart_maker *maker, uint64_t *area, uint32_t n_sites, uint64_t least) {
    for (; maker->n_also < CHART_ALSO_MAX; maker->n_also++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < n_sites; i++)
            best = area[i] > area[best] ? i : best;
        if (area[best] == 0 || area[best] < least)
            break;
        maker->also[maker->n_also] = (struct chart_also){.site = best};
        if (!also_measure(maker, &maker->also[maker->n_also]))
            return false;
        area[best] = 0;
    }
    return true;
}

/* So that figures can be compared at a glance. */
static unsigned unit_of(const struct chart_maker *maker) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < maker->in->n_groups; i++)
        most = maker->in->groups[i].bytes > most ? maker->in->groups[i].bytes : most;
    for (uint32_t i = 0; i < maker->n_also; i++)
        most = maker->also[i].bytes > most ? maker->also[i].bytes : most;
    return format_unit(most);
}

bool chart_also_find(struct chart_maker *maker) {
    uint32_t n_sites = maker->in->timeline->trace->frames.count;
    bool done = true;
    maker->n_also = 0;
    if (maker->in->options->color_by == COLOR_BY_SITE && !maker->out->plot_is_text) {
        uint64_t *area = arena_column(&maker->out->arena, n_sites, sizeof *area);
        if (area == NULL)
            return false;
        for (uint32_t i = 0; i < n_sites; i++)
            area[i] = 0;
        uint64_t least = areas_find(maker, area) / 100;
        areas_drop_listed(maker, area);
        done = also_choose(maker, area, n_sites, least);
        ARENA_DROP(&maker->out->arena, area);
    }
    maker->unit = unit_of(maker);
    return done;
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

/* "backward of MmBackward0    123.4 MiB" */
static void also_row_put(struct chart_maker *maker, const struct chart_also *also, struct rect row) {
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
    chart_put_text(maker, (struct rect){row.x + indent, row.y, row.width - indent - figure - maker->em, 0},
                   CHART_LEFT, maker->small, colors->text, text);
}

void chart_also_put(struct chart_maker *maker, struct rect area) {
    const struct chart_colors *colors = &maker->out->colors;
    if (maker->n_also == 0)
        return;
    int32_t used = chart_put_text(maker, area, CHART_LEFT, maker->bold, colors->text, "Also in the picture");
    int32_t rest = area.width - used - maker->em;
    if (chart_text_width(maker, maker->small, "at its highest") <= rest)
        chart_put_text(maker, (struct rect){area.x + area.width - rest, area.y, rest, 0}, CHART_RIGHT,
                       maker->small, colors->quiet, "at its highest");
    area.y += also_heading(maker);
    for (uint32_t i = 0; i < maker->n_also; i++, area.y += also_row(maker))
        also_row_put(maker, &maker->also[i], area);
}
