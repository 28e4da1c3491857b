/*
 * The picture of strata plan: the memory in use as recorded and with the least plan, the limit, and what each change
 * would need.
 *
 *     +--------------------------------------------------------------------+
 *     | oom.pickle: checkpoint 2 of the 4 blocks              Strata        |
 *     | +- - - - - - - - - - limit - - - -+   changes, served ones first    |
 *     | |        pale: as recorded        |   checkpoint 4 of 4   time      |
 *     | |   ##   filled: with the plan    |   ####|====|    4.09 GiB        |
 *     | +---'-'-------made again----------+   ...                           |
 *     +--------------------------------------------------------------------+
 */
#pragma once

#include "analysis/plan/plan.h"
#include "render/png/picture.h"

/* Appends a PNG to `out`. `plan` has its curves, unless its replay is refused. The same input gives the same bytes. */
enum chart_error plan_chart_png(struct buffer *out, const struct plan *plan,
                                const struct picture_options *options, struct arena *memory);
