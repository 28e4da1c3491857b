/*
 * Finds pipeline stages: ranks in their order are cut where the sizes of the gradients, and so the model, change.
 * The parts are stages if all have blocks of one size and no model has two parts; a single odd rank is no stage.
 * Freestanding.
 */
#pragma once

#include "base/arena.h"

struct stage_row {
    int64_t step;       /* ranks of one dump are examined together */
    int64_t rank;       /* < 0: unknown, and then its dump has no stages */
    uint64_t signature; /* of its model */
};

/* Fills stage[n_rows] with numbers from 0 within each step; 0 without stages. O(n log n). False: no memory. */
bool stages_find(const struct stage_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *stage);
