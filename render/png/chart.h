/* The annotated picture: timeline, axes, markers and legend as a PNG. */
#pragma once

#include "analysis/findings/selection.h"
#include "base/buffer.h"
#include "layout/memory_map.h"
#include "layout/scene.h"
#include "render/raster/raster.h"

struct chart_options {
    const char *file;          /* name of the input as the reader knows it */
    const char *fingerprint;   /* of the input, "xxh128:" and 32 hex digits; of a difference A's */
    const char *fingerprint_b; /* of a difference; otherwise NULL */
    const char *title;         /* NULL: the file's name */
    const char *plan;          /* the first sentence of the plan, for a line at the foot; NULL: none */
    const char *plan_code;     /* what to paste for it, for the finding that asks for a plan; NULL: no plan */
    const char *flags;         /* command line flags that shaped the picture, for the text chunk; may be "" */
    uint32_t width, height;    /* of the whole picture in pixels before scale: 320 .. 7680 by 240 .. 4320 */
    uint32_t scale;            /* 1 .. 4: how many times larger everything is */
    enum axis axis;
    enum color_by color_by;
    uint32_t legend_moment;            /* moment of the legend's sums; UINT32_MAX: the peak */
    int64_t from_q16, to_q16;          /* window, as in struct view; from == to: the whole run */
    uint64_t capacity_bytes;           /* a line is drawn there; 0: none */
    const struct filter_query *filter; /* allocations that pass it are drawn and listed; NULL: all */
    const struct verdicts *verdicts;   /* verdicts of the timeline; NULL: they are made here */
    bool dark;
    bool no_names;   /* write no names on the bands */
    bool map;        /* draw the allocator's state at that moment below the timeline */
    bool few_colors; /* always use 256 colours, not only where the file would be too large */
};

enum chart_error {
    CHART_OK = 0,
    CHART_NO_MEMORY = -1,
    CHART_FONT = -2,
    CHART_PNG = -3,
    CHART_SIZE = -4, /* width, height or scale out of range, or a plot wider than VIEW_MAX_SIDE */
};

/* Appends a PNG to `out`. The same input gives the same bytes. The text chunk "strata:plot" holds "x y width height" of
 * the plot, whose pixels are exactly those of raster_draw for the same view, but for names on bands. A picture of more than 1 MB (above
 * 1600 x 900 pixels in proportion more) is written in the 256 colours nearest to its own. `memory` counts what the
 * recording needs, not the pixels, whose number the options set. */
enum chart_error chart_png(struct buffer *out, const struct timeline *timeline,
                           const struct chart_options *options, struct arena *memory);
