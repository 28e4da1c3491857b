/*
 * Pipeline stages: ranks in their order are cut where the sizes of the gradients, and so the model, change. They are stages where
 * all come in blocks of one size, and one model in one part only; one rank that is odd is none. Freestanding.
 */
#pragma once

#include "base/arena.h"

struct stage_row {
    int64_t step;       /* ranks of one dump are looked at together */
    int64_t rank;       /* < 0: not known, and then there are no stages in its dump */
    uint64_t signature; /* of its model */
};

/* Fills stage[n_rows] with numbers from 0 within each step; 0 where there are no stages. O(n log n). False: no memory. */
bool stages_find(const struct stage_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *stage);
