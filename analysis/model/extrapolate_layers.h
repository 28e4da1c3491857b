/* Inside of analysis/model/extrapolate.h: a program with more layers than were recorded. */
#pragma once

#include "analysis/model/extrapolate.h"

/* What is s0 at x0 and s1 at x1 (x0 < x1), at x; 0 where that is below, and no more than 2^60 above. */
uint64_t extrapolate_linear(uint64_t s0, uint64_t s1, uint64_t x0, uint64_t x1, uint64_t x);

/* As extrapolate(), of programs with x0 and x1 layers. */
bool extrapolate_layers(struct extrapolation *extrapolation, const struct program *a, uint64_t x0,
                        const struct program *b, uint64_t x1, uint64_t x, struct arena *arena);
