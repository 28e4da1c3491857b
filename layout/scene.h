/*
 * A window of a timeline on a grid of pixel columns: the visible allocations, with the columns and the state of
 * each. The raster draws a scene and pick answers from the same scene, so they cannot disagree.
 *
 *      bytes ^        an allocation:  start   pending   end  tail
 *            |                   |#########|/////|\
 *            |                   |#########|/////| \___   (tail: the bend, see below)
 *            +---------------------------------------------> columns
 *
 * Each column shows one moment: of the moments that begin in it, the one with the highest total (the peak is never
 * lost), or, if none begins in it, the one still going on. If a moment is several pixels wide, memory that was just
 * freed shrinks away over its first columns instead of vanishing at once (the bend), so that the eye can follow the
 * bands above it on their way down.
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
    uint16_t pending; /* first column where it waits for another stream; == end: it never waits */
    uint16_t end;     /* first column where it is gone */
    uint16_t tail;    /* end of the columns where it shrinks away; == end: there are none */
};

/* Bands that lie together: those of a call site, with those older than the recording apart, or those of all call
 * sites without a group of their own. */
struct scene_group {
    uint32_t end;     /* end of its bands */
    uint32_t lit_end; /* end of its highlighted bands, which lie below the others */
    uint32_t site;    /* unless `is_rest` */
    bool is_rest, is_older;
};

enum {
    /* two of them are rests: one for what is older than the recording, one for the others */
    SCENE_GROUPS = 12,
    SCENE_THIN_Q8 = 3 * 256 /* a lower band cannot be told from its neighbours */
};

struct scene {
    const struct timeline *timeline;
    struct view view;
    /* the caller's bitmap [allocations.count / 64 + 1] of the allocations that are shown; NULL: all */
    const uint64_t *keep;
    uint32_t *moment; /* [width] moment shown by each column; never falls */
    /* [width] 0: no bend in this column; otherwise 1..256: the share, in 1/256, still drawn of what died at its
     * moment */
    uint16_t *remains;
    uint32_t n_bands; /* visible allocations, in stack order; their first columns rise */
    struct band *bands;
    uint32_t n_groups; /* 0: the bands lie in stack order; otherwise group by group, each in stack order */
    struct scene_group group[SCENE_GROUPS];

    struct arena arena; /* memory of the arrays, kept from one build to the next */
    uint64_t *bitmap;   /* marks places in the stack; all clear between builds */
    uint16_t *cells;    /* first column at or after every 2^cell_shift moments from moment[0] on */
    uint32_t cell_shift;
    struct view built;  /* what the last build was for; width 0: it must be done again */
    struct band *spare; /* used by scene_group_sites, as is `sums`; then it holds the bands in stack order */
    struct site_sum *sums;
    uint32_t *keys; /* [n_bands] each band's call site, with older allocations apart */
    uint32_t moment_capacity, remains_capacity, bands_capacity, bitmap_capacity, cells_capacity;
    uint32_t spare_capacity, sums_capacity, keys_capacity;
    uint64_t rows_visited; /* work done by the last build: allocations looked at */
};

/* An empty scene of a timeline; memory comes from `host`. */
void scene_init(struct scene *scene, const struct timeline *timeline, struct arena_host host);
void scene_release(struct scene *scene);

/* The whole run on the given axis: sets from_q16 and to_q16. */
void view_fit(struct view *view, const struct timeline *timeline);

/* The last out-of-memory error in the moments [first, end); NULL: none. O(log n). */
const struct oom_event *timeline_oom_in(const struct timeline *timeline, uint32_t first, uint32_t end);

/* A good top_bytes for the moments [first, end): a little more than their highest total. What is reserved is included,
 * and so is the capacity (0: none), unless everything else would have to fit into a third; a failed request, standing on
 * what was alive, if it takes at most a third of the picture. O(64 + moments / 64 + changes of
 * reserved bytes); for the whole run O(log n). */
uint64_t timeline_headroom_in(const struct timeline *timeline, uint32_t first, uint32_t end,
                              uint64_t capacity_bytes);

/* First moment that begins at or after the left edge of a column, which may be `width`; n_moments if none does.
 * O(log). */
uint32_t view_moment_from(const struct view *view, const struct timeline *timeline, uint32_t column);

/* The moment that each of `width` columns shows, into `moment`. O(width * log). */
void view_moments(const struct view *view, const struct timeline *timeline, uint32_t *moment);

/* Fills the scene for a window, without the allocations that `keep` leaves out: the bands above them move down. The
 * columns' moments take all allocations into account. O(width * 33 * log + visible allocations). False: no memory,
 * and the scene is empty. */
bool scene_build(struct scene *scene, const struct view *view);

/*
 * The same, but where the last build was for these columns, its bands only go back to stack order, O(1): for a
 * caller that draws in other colours or heights. If the content of `keep` or the timeline has changed since, the
 * caller says so by scene_forget.
 */
bool scene_build_changed(struct scene *scene, const struct view *view);
void scene_forget(struct scene *scene);

/* Do bands lower than `least_q8` (1/256 px) hold more than half of everything drawn (bytes times columns)?
 * O(bands). */
bool scene_is_dense(const struct scene *scene, uint32_t least_q8);

/*
 * For a dense scene whose axis begins with 0. If it shows at most a quarter of the run and no failed request, sets
 * its view's bytes to the range in which the window's total moves, provided that most of what is drawn in that
 * range lies in bands of `least_q8` or more. Such a view shows each band, but its axis does not begin with 0.
 * False: the view is unchanged. O(bands + width).
 */
bool scene_fit_heights(struct scene *scene, uint32_t least_q8);

/*
 * Lays the bands of each call site together: what is older than the recording first, then by mean lifetime, long at
 * the bottom. Call sites beyond the ten with the most bytes on screen form the rest, on top. In each group the
 * highlighted bands (a bitmap; NULL: all) lie below. The total of each column stays. O(bands + frames). False: no
 * memory, and the bands stay.
 */
bool scene_group_sites(struct scene *scene, const uint64_t *lit);

/* Puts the bands back into stack order, without groups. O(1). */
void scene_ungroup(struct scene *scene);

/* Pixel position of a point of the axis (at most 2^62 from 0), and of the beginning of a moment, in 1/256 px from
 * the left edge; may lie outside. They saturate at +-2^30. */
int32_t view_position_q8(const struct view *view, int64_t at_q16);
int32_t view_x_q8(const struct view *view, const struct timeline *timeline, uint32_t moment);

/* The moment shown at a column, and the position of a point in it: */
struct pick {
    uint32_t moment;
    uint32_t allocation; /* UINT32_MAX: nothing there */
    uint64_t offset;     /* bytes below the allocation at that moment (bends ignored) */
};

/* The allocation under the centre of pixel (x, y), y from the top. False: outside of the view. O(visible
 * allocations that begin left of it). */
bool scene_pick(const struct scene *scene, uint32_t x, uint32_t y, struct pick *pick);

/* The band of an allocation; NULL: it is not visible. O(log bands). */
const struct band *scene_band(const struct scene *scene, uint32_t allocation);

/* Counts the kept allocations that begin and end between the moments of two neighbouring columns, so that no column
 * shows them. Exact for a scene that is built. O(bands + allocations in the window / 64). */
uint32_t scene_between(const struct scene *scene);

/* Adds a band's bytes to changes from column to column, [width + 1]. */
void scene_changes_add(const struct scene *scene, const struct band *band, uint64_t *changes);

/* Bytes drawn below a band in each of its columns [start, tail), into `below`. O(bands below + columns). */
void scene_below(const struct scene *scene, const struct band *band, uint64_t *below);

/* Bytes of a band at one of its columns: its size, less where it shrinks away. */
uint64_t scene_band_bytes(const struct scene *scene, const struct band *band, uint32_t column);

/*
 * Converts bytes to pixels, for raster and pick alike: height above the bottom in 1/256 px, clamped to [0, height *
 * 256]. Bytes are counted in units of 2^shift, brought to 24 bits, so that one product with the 32-bit factor is
 * enough for any size that a file names.
 */
struct y_scale {
    uint64_t bottom;
    uint32_t shift, widen; /* at least one of them is 0 */
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
