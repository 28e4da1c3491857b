/*
 * The part of the model that made each allocation, as a key of one byte: a module that an annotation names, or a block of
 * a forward, which is a layer, or the module whose forward() made it; other allocations have the key of their side of
 * the step.
 *
 *     forward   emb | a b c d | a b c d | norm head     backward    optimizer
 *     keys      GPT | layer 0 | layer 1 | GPT           backward    optimizer
 *
 * Freestanding.
 */
#pragma once

#include "analysis/loop/blocks.h"

enum module {
    MODULE_UNKNOWN,
    MODULE_OLDER,
    MODULE_OUTSIDE,
    MODULE_BACKWARD,
    MODULE_OPTIMIZER,
    MODULE_NAMED,        /* this key and those above it have names */
    MODULE_FURTHER = 255 /* all that is found when no key is left */
};
enum { MODULES = 256, MODULE_NO_LAYER = UINT32_MAX };

struct modules {
    uint8_t *key;   /* [allocations.count] */
    uint32_t count; /* keys in use */
    struct module_name {
        uint32_t text;  /* string of an annotation, "blocks.3.mlp"; 0: none */
        uint32_t frame; /* of a forward(): the layer's caller, or the module's own; 0: none */
        uint32_t layer; /* MODULE_NO_LAYER: none */
    } name[MODULES];
};

/* The modules of all allocations, in the arena. `category` is [allocations.count]. O(allocations + stacks +
 * annotations). NULL: no memory. */
struct modules *modules_find(const struct timeline *timeline, const struct phase_runs *runs,
                             const uint8_t *category, struct arena *arena);

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

/* Appends "blocks.3.mlp", "layer 12 of model.py" (lines change from recording to recording, and layers keep their
 * numbers), "model.py:61 forward" or "backward". */
struct words;
void module_say(struct words *words, const struct trace *trace, const struct modules *modules,
                uint8_t module);
