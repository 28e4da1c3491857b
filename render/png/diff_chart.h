/*
 * The picture of a difference: both timelines on one scale, the compared moments below each other, and beside them why
 * they differ, in words and by call site.
 *
 *     +--------------------------------------------------------------------------+
 *     | B holds 14.8 GiB more than A                                     Strata  |
 *     | A  eager.pickle · GPU 0 · 56.4 GiB after event 939 | Causes              |
 *     |    +--------------------------------------------+  | +14.8 GiB: ...      |
 *     |    |              |  A                         |  | ...                 |
 *     |    +--------------------------------------------+  | Call sites          |
 *     | B  compiled.pickle · ...                           | +14.8 GiB  x.py:88  |
 *     |    +--------------------------------------------+  | ...                 |
 *     |    |              |  B                         |  |                     |
 *     |    +--------------------------------------------+  |                     |
 *     +--------------------------------------------------------------------------+
 */
#pragma once

#include "render/png/chart.h"
#include "render/report/diff.h"

/* Appends a PNG to `out`: of the options size, theme, fingerprints and flags count. The same input gives the same bytes. `shown_a` and `shown_b` are the drawn timelines:
 * filtered ones, or else the recordings' own. */
enum chart_error diff_chart_png(struct buffer *out, const struct diff *diff, const struct timeline *shown_a,
                                const struct timeline *shown_b, const struct chart_options *options,
                                struct arena *memory);
