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
    const char *plan;        /* the first sentence of the plan, a line at the foot; NULL: none */
    const char *flags;       /* command line flags that shaped the picture, for the text chunk; may be "" */
    const char *version;     /* of Strata */
    uint32_t width, height;  /* pixels of the whole picture before scale: 320 .. 7680 by 240 .. 4320 */
    uint32_t scale;          /* 1 .. 4: everything that many times larger */
    uint32_t n_rows;         /* of `rows` */
    enum axis axis;
    enum color_by color_by;
    enum map_order map_order;
    uint32_t legend_moment;              /* the legend's sums are of this moment; UINT32_MAX: the peak */
    int64_t from_q16, to_q16;            /* window, as in struct view; from == to: the whole run */
    uint64_t bottom_bytes, top_bytes;    /* ends of the y axis; top 0: chosen */
    uint64_t capacity_bytes;             /* a line; 0: none */
    const struct filter_query *filter;   /* allocations that pass it are drawn and listed; NULL: all */
    const struct filter_query *search;   /* allocations that do not match fade; NULL: none */
    const struct chart_address *address; /* NULL: no address of a page */
    const struct verdicts *verdicts;     /* of the timeline; NULL: they are found */
    const struct chart_part *rows; /* [n_rows] the other devices, where an address shows all on one axis */
    bool dark;
    bool whole_scale; /* the y axis is of the whole run, as the page does, and not of the window */
    bool no_names;    /* write none on the bands */
    bool map;         /* draw the allocator's state at that moment below the timeline */
    bool few_colors;  /* 256, and not only where the file would be too large */
};

/* Another device below the plot: of its options, window, colours, scale, filter, search and address count. */
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
    } kind; /* chosen: the last two steps */
    uint64_t step, from, to;
};

/* The parts of a page's address beyond window and colours. */
struct chart_address {
    const struct highlight *highlight; /* everything else fades; NULL: no highlight */
    bool only;                         /* sums count only the search's matches */
    bool each;                         /* no call site's bands are one area, however thin they are */
    bool segments;                     /* the allocator's segments instead of allocations */
    enum color_by areas; /* sums by stream, pool or category instead of bands; otherwise bands */
    bool has_range;
    bool compares; /* B lies as an outline over A, where both are ranges */
    struct chart_end end[2];
    bool recorded;                   /* outside of its recording a row is empty */
    struct raster_marks marks;       /* range_... where has_range; outline and timelines are the chart's */
    const char *notes[RASTER_MARKS]; /* of the marks; "": none */
};

enum chart_error {
    CHART_OK = 0,
    CHART_NO_MEMORY = -1,
    CHART_FONT = -2,
    CHART_PNG = -3,
    CHART_SIZE = -4, /* width, height or scale out of range, or a plot wider than VIEW_MAX_SIDE */
};

/* Appends a PNG to `out`. The same input gives the same bytes. The text chunk "strata:plot" holds "x y width height" of
 * the plot area ("strata:rows" those of the other devices, each after its ordinal and parted by commas), whose pixels are exactly those of raster_draw for the same view but for names on bands; a picture that would take more than
 * 1 MB (beyond 1600 x 900 pixels as much more) is written in the 256 colours nearest to its own. What the recording
 * needs counts as the memory of `memory`; the pixels do not, their number is the options'. */
enum chart_error chart_png(struct buffer *out, const struct timeline *timeline,
                           const struct chart_options *options, struct arena *memory);
