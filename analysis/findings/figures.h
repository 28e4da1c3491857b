/* The figures of one device that `strata check` puts limits on: what the run needed, whether it grows, and whether
 * the recording is complete enough to tell. Freestanding. */
#pragma once

#include "analysis/findings/verdicts.h"

struct figures {
    /* code of the first diagnostic that reports a missing part: "overflow"; NULL: complete */
    const char *doubt;
    uint32_t first;       /* moment from which peaks count: the end of the skipped steps */
    uint32_t peak_moment; /* at or after `first` */
    /* bytes; gap: reserved but not in use, at the peak of reserved bytes */
    uint64_t peak, reserved, end, gap;
    uint64_t growth; /* bytes more in each step, by likely and certain findings */
    uint64_t ooms, steps;
    bool has_reserved, has_growth;
    bool has_start;                    /* there are enough steps to skip some */
    uint64_t category[CATEGORY_COUNT]; /* bytes at `peak_moment` */
};

/* `shown`: the part of the verdicts' timeline that a filter keeps, or all of it; `keep`: its bitmap, NULL: all.
 * Peak, end and categories count what the filter keeps; reserved bytes, growth and events stay whole. O(events +
 * allocations). */
void figures_find(struct figures *figures, const struct verdicts *verdicts, const struct timeline *shown,
                  const uint64_t *keep, uint64_t skip_steps);
