/* Call sites at a moment, keeping apart what one row must not sum up: an optimizer's state and its temporaries,
 * though one line of the user's calls for both, and memory known only by where it was freed. Freestanding. */
#pragma once

#include "analysis/findings/verdicts.h"
#include "layout/groups.h"

struct site_parts {
    struct group *groups; /* by falling bytes, then by rising site and part */
    uint32_t n_groups;
    uint32_t *allocations; /* part p has [start[p], start[p + 1]) */
    uint32_t start[GROUP_PARTS + 1];
};

/* Parts of any allocations of the verdicts' device: `allocations[n_allocations]`, each once. `timeline` may be a
 * filtered part of it. Memory from `arena`. O(allocations + groups log groups). False: no memory. */
bool site_parts_of(struct site_parts *parts, const struct timeline *timeline, const struct verdicts *verdicts,
                   const uint32_t *allocations, uint32_t n_allocations, struct arena *arena);

/* The same for what is alive at a moment. */
bool site_parts_at(struct site_parts *parts, const struct timeline *timeline, const struct verdicts *verdicts,
                   uint32_t moment, struct arena *arena);

/* The words after a site's name: "", " (optimizer state)", " (where it was freed)". */
const char *group_part_suffix(const struct group *group);

/* The short forms: "", " (state)", " (freed here)". */
const char *group_part_mark(const struct group *group);
