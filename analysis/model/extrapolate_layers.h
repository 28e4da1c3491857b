/* Private to analysis/model/extrapolate.h: a program with more layers than were recorded. */
#pragma once

#include "analysis/model/extrapolate.h"

/* The straight line through (x0, s0) and (x1, s1), x0 < x1, at x: at least 0, at most 2^60. */
uint64_t extrapolate_linear(uint64_t s0, uint64_t s1, uint64_t x0, uint64_t x1, uint64_t x);

/* As extrapolate(), for programs with x0 and x1 layers. */
bool extrapolate_layers(struct extrapolation *extrapolation, const struct program *a, uint64_t x0,
                        const struct program *b, uint64_t x1, uint64_t x, struct arena *arena);
