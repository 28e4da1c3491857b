/*
 * Which part of the model made each allocation, as a key of one byte: the blocks of a forward are its layers; what lies
 * outside of them is told by its side of the step alone.
 *
 *     forward   emb | a b c d | a b c d | norm head     backward    optimizer
 *     keys      out | layer 0 | layer 1 | out           backward    optimizer
 *
 * Freestanding.
 */
#pragma once

#include "analysis/loop/blocks.h"

/* Layer k has MODULE_LAYERS + k; the last key is of all further ones. */
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

/* How alike the layers of one forward are: of the one that is under way at the peak, else of the last that has any. */
struct layer_summary {
    uint32_t n_layers;  /* 0: none were found */
    uint32_t site;      /* frame that all of the first share; 0: none */
    uint64_t bytes;     /* activations of the median layer */
    uint32_t alike;     /* percent: what all have in common, of what would be the most of each */
    uint32_t odd_layer; /* the one that differs most, where that is 1 % of the median and 1 MiB at least */
    int64_t odd_bytes;  /* by so much; 0: there is none */
    uint32_t odd_site;  /* frame of the call site that differs most in it; 0: not looked for */
};

/* O(allocations), and the square of a layer's. False: no memory. */
bool layers_summarize(struct layer_summary *summary, const struct timeline *timeline,
                      const struct phase_runs *runs, const uint8_t *category, struct arena *arena);

/* When each layer ran: in forward while its block was made; in backward from the first of its activations that goes until
 * the next layer's begins. Forwards without a backward have the first only, and no layer is told where its stacks do not repeat. */
struct layer_span {
    uint32_t from_moment, to_moment;
    uint32_t layer;
    bool backward;
};

/* `*spans` is in the arena: of each forward its layers, then its backward's from the last one on. O(allocations). False: no
 * memory. */
bool layer_spans_find(struct layer_span **spans, uint32_t *n_spans, const struct timeline *timeline,
                      const struct phase_runs *runs, const uint8_t *category, struct arena *arena);

/* "layer 12", "backward": appends it. */
struct words;
void module_say(struct words *words, uint8_t module);
