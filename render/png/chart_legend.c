/* The legend: groups alive at its moment, and a key to lines and patterns. */
#include "base/utf8.h"
#include "render/png/chart_maker.h"

#include "base/format.h"
#include "layout/site.h"
#include "render/raster/mix.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LEGEND_ROWS_MAX = 40, LEGEND_ROWS_MIN = 8, KEYS_MAX = 15 };

/* ---- key ---- */

struct key {
    enum chart_box_kind kind;
    uint32_t color;
    char text[384];
};

struct keys {
    struct key key[KEYS_MAX];
    uint32_t n;
};

struct key_facts {
    bool older, pending;
};

/* The fewest bytes that the raster hatches (MIN_PATTERN_Q8 in raster.c). When the legend is only measured, before the
 * plot has its height, the whole picture's height stands for it. */
static uint64_t hatch_least_bytes(const struct chart_maker *maker) {
    enum { HATCH_LEAST_PX = 4 };
    uint64_t height = maker->out->view.height != 0 ? maker->out->view.height : (uint32_t)maker->height;
    uint64_t pixels = HATCH_LEAST_PX * (uint64_t)maker->scale, top = maker->out->view.top_bytes;
    return top / height * pixels + top % height * pixels / height;
}

static struct key_facts key_facts_of(const struct chart_maker *maker) {
    const struct allocations *allocations = &maker->in->timeline->device->allocations;
    const struct chart_window *window = &maker->in->window;
    struct key_facts facts = {false, false};
    uint64_t hatched = hatch_least_bytes(maker);
    for (uint32_t i = 0; i < allocations->count && !(facts.pending && i >= allocations->preexisting); i++) {
        bool shown =
            allocations->birth[i] < window->end_moment && allocations->death[i] > window->first_moment;
        if (!shown || allocations->size[i] == 0 || !filter_keeps(chart_keep(maker->in), i))
            continue;
        facts.older = facts.older || i < allocations->preexisting;
        facts.pending = facts.pending ||
                        (allocations->request[i] < allocations->death[i] &&
                         allocations->request[i] < window->end_moment && allocations->size[i] >= hatched);
    }
    return facts;
}

static __attribute__((format(printf, 4, 5))) void key_add(struct keys *keys, enum chart_box_kind kind,
                                                          uint32_t color, const char *format, ...) {
    struct key *key = &keys->key[keys->n++];
    key->kind = kind;
    key->color = color;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key->text, sizeof key->text, format, arguments);
    va_end(arguments);
    utf8_trim(key->text);
}

static const char *color_text(enum color_by by) {
#define COLORING_TEXT(NAME, name, title, words) "colours: " words,
    static const char *const texts[] = {STRATA_COLORINGS(COLORING_TEXT)};
#undef COLORING_TEXT
    return texts[by];
}

/* Adds keys for the lines across the plot and for the lanes below it. */
static void keys_add_levels(const struct chart_maker *maker, struct keys *keys) {
    const struct timeline *timeline = maker->in->timeline;
    const struct inks *colors = maker->out->colors;
    uint64_t capacity = maker->in->options->capacity_bytes;
    if (timeline->reserved_peak > 0)
        key_add(keys, CHART_LINE, colors->text, "reserved%s \xc2\xb7 %s %s",
                timeline->reserved_peak > maker->out->view.top_bytes ? " (above the picture)" : "",
                timeline->device->n_segments == 0 ? "at least" : "at most",
                format_bytes(timeline->reserved_peak).text);
    if (capacity > 0)
        key_add(keys, CHART_DASH, colors->text, "capacity %s%s", format_bytes(capacity).text,
                capacity > maker->out->view.top_bytes ? " (above the picture)" : "");
    if (chart_ghost_width(maker) != 0)
        key_add(keys, CHART_LINE, colors->bad, "reserved + free at the OOM \xc2\xb7 %s",
                format_bytes(chart_ghost_limit(maker)).text);
    if (maker->unused_bytes != 0)
        key_add(keys, CHART_SWATCH, colors->unused, "lane: reserved, unused \xc2\xb7 up to %s",
                format_bytes(maker->unused_bytes).text);
    if (maker->host_bytes != 0)
        key_add(keys, CHART_SWATCH, colors->dim, "lane: the host's memory \xc2\xb7 up to %s",
                format_bytes(maker->host_bytes).text);
}

static struct keys keys_of(const struct chart_maker *maker) {
    const struct chart_options *options = maker->in->options;
    const struct inks *colors = maker->out->colors;
    struct key_facts facts = key_facts_of(maker);
    struct keys keys = {.n = 0};
    keys_add_levels(maker, &keys);
    if (facts.older)
        key_add(&keys, CHART_DOTS, colors->dim, "dots: older than the recording");
    if (facts.pending)
        key_add(&keys, CHART_HATCH, colors->dim, "hatched: freed, waits for another stream");
    if (maker->in->selection != NULL)
        key_add(&keys, CHART_TEXT, colors->text, "only: %s", options->filter->text);
    if (options->color_by != COLOR_BY_SITE)
        key_add(&keys, CHART_TEXT, colors->dim, "%s", color_text(options->color_by));
    return keys;
}

/* ---- table ---- */

struct row {
    char site[FONT_TEXT_NBYTES];
    const char *mark; /* a suffix of the name that is never cut */
    struct figure bytes, share, count;
};

/* Widths of the columns. */
struct columns {
    int32_t swatch, site, bytes, share, count;
};

static int32_t legend_gap(const struct chart_maker *maker) {
    return maker->em * 3 / 4;
}

static void row_figures(const struct chart_maker *maker, struct row *row, uint64_t bytes, uint64_t count) {
    row->bytes = format_bytes_in(bytes, maker->unit);
    row->share = format_share(bytes, maker->in->timeline->live[maker->in->moment]);
    snprintf(row->count.text, sizeof row->count.text, "%.26s\xc3\x97", format_count(count).text);
}

static void row_of_group(const struct chart_maker *maker, const struct group *group, struct row *row) {
    chart_group_text(maker->in->timeline, maker->in->options->color_by, group, row->site, sizeof row->site);
    row->mark = chart_group_mark(maker->in->options->color_by, group);
    row_figures(maker, row, group->bytes, group->count);
}

/* Makes one row of the groups from `first` on. */
static void row_of_rest(const struct chart_maker *maker, uint32_t first, struct row *row) {
    uint64_t bytes = 0, count = 0;
    for (uint32_t i = first; i < maker->in->n_groups; i++) {
        bytes += maker->in->groups[i].bytes;
        count += maker->in->groups[i].count;
    }
    snprintf(row->site, sizeof row->site, "%s more", format_count(maker->in->n_groups - first).text);
    row->mark = "";
    row_figures(maker, row, bytes, count);
}

static void columns_widen(const struct chart_maker *maker, struct columns *columns, const struct row *row) {
    int32_t site = chart_text_width(maker, maker->small, row->site);
    int32_t bytes = chart_text_width(maker, maker->small, row->bytes.text);
    int32_t share = chart_text_width(maker, maker->small, row->share.text);
    int32_t count = chart_text_width(maker, maker->small, row->count.text);
    columns->site = site > columns->site ? site : columns->site;
    columns->bytes = bytes > columns->bytes ? bytes : columns->bytes;
    columns->share = share > columns->share ? share : columns->share;
    columns->count = count > columns->count ? count : columns->count;
}

/* The natural widths for the first n_rows groups and the sum of the rest. */
static struct columns columns_of(const struct chart_maker *maker, uint32_t n_rows) {
    struct columns columns = {.swatch = maker->em * 3 / 2};
    struct row row;
    for (uint32_t i = 0; i < n_rows; i++) {
        row_of_group(maker, &maker->in->groups[i], &row);
        columns_widen(maker, &columns, &row);
    }
    if (n_rows < maker->in->n_groups) {
        row_of_rest(maker, n_rows, &row);
        columns_widen(maker, &columns, &row);
    }
    return columns;
}

static int32_t columns_width(const struct chart_maker *maker, const struct columns *columns) {
    return columns->swatch + columns->site + columns->bytes + columns->share + columns->count +
           3 * legend_gap(maker);
}

/* How many rows are worth showing. Beyond the first few, rows below a thousandth of the whole are only noise and are
 * summed up; but all colours that the legend must explain are listed. */
static uint32_t legend_rows_wanted(const struct chart_maker *maker) {
    enum color_by by = maker->in->options->color_by;
    bool sites = by == COLOR_BY_SITE || by == COLOR_BY_EACH;
    uint64_t least = sites ? chart_shown(maker->in)->live[maker->in->moment] / 1000 : 0;
    uint32_t n = 0;
    while (n < maker->in->n_groups && n < LEGEND_ROWS_MAX &&
           (n < LEGEND_ROWS_MIN || maker->in->groups[n].bytes >= least))
        n++;
    /* A sum of one group would hide a name and save nothing. */
    return n + 1 == maker->in->n_groups && n < LEGEND_ROWS_MAX ? n + 1 : n;
}

/* ---- header ---- */

struct header {
    char what[160];  /* "At the peak" */
    char figure[96]; /* "71.2 GiB · 2,434 allocations" */
    char both[256];
};

static void header_what(const struct chart_maker *maker, char *text, size_t capacity) {
    const struct timeline *timeline = maker->in->timeline;
    uint32_t moment = maker->in->moment;
    char when[96];
    chart_moment_text(timeline, moment, when, sizeof when);
    if (timeline->device->n_events == 0)
        snprintf(text, capacity, "When the snapshot was taken");
    else if (moment == timeline->peak_moment && !chart_moment_is_shown(maker, moment))
        snprintf(text, capacity, "At the peak, %s", when); /* no flag says when the peak is */
    else if (moment == timeline->peak_moment)
        snprintf(text, capacity, "At the peak");
    else if (moment == maker->in->window.peak_moment)
        snprintf(text, capacity, "At the highest point shown");
    else
        snprintf(text, capacity, "%s%s", moment == 0 ? "B" : "After e", when + 1);
}

static void header_of(const struct chart_maker *maker, struct header *header) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < maker->in->n_groups; i++)
        count += maker->in->groups[i].count;
    header_what(maker, header->what, sizeof header->what);
    const struct chart_input *in = maker->in;
    char whole[48] = "";
    uint64_t bytes = chart_shown(in)->live[in->moment];
    if (in->selection != NULL)
        snprintf(whole, sizeof whole, " of %s", format_bytes(in->timeline->live[in->moment]).text);
    const char *thing = !trace_has_allocations(in->timeline->trace) ? "level" : "allocation";
    snprintf(header->figure, sizeof header->figure, "%s%s \xc2\xb7 %s %s%s", format_bytes(bytes).text, whole,
             format_count(count).text, thing, count == 1 ? "" : "s");
    snprintf(header->both, sizeof header->both, "%.*s \xc2\xb7 %.*s", UTF8_FIT(header->what, 150),
             UTF8_FIT(header->figure, 90));
}

/* Puts the header in one line if it fits, otherwise in two. Returns its height. */
static int32_t header_put(struct chart_maker *maker, struct rect area) {
    struct header header;
    const struct inks *colors = maker->out->colors;
    int32_t line = chart_line(maker->bold);
    header_of(maker, &header);
    if (chart_text_width(maker, maker->bold, header.both) <= area.width) {
        chart_put_text(maker, area, CHART_LEFT, maker->bold, colors->text, header.both);
        return line + maker->em / 4;
    }
    chart_put_text(maker, area, CHART_LEFT, maker->bold, colors->text, header.what);
    area.y += line;
    chart_put_text(maker, area, CHART_LEFT, maker->body, colors->text, header.figure);
    return 2 * line + maker->em / 4;
}

/* ---- all of it ---- */

int32_t chart_legend_width(struct chart_maker *maker, int32_t least, int32_t most) {
    struct header header;
    struct keys keys = keys_of(maker);
    struct columns columns = columns_of(maker, legend_rows_wanted(maker));
    int32_t width = columns_width(maker, &columns);
    header_of(maker, &header);
    int32_t header_width = chart_text_width(maker, maker->bold, header.both);
    width = header_width > width ? header_width : width;
    for (uint32_t i = 0; i < keys.n; i++) {
        int32_t key_width = maker->em * 2 + chart_text_width(maker, maker->small, keys.key[i].text);
        width = key_width > width ? key_width : width;
    }
    return width < least ? least : width > most ? most : width;
}

static int32_t keys_height(const struct chart_maker *maker, uint32_t n_keys) {
    return n_keys == 0 ? 0 : (int32_t)n_keys * chart_row(maker) + maker->em / 2;
}

int32_t chart_legend_height(struct chart_maker *maker) {
    return 2 * chart_line(maker->bold) + maker->em / 4 +
           ((int32_t)legend_rows_wanted(maker) + 1) * chart_row(maker) + keys_height(maker, keys_of(maker).n);
}

/* Puts the name of a call site. File and line tell call sites apart, so the function's name is cut first:
 * "adam_forward.py:168 up...se", and where nothing of it fits, "adam_f...py:168". */
static int32_t name_put(struct chart_maker *maker, struct rect cell, uint32_t color, const char *site) {
    size_t place_nbytes = chart_site_place_nbytes(site);
    char place[FONT_TEXT_NBYTES];
    if (place_nbytes == 0 || chart_text_width(maker, maker->small, site) <= cell.width)
        return chart_put_text(maker, cell, CHART_LEFT, maker->small, color, site);
    snprintf(place, sizeof place, "%.*s", (int)place_nbytes, site);
    int32_t used = chart_put_text(maker, cell, CHART_LEFT, maker->small, color, place), gap = maker->em / 3;
    struct rect rest = {cell.x + used + gap, cell.y, cell.width - used - gap, 0};
    if (rest.width >= 2 * maker->em)
        used += gap + chart_put_text(maker, rest, CHART_LEFT, maker->small, color, site + place_nbytes + 1);
    return used;
}

void chart_put_site(struct chart_maker *maker, struct rect cell, uint32_t color, const char *site,
                    const char *mark) {
    char name[FONT_TEXT_NBYTES];
    int32_t width = chart_text_width(maker, maker->small, mark);
    if (mark[0] == '\0' || cell.width < width + 4 * maker->em ||
        chart_text_width(maker, maker->small, site) <= cell.width) {
        name_put(maker, cell, color, site);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)(strlen(site) - strlen(mark)), site);
    int32_t used = name_put(maker, (struct rect){cell.x, cell.y, cell.width - width, 0}, color, name);
    chart_put_text(maker, (struct rect){cell.x + used, cell.y, cell.width - used, 0}, CHART_LEFT,
                   maker->small, color, mark);
}

/* Puts a figure at the right end of `*room` and takes its column away from there. A column of width 0 was dropped. */
static void figure_put(struct chart_maker *maker, struct rect *room, int32_t width, uint32_t color,
                       const char *text) {
    if (width == 0)
        return;
    struct rect cell = {room->x + room->width - width, room->y, width, 0};
    chart_put_text(maker, cell, CHART_RIGHT, maker->small, color, text);
    room->width -= width + legend_gap(maker);
}

static void row_put(struct chart_maker *maker, const struct row *row, const struct columns *columns,
                    struct rect at, bool quiet) {
    const struct inks *colors = maker->out->colors;
    uint32_t color = quiet ? colors->dim : colors->text;
    figure_put(maker, &at, columns->count, colors->dim, row->count.text);
    figure_put(maker, &at, columns->share, colors->dim, row->share.text);
    figure_put(maker, &at, columns->bytes, color, row->bytes.text);
    struct rect site = {at.x + columns->swatch, at.y, at.width - columns->swatch, 0};
    chart_put_site(maker, site, color, row->site, row->mark);
}

static struct rect swatch_rect(const struct chart_maker *maker, struct rect row, int32_t width) {
    int32_t side = maker->em * 7 / 8;
    return (struct rect){row.x, row.y + (chart_line(maker->small) - side) / 2, width > 0 ? width : side,
                         side};
}

/* Fits the columns into `width`: the site gets what the figures leave; if that is almost nothing, first the count is
 * dropped and then the share. */
static void columns_fit(const struct chart_maker *maker, struct columns *columns, int32_t width) {
    int32_t least = columns->site < 11 * maker->em ? columns->site : 11 * maker->em;
    int32_t *optional[] = {&columns->count, &columns->share};
    columns->site = width - (columns_width(maker, columns) - columns->site);
    for (uint32_t i = 0; i < 2 && columns->site < least; i++) {
        columns->site += *optional[i] + legend_gap(maker);
        *optional[i] = 0;
    }
}

static uint32_t group_color(const struct chart_maker *maker, const struct group *group) {
    const struct chart_options *options = maker->in->options;
    if (options->color_by != COLOR_BY_SITE)
        return raster_key_color(options->color_by, group->site, options->dark);
    return chart_site_color(maker, group->site);
}

static void table_put(struct chart_maker *maker, struct rect area) {
    const struct chart_input *in = maker->in;
    int32_t height = chart_row(maker);
    uint32_t room = area.height > 0 ? (uint32_t)(area.height / height) : 0,
             wanted = legend_rows_wanted(maker);
    /* The sum of the rest takes a row too. */
    uint32_t n_rows = wanted == in->n_groups && wanted <= room ? wanted : room == 0 ? 0 : room - 1;
    n_rows = n_rows < wanted ? n_rows : wanted;
    struct columns columns = columns_of(maker, n_rows);
    struct rect at = {area.x, area.y, area.width, height};
    struct row row;
    columns_fit(maker, &columns, area.width);
    for (uint32_t i = 0; i < n_rows; i++, at.y += height) {
        row_of_group(maker, &in->groups[i], &row);
        if (in->options->color_by != COLOR_BY_EACH) /* in this colouring a site has no colour of its own */
            chart_put(maker, CHART_SWATCH, swatch_rect(maker, at, 0), group_color(maker, &in->groups[i]));
        row_put(maker, &row, &columns, at, in->groups[i].count == 0);
    }
    if (n_rows < in->n_groups && room > 0) {
        row_of_rest(maker, n_rows, &row);
        row_put(maker, &row, &columns, at, true);
    }
}

static void key_put(struct chart_maker *maker, const struct key *key, struct rect at) {
    int32_t indent = maker->em * 2;
    struct rect sample = swatch_rect(maker, at, maker->em * 3 / 2);
    if (key->kind == CHART_TEXT)
        indent = 0;
    else
        chart_put(maker, key->kind, sample, key->color);
    chart_put_text(maker, (struct rect){at.x + indent, at.y, at.width - indent, 0}, CHART_LEFT, maker->small,
                   maker->out->colors->dim, key->text);
}

void chart_legend_put(struct chart_maker *maker, struct rect area) {
    struct keys keys = keys_of(maker);
    /* A legend below the plot has no room for sentences. */
    int32_t most = area.height > 24 * maker->em ? area.height / 2 : 0;
    int32_t bottom = area.y + area.height;
    area.y = chart_findings_put(maker, (struct rect){area.x, area.y, area.width, most});
    area.height = bottom - area.y;
    int32_t header = header_put(maker, area), row = chart_row(maker);
    /* A low picture has no room for the last ones. */
    while (keys.n > 0 && header + keys_height(maker, keys.n) > area.height)
        keys.n--;
    int32_t keys_top = bottom - (keys_height(maker, keys.n) - maker->em / 2);
    struct rect table = {area.x, area.y + header, area.width,
                         area.height - header - keys_height(maker, keys.n)};
    int32_t rows = (LEGEND_ROWS_MIN + 1) * row + maker->em;
    struct rect room = {area.x, 0, area.width, table.height - rows};
    int32_t side = CHART_MEASURED(maker, chart_side_put(maker, room));
    if (side != 0) {
        uint32_t listed = legend_rows_wanted(maker);
        int32_t wanted = (int32_t)(listed + (listed < maker->in->n_groups)) * row + maker->em;
        table.height = wanted + side < table.height ? wanted : table.height - side;
        chart_side_put(maker, (struct rect){area.x, table.y + table.height, area.width, side});
    }
    table_put(maker, table);
    for (uint32_t i = 0; i < keys.n; i++)
        key_put(maker, &keys.key[i], (struct rect){area.x, keys_top + (int32_t)i * row, area.width, row});
}
