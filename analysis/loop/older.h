/*
 * What is older than the recording, by its size: the allocations of one backward have the sizes of the parameters, so as many of
 * them as there are copies of that multiset are parameters, optimizer state and gradients. docs/report-reference.md, "Categories",
 * states the rules for people. Freestanding.
 */
#pragma once

#include "analysis/loop/category.h"

/* Where the sizes of the parameters come from. */
enum older_source { OLDER_NONE, OLDER_GRADIENTS, OLDER_OPTIMIZER };

struct older {
    uint64_t bytes, named_bytes; /* of all that is older; of what has a category */
    uint32_t copies;             /* of the parameters among what is still there at the end */
    bool exits; /* nearly nothing is held: what is freed after the last allocation went with the process */
    enum older_source source;
    /* of the multiset of sizes that one backward, else one step, makes; 0: there is none */
    uint64_t signature;
};

/* "gradients": for JSON. */
const char *older_source_name(enum older_source source);

/* Names what is CATEGORY_OTHER and older in `category[allocations.count]` and clears its `reason` (NULL: not wanted). O(n log n) in
 * what is older, O(n log sizes) in the rest. False: no memory. */
bool older_name(struct older *older, const struct timeline *timeline, const struct phase_runs *runs,
                const struct turns *turns, uint8_t *category, uint8_t *reason, struct arena *arena);
