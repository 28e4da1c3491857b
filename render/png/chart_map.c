/* The map below the axis: the allocator's memory at the legend's moment, one row for each segment. */
#include "render/png/chart_maker.h"

#include "analysis/model/fragmentation.h"
#include "analysis/model/pool_use.h"
#include "base/format.h"

#include <stdio.h>
#include <string.h>

enum { LABELS_MAX = 400 };

/* Finds state and sizes; the sizes are the replay's, if that is quick and exact. */
static bool state_find(struct chart_maker *maker, struct chart_map *map) {
    const struct timeline *timeline = maker->in->timeline;
    struct arena *arena = &maker->out->arena;
    struct segments segments;
    struct replay replay;
    bool replayed = timeline->device->n_events <= REPLAY_EVENTS_AT_ONCE;
    return (!replayed || replay_run(&replay, timeline->trace, timeline->device, NULL, arena)) &&
           segments_init(&segments, timeline->device, arena) &&
           fragmentation_state(&map->held, timeline, &segments, replayed ? &replay : NULL, maker->in->moment,
                               arena);
}

bool chart_map_find(struct chart_maker *maker) {
    struct chart_map *map = &maker->out->map;
    const struct timeline *timeline = maker->in->timeline;
    if (!maker->in->options->map)
        return true;
    map->asked = true;
    map->refusal = segments_refusal(timeline->trace, timeline->device);
    return map->refusal != NULL || state_find(maker, map);
}

int32_t chart_map_height(const struct chart_maker *maker, int32_t room) {
    const struct chart_map *map = &maker->out->map;
    if (!map->asked || maker->out->plot_is_text || room < 24 * maker->em)
        return 0;
    return map->refusal != NULL ? 2 * chart_line(maker->small) : room * 9 / 20;
}

/* The beginning of a line's last part, including the separator before it. NULL: there is only one part. */
static char *last_part(char *text) {
    static const char *const marks[] = {" \xc2\xb7 ", ", ", ": "};
    char *last = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        for (char *at = strstr(text, marks[i]); at != NULL; at = strstr(at + 1, marks[i]))
            last = last == NULL || at > last ? at : last;
    return last;
}

/* Puts a line, without its last parts if there is no room for them, so that what stays is not cut. */
static void parts_put(struct chart_maker *maker, struct rect line, struct font_style style, uint32_t color,
                      char *text) {
    for (char *last; chart_text_width(maker, style, text) > line.width && (last = last_part(text)) != NULL;)
        *last = '\0';
    chart_put_text(maker, line, CHART_LEFT, style, color, text);
}

static void heading_put(struct chart_maker *maker, struct rect line) {
    const struct held *held = &maker->out->map.held;
    char moment[80], text[240];
    uint64_t reserved = 0, free_bytes = 0;
    for (uint32_t i = 0; i < held->n_segments; i++)
        reserved += held->segment[i].size;
    for (uint32_t i = 0; i < held->n_blocks; i++)
        free_bytes += held->block[i].allocation == ALLOCATION_NONE ? held->block[i].size : 0;
    chart_moment_text(maker->in->timeline, maker->in->moment, moment, sizeof moment);
    snprintf(text, sizeof text, "Map at %s \xc2\xb7 %s segment%s \xc2\xb7 reserved %s \xc2\xb7 free %s",
             moment, format_count(held->n_segments).text, held->n_segments == 1 ? "" : "s",
             format_bytes(reserved).text, format_bytes(free_bytes).text);
    parts_put(maker, line, maker->bold, maker->out->colors->text, text);
}

static void group_text(const struct chart_maker *maker, const struct map_group *group, char *text,
                       uint32_t capacity) {
    const struct device_trace *device = maker->in->timeline->device;
    struct words words = {text, capacity, 0};
    pool_tell(&words, device, group->pool);
    if (device->n_streams > 1)
        WORDS_TELL(&words, " \xc2\xb7 stream %d", group->stream);
    words_say(&words, group->small ? " \xc2\xb7 up to 1 MiB" : " \xc2\xb7 above 1 MiB");
    WORDS_TELL(&words, ": %n segment%s, %b, free %b in %n block%s", group->n_segments, group->bytes,
               group->free_bytes, group->n_free_blocks);
    (void)words_end(&words);
}

static void groups_put(struct chart_maker *maker) {
    const struct chart_map *map = &maker->out->map;
    for (uint32_t i = 0; i < map->laid.n_groups; i++) {
        const struct map_group *group = &map->laid.group[i];
        int32_t y = map->rect.y + (int32_t)group->y + maker->em / 4;
        char text[240];
        if (group->y + map->laid.grid.heading > (uint32_t)map->rect.height)
            break;
        group_text(maker, group, text, sizeof text);
        parts_put(maker, (struct rect){map->rect.x, y, map->rect.width, 0}, maker->small,
                  maker->out->colors->dim, text);
    }
}

/* Writes the sizes of segments beside their rows, if these are high enough. */
static void rows_put(struct chart_maker *maker, int32_t left) {
    const struct chart_map *map = &maker->out->map;
    const struct memory_map *laid = &map->laid;
    for (uint32_t i = 0; i < laid->n_parts && laid->part[i].y + laid->grid.row <= (uint32_t)map->rect.height;
         i++) {
        const struct map_part *part = &laid->part[i];
        bool first = i == 0 || laid->part[i - 1].y != part->y;
        bool beside = i + 1 < laid->n_parts && laid->part[i + 1].y == part->y;
        if (!first || part->from != 0)
            continue;
        struct rect line = {
            left, map->rect.y + (int32_t)part->y + ((int32_t)laid->grid.row - chart_line(maker->small)) / 2,
            map->rect.x - left - maker->em / 3, 0};
        chart_put_text(maker, line, CHART_RIGHT, maker->small, maker->out->colors->dim,
                       beside ? "small" : format_bytes(map->held.segment[part->segment].size).text);
    }
}

static void free_block_put(struct chart_maker *maker, const struct map_part *part,
                           const struct held_block *block, uint64_t from) {
    const struct chart_map *map = &maker->out->map;
    int32_t x = (int32_t)(map_part_q8(part, from) >> 8),
            end = (int32_t)(map_part_q8(part, from + block->size) >> 8);
    int32_t width = chart_text_width(maker, maker->small, format_bytes(block->size).text);
    int32_t row = (int32_t)map->laid.grid.row, top = map->rect.y + (int32_t)part->y;
    if (end - x < width + maker->em)
        return;
    struct rect plate = {map->rect.x + (int32_t)part->x + (x + end - width) / 2 - maker->em / 4, top,
                         width + maker->em / 2, row};
    chart_put(maker, CHART_FILL, plate, maker->out->colors->unused_soft);
    plate.y += (row - chart_line(maker->small)) / 2;
    chart_put_text(maker, plate, CHART_CENTER, maker->small, maker->out->colors->text,
                   format_bytes(block->size).text);
}

static void free_blocks_put(struct chart_maker *maker) {
    const struct chart_map *map = &maker->out->map;
    uint32_t looked = 0;
    for (uint32_t i = 0; i < map->laid.n_parts; i++) {
        const struct map_part *part = &map->laid.part[i];
        const struct held_segment *segment = &map->held.segment[part->segment];
        if (part->y + map->laid.grid.row > (uint32_t)map->rect.height)
            break;
        for (uint32_t b = held_block_from(&map->held, segment, segment->address + part->from);
             b < segment->first_block + segment->n_blocks; b++) {
            const struct held_block *block = &map->held.block[b];
            uint64_t from = block->address - segment->address;
            if (from >= part->to)
                break;
            bool wide = block->allocation == ALLOCATION_NONE &&
                        map_part_q8(part, from + block->size) - map_part_q8(part, from) >
                            3 * (uint32_t)maker->em * 256;
            if (wide && looked++ < LABELS_MAX)
                free_block_put(maker, part, block, from);
        }
    }
}

static void rest_put(struct chart_maker *maker, struct rect area) {
    const struct chart_map *map = &maker->out->map;
    uint32_t shown = 0;
    char text[80];
    while (shown < map->laid.n_parts &&
           map->laid.part[shown].y + map->laid.grid.row <= (uint32_t)map->rect.height)
        shown++;
    if (shown == map->laid.n_parts)
        return;
    snprintf(text, sizeof text, "and %s more", format_count(map->laid.n_parts - shown).text);
    chart_put_text(maker,
                   (struct rect){area.x, area.y + area.height - chart_line(maker->small), area.width, 0},
                   CHART_RIGHT, maker->small, maker->out->colors->dim, text);
}

/* The height of the rows that fit as a whole. */
static int32_t rows_height(const struct memory_map *laid, int32_t room) {
    uint32_t height = 0;
    for (uint32_t i = 0; i < laid->n_parts && laid->part[i].y + laid->grid.row <= (uint32_t)room; i++)
        height = laid->part[i].y + laid->grid.row;
    return (int32_t)height;
}

static void map_lay(struct chart_maker *maker, struct rect rect) {
    struct chart_map *map = &maker->out->map;
    struct map_grid grid = {.width = (uint32_t)rect.width,
                            .row = (uint32_t)maker->em,
                            .row_gap = 2 * (uint32_t)maker->scale,
                            .side_gap = 3 * (uint32_t)maker->scale,
                            .heading = (uint32_t)(chart_line(maker->small) + maker->em / 3),
                            .narrow = 3 * (uint32_t)maker->em,
                            .room = (uint32_t)rect.height};
    if (!memory_map_make(&map->laid, &map->held, MAP_BY_SIZE, grid, &maker->out->arena)) {
        maker->failed = true;
        return;
    }
    map->rect = rect;
    map->rect.height = rows_height(&map->laid, rect.height);
    map->picture = (struct map_picture){.map = &map->laid,
                                        .timeline = maker->in->timeline,
                                        .style = maker->in->style,
                                        .keep = chart_keep(maker->in),
                                        .height = (uint32_t)map->rect.height};
    if (map->rect.height > 0)
        chart_put(maker, CHART_MAP, map->rect, 0);
    groups_put(maker);
    free_blocks_put(maker);
}

void chart_map_put(struct chart_maker *maker, struct rect area, struct rect plot) {
    struct chart_map *map = &maker->out->map;
    struct rect line = {plot.x, area.y, plot.width, 0};
    if (!map->asked || area.height == 0)
        return;
    if (map->refusal != NULL) {
        char text[200];
        snprintf(text, sizeof text, "There is no map: %s.", map->refusal);
        chart_put_sentence(maker, line, maker->small, maker->out->colors->note, text);
        return;
    }
    heading_put(maker, line);
    int32_t used = chart_line(maker->bold) + maker->em / 4, rest = chart_line(maker->small);
    int32_t left = area.x + 5 * maker->em > plot.x ? area.x + 5 * maker->em : plot.x; /* room for sizes */
    struct rect rect = {left, area.y + used, plot.x + plot.width - left, area.height - used - rest};
    if (rect.height < 2 * maker->em || rect.width < 2 * maker->em)
        return;
    map_lay(maker, rect);
    if (maker->failed)
        return;
    rows_put(maker, area.x);
    rest_put(maker, area);
}
