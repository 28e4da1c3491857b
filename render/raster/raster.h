/*
 * Draws a scene as pixels. Vertically each band covers its exact share of a pixel. Bands thinner than a pixel are
 * summed up first and drawn as one, with colours weighted by their bytes and exact totals. Freestanding, integer
 * arithmetic only: page and PNG are equal to the last bit.
 */
#pragma once

#include "analysis/loop/category.h"
#include "layout/scene.h"
#include "layout/ticks.h"
#include "render/raster/colorings.h"

/* COLOR_BY_EACH has the colours of memory_viz, which no legend lists. */
enum color_by {
#define COLOR_BY(NAME, name, title, words) COLOR_BY_##NAME,
    STRATA_COLORINGS(COLOR_BY)
#undef COLOR_BY
        COLOR_COUNT
};

/* The colours of palette.def, 0xRRGGBB: light, dark. */
struct inks {
#define INK(name, light, dark) uint32_t name;
#include "render/raster/palette.def"
#undef INK
};
extern const struct inks inks[2];

/* Range B of a comparison, outlined over A: along the view's axis, with the shift that makes B begin where A begins. */
struct raster_outline {
    int64_t from_q16, to_q16; /* from >= to: there is none */
    int64_t shift_q16;        /* how far B lies after A */
};

/* What an address draws over the picture: its selected range, failed requests, the held moment, marks A and B, the
 * outline of a comparison, and the pinned allocation. */
enum { RASTER_MARKS = 2 };
struct raster_marks {
    uint32_t pinned;                        /* UINT32_MAX: none */
    int32_t held_q8, mark_q8[RASTER_MARKS]; /* in 1/256 px; outside of the picture: not drawn */
    int64_t range_from_q16, range_to_q16;   /* along the view's axis; from >= to: none */
    struct raster_outline outline;
    const struct timeline *timeline; /* the recording, for its failed requests */
    const struct timeline *shown;    /* its filtered allocations, for the outline */
};

/* A failed request is a box of this width on top of the live bytes, moved left if it would cross the right edge. The
 * request that ends the recording is drawn outside, in a gutter. If there are many, the last ones are drawn. */
enum { RASTER_GHOST_WIDTH = 44, RASTER_GHOSTS = 8 };

/* Does the recording end with this request, or within a fiftieth of its length after it? */
bool raster_ghost_is_last(const struct timeline *timeline, const struct oom_event *oom);

struct areas;

struct raster_style {
    bool dark;
    enum color_by color_by;
    uint64_t capacity_bytes; /* a line is drawn there; 0: none */
    bool reserved;           /* draw the line of reserved bytes */
    /* bitmap of allocations (layout/filter.h): all others are faded; NULL: none is */
    const uint64_t *lit;
    /* [allocations.count] enum category; NULL: as the events say. For COLOR_BY_CATEGORY and names */
    const uint8_t *category;
    uint32_t scale; /* how many times larger lines and patterns are; 0 means 1 */
    /* sums of the scene (render/raster/areas.h), drawn instead of bands; NULL: bands */
    const struct areas *areas;
    bool recorded;                    /* outside of the recording only ground is drawn */
    const struct raster_marks *marks; /* drawn over everything; NULL: nothing is */
};

struct raster {
    struct arena arena; /* scratch, kept from one call to the next */
    uint8_t *scratch;
    uint32_t scratch_capacity;
    uint32_t drawn;  /* of the last call: allocations with bands of their own */
    uint32_t merged; /* of the last call: allocations drawn as part of a sum */
};

void raster_init(struct raster *raster, struct arena_host host);
void raster_release(struct raster *raster);

/* Draws into `rgba` (width * height pixels, bytes R, G, B, A in memory, rows from the top). False: no memory. */
bool raster_draw(struct raster *raster, const struct scene *scene, const struct raster_style *style,
                 uint8_t *rgba);

/* The colour of a call site (frame id; 0: none) as 0xRRGGBB, for legends. */
uint32_t raster_site_color(const struct timeline *timeline, uint32_t site, bool dark);

/* The colour in column `x` (pixels of scale 1) of the second call site that has a colour (timeline->twin): it has
 * upright stripes. */
uint32_t raster_texture(uint32_t color, uint32_t twin, uint32_t x);

/* The colour that the band of an allocation has; is_rest: among the call sites without a group of their own. */
uint32_t raster_allocation_color(const struct timeline *timeline, const struct raster_style *style,
                                 uint32_t allocation, bool is_rest);

/*
 * Legends of the other colourings. Allocations with the same *key* share a colour: for size and age it is a step of the
 * scale, for stream and pool an index, else an enum category. Keys are below RASTER_KEYS, except for streams and pools,
 * which have one each. Not for COLOR_BY_SITE; in COLOR_BY_EACH the key is the allocation.
 */
enum { RASTER_STEPS = 16, RASTER_KEYS = 16 };
uint32_t raster_key(const struct timeline *timeline, const struct raster_style *style, uint32_t allocation);
uint32_t raster_key_color(enum color_by by, uint32_t key, bool dark);

/* The values [*from, *to) that a step of COLOR_BY_SIZE (bytes) or COLOR_BY_AGE (events) stands for; the last step goes
 * up to UINT64_MAX. The scale of ages ends with the recording's length, so in a short one some steps stand for nothing:
 * *from is 0 for a key above 0. */
void raster_key_range(const struct timeline *timeline, enum color_by by, uint32_t key, uint64_t *from,
                      uint64_t *to);

/* The horizontal grid lines, which are also where the labels stand. */
struct ticks raster_ticks(const struct view *view, uint32_t scale);
