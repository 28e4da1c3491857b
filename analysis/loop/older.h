/*
 * Names memory from before the recording by its size. The allocations of one backward have the sizes of the
 * parameters, so for each copy of that multiset there are parameters, optimizer state or gradients.
 * docs/report-reference.md, "Categories", has the rules for people. Freestanding.
 */
#pragma once

#include "analysis/loop/category.h"

/* Where the sizes of the parameters come from. */
enum older_source { OLDER_NONE, OLDER_GRADIENTS, OLDER_OPTIMIZER };

struct older {
    uint64_t bytes, named_bytes; /* of all older memory; of the part with a category */
    uint32_t copies;             /* copies of the parameters that still exist at the end */
    enum older_source source;
    /* of the multiset of sizes that one backward, or else one step, makes; 0: none */
    uint64_t signature;
};

/* "gradients", for JSON. */
extern const char *const older_source_name[]; /* by enum older_source */

/* Names older memory that is CATEGORY_OTHER in `category[allocations.count]`, and copies that were read from files, and
 * sets their `reason` (NULL: not wanted). O(n log n). False: no memory. */
bool older_name(struct older *older, const struct timeline *timeline, const struct phase_runs *runs,
                uint8_t *category, uint8_t *reason, struct arena *arena);
