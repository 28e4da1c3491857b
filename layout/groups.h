/* Allocations alive at a moment, summed by call site or by identical stack. Freestanding. */
#pragma once

#include "layout/timeline.h"

enum group_by { GROUP_BY_SITE, GROUP_BY_STACK };

/* Parts that a call site's allocations can be split into (analysis/compare/site_parts.h). */
enum group_part { GROUP_WHOLE, GROUP_OPTIMIZER_STATE, GROUP_OPTIMIZER_TEMPORARY, GROUP_OF_FREE, GROUP_PARTS };

struct group {
    uint64_t bytes;
    uint32_t count; /* allocations */
    uint32_t site;  /* frame id; 0: no stack was recorded */
    uint32_t stack; /* the stack; for GROUP_BY_SITE, the site's stack with the most bytes */
    bool of_free;   /* the stack is that of a free: the one that allocated it is unknown */
    uint8_t part;   /* enum group_part */
    uint32_t key;   /* for the caller */
};

/* Groups what is alive at `moment`, by falling bytes (then by rising site and stack). `*groups` points into
 * `arena`. O(alive + groups log groups). False: no memory. */
bool groups_at(const struct timeline *timeline, uint32_t moment, enum group_by by, struct arena *arena,
               struct group **groups, uint32_t *n_groups);

/* The same for any allocations: `allocations[n_allocations]` are ids, each once. `part[n_allocations]`: a group has
 * allocations of one part (enum group_part) alone, and groups of a site follow each other by part; NULL: all are whole. */
bool groups_of(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
               const uint8_t *part, enum group_by by, struct arena *arena, struct group **groups,
               uint32_t *n_groups);
