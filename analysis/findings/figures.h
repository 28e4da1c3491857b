/*
 * The figures of one device that limits are set on (`strata check`): what the run needed, whether it grows, and whether the
 * recording is complete enough to tell. Freestanding.
 */
#pragma once

#include "analysis/findings/verdicts.h"

struct figures {
    /* code of the first diagnostic that says a part is missing: "overflow"; NULL: complete */
    const char *doubt;
    uint32_t first;                    /* moment from which on peaks count: the skipped steps end there */
    uint32_t peak_moment;              /* from there on */
    uint64_t peak, reserved, end, gap; /* bytes; gap: reserved at its peak and not in use */
    uint64_t growth;                   /* bytes more each step, by likely and certain findings */
    uint64_t ooms, steps;
    bool has_reserved, has_growth;
    bool has_start;                    /* enough steps to leave some out */
    uint64_t category[CATEGORY_COUNT]; /* bytes at `peak_moment` */
};

/* `shown`: what a filter leaves of the timeline of `verdicts`, or that timeline; `keep`: its bitmap, NULL: all. Peak, end and
 * categories are of what the filter leaves; reserved bytes, growth and events stay whole. O(events + allocations). */
void figures_find(struct figures *figures, const struct verdicts *verdicts, const struct timeline *shown,
                  const uint64_t *keep, uint64_t skip_steps);

/* Bytes alive at a moment by category. O(allocations). */
void figures_categories_at(const struct verdicts *verdicts, uint32_t moment, const uint64_t *keep,
                           uint64_t sums[CATEGORY_COUNT]);
