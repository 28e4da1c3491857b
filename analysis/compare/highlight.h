/* Finds the allocations to highlight: those of a call site, a stack, a file, a category, a stream, a pool, a layer
 * or a frame. One answer for the page and for pictures of its addresses. Freestanding. */
#pragma once

#include "analysis/compare/compare.h"

/* One more kind beside enum compare_by: everything whose stack contains a frame. */
enum { HIGHLIGHT_BY_FRAME = COMPARE_KINDS };

struct highlight {
    uint32_t by, key; /* enum compare_by or HIGHLIGHT_BY_FRAME; for site, file and frame the key is a frame */
};

/* Do this kind and, if it needs one, this frame exist? */
bool highlight_is_valid(const struct trace *trace, struct highlight highlight);

/* Sets in `bits` (a zeroed bitmap [allocations.count / 64 + 1]) the allocations of a valid highlight. `category` is
 * [allocations.count], read for COMPARE_BY_CATEGORY, and as modules for COMPARE_BY_MODULE. O(allocations + frames +
 * stacks). False: no memory in `scratch`. */
bool highlight_bits(const struct timeline *timeline, struct highlight highlight, const uint8_t *category,
                    uint64_t *bits, struct arena *scratch);
