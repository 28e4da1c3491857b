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
#include "render/png/chart.h"

struct whatif_chart_options {
    uint32_t width, height, scale; /* as in struct chart_options */
    bool dark;
    const char *file; /* name of the input */
    const char *fingerprint;
    const char *version; /* of Strata */
    const char *flags;   /* for the text chunk; may be "" */
    /* nothing of this size was recorded (analysis/model/extrapolate.h); `file` describes it */
    bool extrapolated;
};

/* Appends a PNG to `out`. `whatif` is solved and finished; `timeline` is of its device. Runs the model once for each
 * curve. The same input gives the same bytes. */
enum chart_error whatif_chart_png(struct buffer *out, const struct whatif *whatif,
                                  const struct timeline *timeline, const struct whatif_chart_options *options,
                                  struct arena *memory);
