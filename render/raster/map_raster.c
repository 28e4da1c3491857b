#include "render/raster/map_raster.h"

#include "base/bytes.h"
#include "layout/filter.h"
#include "render/raster/mix.h"

enum {
    HATCH_EVERY = 7, /* pixels between two lines, as wide as in the timeline */
    HATCH_WIDE = 2,
    FADED_SHARE = 205,       /* of 256: a block that does not match is nearly gone */
    EDGE_LEAST_Q8 = 4 * 256, /* blocks of at least this width have an edge */
    WHOLE = 256
};

/* A column of a part: the sums of the colours that cover it so far, weighted by 1/256 of a pixel. */
struct column {
    uint32_t red, green, blue, weight;
    uint32_t free, waiting; /* parts of `weight` */
    bool edge;
};

struct map_painter {
    const struct map_picture *picture;
    const struct inks *inks;
    struct column *column;
    uint32_t *pixels, width;
    bool plain; /* the segment is wholly free and is not hatched */
};

static uint32_t color_of(struct map_painter *painter, uint32_t allocation) {
    const struct raster_style *style = painter->picture->style;
    const struct timeline *timeline = painter->picture->timeline;
    if (style->color_by != COLOR_BY_SITE)
        return raster_key_color(style->color_by, raster_key(timeline, style, allocation), style->dark);
    uint32_t site = timeline->site[timeline->device->allocations.stack[allocation]];
    return raster_site_color(timeline, site, style->dark);
}

static uint32_t block_color(struct map_painter *painter, const struct held_block *block) {
    const struct map_picture *picture = painter->picture;
    if (block->allocation == ALLOCATION_NONE)
        return painter->inks->unused_soft;
    uint32_t rgb = filter_keeps(picture->keep, block->allocation) ? color_of(painter, block->allocation)
                                                                  : painter->inks->other;
    return filter_keeps(picture->style->lit, block->allocation)
               ? rgb
               : color_mix(rgb, painter->inks->surface, FADED_SHARE);
}

/* The texture of a block. Blocks that the filter takes out, or that are faded, have none. */
static uint32_t block_twin(const struct map_picture *picture, uint32_t allocation) {
    const struct timeline *timeline = picture->timeline;
    if (allocation == ALLOCATION_NONE || picture->style->color_by != COLOR_BY_SITE ||
        !filter_keeps(picture->keep, allocation) || !filter_keeps(picture->style->lit, allocation))
        return 0;
    return timeline->twin[timeline->site[timeline->device->allocations.stack[allocation]]];
}

static void column_cover(struct column *column, uint32_t rgb, const struct held_block *block,
                         uint32_t share) {
    column->red += (rgb >> 16 & 255) * share;
    column->green += (rgb >> 8 & 255) * share;
    column->blue += (rgb & 255) * share;
    column->weight += share;
    column->free += block->allocation == ALLOCATION_NONE ? share : 0;
    column->waiting += block->state == BLOCK_PENDING_FREE ? share : 0;
}

/* Covers [from, to) of a part; both in 1/256 px. Anything thinner than 1/256 px counts as 1/256 px. */
static void block_cover(struct map_painter *painter, const struct held_block *block, uint32_t from,
                        uint32_t to) {
    uint32_t rgb = block_color(painter, block), twin = block_twin(painter->picture, block->allocation);
    uint32_t pen = painter->picture->style->scale == 0 ? 1 : painter->picture->style->scale;
    bool edged = to - from >= EDGE_LEAST_Q8 * pen;
    for (uint32_t at = from; at < to;) {
        uint32_t next = (at / WHOLE + 1) * WHOLE;
        next = next < to ? next : to;
        uint32_t color = raster_texture(rgb, twin, at / WHOLE / pen);
        column_cover(&painter->column[at / WHOLE], color, block, next - at);
        at = next;
    }
    if (edged)
        painter->column[(to - 1) / WHOLE].edge = true;
}

static void part_cover(struct map_painter *painter, const struct map_part *part) {
    const struct held *held = painter->picture->map->held;
    const struct held_segment *segment = &held->segment[part->segment];
    uint32_t at = held_block_from(held, segment, segment->address + part->from);
    for (; at < segment->first_block + segment->n_blocks; at++) {
        const struct held_block *block = &held->block[at];
        uint64_t from = block->address - segment->address;
        if (from >= part->to)
            break;
        block_cover(painter, block, map_part_q8(part, from), map_part_q8(part, from + block->size));
    }
}

static bool hatched(uint32_t x, uint32_t y, uint32_t pen) {
    return (x / pen + y / pen) % HATCH_EVERY < HATCH_WIDE;
}

/* The pixel of a column in a row of the map. */
static uint32_t pixel_of(const struct map_painter *painter, const struct column *column, uint32_t x,
                         uint32_t y) {
    const struct inks *ink = painter->inks;
    uint32_t pen = painter->picture->style->scale == 0 ? 1 : painter->picture->style->scale,
             weight = column->weight;
    if (weight == 0)
        return color_pixel(ink->unused_soft);
    uint32_t rgb = column->red / weight << 16 | column->green / weight << 8 | column->blue / weight;
    if (column->free == weight && !painter->plain && hatched(x, y, pen))
        rgb = ink->hatch;
    else if (column->waiting == weight && hatched(x, y, pen))
        rgb = color_mix(rgb, ink->surface, 128);
    return color_pixel(column->edge ? color_mix(rgb, ink->surface, 150) : rgb);
}

static void part_draw(struct map_painter *painter, const struct map_part *part) {
    const struct map_picture *picture = painter->picture;
    uint32_t first = part->y > picture->scroll ? part->y : picture->scroll;
    uint32_t end = part->y + picture->map->grid.row, bottom = picture->scroll + picture->height;
    bytes_zero(painter->column, part->width * sizeof *painter->column);
    part_cover(painter, part);
    painter->plain = held_segment_is_free(picture->map->held, &picture->map->held->segment[part->segment]);
    for (uint32_t y = first; y < end && y < bottom; y++) {
        uint32_t *row = painter->pixels + (size_t)(y - picture->scroll) * painter->width + part->x;
        for (uint32_t x = 0; x < part->width && part->x + x < painter->width; x++)
            row[x] = pixel_of(painter, &painter->column[x], part->x + x, y);
    }
}

bool map_raster_draw(struct raster *raster, const struct map_picture *picture, uint8_t *rgba) {
    const struct memory_map *map = picture->map;
    struct map_painter painter = {.picture = picture,
                                  .inks = &inks[picture->style->dark],
                                  .pixels = (uint32_t *)(void *)rgba,
                                  .width = map->grid.width};
    size_t nbytes = (map->grid.width + (size_t)1) * sizeof *painter.column;
    if (nbytes > UINT32_MAX || !ARENA_GROW(&raster->arena, raster->scratch, raster->scratch_capacity, nbytes))
        return false;
    bytes_zero(raster->scratch, nbytes);
    painter.column = (struct column *)(void *)raster->scratch;
    uint32_t ground = color_pixel(painter.inks->surface);
    for (size_t i = 0; i < (size_t)painter.width * picture->height; i++)
        painter.pixels[i] = ground;
    for (uint32_t i = memory_map_part_from(map, picture->scroll);
         i < map->n_parts && map->part[i].y < picture->scroll + picture->height; i++)
        part_draw(&painter, &map->part[i]);
    return true;
}
