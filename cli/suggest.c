#include "cli/suggest.h"

#include "cli/ending.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 96, MISTAKES_MAX = 4 };

static unsigned least(unsigned a, unsigned b, unsigned c) {
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* The number of insertions, deletions, replacements and swaps of neighbours that lead from one word to the other. */
static unsigned word_distance(const char *a, size_t n, const char *b, size_t m) {
    unsigned table[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= n; i++)
        table[i][0] = (unsigned)i;
    for (size_t j = 0; j <= m; j++)
        table[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            unsigned differs = a[i - 1] != b[j - 1];
            table[i][j] = least(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + differs);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && table[i - 2][j - 2] + 1 < table[i][j])
                table[i][j] = table[i - 2][j - 2] + 1;
        }
    return table[n][m];
}

struct suggestion suggestion_start(const char *typed) {
    return (struct suggestion){.typed = typed};
}

void suggestion_offer(struct suggestion *suggestion, const char *word) {
    size_t n = strlen(suggestion->typed), m = strlen(word);
    if (n == 0 || n > WORD_MAX || m > WORD_MAX)
        return;
    unsigned distance = word_distance(suggestion->typed, n, word, m);
    if (n >= 3 && n < m && strncmp(suggestion->typed, word, n) == 0)
        distance = 1; /* a word that is the beginning of another is close to it, however long the rest */
    /* One mistake in three letters is a typing error; more make another word. */
    if (distance > (n + 2) / 3 || distance > MISTAKES_MAX ||
        (suggestion->closest != NULL && distance >= suggestion->distance))
        return;
    suggestion->closest = word;
    suggestion->distance = distance;
}

/* Takes the name if it is closer than `best`, or equally close and before it in the alphabet. */
static void name_offer(struct suggestion *suggestion, const char *name, char best[NAME_MAX + 1]) {
    struct suggestion one = suggestion_start(suggestion->typed);
    suggestion_offer(&one, name);
    if (one.closest == NULL || name[0] == '.')
        return;
    if (suggestion->closest != NULL && (one.distance > suggestion->distance ||
                                        (one.distance == suggestion->distance && strcmp(name, best) >= 0)))
        return;
    snprintf(best, NAME_MAX + 1, "%s", name);
    suggestion->closest = best;
    suggestion->distance = one.distance;
}

bool suggestion_of_file(const char *path, char found[PATH_MAX]) {
    const char *name = path_name(path);
    char folder[PATH_MAX], best[NAME_MAX + 1];
    int length = (int)(name - path);
    struct suggestion suggestion = suggestion_start(name);
    if ((size_t)length + 2 > sizeof folder || strlen(name) > NAME_MAX)
        return false;
    snprintf(folder, sizeof folder, "%.*s", length > 0 ? length : 1, length > 0 ? path : ".");
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return false;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        name_offer(&suggestion, entry->d_name, best);
    closedir(directory);
    return suggestion.closest != NULL && snprintf(found, PATH_MAX, "%.*s%s", length, path, best) < PATH_MAX;
}
