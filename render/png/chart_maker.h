/* Shared by the parts of the picture's layout: sizes, adding boxes, and each part's functions. Private to
 * render/png/chart*.c. */
#pragma once

#include "analysis/loop/category.h"
#include "analysis/model/releases.h"
#include "base/format.h"
#include "layout/phases.h"
#include "render/png/chart_layout.h"

struct chart_maker {
    const struct chart_input *in;
    struct chart_layout *out;
    struct font *font;
    int32_t width, height, scale;                      /* of the picture in final pixels */
    int32_t em;                                        /* size of the text; the unit of all distances */
    struct font_style title, body, bold, small, names; /* names: of call sites on bands */
    struct phases phases;                              /* the phases that the window shows */
    uint64_t unused_bytes;    /* the most unused reserved memory in the window; 0: there is no such lane */
    uint64_t host_bytes;      /* the most memory of the host in the window; 0: there is no such lane */
    struct releases releases; /* valid if there is a lane of unused memory */
    uint64_t category_bytes[CATEGORY_COUNT]; /* bytes by category at the legend's moment */
    bool categories_inferred;                /* no event gives the category of at least one allocation */
    unsigned unit; /* unit of all bytes in the lists beside the plot, as format_bytes_in takes it */
    bool failed;   /* there was no memory */
    bool measures; /* boxes are laid out but not added */
};

/* The y that a call of a chart_..._put function would return, without adding boxes. */
#define CHART_MEASURED(maker, put)                \
    __extension__({                               \
        bool measured_before = (maker)->measures; \
        (maker)->measures = true;                 \
        int32_t measured = (put);                 \
        (maker)->measures = measured_before;      \
        measured;                                 \
    })

/* chart_layout.c: makes an empty layout of a picture with these options, whose memory comes from `host`. False: the
 * size is out of range. */
bool chart_begin(struct chart_maker *maker, struct chart_layout *layout, const struct chart_options *options,
                 struct font *font, struct arena_host host);

/* The picture without its margins. */
struct rect chart_page(const struct chart_maker *maker);

/* Puts title and the program's name. Returns the y below them. */
int32_t chart_title_put(struct chart_maker *maker, struct rect page, const char *title);

/* chart.c: draws the boxes and appends the PNG. */
enum chart_error chart_write(struct buffer *out, struct font *font, const struct chart_layout *layout,
                             const struct chart_options *options);

enum chart_align { CHART_LEFT, CHART_CENTER, CHART_RIGHT };

/* Height of a line of text. */
int32_t chart_line(struct font_style style);

/* Height of a row of a list beside or below the plot. */
int32_t chart_row(const struct chart_maker *maker);

int32_t chart_text_width(const struct chart_maker *maker, struct font_style style, const char *text);

/* Adds a box. */
void chart_put(struct chart_maker *maker, enum chart_box_kind kind, struct rect rect, uint32_t color);

/* Adds a plot: the pixels of a built scene. */
void chart_put_plot(struct chart_maker *maker, struct rect rect, const struct scene *scene);

/* Adds a line of text, aligned and elided to the width of `line`, its top at line.y (line.height is not used). What
 * does not fit is cut from the middle, or by chart_put_sentence from the end. Returns the width of the text; 0: nothing
 * of it fits. */
int32_t chart_put_text(struct chart_maker *maker, struct rect line, enum chart_align align,
                       struct font_style style, uint32_t color, const char *text);

/* Adds a text that is known to be as wide as `rect` at most. */
void chart_put_fitted(struct chart_maker *maker, struct rect rect, struct font_style style, uint32_t color,
                      const char *text);

int32_t chart_put_sentence(struct chart_maker *maker, struct rect line, struct font_style style,
                           uint32_t color, const char *text);

/* Adds several lines of text, broken between words and centred in `area`. Lines that do not fit are left out. */
void chart_put_paragraph(struct chart_maker *maker, struct rect area, struct font_style style, uint32_t color,
                         const char *text);

/* Adds at most `most` lines from the upper left corner on; the last one ends with an ellipsis if more were needed.
 * Returns the y below them. */
int32_t chart_put_lines(struct chart_maker *maker, struct rect area, struct font_style style, uint32_t color,
                        int32_t most, const char *text);
enum { CHART_LINES_MAX = 12 };

/* The height of all lines of such a text. */
int32_t chart_paragraph_height(const struct chart_maker *maker, int32_t width, struct font_style style,
                               const char *text);

/* Adds the name of a call site. Where it is too wide it is cut, but file and line stay, and so does its mark (the
 * suffix, or ""). */
void chart_put_site(struct chart_maker *maker, struct rect cell, uint32_t color, const char *site,
                    const char *mark);

/* Turns a string of the recording into a C string: NUL and what is not UTF-8 become U+FFFD; what does not fit is left
 * out. */
void chart_string_text(const struct chart_maker *maker, uint32_t id, char *text, size_t capacity);
void chart_bytes_text(struct text bytes, char *text, size_t capacity);

/* Writes "event 18,204 (12.3 s)", "before the first event". */
void chart_moment_text(const struct timeline *timeline, uint32_t moment, char *text, size_t capacity);

/* As many of `pixels` as `part` is of `whole`; 0 where that is 0. */
int32_t chart_share(uint64_t part, uint64_t whole, int32_t pixels);

/* Pixels from the plot's left edge to a point of the axis; to a moment's middle. Clamped to [-1, width of the plot]. */
int32_t chart_axis_x(const struct chart_maker *maker, int64_t q16);
int32_t chart_moment_x(const struct chart_maker *maker, uint32_t moment);

/*
 * chart_groups.c: finds the groups of the legend among what is alive at the input's moment. Call sites
 * (analysis/compare/site_parts.h) come by falling bytes. In other colourings a group is a raster_key, kept as its
 * `site`, and every key that the window shows is listed, also with 0 bytes. Allocations that the filter takes out are
 * in no group. Does not read the input's groups. False: no memory.
 */
bool chart_groups_find(const struct chart_input *input, const struct raster_style *style, struct arena *arena,
                       struct group **groups, uint32_t *n_groups);

/* Writes the name of a group: "train.py:41 forward", "main.py:88 step (state)", "2 MiB to 8 MiB", "stream 3". */
void chart_group_text(const struct timeline *timeline, enum color_by by, const struct group *group,
                      char *text, uint32_t capacity);

/* The suffix of a name for one part of a call site: " (freed here)"; otherwise "". */
const char *chart_group_mark(enum color_by by, const struct group *group);

/* The colour of a call site's swatch, with its texture in the bits above. */
uint32_t chart_site_color(const struct chart_maker *maker, uint32_t site);

/* The length of the place in "file.py:168 function", up to the line number; 0: there is none. */
size_t chart_site_place_nbytes(const char *site);

/* chart_axes.c. Labels need the view; the first function needs only its height and its edges. */
int32_t chart_y_labels_width(const struct chart_maker *maker, const struct view *view);
void chart_y_axis_put(struct chart_maker *maker, const struct view *view, struct rect plot);
void chart_axes_put(struct chart_maker *maker);

/* The functions chart_..._put that return a number return the y below what they added. */

int32_t chart_heading_put(struct chart_maker *maker, struct rect area, const char *text);

/* chart_names.c: the call sites' names on the bands of the plot that have room for them. */
void chart_names_put(struct chart_maker *maker);

/* Puts a bar of parts beside each other, and below it their names and bytes, as many in a line as fit. */
struct chart_part {
    uint32_t color;
    uint64_t bytes;
    const char *name; /* NULL: this part and those after it are not named */
    struct figure figure;
};
int32_t chart_bar_put(struct chart_maker *maker, struct rect area, const struct chart_part *parts,
                      uint32_t n);

/* chart_notes.c: what the reader should know before trusting the picture, most important first. */
int32_t chart_notes_put(struct chart_maker *maker, struct rect area);

/* chart_empty.c: why the plot shows nothing, in its place. */
void chart_empty_put(struct chart_maker *maker);

/* Writes " Device 0 has a history of 50 events."; "" if no other device has events. */
void chart_elsewhere_text(const struct chart_maker *maker, char *text, size_t capacity);

/* chart_lane.c: flags of peak and OOM above the plot, `lane` ends at its upper edge. */
int32_t chart_lane_height(const struct chart_maker *maker);
void chart_lane_put(struct chart_maker *maker, struct rect lane);

/* Writes "OOM: 2.0 GiB requested, 1.1 GiB free", with `which` in place of "OOM". */
void chart_oom_text(const struct oom_event *oom, const char *which, char *text, size_t capacity);

bool chart_moment_is_shown(const struct chart_maker *maker, uint32_t moment);

/* chart_ghost.c: the request that ended the recording, right of the plot. Width 0: none did. */
int32_t chart_ghost_width(const struct chart_maker *maker);
void chart_ghost_put(struct chart_maker *maker, struct rect area);
/* All memory that the process could have had then: reserved plus free on the device. Needs a width above 0. */
uint64_t chart_ghost_limit(const struct chart_maker *maker);

/* chart_map.c: the allocator's memory below the axis, if requested and if there is room. The first finds it; false: no
 * memory. The height is taken from `room`. */
bool chart_map_find(struct chart_maker *maker);
int32_t chart_map_height(const struct chart_maker *maker, int32_t room);
void chart_map_put(struct chart_maker *maker, struct rect area, struct rect plot);

/* chart_phases.c: annotations below the plot. */
void chart_phases_find(struct chart_maker *maker);
/* Keeps the rows that have something to show if the plot is at least this wide. */
void chart_phases_fit(struct chart_maker *maker, int32_t width);
int32_t chart_phases_height(const struct chart_maker *maker);
void chart_phases_put(struct chart_maker *maker, struct rect area);

/* chart_unused.c: reserved memory that is not in use. The first finds it; false: no memory. */
bool chart_unused_find(struct chart_maker *maker);
int32_t chart_unused_height(const struct chart_maker *maker);
void chart_unused_put(struct chart_maker *maker, struct rect area);

/* The moment at a point of the axis. */
uint32_t chart_moment_of_q16(const struct timeline *timeline, enum axis axis, int64_t q16);

/* chart_findings.c: the most urgent findings, as many as fit into the area. */
int32_t chart_findings_put(struct chart_maker *maker, struct rect area);

/* chart_side.c: categories and settings below the legend: the parts that fit into the area. The first
 * function finds them; false: no memory. */
bool chart_side_find(struct chart_maker *maker);
int32_t chart_side_put(struct chart_maker *maker, struct rect area);

/* chart_legend.c: top call sites and the key to lines and patterns. */
int32_t chart_legend_width(struct chart_maker *maker, int32_t least, int32_t most);
int32_t chart_legend_height(struct chart_maker *maker);
void chart_legend_put(struct chart_maker *maker, struct rect area);
