#include "render/raster/raster.h"

#include "layout/filter.h"

#include "base/bytes.h"
#include "layout/site.h"
#include "layout/ticks.h"
#include "render/raster/lanes.h"
#include "render/raster/mix.h"
#include "render/raster/palette.h"

/*
 * The stack grows from the bottom, in all columns at once. Each column has one pixel that is partly covered; what is
 * covered in full goes to the picture. Colours are 0xRRGGBB; while a pixel is being filled they are "spread", one
 * 16-bit lane each, so that one multiplication by a coverage (0..256) does all of them:   | A | B | G | R |
 */

enum {
    MIN_OUTLINED_Q8 = 3 * 256, /* bands of this height get an edge of one pixel at the top */
    MIN_EDGE_COLUMNS = 4,      /* and, when so wide, one on the left */
    MIN_PATTERN_Q8 = 4 * 256,
    PATTERN_SHARE = 110, /* of 256, of the colour that dots and hatching are drawn in */
    DOT_EVERY = 6,       /* pixels both ways */
    DOT_AT = 2,
    TICK_PX = 70,
    SHADES = 4 /* of a call site's colour */
};

struct theme {
    uint32_t ground, grid, edge, ink, no_stack;
};

static const struct theme themes[2] = {
    {.ground = 0xFFFFFF, .grid = 0xECEEF1, .edge = 0xFFFFFF, .ink = 0x1F2328, .no_stack = 0xA9AFB8},
    {.ground = 0x12161C, .grid = 0x232932, .edge = 0x0B0E12, .ink = 0xE6EDF3, .no_stack = 0x6B737E},
};

/* ---- colours ---- */

static uint64_t spread(uint32_t rgb) {
    return UINT64_C(255) << 48 | (uint64_t)(rgb & 255) << 32 | (uint64_t)(rgb >> 8 & 255) << 16 |
           (rgb >> 16 & 255);
}

/* Lanes hold value * 256; the result is opaque, bytes R, G, B, A in memory order on a little-endian machine.
 */
static uint32_t gather(uint64_t lanes) {
    lanes += UINT64_C(0x8000800080);
    return (uint32_t)(lanes >> 8 & 255) | (uint32_t)(lanes >> 24 & 255) << 8 |
           (uint32_t)(lanes >> 40 & 255) << 16 | 0xFF000000u;
}

static uint32_t hash_color(uint32_t hash, bool dark) {
    uint32_t index = (uint32_t)((uint64_t)(hash * 0x9E3779B1u) * PALETTE_SITES >> 32);
    return (dark ? palette_sites_dark : palette_sites_light)[index];
}

uint32_t raster_site_color(const struct trace *trace, uint32_t site, bool dark) {
    return site == 0 ? themes[dark].no_stack : hash_color(site_hash(trace, site), dark);
}

static unsigned log2_of(uint64_t value) {
    return value == 0 ? 0 : 63u - (unsigned)__builtin_clzll(value);
}

/* Powers of two that the scale of a colouring lies between. */
struct powers {
    unsigned low, high;
};

/* No allocation is older than the recording is long. */
static struct powers powers_of(const struct timeline *timeline, enum color_by by) {
    if (by == COLOR_BY_SIZE)
        return (struct powers){9, 33};
    unsigned most = log2_of(timeline->n_moments);
    return (struct powers){0, most < 4 ? 4 : most};
}

static uint32_t scale_step(struct powers powers, uint64_t value) {
    unsigned exponent = log2_of(value);
    unsigned step =
        exponent <= powers.low ? 0 : (exponent - powers.low) * RASTER_STEPS / (powers.high - powers.low);
    return step < RASTER_STEPS ? step : RASTER_STEPS - 1;
}

void raster_key_range(const struct timeline *timeline, enum color_by by, uint32_t key, uint64_t *from,
                      uint64_t *to) {
    struct powers powers = powers_of(timeline, by);
    *from = 0;
    *to = UINT64_MAX;
    for (unsigned exponent = powers.low; exponent < 64; exponent++) {
        uint32_t step = scale_step(powers, UINT64_C(1) << exponent);
        if (step == key && *from == 0 && key != 0)
            *from = UINT64_C(1) << exponent;
        if (step > key) {
            *to = UINT64_C(1) << exponent;
            return;
        }
    }
}

/* Apart from each other under normal sight, deuteranopia and protanopia, and at 3:1 or more against their ground. What
 * only a profiler tells and what is no tensor stand back. */
static uint32_t category_color(uint32_t category, bool dark) {
    static const uint32_t color[CATEGORY_COUNT][2] = {
        [CATEGORY_OTHER] = {0x636464, 0x858D97},      [CATEGORY_PARAMETER] = {0x2A5328, 0x66C691},
        [CATEGORY_GRADIENT] = {0x4C69CA, 0x4D68BF},   [CATEGORY_OPTIMIZER_STATE] = {0x976306, 0xC98201},
        [CATEGORY_ACTIVATION] = {0xCE7757, 0xAE4C39}, [CATEGORY_TEMPORARY] = {0x622582, 0xC796FC},
        [CATEGORY_INPUT] = {0x009EA0, 0x3BECEC},      [CATEGORY_AUTOGRAD_DETAIL] = {0x7A6FA8, 0x9F97C4},
        [CATEGORY_UNKNOWN] = {0x636464, 0x858D97},    [CATEGORY_WORKSPACE] = {0x8A7F72, 0x9C8F80},
        [CATEGORY_RESULT] = {0xB0507E, 0xE07FAE}};
    return color[category < CATEGORY_COUNT ? category : CATEGORY_OTHER][dark];
}

static uint32_t category_of(const struct timeline *timeline, const struct raster_style *style,
                            uint32_t life) {
    const struct trace *trace = timeline->trace;
    uint32_t nbytes, context = timeline->device->lives.context[life];
    if (style->category != NULL)
        return style->category[life];
    const uint8_t *text = trace_string(trace, trace->contexts.context[context].category, &nbytes);
    enum category category = category_by_name(text, nbytes);
    return category == CATEGORY_COUNT ? CATEGORY_OTHER : category;
}

/* Small numbers as colours: neighbours in the table are far apart. */
static uint32_t number_color(uint32_t number, bool dark) {
    return (dark ? palette_sites_dark : palette_sites_light)[number % PALETTE_SITES];
}

uint32_t raster_key(const struct timeline *timeline, const struct raster_style *style, uint32_t life) {
    const struct lives *lives = &timeline->device->lives;
    switch (style->color_by) {
    case COLOR_BY_SIZE: return scale_step(powers_of(timeline, COLOR_BY_SIZE), lives->size[life]);
    case COLOR_BY_AGE:
        return scale_step(powers_of(timeline, COLOR_BY_AGE), lives->death[life] - lives->birth[life]);
    case COLOR_BY_STREAM: return lives->stream[life];
    case COLOR_BY_POOL: return lives->pool[life];
    case COLOR_BY_CATEGORY: return category_of(timeline, style, life);
    case COLOR_BY_EACH: return life;
    case COLOR_BY_SITE:
    case COLOR_COUNT: break;
    }
    return 0;
}

/* Neighbours in number are far apart in the table; each round through it begins elsewhere, so that what comes once per
 * layer does not have one colour. */
static uint32_t each_color(uint32_t number, bool dark) {
    return number_color(number % PALETTE_SITES + number / PALETTE_SITES % PALETTE_SITES * 7, dark);
}

uint32_t raster_key_color(enum color_by by, uint32_t key, bool dark) {
    if (by == COLOR_BY_SIZE || by == COLOR_BY_AGE)
        return (dark ? palette_scale_dark : palette_scale_light)[key < RASTER_STEPS ? key : RASTER_STEPS - 1];
    if (by == COLOR_BY_EACH)
        return each_color(key, dark);
    return by == COLOR_BY_CATEGORY ? category_color(key, dark) : number_color(key, dark);
}

/* ---- the picture while it is being filled ---- */

/* Allocations that are thinner than a pixel, next to each other: they are drawn as one. */
struct sum {
    uint32_t from, to; /* columns */
    uint32_t count;    /* allocations */
    uint32_t now;      /* newest column: bands come with rising start */
    uint64_t now_bytes;
    /* What came last, all of it in the same columns: not yet among the changes. */
    uint32_t run_from, run_to;
    uint64_t run_bytes;
    u32x4 run_color;
    bool mixed; /* there are changes */
    /* Changes at each column: bytes, and the weights of colours (1, red, green, blue, each times the weight). */
    uint64_t *bytes;
    u32x4 *color;
    uint64_t *changed; /* bitmap of the columns with a change */
};

struct painter {
    const struct scene *scene;
    const struct raster_style *style;
    const struct theme *theme;
    struct y_scale scale;
    u32x4 factor; /* the scale's, in every lane */
    uint32_t width, height;
    uint32_t pen;         /* pixels of a line: the style's scale */
    uint32_t *site_color; /* [frames.count][SHADES] computed on demand; 0: not yet */
    uint64_t *base;       /* [width] bytes below what comes next */
    uint32_t *y;          /* [width] the same in 1/256 px above the lower edge */
    uint64_t *lanes;      /* [width] the pixel that is partly covered so far */
    uint32_t *pixels;     /* [height][width], rows from the top */
    struct sum sum;
    uint64_t pixel_bytes;  /* below this an allocation is thinner than a pixel */
    uint64_t weight_bytes; /* that a colour in a sum gains weight by */
    uint32_t drawn, merged;
};

static uint32_t *pixel_at(const struct painter *painter, uint32_t column, uint32_t row) {
    return painter->pixels + (size_t)(painter->height - 1 - row) * painter->width + column;
}

static bool hatch_at(uint32_t column, uint32_t row, uint32_t pen) {
    return (column / pen + row / pen) % 8 < 2;
}

/* Fills whole pixels [row, last) of a column. */
static void column_fill(struct painter *painter, uint32_t column, uint32_t row, uint32_t last, uint32_t rgb,
                        bool hatched) {
    uint32_t plain = gather(spread(rgb) << 8), other = plain;
    if (hatched)
        other = gather(spread(color_mix(rgb, painter->theme->ground, PATTERN_SHARE)) << 8);
    for (uint32_t *pixel = pixel_at(painter, column, row); row < last; row++, pixel -= painter->width)
        *pixel = hatched && hatch_at(column, row, painter->pen) ? other : plain;
}

/* Covers a column from where it is up to `y_q8`. */
static inline void column_paint(struct painter *painter, uint32_t column, uint32_t y_q8, uint32_t rgb,
                                bool hatched) {
    uint32_t from = painter->y[column];
    if (y_q8 > painter->scale.limit_q8)
        y_q8 = painter->scale.limit_q8; /* whatever the sums were: never outside of the picture */
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

/* The heights of four columns: y_scale_q8, in 32-bit lanes as soon as the units are taken. */
static inline u32x4 quad_y(const struct painter *painter, u64x2 a, u64x2 b) {
    const struct y_scale *scale = &painter->scale;
    a -= u64x2_all(scale->bottom);
    b -= u64x2_all(scale->bottom);
    u32x4 below = u64x2_high_halves(a, b) >> 31; /* 1: below the lower edge */
    a = u64x2_shift(a, scale->shift);
    b = u64x2_shift(b, scale->shift);
    u32x4 units = u64x2_low_halves(a, b);
    u32x4 above = (u32x4)(u64x2_high_halves(a, b) != 0) | (u32x4)(units >= scale->units);
    u32x4 y = u32x4_high_product(units << scale->widen, painter->factor);
    return u32x4_choose(above, u32x4_all(scale->limit_q8), y) & (below - 1);
}

/* Four pixels while they are filled: those of the first two columns, and of the others. */
struct quad {
    u16x8 first, second;
};

/* A number of 16 bits of each column, to all lanes of its pixel. */
static inline struct quad quad_of(u32x4 numbers) {
    numbers |= numbers << 16;
    return (struct quad){(u16x8)LANES_SHUFFLE(u32x4, numbers, numbers, 0, 0, 1, 1),
                         (u16x8)LANES_SHUFFLE(u32x4, numbers, numbers, 2, 2, 3, 3)};
}

static inline u32x4 quad_gather(struct quad quad) {
    return (u32x4)u16x8_narrow((quad.first + 128) >> 8, (quad.second + 128) >> 8);
}

/*
 * Puts the pixels of four columns where they belong. Those that are not complete are written once more when they are:
 * that costs less than asking, as the answer cannot be guessed.
 */
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

/* Whole pixels between: there are seldom any. */
static void quad_fill(struct painter *painter, uint32_t column, u32x4 rows, u32x4 lasts, uint32_t rgb) {
    for (uint32_t i = 0; i < 4; i++)
        if (rows[i] < lasts[i])
            column_fill(painter, column + i, rows[i], lasts[i], rgb, false);
}

/* column_paint for [column, column + 4), which grow by the bytes in `a` and `b` in one colour. */
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

/* Covers columns [from, to) by `bytes` more. */
static void columns_paint(struct painter *painter, uint32_t from, uint32_t to, uint64_t bytes, uint32_t rgb) {
    u16x8 color = (u16x8)u64x2_all(spread(rgb));
    uint32_t column = from;
    for (; to - column >= 4; column += 4)
        quad_paint(painter, column, u64x2_all(bytes), u64x2_all(bytes), color, rgb);
    uint32_t rest = to - column;
    if (rest > 1 && painter->width - column >= 4) { /* the others grow by nothing */
        quad_paint(painter, column, u64x2_all(bytes), (u64x2){rest > 2 ? bytes : 0, 0}, color, rgb);
        return;
    }
    for (; column < to; column++) {
        painter->base[column] += bytes;
        column_paint(painter, column, y_scale_q8(&painter->scale, painter->base[column]), rgb, false);
    }
}

/* ---- colour of an allocation ---- */

/* Every other allocation is a shade paler, so that a run from one call site still shows its parts; what is older than
 * the recording is paler still. */
static uint32_t shade(const struct painter *painter, uint32_t rgb, bool odd, bool old) {
    if (odd)
        rgb = color_mix(rgb, painter->theme->ground, 26);
    return old ? color_mix(rgb, painter->theme->ground, 76) : rgb;
}

/* Computed once for each site and shade: the frames' table is small, the lives are many. */
static uint32_t site_color(struct painter *painter, uint32_t stack, bool odd, bool old) {
    uint32_t site = painter->scene->timeline->site[stack];
    uint32_t *known = &painter->site_color[(size_t)site * SHADES + odd + 2 * old];
    if (*known == 0) {
        uint32_t rgb = raster_site_color(painter->scene->timeline->trace, site, painter->style->dark);
        *known = shade(painter, rgb, odd, old) | 0xFF000000u;
    }
    return *known & 0xFFFFFFu;
}

static uint32_t key_color(const struct painter *painter, uint32_t life, bool odd, bool old) {
    const struct raster_style *style = painter->style;
    uint32_t key = raster_key(painter->scene->timeline, style, life);
    return shade(painter, raster_key_color(style->color_by, key, style->dark), odd, old);
}

/* What does not match is nearly gone. */
static uint32_t life_color(struct painter *painter, uint32_t life) {
    const struct lives *lives = &painter->scene->timeline->device->lives;
    bool odd = life % 2 != 0, old = lives->birth[life] == 0;
    uint32_t rgb = painter->style->color_by == COLOR_BY_SITE
                       ? site_color(painter, lives->stack[life], odd, old)
                       : key_color(painter, life, odd, old);
    if (!filter_keeps(painter->style->lit, life))
        rgb = color_mix(rgb, painter->theme->ground, 205);
    return rgb;
}

/* ---- bands of their own ---- */

static void band_column(struct painter *painter, const struct band *band, uint32_t column, uint64_t bytes,
                        uint32_t rgb, uint32_t edge, bool hatched) {
    painter->base[column] += bytes;
    uint32_t y = y_scale_q8(&painter->scale, painter->base[column]);
    uint32_t height = y > painter->y[column] ? y - painter->y[column] : 0, pen = painter->pen;
    if (height >= MIN_OUTLINED_Q8 * pen) {
        bool begins = column - band->start < pen && band->start != 0 &&
                      (uint32_t)(band->tail - band->start) >= MIN_EDGE_COLUMNS * pen;
        column_paint(painter, column, y - 256 * pen, begins ? edge : rgb,
                     hatched && height >= MIN_PATTERN_Q8 * pen);
        rgb = edge;
    }
    column_paint(painter, column, y, rgb, false);
}

static void band_draw(struct painter *painter, const struct band *band) {
    const struct lives *lives = &painter->scene->timeline->device->lives;
    uint64_t size = lives->size[band->life];
    uint32_t rgb = life_color(painter, band->life), edge = color_mix(rgb, painter->theme->edge, 120);
    uint32_t column = band->start;
    if (size <= 2 * painter->pixel_bytes) { /* too thin for an edge or a pattern */
        columns_paint(painter, band->start, band->end, size, rgb);
        column = band->end;
    }
    for (; column < band->pending; column++)
        band_column(painter, band, column, size, rgb, edge, false);
    for (; column < band->end; column++)
        band_column(painter, band, column, size, rgb, edge, true);
    for (; column < band->tail; column++)
        band_column(painter, band, column, scene_band_bytes(painter->scene, band, column), rgb, edge, false);
    painter->drawn++;
}

/* ---- sums of bands that are thinner than a pixel ---- */

/* The mean, with one division for its three channels: 2^32 over the weight, of 32 bits because those are faster. */
static uint32_t sum_color(u32x4 color) {
    uint32_t weight = color[0];
    uint64_t inverse = (uint64_t)(UINT32_MAX / weight) + ((weight & (weight - 1)) == 0);
    return (uint32_t)(color[1] * inverse >> 32) << 16 | (uint32_t)(color[2] * inverse >> 32) << 8 |
           (uint32_t)(color[3] * inverse >> 32);
}

/* First column in [column, to) with a change, `to`: none has. */
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

/* Weights are wrapping 32-bit numbers, so taking away is adding the negative. */
static void sum_span(struct sum *sum, uint32_t from, uint32_t to, uint64_t bytes, u32x4 color) {
    sum->bytes[from] += bytes;
    sum->bytes[to] -= bytes;
    sum->color[from] += color;
    sum->color[to] -= color;
    sum->changed[from / 64] |= UINT64_C(1) << from % 64;
    sum->changed[to / 64] |= UINT64_C(1) << to % 64;
    sum->mixed = true;
}

/* What has been added in the same columns becomes part of the changes. */
static void sum_settle(struct sum *sum) {
    if (sum->run_to > sum->run_from)
        sum_span(sum, sum->run_from, sum->run_to, sum->run_bytes, sum->run_color);
    sum->run_from = sum->run_to = 0;
    sum->run_bytes = 0;
    sum->run_color = (u32x4){0};
}

/* Draws the changes, and takes them away. */
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
        /* All in the same columns, as nearly always where a column shows many moments. */
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

/* Bands come with rising start, so what is alive in the newest column is known: that sum stays below a pixel. */
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

/* 1/256 of a pixel's bytes, at least one; 60,000 of at most 256 times 255 stay below 2^32. */
static u32x4 sum_weights(const struct painter *painter, uint64_t size, uint32_t rgb) {
    uint32_t weight = (uint32_t)(size / painter->weight_bytes) + 1;
    return weight * (u32x4){1, rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255};
}

static void sum_add(struct painter *painter, const struct band *band) {
    uint64_t size = painter->scene->timeline->device->lives.size[band->life];
    u32x4 color = sum_weights(painter, size, life_color(painter, band->life));
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

/*
 * Dots on all that is drawn so far: what is older than the recording, which lies at the bottom in every column. They do
 * not depend on the bands, so that thousands of thin ones have them too.
 */
static void baseline_mark(struct painter *painter) {
    const uint32_t pen = painter->pen, ink = gather(spread(painter->theme->ink) << 8) & 0xFFFFFF;
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
    const uint64_t *sizes = scene->timeline->device->lives.size;
    const uint32_t preexisting = scene->timeline->device->lives.preexisting;
    bool marked = preexisting == 0;
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        if (!marked && band->life >= preexisting) {
            if (painter->sum.count != 0)
                sum_flush(painter);
            baseline_mark(painter);
            marked = true;
        }
        if (sizes[band->life] < painter->pixel_bytes) {
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

/* ---- ground, grid and lines ---- */

static void ground_draw(struct painter *painter) {
    uint32_t ground = gather(spread(painter->theme->ground) << 8), lowest = painter->height, highest = 0;
    for (uint32_t column = 0; column < painter->width; column++) {
        uint32_t y = painter->y[column], row = y >> 8;
        lowest = row < lowest ? row : lowest;
        highest = row > highest ? row : highest;
        if (row < painter->height)
            *pixel_at(painter, column, row) =
                gather(painter->lanes[column] + spread(painter->theme->ground) * (256 - (y & 255)));
    }
    for (uint32_t row = lowest + 1; row < painter->height; row++) {
        uint32_t *pixel = pixel_at(painter, 0, row);
        const uint32_t *y = painter->y;
        if (row > highest)
            for (uint32_t column = 0; column < painter->width; column++)
                pixel[column] = ground;
        else
            for (uint32_t column = 0; column < painter->width; column++)
                pixel[column] = row > y[column] >> 8 ? ground : pixel[column];
    }
}

struct ticks raster_ticks(const struct view *view, uint32_t scale) {
    uint32_t most = view->height / (TICK_PX * (scale == 0 ? 1 : scale));
    return ticks_bytes(view->bottom_bytes, view->top_bytes, most < 2 ? 2 : most > 12 ? 12 : most);
}

/* Only where there is ground. */
static void grid_row_draw(struct painter *painter, uint32_t row, uint32_t color) {
    for (uint32_t column = 0; row < painter->height && column < painter->width; column++)
        if (row > painter->y[column] >> 8)
            *pixel_at(painter, column, row) = color;
}

static void grid_draw(struct painter *painter) {
    struct ticks ticks = raster_ticks(&painter->scene->view, painter->pen);
    uint32_t grid = gather(spread(painter->theme->grid) << 8);
    for (uint32_t i = 0; i < ticks.count; i++) {
        uint32_t row = y_scale_q8(&painter->scale, (uint64_t)ticks.at[i]) >> 8;
        for (uint32_t line = 0; line < painter->pen; line++)
            grid_row_draw(painter, row + line, grid);
    }
}

/* A pen's width upwards and to the right. */
static void dot_draw(struct painter *painter, uint32_t column, uint32_t row) {
    uint32_t ink = gather(spread(painter->theme->ink) << 8), pen = painter->pen;
    for (uint32_t x = column; x < column + pen && x < painter->width; x++)
        for (uint32_t y = row; y < row + pen && y < painter->height; y++)
            *pixel_at(painter, x, y) = ink;
}

/* Steps are joined by a vertical run, so that the line has no gaps. */
static void reserved_draw(struct painter *painter) {
    const struct timeline *timeline = painter->scene->timeline;
    if (timeline->reserved_peak == 0)
        return;
    uint32_t last = 0;
    for (uint32_t column = 0; column < painter->width; column++) {
        uint32_t moment = painter->scene->moment[column];
        if (column == 0 || moment != painter->scene->moment[column - 1]) {
            uint32_t row = y_scale_q8(&painter->scale, timeline_reserved_at(timeline, moment)) >> 8;
            for (uint32_t at = row < last ? row : last; column != 0 && at < (row > last ? row : last); at++)
                dot_draw(painter, column, at);
            last = row;
        }
        dot_draw(painter, column, last);
    }
}

static void capacity_draw(struct painter *painter) {
    const struct view *view = &painter->scene->view;
    uint64_t capacity = painter->style->capacity_bytes;
    if (capacity <= view->bottom_bytes || capacity >= view->top_bytes)
        return;
    uint32_t row = y_scale_q8(&painter->scale, capacity) >> 8;
    for (uint32_t column = 0; column < painter->width; column++)
        if (column / painter->pen % 12 < 7)
            dot_draw(painter, column, row);
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

/* Cuts one array out of the scratch memory. */
static void *scratch_take(uint8_t **at, size_t nbytes) {
    void *result = *at;
    *at += (nbytes + 15) & ~(size_t)15;
    return result;
}

static bool painter_init(struct painter *painter, struct raster *raster, uint32_t n_frames) {
    struct sum *sum = &painter->sum;
    size_t width = painter->width;
    size_t nbytes = width * (8 + 4 + 8) + (width + 1) * (sizeof *sum->bytes + sizeof *sum->color) +
                    (width / 64 + 1) * sizeof *sum->changed + (size_t)n_frames * SHADES * sizeof(uint32_t) +
                    8 * 16;
    if (nbytes > UINT32_MAX || !ARENA_GROW(&raster->arena, raster->scratch, raster->scratch_capacity, nbytes))
        return false;
    uint8_t *at = raster->scratch;
    painter->base = scratch_take(&at, width * sizeof *painter->base);
    painter->lanes = scratch_take(&at, width * sizeof *painter->lanes);
    painter->y = scratch_take(&at, width * sizeof *painter->y);
    sum->bytes = scratch_take(&at, (width + 1) * sizeof *sum->bytes);
    sum->color = scratch_take(&at, (width + 1) * sizeof *sum->color);
    sum->changed = scratch_take(&at, (width / 64 + 1) * sizeof *sum->changed);
    painter->site_color = scratch_take(&at, (size_t)n_frames * SHADES * sizeof *painter->site_color);
    bytes_zero(raster->scratch, (size_t)(at - raster->scratch));
    return true;
}

bool raster_draw(struct raster *raster, const struct scene *scene, const struct raster_style *style,
                 uint8_t *rgba) {
    const struct view *view = &scene->view;
    struct painter painter = {.scene = scene,
                              .style = style,
                              .theme = &themes[style->dark],
                              .scale = y_scale_of(view),
                              .width = view->width,
                              .height = view->height,
                              .pen = style->scale == 0 ? 1 : style->scale,
                              .pixels = (uint32_t *)(void *)rgba,
                              .pixel_bytes = (view->top_bytes - view->bottom_bytes) / view->height};
    painter.weight_bytes = painter.pixel_bytes / 256 + 1;
    painter.factor = u32x4_all(painter.scale.factor);
    if (!painter_init(&painter, raster, scene->timeline->trace->frames.count))
        return false;
    bands_draw(&painter);
    ground_draw(&painter);
    grid_draw(&painter);
    if (style->reserved)
        reserved_draw(&painter);
    capacity_draw(&painter);
    raster->drawn = painter.drawn;
    raster->merged = painter.merged;
    return true;
}
