#include "base/suggest.h"

#include <stddef.h>

enum { WORD_MAX = 96, MISTAKES_MAX = 4 };

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* The number of insertions, deletions, replacements and swaps of neighbours that lead from one word to the other. */
static uint32_t word_distance(struct text a, struct text b) {
    uint8_t table[WORD_MAX + 1][WORD_MAX + 1];
    for (uint32_t i = 0; i <= a.nbytes; i++)
        table[i][0] = (uint8_t)i;
    for (uint32_t j = 0; j <= b.nbytes; j++)
        table[0][j] = (uint8_t)j;
    for (uint32_t i = 1; i <= a.nbytes; i++)
        for (uint32_t j = 1; j <= b.nbytes; j++) {
            uint32_t replaced = table[i - 1][j - 1] + 1U;
            replaced -= a.at[i - 1] == b.at[j - 1];
            uint32_t fewest = least(replaced, 1U + least(table[i - 1][j], table[i][j - 1]));
            if (i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1])
                fewest = least(fewest, 1U + table[i - 2][j - 2]);
            table[i][j] = (uint8_t)fewest;
        }
    return table[a.nbytes][b.nbytes];
}

static bool word_begins(const char *word, struct text begin) {
    uint32_t i = 0;
    while (i < begin.nbytes && (uint8_t)word[i] == begin.at[i])
        i++;
    return i == begin.nbytes;
}

struct suggestion suggestion_start(struct text typed) {
    return (struct suggestion){.typed = typed};
}

void suggestion_offer(struct suggestion *suggestion, const char *word) {
    struct text typed = suggestion->typed, offered = word_text(word);
    uint32_t n = typed.nbytes, m = offered.nbytes;
    if (n == 0 || n > WORD_MAX || m > WORD_MAX)
        return;
    /* A word that is the beginning of another is close to it, however long the rest. */
    bool begins = n >= 3 && n < m && word_begins(word, typed);
    uint32_t distance = begins ? 1 : word_distance(typed, offered);
    /* One mistake in three letters is a typing error; more make another word. */
    if (distance > (n + 2) / 3 || distance > MISTAKES_MAX ||
        (suggestion->closest != NULL && distance >= suggestion->distance))
        return;
    suggestion->closest = word;
    suggestion->distance = distance;
}
