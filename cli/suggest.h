/* "Did you mean": which known word a mistyped one is closest to. */
#ifndef STRATA_CLI_SUGGEST_H
#define STRATA_CLI_SUGGEST_H

#include <stddef.h>

/* A search for the closest of several words. Starts as suggestion_start says. */
struct suggestion {
    const char *typed;
    const char *closest; /* NULL: none is close enough */
    unsigned distance;
};

struct suggestion suggestion_start(const char *typed);

/* Considers `word`, which must live as long as the suggestion. */
void suggestion_offer(struct suggestion *suggestion, const char *word);

#endif
