/*
 * Call sites at a moment, with what must not be summed up in one row apart: what an optimizer keeps from what it needs for
 * a moment, though one line of the user's calls for both, and what is only known by where it was freed. Freestanding.
 */
#pragma once

#include "analysis/findings/verdicts.h"
#include "layout/groups.h"

struct site_parts {
    struct group *groups; /* by falling bytes, then by rising site and part */
    uint32_t n_groups;
    uint32_t *allocations; /* those of part p: [start[p], start[p + 1]) */
    uint32_t start[GROUP_PARTS + 1];
};

/*
 * Of any allocations of the verdicts' device: `allocations[n_allocations]`, each once. `timeline` may be a part of it, by a filter. Memory
 * from `arena`. O(allocations + groups log groups). False: no memory.
 */
bool site_parts_of(struct site_parts *parts, const struct timeline *timeline, const struct verdicts *verdicts,
                   const uint32_t *allocations, uint32_t n_allocations, struct arena *arena);

/* The same of what is alive at a moment. */
bool site_parts_at(struct site_parts *parts, const struct timeline *timeline, const struct verdicts *verdicts,
                   uint32_t moment, struct arena *arena);

/* The words after a site's name: "", " (optimizer state)", " (where it was freed)". */
const char *group_part_suffix(const struct group *group);

/* The same where there is little room: "", " (state)", " (freed here)". */
const char *group_part_mark(const struct group *group);
