/* Shared by the parts of the picture's layout: sizes, and adding boxes. Private to render/chart_*.c. */
#pragma once

#include "analysis/loop/category.h"
#include "analysis/model/releases.h"
#include "layout/also_shown.h"
#include "layout/phases.h"
#include "render/png/chart_layout.h"

struct chart_maker {
    const struct chart_input *in;
    struct chart_layout *out;
    struct font *font;
    int32_t width, height, scale; /* of the picture, final pixels */
    int32_t em;                   /* size of the text, the unit of all distances */
    struct font_style title, body, bold, small;
    struct phases phases;     /* those that the window shows */
    uint64_t unused_bytes;    /* most of the window that is reserved and not in use; 0: no lane */
    uint64_t host_bytes;      /* most of the window that the host had in use; 0: no lane of it */
    struct releases releases; /* valid where there is a lane of unused bytes */
    uint64_t category_bytes[CATEGORY_COUNT]; /* of what is shown at the legend's moment */
    bool categories_inferred;                /* of at least one allocation no event says it */
    struct also_shown also[ALSO_SHOWN_MAX];
    uint32_t n_also;
    unsigned unit; /* of all bytes in the lists beside the plot, as format_bytes_in takes it */
    bool failed;   /* no memory */
};

enum chart_align { CHART_LEFT, CHART_CENTER, CHART_RIGHT };

/* Height of a line of text. */
int32_t chart_line(struct font_style style);

/* Height of a row of a list beside or below the plot. */
int32_t chart_row(const struct chart_maker *maker);

int32_t chart_text_width(const struct chart_maker *maker, struct font_style style, const char *text);

/* Adds a box. */
void chart_put(struct chart_maker *maker, enum chart_box_kind kind, struct rect rect, uint32_t color);

/* Adds a line of text, aligned and elided to the width of `line`, its top at line.y (line.height is not
 * used). What does not fit is cut from the middle, by chart_put_sentence from the end. Returns the width of
 * the text; 0: nothing of it fits. */
int32_t chart_put_text(struct chart_maker *maker, struct rect line, enum chart_align align,
                       struct font_style style, uint32_t color, const char *text);

int32_t chart_put_sentence(struct chart_maker *maker, struct rect line, struct font_style style,
                           uint32_t color, const char *text);

/* Adds several lines of text, broken between words and centred in `area`; what does not fit below is left
 * out. */
void chart_put_paragraph(struct chart_maker *maker, struct rect area, struct font_style style, uint32_t color,
                         const char *text);

/* The same from the upper left corner on. */
void chart_put_lines(struct chart_maker *maker, struct rect area, struct font_style style, uint32_t color,
                     const char *text);

/* Height of all lines of such a text. */
int32_t chart_paragraph_height(const struct chart_maker *maker, int32_t width, struct font_style style,
                               const char *text);

/* The name of a call site, cut where it is too wide: file and line stay, and its mark ("" or what it ends with). */
void chart_put_site(struct chart_maker *maker, struct rect cell, uint32_t color, const char *site,
                    const char *mark);

/* A string of the recording as a text that C can hold: NUL and what is not UTF-8 become U+FFFD; what does not
 * fit is left out. */
void chart_string_text(const struct chart_maker *maker, uint32_t id, char *text, size_t capacity);
void chart_bytes_text(struct text bytes, char *text, size_t capacity);

/* "event 18,204 (12.3 s)", "before the first event" */
void chart_moment_text(const struct timeline *timeline, uint32_t moment, char *text, size_t capacity);

/* Pixels from the plot's left edge of a point of the axis; of a moment's middle. Clamped to [-1, width of the
 * plot]. */
int32_t chart_axis_x(const struct chart_maker *maker, int64_t q16);
int32_t chart_moment_x(const struct chart_maker *maker, uint32_t moment);

/* A tick of bytes with its unit, which all ticks of one axis share: "0.5 GiB" below "1.0 GiB". */
void chart_tick_text(const struct ticks *ticks, uint64_t top, uint32_t i, char *text, size_t capacity);

/* chart_axes.c. Labels need the view, the first function only its top. */
int32_t chart_y_labels_width(struct chart_maker *maker);
void chart_y_axis_put(struct chart_maker *maker, const struct view *view, struct rect plot);
void chart_axes_put(struct chart_maker *maker);

/* chart_notes.c: what the reader should know before trusting the picture, most important first. */
int32_t chart_notes_height(const struct chart_maker *maker);
void chart_notes_put(struct chart_maker *maker, struct rect area);

/* chart_empty.c: why the plot shows nothing, in its place. */
void chart_empty_put(struct chart_maker *maker);

/* " Device 0 has a history of 50 events.", "" where no other device has one. */
void chart_elsewhere_text(const struct chart_maker *maker, char *text, size_t capacity);

/* chart_lane.c: flags of peak and OOM above the plot, `lane` ends at its upper edge. */
int32_t chart_lane_height(const struct chart_maker *maker);
void chart_lane_put(struct chart_maker *maker, struct rect lane);

/* "OOM: 2.0 GiB requested, 1.1 GiB free"; `which` begins it. */
void chart_oom_text(const struct oom_event *oom, const char *which, char *text, size_t capacity);

bool chart_moment_is_shown(const struct chart_maker *maker, uint32_t moment);

/* chart_ghost.c: the request that ended the recording, right of the plot. Width 0: none ended it. */
int32_t chart_ghost_width(const struct chart_maker *maker);
void chart_ghost_put(struct chart_maker *maker, struct rect area);
/* All that the process could have had then: reserved and free on the device. Needs a width above 0. */
uint64_t chart_ghost_limit(const struct chart_maker *maker);

/* chart_map.c: the allocator's memory, below the axis, if requested and if there is room. False: no memory. Height:
 * of `room`. */
bool chart_map_find(struct chart_maker *maker);
int32_t chart_map_height(const struct chart_maker *maker, int32_t room);
void chart_map_put(struct chart_maker *maker, struct rect area, struct rect plot);

/* chart_rows.c: the other devices, where an address shows all of them. The second finds their views but for the width;
 * false: no memory. The third puts them, when the plot is where it is. */
int32_t chart_rows_height(const struct chart_maker *maker, int32_t room);
bool chart_rows_find(struct chart_maker *maker, int32_t height);
void chart_rows_put(struct chart_maker *maker, struct rect area);

/* chart_layout.c: the upper end of the y axis. */
uint64_t chart_top_bytes(const struct chart_input *in);

/* chart_phases.c: annotations below the plot. */
void chart_phases_find(struct chart_maker *maker);
/* Keeps the rows that have something to show in a plot of at least this width. */
void chart_phases_fit(struct chart_maker *maker, int32_t width);
int32_t chart_phases_height(const struct chart_maker *maker);
void chart_phases_put(struct chart_maker *maker, struct rect area);

/* chart_unused.c: memory reserved but not in use. False: no memory. */
bool chart_unused_find(struct chart_maker *maker);
int32_t chart_unused_height(const struct chart_maker *maker);
void chart_unused_put(struct chart_maker *maker, struct rect area);

/* The moment at a place of the axis. */
uint32_t chart_moment_of_q16(const struct timeline *timeline, enum axis axis, int64_t q16);

/* chart_pin.c: the allocation pinned by the address. Height 0: nothing. */
int32_t chart_pin_height(const struct chart_maker *maker);
void chart_pin_put(struct chart_maker *maker, struct rect area);

/* chart_findings.c: the most urgent findings, as many as fit into `most`. */
int32_t chart_findings_height(const struct chart_maker *maker, int32_t width, int32_t most);
void chart_findings_put(struct chart_maker *maker, struct rect area);

/* chart_also.c: call sites that the picture shows and the legend does not. The first finds them, and the unit that they
 * share with the legend; false: no memory. */
bool chart_also_find(struct chart_maker *maker);
int32_t chart_also_height(const struct chart_maker *maker);
void chart_also_put(struct chart_maker *maker, struct rect area);

/* chart_side.c: categories, settings and call sites below the legend. The first looks them up; false: no memory. The
 * second says what height the parts take that fit into `room`. */
bool chart_side_find(struct chart_maker *maker);
int32_t chart_side_fit(struct chart_maker *maker, int32_t width, int32_t room);
void chart_side_put(struct chart_maker *maker, struct rect area);

/* chart_legend.c: top call sites and the key to lines and patterns. */
int32_t chart_legend_width(struct chart_maker *maker, int32_t least, int32_t most);
int32_t chart_legend_height(struct chart_maker *maker);
void chart_legend_put(struct chart_maker *maker, struct rect area);
