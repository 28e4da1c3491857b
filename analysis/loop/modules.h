/*
 * The part of the model that made each allocation, as a key of one byte: the blocks of a forward are its layers;
 * allocations outside of them have the key of their side of the step.
 *
 *     forward   emb | a b c d | a b c d | norm head     backward    optimizer
 *     keys      out | layer 0 | layer 1 | out           backward    optimizer
 *
 * Freestanding.
 */
#pragma once

#include "analysis/loop/blocks.h"

/* Layer k has MODULE_LAYERS + k; the last key is for all further layers. */
enum module {
    MODULE_UNKNOWN,
    MODULE_OLDER,
    MODULE_OUTSIDE,
    MODULE_BACKWARD,
    MODULE_OPTIMIZER,
    MODULE_LAYERS
};
enum { MODULES = 256 };

/* Keys of all allocations, in the arena. `category` is [allocations.count]. O(allocations). NULL: no memory. */
uint8_t *modules_find(const struct timeline *timeline, const struct phase_runs *runs, const uint8_t *category,
                      struct arena *arena);

/* How alike the layers of one forward are: the forward at the peak, or else the last one with layers. */
struct layer_summary {
    uint32_t n_layers;  /* 0: none found */
    uint32_t site;      /* frame common to the whole first layer; 0: none */
    uint64_t bytes;     /* activations of the median layer */
    uint32_t alike;     /* percent: how near all layers are to the median one; 100: all are equal */
    uint32_t odd_layer; /* the layer that differs most, if by at least 1 % of the median and 1 MiB */
    int64_t odd_bytes;  /* its difference; 0: there is none */
    uint32_t odd_site;  /* frame of the call site that differs most in it; 0: not searched for */
};

/* O(allocations), and the square of a layer's. False: no memory. */
bool layers_summarize(struct layer_summary *summary, const struct timeline *timeline,
                      const struct phase_runs *runs, const uint8_t *category, struct arena *arena);

/* When each layer ran. In forward: while its block was made. In backward: from the first of its activations that is
 * freed until that of the next layer. Forwards without a backward have only the former; there are no layers if
 * stacks do not repeat. */
struct layer_span {
    uint32_t from_moment, to_moment;
    uint32_t layer;
    bool backward;
};

/* `blocks`: of blocks_find. `*spans` is in the arena: for each forward its layers, then those of its backward from the
 * last one on. O(allocations). False: no memory. */
bool layer_spans_find(struct layer_span **spans, uint32_t *n_spans, const struct blocks *blocks,
                      const struct timeline *timeline, const struct phase_runs *runs, const uint8_t *category,
                      struct arena *arena);

/* Appends "layer 12" or "backward". */
struct words;
void module_say(struct words *words, uint8_t module);
