/*
 * Finds what repeats inside a forward: the blocks that people call layers, by the stacks of its allocations.
 *
 *     forward   emb | a b c d | a b c d | a b c d | norm head
 *     blocks        |----0----|----1----|----2----|
 *
 * Freestanding. Allocations are numbered as the device has them.
 */
#pragma once

#include "analysis/loop/phase_runs.h"

struct block_span {
    uint32_t first, end; /* allocations [first, end) */
};

/* A run of the forward side with a forward in it. */
struct forward {
    uint32_t first, end;  /* allocations, beginning with the first in forward() */
    uint32_t run;         /* index of the phase run */
    bool has_backward;    /* the next run is a backward */
    uint32_t n_blocks;    /* 0 (none found) or at least 2 */
    uint32_t first_block; /* into `span` */
    uint32_t period;      /* allocations per block */
    uint32_t site;        /* frame common to the whole first block; 0: none */
    /* Is the first block inside of one call of a module? Else it may be a turn of a loop around the model. */
    bool in_module;
    uint64_t bytes, bytes_in_blocks; /* of its activations */
};

struct blocks {
    uint32_t n_forwards, n_spans, forward_capacity, span_capacity;
    struct forward *forward;
    struct block_span *span;
};

/* Finds forwards and their blocks; memory from `arena`. O(allocations) for each of twelve periods. False: no
 * memory. */
bool blocks_find(struct blocks *blocks, const struct timeline *timeline, const struct phase_runs *runs,
                 const uint8_t *category, struct arena *arena);
