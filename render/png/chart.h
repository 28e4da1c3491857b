/* The annotated picture: timeline, axes, markers and legend as a PNG. */
#pragma once

#include "analysis/compare/highlight.h"
#include "analysis/findings/selection.h"
#include "base/buffer.h"
#include "layout/memory_map.h"
#include "layout/scene.h"
#include "render/raster/raster.h"

struct chart_options {
    const char *file;        /* name of the input as the reader knows it */
    const char *fingerprint; /* of the input, "xxh128:" and 32 hex digits */
    const char *title;       /* NULL: the file's name */
    const char *plan;        /* the first sentence of the plan, for a line at the foot; NULL: none */
    const char *flags;       /* command line flags that shaped the picture, for the text chunk; may be "" */
    uint32_t width, height;  /* of the whole picture in pixels before scale: 320 .. 7680 by 240 .. 4320 */
    uint32_t scale;          /* 1 .. 4: how many times larger everything is */
    uint32_t n_rows;         /* number of `rows` */
    enum axis axis;
    enum color_by color_by;
    enum map_order map_order;
    uint32_t legend_moment;              /* moment of the legend's sums; UINT32_MAX: the peak */
    int64_t from_q16, to_q16;            /* window, as in struct view; from == to: the whole run */
    uint64_t bottom_bytes, top_bytes;    /* ends of the y axis; top 0: they are chosen here */
    uint64_t capacity_bytes;             /* a line is drawn there; 0: none */
    const struct filter_query *filter;   /* allocations that pass it are drawn and listed; NULL: all */
    const struct filter_query *search;   /* allocations that do not match fade; NULL: none */
    const struct chart_address *address; /* NULL: the picture is not of a page's address */
    const struct verdicts *verdicts;     /* verdicts of the timeline; NULL: they are made here */
    const struct chart_part *rows; /* [n_rows] the other devices, where an address shows all on one axis */
    bool dark;
    bool whole_scale; /* the y axis covers the whole run, as in the page, instead of the window */
    bool no_names;    /* write no names on the bands */
    bool map;         /* draw the allocator's state at that moment below the timeline */
    bool few_colors;  /* always use 256 colours, not only where the file would be too large */
};

/* Another device below the plot. Of its options only window, colours, scale, filter, search and address count. */
struct chart_part {
    const struct timeline *timeline;
    struct chart_options options;
};

/* An end of a comparison: a step, or the events [from, to). */
struct chart_end {
    enum chart_end_kind {
        CHART_END_CHOSEN,
        CHART_END_STEP,
        CHART_END_RANGE,
        CHART_END_MOMENT
    } kind; /* not given: the last two steps are chosen */
    uint64_t step, from, to;
};

/* The parts of a page's address other than window and colours. */
struct chart_address {
    const struct highlight *highlight; /* everything else is faded; NULL: there is no highlight */
    const uint32_t *finding;           /* index of the finding whose set is highlighted instead; NULL: none */
    bool only;                         /* sums count only the search's matches */
    /* bands of a call site are never merged to one area, however thin they are */
    bool each;
    bool segments;       /* the allocator's segments instead of allocations */
    enum color_by areas; /* sums by stream, pool or category instead of bands; other values: bands */
    bool has_range;
    bool compares; /* B is outlined over A, if both are ranges */
    struct chart_end end[2];
    bool recorded; /* a row is empty outside of its recording */
    /* range_... are set if has_range; the chart sets outline and timelines */
    struct raster_marks marks;
    const char *notes[RASTER_MARKS]; /* texts of the marks; "": none */
};

enum chart_error {
    CHART_OK = 0,
    CHART_NO_MEMORY = -1,
    CHART_FONT = -2,
    CHART_PNG = -3,
    CHART_SIZE = -4, /* width, height or scale out of range, or a plot wider than VIEW_MAX_SIDE */
};

/* Appends a PNG to `out`. The same input gives the same bytes. The text chunk "strata:plot" holds "x y width height" of
 * the plot, whose pixels are exactly those of raster_draw for the same view, but for names on bands; "strata:rows"
 * holds the same of the other devices, each after its ordinal, separated by commas. A picture of more than 1 MB (above
 * 1600 x 900 pixels in proportion more) is written in the 256 colours nearest to its own. `memory` counts what the
 * recording needs, not the pixels, whose number the options set. */
enum chart_error chart_png(struct buffer *out, const struct timeline *timeline,
                           const struct chart_options *options, struct arena *memory);
