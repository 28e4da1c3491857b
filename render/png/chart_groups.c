/* The groups of the legend: call sites, or keys of another colouring. */
#include "render/png/chart_maker.h"

#include "analysis/compare/compare.h"
#include "analysis/compare/site_parts.h"
#include "base/bytes.h"
#include "base/format.h"
#include "base/sort.h"
#include "layout/extent.h"
#include "layout/site.h"
#include "render/raster/raster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t keys_count(const struct device_trace *device, enum color_by by) {
    return by == COLOR_BY_STREAM ? device->n_streams : by == COLOR_BY_POOL ? device->n_pools : RASTER_KEYS;
}

/* Is a listed before b? Scales are listed from their upper end, everything else by bytes. */
static bool goes_before(enum color_by by, const struct group *a, const struct group *b) {
    return by == COLOR_BY_SIZE || by == COLOR_BY_AGE ? a->site > b->site : a->bytes > b->bytes;
}

/* Moves the keys that were seen to the front, in order. Keys are few; real files have some tens of streams at most. */
static uint32_t keys_sort(struct group *groups, const bool *seen, uint32_t n_keys, enum color_by by) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_keys; i++) {
        struct group own = groups[i];
        if (seen[i])
            INSERT(groups, n, n_keys, own, other, goes_before(by, &own, other));
    }
    return n;
}

/* Sums the keys. A colour that the window shows is explained even if nothing of it is alive at the legend's moment. */
static bool keys_sum(const struct chart_input *input, const struct raster_style *style, struct arena *arena,
                     struct group **groups, uint32_t *n_groups) {
    const struct timeline *timeline = input->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t n_keys = keys_count(timeline->device, style->color_by);
    *groups = arena_alloc(arena, ((size_t)n_keys + 1) * sizeof **groups);
    bool *seen = arena_alloc(arena, (size_t)n_keys + 1);
    if (*groups == NULL || seen == NULL)
        return false;
    for (uint32_t i = 0; i < n_keys; i++)
        (*groups)[i] = (struct group){.site = i};
    bytes_zero(seen, n_keys);
    for (uint32_t i = 0; i < allocations->count; i++) {
        bool alive = allocations->birth[i] <= input->moment && allocations->death[i] > input->moment;
        bool shown = allocations->birth[i] < input->window.end_moment &&
                     allocations->death[i] > input->window.first_moment;
        if (allocations->size[i] == 0 || !(alive || shown) || !filter_keeps(chart_keep(input), i))
            continue;
        uint32_t key = raster_key(timeline, style, i);
        seen[key] = true;
        (*groups)[key].bytes += alive ? allocations->size[i] : 0;
        (*groups)[key].count += alive;
    }
    *n_groups = keys_sort(*groups, seen, n_keys, style->color_by);
    return true;
}

bool chart_groups_find(const struct chart_input *input, const struct raster_style *style, struct arena *arena,
                       struct group **groups, uint32_t *n_groups) {
    if (style->color_by != COLOR_BY_SITE && style->color_by != COLOR_BY_EACH)
        return keys_sum(input, style, arena, groups, n_groups);
    if (input->verdicts == NULL)
        return groups_at(chart_shown(input), input->moment, GROUP_BY_SITE, arena, groups, n_groups);
    struct site_parts parts = {0};
    bool done = site_parts_at(&parts, chart_shown(input), input->verdicts, input->moment, arena);
    *groups = parts.groups;
    *n_groups = parts.n_groups;
    return done;
}

static void range_text(const struct timeline *timeline, enum color_by by, uint32_t key, char *text,
                       size_t capacity) {
    uint64_t from, to;
    raster_key_range(timeline, by, key, &from, &to);
    struct figure low = by == COLOR_BY_SIZE ? format_bytes(from) : format_count(from);
    struct figure high = by == COLOR_BY_SIZE ? format_bytes(to) : format_count(to);
    const char *unit = by == COLOR_BY_SIZE ? "" : " events";
    if (to == UINT64_MAX)
        snprintf(text, capacity, "%s%s and more", low.text, unit);
    else if (from == 0)
        snprintf(text, capacity, "below %s%s", high.text, unit);
    else
        snprintf(text, capacity, "%s to %s%s", low.text, high.text, unit);
}

static void category_text(uint32_t category, char *text, size_t capacity) {
    snprintf(text, capacity, "%s", category_label[category].name);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '_' ? ' ' : *at;
}

const char *chart_group_mark(enum color_by by, const struct group *group) {
    return by == COLOR_BY_SITE || by == COLOR_BY_EACH ? group_part_mark(group) : "";
}

static void part_text(const struct trace *trace, const struct group *group, char *text, uint32_t capacity) {
    uint32_t length = site_text(trace, group->site, text, capacity);
    if (length < capacity)
        snprintf(text + length, capacity - length, "%s", group_part_mark(group));
}

void chart_group_text(const struct timeline *timeline, enum color_by by, const struct group *group,
                      char *text, uint32_t capacity) {
    uint32_t key = group->site;
    switch (by) {
    case COLOR_BY_SITE:
    case COLOR_BY_EACH:
    case COLOR_COUNT: part_text(timeline->trace, group, text, capacity); break;
    case COLOR_BY_SIZE:
    case COLOR_BY_AGE: range_text(timeline, by, key, text, capacity); break;
    case COLOR_BY_STREAM: (void)compare_name(timeline, COMPARE_BY_STREAM, key, NULL, text, capacity); break;
    case COLOR_BY_POOL: (void)compare_name(timeline, COMPARE_BY_POOL, key, NULL, text, capacity); break;
    case COLOR_BY_CATEGORY: category_text(key, text, capacity); break;
    default: snprintf(text, capacity, "%" PRIu32, key);
    }
}

size_t chart_site_place_nbytes(const char *site) {
    const char *space = strchr(site, ' ');
    while (space && (space == site || space[-1] < '0' || space[-1] > '9'))
        space = strchr(space + 1, ' ');
    return space ? (size_t)(space - site) : 0;
}

uint32_t chart_site_color(const struct chart_maker *maker, uint32_t site) {
    const struct timeline *timeline = maker->in->timeline;
    return raster_site_color(timeline, site, maker->in->options->dark) | (uint32_t)timeline->twin[site] << 24;
}
