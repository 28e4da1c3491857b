/*
 * The places of all boxes of the picture, computed before anything is drawn, so that a test can ask whether boxes
 * overlap.
 *
 *     +------------------------------------------------------------------+
 *     | title                                                    Strata  |
 *     | file · GPU 0 · 18,992 events · 12.3 s                            |
 *     |      lane: flags of peak and OOM          | legend               |
 *     |  GiB +----------------------------------+ | # site   bytes share |
 *     |   40 |                                  | | ...                  |
 *     |   20 |  plot (belongs to the raster) [] | | 118 more             |
 *     |    0 +----------------------------------+ |                      |
 *     |       phases                              |                      |
 *     |       0        5,000       10,000         | key of lines and     |
 *     |                  event                    | patterns             |
 *     | ! notes                                                          |
 *     +------------------------------------------------------------------+
 *
 * Narrow pictures have the legend below the axis, very small ones have none. Pixels are final ones, scale
 * included.
 */
#pragma once

#include "analysis/findings/verdicts.h"
#include "layout/groups.h"
#include "layout/memory_map.h"
#include "render/png/canvas.h"
#include "render/png/chart.h"
#include "render/raster/map_raster.h"
#include "render/raster/palette.h"

enum chart_box_kind {
    CHART_TEXT,   /* one line, already elided to its box */
    CHART_FILL,   /* plain rectangle: tick marks, leaders, phases */
    CHART_SWATCH, /* rounded square in the colour of a call site */
    CHART_DOTS,   /* swatch with the pattern of allocations older than the recording */
    CHART_HATCH,  /* swatch with the pattern of memory that waits for another stream */
    CHART_LINE,   /* sample of the line of reserved bytes */
    CHART_DASH,   /* dashed line along the longer side: a sample of the capacity's */
    CHART_MARKER, /* triangle that points down */
    CHART_GHOST,  /* dashed frame around a faint ground: what would have been */
    CHART_FRAME,  /* thin frame */
    CHART_PLOT,   /* a scene, with the layout's style */
    CHART_MAP     /* the layout's map */
};

struct chart_box {
    enum chart_box_kind kind;
    struct rect rect;
    uint32_t color;            /* 0xRRGGBB; of a swatch also a texture (raster_texture) times 2^24 */
    struct font_style style;   /* text */
    const char *text;          /* text; lives as long as the layout */
    const struct scene *scene; /* plot; built for a view as large as the box */
};

/* The part of the run that the picture shows. */
struct chart_window {
    enum axis axis;
    int64_t from_q16, to_q16;
    uint32_t first_moment, end_moment; /* [first, end), at least one */
    uint32_t peak_moment;              /* the first moment with the highest total of the window */
    bool whole;                        /* the window is the whole run */
};

/* The window that the options ask for; events where the file has no times. */
struct chart_window chart_window_of(const struct timeline *timeline, const struct chart_options *options);

/* The input of a layout, which only reads it. */
struct chart_input {
    const struct timeline *timeline;
    const struct selection *selection; /* the filtered allocations; NULL: all */
    const struct chart_options *options;
    struct arena_host host; /* provides all memory whose size depends on the recording */
    struct chart_window window;
    const struct raster_style *style; /* style of the plot; NULL where nothing is drawn */
    const struct group *groups;       /* groups at `moment`, as chart_groups_find makes them */
    uint32_t n_groups;
    uint32_t moment;                 /* the legend's moment */
    const struct verdicts *verdicts; /* verdicts of the timeline; NULL: there are none */
};

/* The timeline that is drawn and listed: that of the filtered allocations, or the recording's. */
static inline const struct timeline *chart_shown(const struct chart_input *input) {
    return input->selection != NULL ? &input->selection->timeline : input->timeline;
}

static inline const uint64_t *chart_keep(const struct chart_input *input) {
    return input->selection != NULL ? input->selection->keep : NULL;
}

/* The map of the allocator's state, below the axis. */
struct chart_map {
    bool asked;
    const char *refusal; /* why there is no map; NULL: there is one */
    struct held held;
    struct memory_map laid;
    struct map_picture picture;
    struct rect rect; /* place of its pixels, whole rows only */
};

struct chart_layout {
    uint32_t width, height, scale; /* of the picture in final pixels */
    struct rect plot;
    struct view view;                 /* of the plot */
    struct scene scene[2];            /* of the plot, built for `view`; of a difference those of A and B */
    bool plot_is_text;                /* there is nothing to draw; text boxes in the plot say why */
    const struct raster_style *style; /* of every plot and of the map */
    struct chart_map map;
    const struct inks *colors;
    struct chart_box *boxes; /* in drawing order */
    uint32_t n_boxes, boxes_capacity;
    struct arena arena;
};

/* Lays the picture out. The layout is valid until chart_layout_release, which may be called in any case.
 * CHART_SIZE: no room for a plot, or a side above VIEW_MAX_SIDE. */
enum chart_error chart_layout_make(struct chart_layout *layout, const struct chart_input *input,
                                   struct font *font);
void chart_layout_release(struct chart_layout *layout);
