/* "Did you mean": finds the known word that a mistyped one is closest to. Freestanding. */
#pragma once

#include "base/text.h"

/* A search for the closest of several words. suggestion_start begins it; `typed` must live as long. */
struct suggestion {
    struct text typed;
    const char *closest; /* NULL: none is close enough */
    uint32_t distance;
};

struct suggestion suggestion_start(struct text typed);

/* Considers `word`, which must live as long as the suggestion. O(typed * word). */
void suggestion_offer(struct suggestion *suggestion, const char *word);
