/*
 * The picture of strata whatif: the recording and its reserved memory, over it the modelled reserved memory of each
 * scenario, and beside them their names and peaks. For a program at a size that was not recorded, the modelled use of
 * memory takes the recording's place.
 *
 *     +------------------------------------------------------------------+
 *     | train.pickle under other allocator settings              Strata   |
 *     | Replay check: ...                                                  |
 *     | +-------------------------------------+  -- recorded    62.5 GiB  |
 *     | |   __ modelled                       |  -- default     62.5 GiB  |
 *     | |  /  \__ reserved                    |  -- expandable  53.0 GiB  |
 *     | | ####### in use                      |  in use at most 51.3 GiB  |
 *     | +-------------------------------------+                           |
 *     +------------------------------------------------------------------+
 */
#pragma once

#include "analysis/model/whatif.h"
#include "render/png/picture.h"

/* Appends a PNG to `out`. `whatif` is solved and finished; `timeline` is of its device. `extrapolated`: nothing of this
 * size was recorded (analysis/model/extrapolate.h), and the options' file describes it. Runs the model once for each
 * curve. The same input gives the same bytes. */
enum chart_error whatif_chart_png(struct buffer *out, const struct whatif *whatif,
                                  const struct timeline *timeline, bool extrapolated,
                                  const struct picture_options *options, struct arena *memory);
