/* The groups of a picture's legend: call sites, or keys of another colouring. Private to render/chart_*.c. */
#pragma once

#include "layout/groups.h"
#include "render/png/chart_layout.h"
#include "render/png/chart_maker.h"
#include "render/raster/raster.h"

/*
 * Groups of what is alive at the input's moment: by call site (analysis/compare/site_parts.h), by falling bytes; for other colourings by
 * raster_key, which is then the group's `site`, and every key that the window shows, also those of 0 bytes at the
 * moment. What the filter takes out is in none. Reads no groups of the input. False: no memory.
 */
bool chart_groups_find(const struct chart_input *input, const struct raster_style *style, struct arena *arena,
                       struct group **groups, uint32_t *n_groups);

/* The name of a group: "train.py:41 forward", "main.py:88 step (state)", "2 MiB to 8 MiB", "stream 3". */
void chart_group_text(const struct timeline *timeline, enum color_by by, const struct group *group,
                      char *text, uint32_t capacity);

/* The suffix of a name for one part of a call site: " (freed here)"; otherwise "". */
const char *chart_group_mark(enum color_by by, const struct group *group);

/* For a swatch: a call site's colour, and its texture in the bits above. */
uint32_t chart_site_color(const struct chart_maker *maker, uint32_t site);

/* Length of the place in "file.py:168 function", up to the line number; 0: none. */
size_t chart_site_place_nbytes(const char *site);
