/*
 * A window of a timeline on a grid of pixel columns: which allocations are visible, in which columns, in
 * which state. The raster draws a scene and pick answers from the same scene, so they cannot disagree.
 *
 *      bytes ^        an allocation:  start   pending   end  tail
 *            |                   |#########|/////|\
 *            |                   |#########|/////| \___   (tail: the bend, see below)
 *            +---------------------------------------------> columns
 *
 * Each column shows one moment: of all moments that begin in it, the one of the highest total (the peak is
 * never lost), or, where none begins in it, the one that is still going on. Where a moment is several pixels
 * wide, what has just been freed shrinks away over its first columns instead of vanishing at once (the bend),
 * so that the eye can follow what lies above it on its way down.
 *
 * Integer arithmetic only: two compilers agree to the last bit. Freestanding.
 */
#pragma once

#include "layout/timeline.h"

enum axis { AXIS_EVENTS, AXIS_TIME };

enum { VIEW_MAX_SIDE = 16384 }; /* pixels; columns are 16-bit numbers */

/*
 * The window. Positions along the axis are fixed point, in 1/65536:
 *   AXIS_EVENTS: events; event i (moment i + 1) covers [i, i + 1), the state before the first covers [-1, 0).
 *   AXIS_TIME:   microseconds since the first event.
 */
struct view {
    enum axis axis;
    int64_t from_q16, to_q16;         /* from < to */
    uint32_t width, height;           /* pixels, 1 .. VIEW_MAX_SIDE */
    uint64_t bottom_bytes, top_bytes; /* bytes at the lower and the upper edge, bottom < top */
};

struct band {
    uint32_t allocation;
    uint16_t start;   /* first column */
    uint16_t pending; /* first column where it waits for another stream; == end: in none */
    uint16_t end;     /* first column where it is gone */
    uint16_t tail;    /* end of the columns where it shrinks away; == end: in none */
};

/* Of bands that lie together: those of a call site, older than the recording or not, or of all call sites that have no
 * group of their own. */
struct scene_group {
    uint32_t end;     /* of its bands */
    uint32_t lit_end; /* of those that are lit, which lie below the others */
    uint32_t site;    /* unless `is_rest` */
    bool is_rest, is_older;
};

enum {
    SCENE_GROUPS = 12, /* two of them are rests: of what is older than the recording, and of the others */
    SCENE_THIN_Q8 = 3 * 256 /* a band lower than this is not told from its neighbours */
};

struct scene {
    const struct timeline *timeline;
    struct view view;
    /* bitmap [allocations.count / 64 + 1] of the allocations that are shown, the caller's; NULL: all */
    const uint64_t *keep;
    uint32_t *moment;  /* [width] moment shown by each column; never falls */
    uint16_t *remains; /* [width] 0: no bend in this column; else 1..256, the share (in 1/256) that is left of
                          what died at this column's moment */
    uint32_t n_bands;  /* visible allocations, in stack order; their first columns rise */
    struct band *bands;
    uint32_t n_groups; /* 0: the bands lie in stack order; else group by group, in each in stack order */
    struct scene_group group[SCENE_GROUPS];

    struct arena arena; /* memory of the arrays, kept from one build to the next */
    uint64_t *bitmap;   /* of places in the stack, empty between builds */
    uint16_t *cells;    /* first column at or after every 2^cell_shift moments from moment[0] on */
    uint32_t cell_shift;
    struct band *spare; /* of scene_group_sites, as `sums` */
    struct site_sum *sums;
    uint32_t *keys; /* [n_bands] each band's call site, with what is older apart */
    uint32_t moment_capacity, remains_capacity, bands_capacity, bitmap_capacity, cells_capacity;
    uint32_t spare_capacity, sums_capacity, keys_capacity;
    uint64_t rows_visited; /* work done by the last build: allocations looked at */
};

/* An empty scene of a timeline; memory comes from `host`. */
void scene_init(struct scene *scene, const struct timeline *timeline, struct arena_host host);
void scene_release(struct scene *scene);

/* The whole run on the given axis: sets from_q16 and to_q16. */
void view_fit(struct view *view, const struct timeline *timeline);

/* The last time that memory ran out in the moments [first, end); NULL: it did not. O(log n). */
const struct oom_event *timeline_oom_in(const struct timeline *timeline, uint32_t first, uint32_t end);

/* A good top_bytes for the moments [first, end): a little more than their highest total, reserved included. A request
 * that failed in them, standing on what was alive, belongs into the picture where it takes a third of it at most; so does
 * the capacity (0: none) unless it would squeeze all else into a third. O(64 + moments / 64 + changes of reserved bytes),
 * of the whole run O(log n). */
uint64_t timeline_headroom_in(const struct timeline *timeline, uint32_t first, uint32_t end,
                              uint64_t capacity_bytes);

/* The same for the whole run, without a capacity. */
uint64_t timeline_headroom(const struct timeline *timeline);

/* First moment that begins at or after the left edge of a column, which may be `width`; n_moments if none does. O(log). */
uint32_t view_moment_from(const struct view *view, const struct timeline *timeline, uint32_t column);

/* The moment that each of `width` columns shows, into `moment`. O(width * log). */
void view_moments(const struct view *view, const struct timeline *timeline, uint32_t *moment);

/* Fills the scene for a window, without the allocations that `keep` leaves out: what lies above them moves down. The
 * columns' moments are those of all allocations. O(width * 33 * log + visible allocations). False: no memory, and the scene
 * is empty. */
bool scene_build(struct scene *scene, const struct view *view);

/* Do bands lower than `least_q8` (1/256 px) hold more than half of all that is drawn (bytes times columns)? O(bands). */
bool scene_is_dense(const struct scene *scene, uint32_t least_q8);

/*
 * For a scene that is dense from 0 up: where it shows at most a quarter of the run, and no request that failed, sets its view's
 * bytes to those between which the window's total moves, if most of what is drawn between them lies in bands of `least_q8` or
 * more. Such a view then shows each band, and its axis does not begin with 0. False: the view is as before. O(bands + width).
 */
bool scene_fit_heights(struct scene *scene, uint32_t least_q8);

/*
 * Lays the bands of each call site together: what is older than the recording first, then by mean lifetime, long at the
 * bottom. Call sites beyond the ten with most bytes on screen are the rest, on top. In each what is lit lies below (a bitmap;
 * NULL: all). The total of each column stays. O(bands + frames). False: no memory, and the bands lie as before.
 */
bool scene_group_sites(struct scene *scene, const uint64_t *lit);

/* Pixel position of a point of the axis (at most 2^62 from 0), and of the beginning of a moment, in 1/256 px from the left
 * edge; may lie outside. Saturate at +-2^30. */
int32_t view_position_q8(const struct view *view, int64_t at_q16);
int32_t view_x_q8(const struct view *view, const struct timeline *timeline, uint32_t moment);

/* The moment shown at a column, and the position under a point: */
struct pick {
    uint32_t moment;
    uint32_t allocation; /* UINT32_MAX: nothing there */
    uint64_t offset;     /* bytes below the allocation at that moment (bends ignored) */
};

/* The allocation under the centre of pixel (x, y), y from the top. False: outside of the view. O(visible
 * allocations that begin left of it). */
bool scene_pick(const struct scene *scene, uint32_t x, uint32_t y, struct pick *pick);

/* The band of an allocation, NULL: it is not visible. O(log bands). */
const struct band *scene_band(const struct scene *scene, uint32_t allocation);

/* Counts the allocations kept that begin and end between the moments of two neighbouring columns, so that
 * no column shows them. Exact for a scene that is built. O(bands + allocations in the window / 64). */
uint32_t scene_between(const struct scene *scene);

/* Adds a band's bytes to changes from column to column, [width + 1]. */
void scene_changes_add(const struct scene *scene, const struct band *band, uint64_t *changes);

/* Bytes drawn below a band in each of its columns [start, tail), into `below`. O(bands below + columns). */
void scene_below(const struct scene *scene, const struct band *band, uint64_t *below);

/* Bytes of a band at one of its columns: its size, less where it shrinks away. */
uint64_t scene_band_bytes(const struct scene *scene, const struct band *band, uint32_t column);

/*
 * Bytes to pixels, shared by raster and pick: height above the lower edge in 1/256 px, clamped to [0, height
 * * 256]. Bytes are counted in units of 2^shift, and these are brought to 24 bits, so that a product with the
 * 32-bit factor is all there is to do, for any size a file names.
 */
struct y_scale {
    uint64_t bottom;
    uint32_t shift, widen; /* one of them is 0 */
    uint32_t units;        /* of 2^shift bytes, in the whole height */
    uint32_t factor;       /* 1/256 px per widened unit, with 32 binary places */
    uint32_t limit_q8;
};
struct y_scale y_scale_of(const struct view *view);
static inline uint32_t y_scale_q8(const struct y_scale *scale, uint64_t bytes) {
    if (bytes <= scale->bottom)
        return 0;
    uint64_t units = (bytes - scale->bottom) >> scale->shift;
    if (units >= scale->units)
        return scale->limit_q8;
    return (uint32_t)((units << scale->widen) * scale->factor >> 32);
}
