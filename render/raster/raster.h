/*
 * A scene as pixels. Vertically each band covers its exact share of a pixel; bands thinner than a pixel are summed up
 * first and drawn as one, colours weighted by their bytes, totals exact. Freestanding, integer arithmetic only: the
 * page and the PNG come out equal to the last bit.
 */
#pragma once

#include "analysis/loop/category.h"
#include "layout/scene.h"
#include "layout/ticks.h"
#include "render/raster/colorings.h"

/* A legend does not list the colours of COLOR_BY_EACH, which are those of memory_viz. */
enum color_by {
#define COLOR_BY(NAME, name, title, words) COLOR_BY_##NAME,
    STRATA_COLORINGS(COLOR_BY)
#undef COLOR_BY
        COLOR_COUNT
};

/* B of a comparison drawn over A: B's range along the view's axis, and the shift that lets it begin where A
 * begins. */
struct raster_outline {
    int64_t from_q16, to_q16; /* from >= to: none */
    int64_t shift_q16;        /* B's distance from A */
};

/* The overlays of an address: its selected range, failed requests, the moment it is held at, marks A to C,
 * the outline of a comparison, and the pinned allocation. */
enum { RASTER_MARKS = 3, MOMENT_NONE = UINT32_MAX };
#define PLACE_NONE (-(INT64_C(1) << 62))
struct raster_marks {
    uint32_t pinned;                          /* UINT32_MAX: none */
    uint32_t held, mark[RASTER_MARKS];        /* moments; MOMENT_NONE: none */
    bool placed;                              /* those are another device's, here at places of the axis: */
    int64_t held_q16, mark_q16[RASTER_MARKS]; /* PLACE_NONE: none */
    int64_t range_from_q16, range_to_q16;     /* along the view's axis; from >= to: none */
    struct raster_outline outline;
    const struct timeline *timeline; /* the recording, whose requests failed */
    const struct timeline *shown;    /* its filtered allocations, which are outlined */
};

/* A failed request is a box of this width on top of the live bytes, moved left if it would cross the right edge;
 * the one that ends its recording is then outside, in a gutter. Of many, the last are drawn. */
enum { RASTER_GHOST_WIDTH = 44, RASTER_GHOSTS = 8 };

/* Does the recording end with this request, or within a fiftieth of its length after it? */
bool raster_ghost_is_last(const struct timeline *timeline, const struct oom_event *oom);

struct areas;

struct raster_style {
    bool dark;
    enum color_by color_by;
    uint64_t capacity_bytes; /* a line there; 0: none */
    bool reserved;           /* draw the line of reserved bytes */
    const uint64_t *lit;     /* bitmap of allocations (layout/filter.h): all others fade; NULL: none does */
    /* [allocations.count] enum category; NULL: as the events say. Only for COLOR_BY_CATEGORY */
    const uint8_t *category;
    uint32_t scale;            /* lines and patterns this many times larger; 0 means 1 */
    const struct areas *areas; /* of the scene (render/raster/areas.h): sums instead of bands; NULL: bands */
    bool recorded;             /* outside of the recording there is nothing but ground */
    const struct raster_marks *marks; /* laid over all of it; NULL: nothing is */
};

struct raster {
    struct arena arena; /* scratch, kept from one call to the next */
    uint8_t *scratch;
    uint32_t scratch_capacity;
    uint32_t drawn;  /* by the last call: allocations with bands of their own */
    uint32_t merged; /* allocations drawn as part of a sum */
};

void raster_init(struct raster *raster, struct arena_host host);
void raster_release(struct raster *raster);

/* Draws into `rgba` (width * height pixels, bytes R, G, B, A in memory order, rows from the top). False: no memory. */
bool raster_draw(struct raster *raster, const struct scene *scene, const struct raster_style *style,
                 uint8_t *rgba);

/* The colour of a call site (frame id; 0: none) as 0xRRGGBB, for legends. */
uint32_t raster_site_color(const struct timeline *timeline, uint32_t site, bool dark);

/* The second call site of a colour (timeline->twin) has upright stripes: its colour in column `x`, in pixels of scale 1. */
uint32_t raster_texture(uint32_t color, uint32_t twin, uint32_t x);

/* The colour that the band of an allocation has. */
uint32_t raster_allocation_color(const struct timeline *timeline, const struct raster_style *style,
                                 uint32_t allocation);

/*
 * Legends of the other colourings. A *key* is what shares a colour: a step of the scale for size and age, an index for
 * stream and pool, an enum category. Keys are below RASTER_KEYS but for streams and pools, which have one each. Not for
 * COLOR_BY_SITE; of COLOR_BY_EACH the key is the allocation.
 */
enum { RASTER_STEPS = 16, RASTER_KEYS = 16 };
uint32_t raster_key(const struct timeline *timeline, const struct raster_style *style, uint32_t allocation);
uint32_t raster_key_color(enum color_by by, uint32_t key, bool dark);

/* The values that a step of COLOR_BY_SIZE (bytes) or COLOR_BY_AGE (events) stands for: [*from, *to), the last up to
 * UINT64_MAX. The ages' scale ends with the recording's length; in a short one some steps stand for nothing: *from is 0
 * for a key above 0. */
void raster_key_range(const struct timeline *timeline, enum color_by by, uint32_t key, uint64_t *from,
                      uint64_t *to);

/* The horizontal grid lines, where the labels are too. */
struct ticks raster_ticks(const struct view *view, uint32_t scale);
