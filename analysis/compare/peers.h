/*
 * Finds with which others a rank is compared. Ranks of one dump of a run and of one role form a crew. Some of a crew may
 * have more to do than the others, all alike: an expert, a pipeline stage. So a crew is parted by a key if every rank
 * has it and no value of it has a single rank; the ranks that no key parts are peers. Freestanding.
 */
#pragma once

#include "base/arena.h"

enum peer_key {
    PEER_DUMP,  /* of a run; rows of different dumps are never compared */
    PEER_GROUP, /* the role or pipeline stage that file names tell */
    PEER_EP,    /* place in expert, context or tensor parallelism */
    PEER_CP,
    PEER_TP,
    PEER_MODEL, /* the sizes of its gradients */
    PEER_KEYS
};

/* Hashes or numbers; 0: unknown. */
struct peer_row {
    uint64_t key[PEER_KEYS];
};

/* Fills peers[n_rows] and crew[n_rows] with numbers from 0: rows of one number belong together, and those of one crew
 * have numbers of peers in a row. O(n log n). False: no memory. */
bool peers_find(const struct peer_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *peers,
                uint32_t *crew);
