/* Allocations, summed by call site, by identical stack, or by any key. Freestanding. */
#pragma once

#include "layout/timeline.h"

enum group_by { GROUP_BY_SITE, GROUP_BY_STACK };

/* Parts that a call site's allocations can be split into (analysis/compare/site_parts.h). */
enum group_part { GROUP_WHOLE, GROUP_OPTIMIZER_STATE, GROUP_OPTIMIZER_TEMPORARY, GROUP_OF_FREE, GROUP_PARTS };

struct group {
    uint64_t bytes, count; /* of its allocations */
    uint32_t key;
    uint32_t
        stack; /* of its largest allocation, the first of equal ones; `site` and `of_free` are that stack's */
    uint32_t site; /* frame id; 0: no stack was recorded */
    bool of_free;  /* the stack is that of a free: the one that allocated it is unknown */
    uint8_t part;  /* enum group_part */
};

/* Sums up `allocations[n_allocations]`, ids of which each occurs once, by `key[n_allocations]`, below `n_keys`: by
 * falling bytes, then rising key. `*groups` points into `arena`. O(allocations + keys + groups log groups). False: no
 * memory. */
bool groups_sum(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
                const uint32_t *key, uint32_t n_keys, struct arena *arena, struct group **groups,
                uint32_t *n_groups);

/* The same by call site or stack. `part[n_allocations]`: a group has allocations of one part (enum group_part) alone,
 * and groups of a site follow each other by part; NULL: all are whole. */
bool groups_of(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
               const uint8_t *part, enum group_by by, struct arena *arena, struct group **groups,
               uint32_t *n_groups);

/* The same for what is alive at `moment`. */
bool groups_at(const struct timeline *timeline, uint32_t moment, enum group_by by, struct arena *arena,
               struct group **groups, uint32_t *n_groups);
