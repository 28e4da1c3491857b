/* The groups of a picture's legend: call sites, or keys of another colouring. Private to render/chart_*.c. */
#pragma once

#include "layout/groups.h"
#include "render/png/chart_layout.h"
#include "render/png/chart_maker.h"
#include "render/raster/raster.h"

/*
 * Finds the groups of what is alive at the input's moment. By call site (analysis/compare/site_parts.h) they come by
 * falling bytes. In other colourings a group is a raster_key, kept as its `site`; then every key that the window shows
 * is listed, also with 0 bytes. Allocations that the filter takes out are in no group. Does not read the input's
 * groups. False: no memory.
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
