/* Draws bands: each by itself, or summed up with its neighbours if they are thinner than a pixel. */
#include "render/raster/raster_internal.h"

#include "layout/filter.h"

#include "base/bytes.h"
#include "render/raster/areas.h"
#include "render/raster/mix.h"
#include "render/raster/palette.h"

enum {
    MIN_OUTLINED_Q8 = 3 * 256, /* bands of this height get an edge of one pixel at the top */
    MIN_PARTED_Q8 = 9 * 256,   /* bands of this height get one also below a band of their own colour */
    MIN_EDGE_COLUMNS = 4,      /* bands so many columns wide get one on the left too */
    MIN_PATTERN_Q8 = 4 * 256,
    TEXTURE_COLUMNS = 6, /* one stripe in so many columns */
    PATTERN_SHARE = 110, /* of 256: share of the colour that dots and hatching have */
    DOT_EVERY = 6,       /* pixels between dots, both ways */
    DOT_AT = 2,
};

/* ---- the picture while it is being filled ---- */

static bool hatch_at(uint32_t column, uint32_t row, uint32_t pen) {
    return (column / pen + row / pen) % 8 < 2;
}

/* Fills whole pixels [row, last) of a column. */
static void column_fill(struct painter *painter, uint32_t column, uint32_t row, uint32_t last, uint32_t rgb,
                        bool hatched) {
    uint32_t plain = gather(spread(rgb) << 8), other = plain;
    if (hatched)
        other = gather(spread(color_mix(rgb, painter->inks->surface, PATTERN_SHARE)) << 8);
    for (uint32_t *pixel = pixel_at(painter, column, row); row < last; row++, pixel -= painter->width)
        *pixel = hatched && hatch_at(column, row, painter->pen) ? other : plain;
}

/* Paints a column from its present height up to `y_q8`. */
static inline void column_paint(struct painter *painter, uint32_t column, uint32_t y_q8, uint32_t rgb,
                                bool hatched) {
    uint32_t from = painter->y[column];
    if (y_q8 > painter->scale.limit_q8)
        y_q8 = painter->scale.limit_q8; /* stays inside of the picture, whatever the sums were */
    if (y_q8 <= from)
        return;
    uint64_t lanes = spread(rgb);
    uint32_t row = from >> 8, last = y_q8 >> 8;
    painter->y[column] = y_q8;
    if (row == last) {
        painter->lanes[column] += lanes * (y_q8 - from);
        return;
    }
    *pixel_at(painter, column, row) = gather(painter->lanes[column] + lanes * (256 - (from & 255)));
    if (row + 1 < last)
        column_fill(painter, column, row + 1, last, rgb, hatched);
    painter->lanes[column] = lanes * (y_q8 & 255);
}

/* Computes y_scale_q8 for four columns. Bytes have 64-bit lanes, units of the scale 32-bit lanes. */
static inline u32x4 quad_y(const struct painter *painter, u64x2 a, u64x2 b) {
    const struct y_scale *scale = &painter->scale;
    a -= u64x2_all(scale->bottom);
    b -= u64x2_all(scale->bottom);
    u32x4 below = u64x2_high_halves(a, b) >> 31; /* -1 becomes 1: below the lower edge */
    a = u64x2_shift(a, scale->shift);
    b = u64x2_shift(b, scale->shift);
    u32x4 units = u64x2_low_halves(a, b);
    u32x4 above = (u32x4)(u64x2_high_halves(a, b) != 0) | (u32x4)(units >= scale->units);
    u32x4 y = u32x4_high_product(units << scale->widen, painter->factor);
    return u32x4_choose(above, u32x4_all(scale->limit_q8), y) & (below - 1);
}

/* Four pixels being filled: those of the first two columns, and those of the other two. */
struct quad {
    u16x8 first, second;
};

/* Copies each column's 16-bit number to all lanes of its pixel. */
static inline struct quad quad_of(u32x4 numbers) {
    numbers |= numbers << 16;
    return (struct quad){(u16x8)LANES_SHUFFLE(u32x4, numbers, numbers, 0, 0, 1, 1),
                         (u16x8)LANES_SHUFFLE(u32x4, numbers, numbers, 2, 2, 3, 3)};
}

static inline u32x4 quad_gather(struct quad quad) {
    return (u32x4)u16x8_narrow((quad.first + 128) >> 8, (quad.second + 128) >> 8);
}

/* Writes the pixels of four columns. Incomplete pixels are written too, and again when they are complete: a test would
 * cost more, because the processor cannot predict its outcome. */
static inline void quad_store(struct painter *painter, uint32_t column, u32x4 rows, u32x4 pixels) {
    if (!u32x4_any(rows ^ u32x4_all(rows[0]))) {
        if (rows[0] < painter->height)
            u32x4_store(pixel_at(painter, column, rows[0]), pixels);
        return;
    }
    bool above = u32x4_any((u32x4)(rows >= painter->height));
    for (uint32_t i = 0; i < 4; i++)
        if (!above || rows[i] < painter->height)
            *pixel_at(painter, column + i, rows[i]) = pixels[i];
}

/* Fills the whole pixels between the partly covered ones. There are seldom any. */
static void quad_fill(struct painter *painter, uint32_t column, u32x4 rows, u32x4 lasts, uint32_t rgb) {
    for (uint32_t i = 0; i < 4; i++)
        if (rows[i] < lasts[i])
            column_fill(painter, column + i, rows[i], lasts[i], rgb, false);
}

/* Does column_paint for [column, column + 4): they grow by the bytes in `a` and `b`, in one colour. */
static inline void quad_paint(struct painter *painter, uint32_t column, u64x2 a, u64x2 b, u16x8 color,
                              uint32_t rgb) {
    a += u64x2_load(painter->base + column);
    b += u64x2_load(painter->base + column + 2);
    u64x2_store(painter->base + column, a);
    u64x2_store(painter->base + column + 2, b);
    u32x4 from = u32x4_load(painter->y + column), to = quad_y(painter, a, b);
    to = u32x4_choose((u32x4)(to > from), to, from);
    u32x4_store(painter->y + column, to);
    u32x4 rows = from >> 8, lasts = to >> 8, crossed = (u32x4)(rows != lasts);
    struct quad share = quad_of(u32x4_choose(crossed, 256 - (from & 255), to - from));
    u16x8 first = (u16x8)u64x2_load(painter->lanes + column) + color * share.first;
    u16x8 second = (u16x8)u64x2_load(painter->lanes + column + 2) + color * share.second;
    quad_store(painter, column, rows, quad_gather((struct quad){first, second}));
    if (u32x4_any((u32x4)(lasts - rows > 1)))
        quad_fill(painter, column, rows + 1, lasts, rgb);
    struct quad rest = quad_of(to & 255), begun = quad_of(crossed & UINT16_MAX);
    first = (color * rest.first & begun.first) | (first & ~begun.first);
    second = (color * rest.second & begun.second) | (second & ~begun.second);
    u64x2_store(painter->lanes + column, (u64x2)first);
    u64x2_store(painter->lanes + column + 2, (u64x2)second);
}

/* Covers columns [from, to) with `bytes` more. */
static void columns_paint(struct painter *painter, uint32_t from, uint32_t to, uint64_t bytes, uint32_t rgb) {
    u16x8 color = (u16x8)u64x2_all(spread(rgb));
    uint32_t column = from;
    for (; to - column >= 4; column += 4)
        quad_paint(painter, column, u64x2_all(bytes), u64x2_all(bytes), color, rgb);
    uint32_t rest = to - column;
    if (rest > 1 && painter->width - column >= 4) { /* the other lanes grow by nothing */
        quad_paint(painter, column, u64x2_all(bytes), (u64x2){rest > 2 ? bytes : 0, 0}, color, rgb);
        return;
    }
    for (; column < to; column++) {
        painter->base[column] += bytes;
        column_paint(painter, column, y_scale_q8(&painter->scale, painter->base[column]), rgb, false);
    }
}

/* ---- colour of an allocation ---- */

static uint32_t fade(bool dark, uint32_t rgb) {
    return color_mix(rgb, inks[dark].surface, 205);
}

uint32_t raster_allocation_color(const struct timeline *timeline, const struct raster_style *style,
                                 uint32_t allocation, bool is_rest) {
    uint32_t rgb =
        is_rest ? (style->dark ? palette_sites_dark : palette_sites_light)[SITE_REST]
        : style->color_by == COLOR_BY_SITE
            ? raster_site_color(timeline, timeline->site[timeline->device->allocations.stack[allocation]],
                                style->dark)
            : raster_key_color(style->color_by, raster_key(timeline, style, allocation), style->dark);
    return filter_keeps(style->lit, allocation) ? rgb : fade(style->dark, rgb);
}

static uint32_t allocation_color(const struct painter *painter, uint32_t allocation) {
    return raster_allocation_color(painter->scene->timeline, painter->style, allocation, false);
}

/* ---- bands of their own ---- */

static void band_column(struct painter *painter, const struct band *band, uint32_t column, uint64_t bytes,
                        uint32_t rgb, uint32_t edge, uint32_t least, bool hatched) {
    painter->base[column] += bytes;
    uint32_t y = y_scale_q8(&painter->scale, painter->base[column]);
    uint32_t height = y > painter->y[column] ? y - painter->y[column] : 0, pen = painter->pen;
    if (height >= least * pen) {
        bool begins = column - band->start < pen && band->start != 0 &&
                      (uint32_t)(band->tail - band->start) >= MIN_EDGE_COLUMNS * pen;
        column_paint(painter, column, y - 256 * pen, begins ? edge : rgb,
                     hatched && height >= MIN_PATTERN_Q8 * pen);
        rgb = edge;
    }
    column_paint(painter, column, y, rgb, false);
}

/* The least height at which a band gets an edge to the band above it. It is larger for a band of the same colour: a run
 * of thin bands of one call site would look like a grille. */
static uint32_t parted_from(struct painter *painter, const struct band *band, uint32_t rgb) {
    const struct scene *scene = painter->scene;
    const struct band *above = band + 1;
    bool same = above != scene->bands + scene->n_bands && allocation_color(painter, above->allocation) == rgb;
    return same ? MIN_PARTED_Q8 : MIN_OUTLINED_Q8;
}

/* The column up to which there is no edge to the band above: memory older than the recording is drawn as one band per
 * call site. */
static uint32_t joined_until(struct painter *painter, const struct band *band, uint32_t rgb) {
    const struct scene *scene = painter->scene;
    const struct timeline *timeline = scene->timeline;
    const uint32_t *stack = timeline->device->allocations.stack, *site = timeline->site;
    const struct band *above = band + 1;
    if (above == scene->bands + scene->n_bands ||
        above->allocation >= timeline->device->allocations.preexisting ||
        site[stack[above->allocation]] != site[stack[band->allocation]] ||
        allocation_color(painter, above->allocation) != rgb)
        return 0;
    return above->tail;
}

/* The texture of a band; 0: none. In a narrow band it would look like another colour, in a faded one it would stand out
 * too much. */
static uint32_t texture_of(const struct painter *painter, const struct band *band) {
    const struct timeline *timeline = painter->scene->timeline;
    bool wide = (uint32_t)(band->tail - band->start) >= TEXTURE_COLUMNS * painter->pen;
    if (!wide || painter->style->color_by != COLOR_BY_SITE ||
        !filter_keeps(painter->style->lit, band->allocation))
        return 0;
    return timeline->twin[timeline->site[timeline->device->allocations.stack[band->allocation]]];
}

static void band_draw(struct painter *painter, const struct band *band) {
    const struct allocations *allocations = &painter->scene->timeline->device->allocations;
    uint64_t size = allocations->size[band->allocation];
    uint32_t rgb = allocation_color(painter, band->allocation),
             line = color_mix(rgb, painter->inks->band_edge, 120);
    uint32_t column = band->start, joined = joined_until(painter, band, rgb),
             texture = texture_of(painter, band), least = parted_from(painter, band, rgb);
    if (size <= 2 * painter->pixel_bytes) { /* too thin for an edge or a pattern */
        columns_paint(painter, band->start, band->end, size, rgb);
        column = band->end;
    }
    for (; column < band->tail; column++) {
        uint64_t bytes = column < band->end ? size : scene_band_bytes(painter->scene, band, column);
        bool hatched = column >= band->pending && column < band->end;
        uint32_t color = raster_texture(rgb, texture, column / painter->pen);
        band_column(painter, band, column, bytes, color, column < joined ? color : line, least, hatched);
    }
    painter->drawn++;
}

/* ---- sums of bands that are thinner than a pixel ---- */

/* The mean colour, with one division for the three channels: 2^32 divided by the weight, in 32 bits because that is
 * faster. */
static uint32_t sum_color(u32x4 color) {
    uint32_t weight = color[0];
    uint64_t inverse = (uint64_t)(UINT32_MAX / weight) + ((weight & (weight - 1)) == 0);
    return (uint32_t)(color[1] * inverse >> 32) << 16 | (uint32_t)(color[2] * inverse >> 32) << 8 |
           (uint32_t)(color[3] * inverse >> 32);
}

/* The first column in [column, to) with a change; `to`: there is none. */
static uint32_t sum_next(const struct sum *sum, uint32_t column, uint32_t to) {
    for (; column < to; column = (column / 64 + 1) * 64) {
        uint64_t bits = sum->changed[column / 64] >> column % 64;
        if (bits != 0) {
            column += (uint32_t)__builtin_ctzll(bits);
            return column < to ? column : to;
        }
    }
    return to;
}

/* Weights are 32-bit numbers that wrap around, so subtracting is adding the negative. */
static void sum_span(struct sum *sum, uint32_t from, uint32_t to, uint64_t bytes, u32x4 color) {
    sum->bytes[from] += bytes;
    sum->bytes[to] -= bytes;
    sum->color[from] += color;
    sum->color[to] -= color;
    sum->changed[from / 64] |= UINT64_C(1) << from % 64;
    sum->changed[to / 64] |= UINT64_C(1) << to % 64;
    sum->mixed = true;
}

static void sum_settle(struct sum *sum) {
    if (sum->run_to > sum->run_from)
        sum_span(sum, sum->run_from, sum->run_to, sum->run_bytes, sum->run_color);
    sum->run_from = sum->run_to = 0;
    sum->run_bytes = 0;
    sum->run_color = (u32x4){0};
}

static void sum_paint(struct painter *painter, struct sum *sum) {
    uint64_t bytes = 0;
    u32x4 color = {0};
    for (uint32_t column = sum->from; column < sum->to;) {
        bytes += sum->bytes[column];
        color += sum->color[column];
        sum->bytes[column] = 0;
        sum->color[column] = (u32x4){0};
        uint32_t next = sum_next(sum, column + 1, sum->to);
        if (color[0] != 0)
            columns_paint(painter, column, next, bytes, sum_color(color));
        column = next;
    }
    sum->bytes[sum->to] = 0;
    sum->color[sum->to] = (u32x4){0};
    for (uint32_t word = sum->from / 64; word <= sum->to / 64; word++)
        sum->changed[word] = 0;
    sum->mixed = false;
}

static void sum_flush(struct painter *painter) {
    struct sum *sum = &painter->sum;
    if (!sum->mixed) {
        /* All are in the same columns, which is nearly always so where a column shows many moments. */
        columns_paint(painter, sum->from, sum->to, sum->run_bytes, sum_color(sum->run_color));
        sum->run_from = sum->run_to = 0;
        sum->run_bytes = 0;
        sum->run_color = (u32x4){0};
    } else {
        sum_settle(sum);
        sum_paint(painter, sum);
    }
    *(sum->count > 1 ? &painter->merged : &painter->drawn) += sum->count;
    sum->from = sum->to = sum->count = 0;
    sum->now_bytes = 0;
}

/* Does the sum stay below a pixel? Bands come with rising start, so the bytes alive in the newest column are known. */
static bool sum_fits(struct painter *painter, const struct band *band, uint64_t size) {
    struct sum *sum = &painter->sum;
    if (sum->count == 0)
        return true;
    if (sum->now < band->start)
        sum_settle(sum);
    for (; sum->now < band->start; sum->now++)
        sum->now_bytes += sum->bytes[sum->now + 1];
    return sum->now_bytes + size <= painter->pixel_bytes && sum->count < 60000;
}

/* Weights count in 1/256 of a pixel's bytes, at least 1; 60,000 of at most 256 times 255 stay below 2^32. */
static u32x4 sum_weights(const struct painter *painter, uint64_t size, uint32_t rgb) {
    uint32_t weight = (uint32_t)(size / painter->weight_bytes) + 1;
    return weight * (u32x4){1, rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255};
}

static void sum_add(struct painter *painter, const struct band *band) {
    uint64_t size = painter->scene->timeline->device->allocations.size[band->allocation];
    u32x4 color = sum_weights(painter, size, allocation_color(painter, band->allocation));
    if (!sum_fits(painter, band, size))
        sum_flush(painter);
    struct sum *sum = &painter->sum;
    if (sum->count++ == 0) {
        sum->from = sum->now = band->start;
        sum->now_bytes = 0;
    }
    if (band->start != sum->run_from || band->end != sum->run_to) {
        sum_settle(sum);
        sum->run_from = band->start;
        sum->run_to = band->end;
    }
    if (band->end > band->start) {
        sum->run_bytes += size;
        sum->run_color += color;
        sum->now_bytes += size;
    }
    for (uint32_t column = band->end; column < band->tail; column++)
        sum_span(sum, column, column + 1, scene_band_bytes(painter->scene, band, column), color);
    if (band->tail > sum->to)
        sum->to = band->tail;
}

/* Adds dots to everything drawn so far, which is the memory older than the recording: it lies at the bottom of every
 * column. The dots do not depend on the bands, so thousands of thin bands have them too. */
static void baseline_mark(struct painter *painter) {
    const uint32_t pen = painter->pen, ink = gather(spread(painter->inks->text) << 8) & 0xFFFFFF;
    for (uint32_t column = 0; column < painter->width; column++) {
        const uint32_t end = painter->y[column] >> 8;
        for (uint32_t row = 0; column / pen % DOT_EVERY == DOT_AT && row < end && row < painter->height;
             row++) {
            uint32_t *pixel = pixel_at(painter, column, row);
            if (row / pen % DOT_EVERY == DOT_AT)
                *pixel = color_mix(*pixel & 0xFFFFFF, ink, PATTERN_SHARE) | 0xFF000000u;
        }
    }
}

static void bands_draw(struct painter *painter) {
    const struct scene *scene = painter->scene;
    const uint64_t *sizes = scene->timeline->device->allocations.size;
    const uint32_t preexisting = scene->timeline->device->allocations.preexisting;
    bool marked = preexisting == 0;
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        if (!marked && band->allocation >= preexisting) {
            if (painter->sum.count != 0)
                sum_flush(painter);
            baseline_mark(painter);
            marked = true;
        }
        if (sizes[band->allocation] < painter->pixel_bytes) {
            sum_add(painter, band);
            continue;
        }
        if (painter->sum.count != 0)
            sum_flush(painter);
        band_draw(painter, band);
    }
    if (painter->sum.count != 0)
        sum_flush(painter);
    if (!marked)
        baseline_mark(painter);
}

/* ---- groups ---- */

/* Draws bands [from, end) in one colour. */
static void part_draw(struct painter *painter, uint32_t from, uint32_t end, uint32_t rgb) {
    uint64_t *changes = painter->sum.bytes, bytes = 0;
    for (uint32_t i = from; i < end; i++)
        scene_changes_add(painter->scene, &painter->scene->bands[i], changes);
    for (uint32_t column = 0, next; column < painter->width; column = next) {
        bytes += changes[column];
        changes[column] = 0;
        for (next = column + 1; next < painter->width && changes[next] == 0;)
            next++;
        if (bytes != 0)
            columns_paint(painter, column, next, bytes, rgb);
    }
    changes[painter->width] = 0;
    painter->merged += end - from;
}

/* Draws an edge at the top and the call site's texture. */
static void group_end(struct painter *painter, uint32_t twin) {
    const uint32_t pen = painter->pen;
    for (uint32_t column = 0; column < painter->width; column++) {
        uint32_t from = painter->begun[column], end = painter->y[column] >> 8;
        uint32_t edge = painter->y[column] - from < MIN_OUTLINED_Q8 * pen ? end : end - pen;
        painter->begun[column] = painter->y[column];
        for (uint32_t row = twin == 0 ? edge : (from >> 8) + 1; row < end && row < painter->height; row++) {
            uint32_t *pixel = pixel_at(painter, column, row);
            uint32_t rgb = gather(spread(*pixel & 0xFFFFFF) << 8) & 0xFFFFFF; /* as 0xRRGGBB */
            rgb = row < edge ? raster_texture(rgb, twin, column / pen)
                             : color_mix(rgb, painter->inks->band_edge, 120);
            *pixel = gather(spread(rgb) << 8);
        }
    }
}

static void groups_draw(struct painter *painter) {
    const struct scene *scene = painter->scene;
    const struct timeline *timeline = scene->timeline;
    const struct raster_style *style = painter->style;
    uint32_t rest = (style->dark ? palette_sites_dark : palette_sites_light)[SITE_REST], from = 0;
    uint32_t older = timeline->device->allocations.preexisting;
    for (uint32_t i = 0; i < scene->n_groups; from = scene->group[i++].end) {
        const struct scene_group *group = &scene->group[i];
        if (older != 0 && !group->is_older) {
            baseline_mark(painter);
            older = 0;
        }
        uint32_t rgb = group->is_rest ? rest : raster_site_color(timeline, group->site, style->dark);
        part_draw(painter, from, group->lit_end, rgb);
        part_draw(painter, group->lit_end, group->end, fade(style->dark, rgb));
        group_end(painter, group->is_rest || style->lit != NULL ? 0 : timeline->twin[group->site]);
    }
}

/* ---- areas ---- */

enum { AREA_GAP_COLUMNS = 8, AREA_GAP_Q8 = 5 * 256 };

/* Draws columns [from, to) of an area, which has the same height in all of them. Only a wide run gets a gap to the area
 * below: the gap would hide a peak of one pixel. */
static void area_run(struct painter *painter, uint32_t from, uint32_t to, uint64_t bytes, uint32_t rgb) {
    uint64_t below = painter->base[from];
    uint32_t y0 = y_scale_q8(&painter->scale, below), y1 = y_scale_q8(&painter->scale, below + bytes);
    bool gap =
        below != 0 && to - from >= AREA_GAP_COLUMNS * painter->pen && y1 - y0 >= AREA_GAP_Q8 * painter->pen;
    for (uint32_t column = from; column < to; column++) {
        if (gap)
            column_paint(painter, column, y0 + 256 * painter->pen, painter->inks->surface, false);
        column_paint(painter, column, y1, rgb, false);
        painter->base[column] += bytes;
    }
}

static void areas_draw(struct painter *painter) {
    const struct areas *areas = painter->style->areas;
    for (uint32_t nth = 0; nth < areas->n_keys; nth++) {
        uint32_t key = areas_key(areas, nth), rgb = raster_key_color(areas->by, key, painter->style->dark);
        const uint64_t *bytes = areas->bytes + (size_t)key * areas->width;
        for (uint32_t column = 0, end; column < painter->width; column = end) {
            for (end = column + 1; end < painter->width && bytes[end] == bytes[column] &&
                                   painter->base[end] == painter->base[column];)
                end++;
            if (bytes[column] != 0)
                area_run(painter, column, end, bytes[column], rgb);
        }
    }
}

/* ---- entry ---- */

void raster_init(struct raster *raster, struct arena_host host) {
    *raster = (struct raster){0};
    arena_init(&raster->arena, host, SIZE_MAX);
}

void raster_release(struct raster *raster) {
    arena_release(&raster->arena);
    *raster = (struct raster){0};
}

static void *scratch_take(uint8_t **at, size_t nbytes) {
    void *result = *at;
    *at += (nbytes + 15) & ~(size_t)15;
    return result;
}

static bool painter_init(struct painter *painter, struct raster *raster) {
    struct sum *sum = &painter->sum;
    size_t width = painter->width;
    size_t nbytes = width * (8 + 4 + 4 + 8) + (width + 1) * (sizeof *sum->bytes + sizeof *sum->color) +
                    (width / 64 + 1) * sizeof *sum->changed + 9 * 16;
    if (nbytes > UINT32_MAX || !ARENA_GROW(&raster->arena, raster->scratch, raster->scratch_capacity, nbytes))
        return false;
    uint8_t *at = raster->scratch;
    painter->base = scratch_take(&at, width * sizeof *painter->base);
    painter->lanes = scratch_take(&at, width * sizeof *painter->lanes);
    painter->y = scratch_take(&at, width * sizeof *painter->y);
    painter->begun = scratch_take(&at, width * sizeof *painter->begun);
    sum->bytes = scratch_take(&at, (width + 1) * sizeof *sum->bytes);
    sum->color = scratch_take(&at, (width + 1) * sizeof *sum->color);
    sum->changed = scratch_take(&at, (width / 64 + 1) * sizeof *sum->changed);
    bytes_zero(raster->scratch, (size_t)(at - raster->scratch));
    return true;
}

bool raster_draw(struct raster *raster, const struct scene *scene, const struct raster_style *style,
                 uint8_t *rgba) {
    const struct view *view = &scene->view;
    struct painter painter = {.scene = scene,
                              .style = style,
                              .inks = &inks[style->dark],
                              .scale = y_scale_of(view),
                              .width = view->width,
                              .height = view->height,
                              .pen = style->scale == 0 ? 1 : style->scale,
                              .pixels = (uint32_t *)(void *)rgba,
                              .pixel_bytes = (view->top_bytes - view->bottom_bytes) / view->height};
    painter.weight_bytes = painter.pixel_bytes / 256 + 1;
    painter.factor = u32x4_all(painter.scale.factor);
    if (!painter_init(&painter, raster))
        return false;
    if (style->areas != NULL) {
        areas_draw(&painter);
        painter.merged = scene->n_bands;
    } else if (scene->n_groups != 0) {
        groups_draw(&painter);
    } else {
        bands_draw(&painter);
    }
    painter_ground(&painter);
    painter_grid(&painter);
    if (style->reserved)
        painter_reserved(&painter);
    painter_capacity(&painter);
    raster->drawn = painter.drawn;
    raster->merged = painter.merged;
    return painter_marks(&painter, &raster->arena);
}
