/* The allocator's segments over the whole run: their number at each moment, and each of them as a band from the
 * event that requested it to the one that gave it back. Freestanding. */
#pragma once

#include "layout/segments.h"

/* `n_segments[i]` holds from moment `moment[i]` on; [0] is at moment 0. Adjacent pages count as one segment. */
struct segment_counts {
    uint32_t count;
    uint32_t *moment, *n_segments; /* columns of the arena */
};

/* O(pieces log pieces). False: no memory. */
bool segment_counts_find(struct segment_counts *counts, const struct segments *segments, struct arena *arena);

/* O(log changes). */
uint32_t segment_counts_at(const struct segment_counts *counts, uint32_t moment);

/*
 * Makes a device whose allocations are the pieces of `segments`, with the stacks that requested them. It shares
 * events, times and reserved bytes with the segments' device. `piece[allocation]` is the piece of an allocation.
 * O(pieces log pieces). False: no memory.
 */
bool segments_as_allocations(struct device_trace *device, uint32_t **piece, const struct segments *segments,
                             struct arena *arena);
