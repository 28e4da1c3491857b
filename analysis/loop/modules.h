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

/* Keys of all allocations, in the arena. O(allocations). NULL: no memory. */
uint8_t *modules_of(const struct blocks *blocks, const struct timeline *timeline,
                    const struct phase_runs *runs, struct arena *arena);

/* The same with blocks that are looked for and let go of. `category` is [allocations.count]. NULL: no memory. */
uint8_t *modules_find(const struct timeline *timeline, const struct phase_runs *runs, const uint8_t *category,
                      struct arena *arena);

/* "layer 12", "backward": appends it. */
struct words;
void module_say(struct words *words, uint8_t module);
