#include "analysis/loop/modules.h"

#include "base/bytes.h"
#include "base/words.h"

static uint8_t key_outside(const struct phase_runs *runs, uint32_t allocation) {
    static const uint8_t keys[] = {[SIDE_FORWARD] = MODULE_OUTSIDE,
                                   [SIDE_BACKWARD] = MODULE_BACKWARD,
                                   [SIDE_OPTIMIZER] = MODULE_OPTIMIZER};
    uint8_t letter = runs->letter[allocation];
    return letter == PHASE_UNKNOWN ? MODULE_UNKNOWN : keys[side_of_letter(letter)];
}

static uint8_t key_of_layer(uint32_t layer) {
    return layer < MODULES - MODULE_LAYERS ? (uint8_t)(MODULE_LAYERS + layer) : MODULES - 1;
}

uint8_t *modules_of(const struct blocks *blocks, const struct timeline *timeline,
                    const struct phase_runs *runs, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint8_t *module = arena_column(arena, allocations->count, 1);
    if (module == NULL)
        return NULL;
    bytes_fill(module, MODULE_OLDER, allocations->preexisting);
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        module[i] = key_outside(runs, i);
    for (uint32_t f = 0; f < blocks->n_forwards; f++)
        for (uint32_t k = 0; k < blocks->forward[f].n_blocks; k++) {
            const struct block_span *span = &blocks->span[blocks->forward[f].first_block + k];
            bytes_fill(module + span->first, key_of_layer(k), span->end - span->first);
        }
    return module;
}

uint8_t *modules_find(const struct timeline *timeline, const struct phase_runs *runs, const uint8_t *category,
                      struct arena *arena) {
    struct blocks blocks;
    struct arena own;
    arena_init(&own, arena_share(arena), SIZE_MAX);
    uint8_t *module = blocks_find(&blocks, timeline, runs, category, &own)
                          ? modules_of(&blocks, timeline, runs, arena)
                          : NULL;
    arena_release(&own);
    return module;
}

void module_say(struct words *words, uint8_t module) {
    static const char *const names[MODULE_LAYERS] = {"not known", "older than the recording",
                                                     "forward, outside of layers", "backward", "optimizer"};
    if (module < MODULE_LAYERS) {
        words_say(words, names[module]);
        return;
    }
    words_say(words, "layer ");
    words_number(words, module - (uint32_t)MODULE_LAYERS);
    words_say(words, module == MODULES - 1 ? " and further" : "");
}
