/* The colour of an allocation in each colouring, and the key that allocations of one colour share. */
#include "render/raster/raster_internal.h"

#include "base/numbers.h"
#include "render/raster/mix.h"
#include "render/raster/palette.h"

const struct inks inks[2] = {{
#define INK(name, light, dark) .name = 0x##light,
#include "render/raster/palette.def"
#undef INK
                             },
                             {
#define INK(name, light, dark) .name = 0x##dark,
#include "render/raster/palette.def"
#undef INK
                             }};

_Static_assert((int)SITE_COLORS == (int)PALETTE_SITES, "a call site has one of the palette's colours");

static uint32_t slot_color(uint32_t slot, bool dark) {
    return (dark ? palette_sites_dark : palette_sites_light)[slot];
}

uint32_t raster_site_color(const struct timeline *timeline, uint32_t site, bool dark) {
    return site == 0 ? inks[dark].no_stack : slot_color(timeline->slot[site], dark);
}

uint32_t raster_texture(uint32_t color, uint32_t twin, uint32_t x) {
    enum { SHARE = 102, WIDE = 2, EVERY = 6 };
    return twin == 0 || x % EVERY < EVERY - WIDE ? color : color_mix(color, 0xFFFFFF, SHARE);
}

/* The powers of two between which the scale of a colouring lies. */
struct powers {
    unsigned low, high;
};

/* The ages' scale ends with the recording's length, because no allocation is older than that. */
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

/* Categories take colours of the palette, so that they are as easy to tell apart. Categories that only a profiler
 * knows, or that are not tensors, are muted. */
static uint32_t category_color(uint32_t category, bool dark) {
    static const uint8_t slot[CATEGORY_COUNT] = {
        [CATEGORY_ACTIVATION] = 0, [CATEGORY_OPTIMIZER_STATE] = 1, [CATEGORY_GRADIENT] = 2,
        [CATEGORY_TEMPORARY] = 3,  [CATEGORY_INPUT] = 4,           [CATEGORY_OTHER] = 5,
        [CATEGORY_PARAMETER] = 6,  [CATEGORY_AUTOGRAD_DETAIL] = 9, [CATEGORY_UNKNOWN] = SITE_REST,
        [CATEGORY_WORKSPACE] = 8,  [CATEGORY_RESULT] = 10,         [CATEGORY_WEIGHT_COPY] = 11};
    return slot_color(slot[category < CATEGORY_COUNT ? category : CATEGORY_OTHER], dark);
}

static uint32_t category_of(const struct timeline *timeline, const struct raster_style *style,
                            uint32_t allocation) {
    const struct trace *trace = timeline->trace;
    uint32_t context = timeline->device->allocations.context[allocation];
    if (style->category != NULL)
        return style->category[allocation];
    enum category category = category_by_name(trace_text(trace, trace->contexts.context[context].category));
    return category == CATEGORY_COUNT ? CATEGORY_OTHER : category;
}

/* The colour of a small number: neighbours get entries far apart in the table. */
static uint32_t number_color(uint32_t number, bool dark) {
    return slot_color(number % PALETTE_SITES, dark);
}

uint32_t raster_key(const struct timeline *timeline, const struct raster_style *style, uint32_t allocation) {
    const struct allocations *allocations = &timeline->device->allocations;
    switch (style->color_by) {
    case COLOR_BY_SIZE: return scale_step(powers_of(timeline, COLOR_BY_SIZE), allocations->size[allocation]);
    case COLOR_BY_AGE:
        return scale_step(powers_of(timeline, COLOR_BY_AGE),
                          allocations->death[allocation] - allocations->birth[allocation]);
    case COLOR_BY_STREAM: return allocations->stream[allocation];
    case COLOR_BY_POOL: return allocations->pool[allocation];
    case COLOR_BY_CATEGORY: return category_of(timeline, style, allocation);
    case COLOR_BY_EACH: return allocation;
    case COLOR_BY_SITE:
    case COLOR_COUNT: break;
    }
    return 0;
}

/* Neighbouring numbers get entries far apart in the table. Each round through the table begins elsewhere, so that what
 * comes once per layer does not always get the same colour. */
static uint32_t each_color(uint32_t number, bool dark) {
    return number_color(number % PALETTE_SITES + number / PALETTE_SITES % PALETTE_SITES * 5, dark);
}

uint32_t raster_key_color(enum color_by by, uint32_t key, bool dark) {
    if (by == COLOR_BY_SIZE || by == COLOR_BY_AGE)
        return (dark ? palette_scale_dark : palette_scale_light)[key < RASTER_STEPS ? key : RASTER_STEPS - 1];
    if (by == COLOR_BY_EACH)
        return each_color(key, dark);
    return by == COLOR_BY_CATEGORY ? category_color(key, dark) : number_color(key, dark);
}
