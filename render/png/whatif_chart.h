/*
 * The picture of strata whatif: the recording with what it had reserved, over it what each scenario would have had, and
 * beside them their names and peaks. Of a program at a size that was not recorded, what would be in use stands for the
 * recording.
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
