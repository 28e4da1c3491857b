#include "cli/suggest.h"

#include "cli/ending.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

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
    struct suggestion suggestion = suggestion_start(word_text(name));
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
