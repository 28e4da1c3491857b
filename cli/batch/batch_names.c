#include "cli/batch/batch_names.h"

#include "base/search.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHORT_NAME = 120 };

static const char *const endings[] = {".gz", ".zst",  ".xz",   ".zip",   ".pickle", ".pkl",
                                      ".pt", ".json", ".html", ".trace", ".pt",     ".snapshot"};

void name_list_add(struct name_list *list, struct batch *batch, const char *name) {
    BATCH_GROW(batch, list->name, list->capacity, list->count);
    list->name[list->count++] = name;
}

static int text_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void name_list_sort(struct name_list *list) {
    if (list->count != 0)
        qsort(list->name, list->count, sizeof *list->name, text_compare);
}

bool name_list_has(const struct name_list *list, const char *name) {
    uint32_t at = SEARCH(0, list->count, i, strcmp(list->name[i], name) < 0);
    return at < list->count && strcmp(list->name[at], name) == 0;
}

size_t names_stem_length(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && strncasecmp(name + length - n, endings[i], n) == 0)
            length -= n;
    }
    return length;
}

/* Turns the path into one word that every file system accepts. */
static const char *path_word(struct batch *batch, const char *input) {
    size_t length = names_stem_length(input);
    char *word = batch_text(batch, "%.*s", (int)length, input);
    for (char *at = word; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("._-", *at) == NULL)
            *at = '_';
    if (word[0] == '.' || word[0] == '-')
        word[0] = '_';
    return length <= SHORT_NAME
               ? word
               : batch_text(batch, "%.*s-%08" PRIx32, SHORT_NAME, word, (uint32_t)batch_hash(input));
}

static const char *name_short(struct batch *batch, const struct batch_file *file) {
    if (file->rank == BATCH_UNKNOWN)
        return path_word(batch, file->input);
    if (file->step == BATCH_UNKNOWN)
        return batch_text(batch, "rank%" PRId64, file->rank);
    return batch_text(batch, "rank%" PRId64 "-step%" PRId64, file->rank, file->step);
}

static const char *name_long(struct batch *batch, const struct batch_file *file) {
    const char *word = path_word(batch, file->input);
    return file->rank == BATCH_UNKNOWN ? word : batch_text(batch, "%s-%s", file->name, word);
}

/* Adds a hash of the path to the name. No two files have one path, and a number would depend on the other files. */
static const char *name_unique(struct batch *batch, const struct batch_file *file) {
    return batch_text(batch, "%s-%016" PRIx64, file->name, batch_hash(file->input));
}

static int name_compare(const void *a, const void *b) {
    const struct batch_file *const *x = a, *const *y = b;
    return strcasecmp((*x)->name, (*y)->name);
}

/* Does the page of the whole batch use this name? */
static bool name_reserved(const char *name) {
    return strcasecmp(name, "index") == 0 || strcasecmp(name, "summary") == 0;
}

/* Renames the files that share a name (some file systems ignore case). */
static void names_part(struct batch *batch, struct batch_file **order, uint32_t count,
                       const char *(*rename)(struct batch *, const struct batch_file *)) {
    if (count != 0)
        qsort(order, count, sizeof *order, name_compare);
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && strcasecmp(order[from]->name, order[to]->name) == 0;)
            to++;
        bool shared = to - from > 1 || name_reserved(order[from]->name);
        for (uint32_t i = from; shared && i < to; i++)
            order[i]->name = rename(batch, order[i]);
    }
}

bool names_end_like(const char *name, const char *const *words, size_t n_words) {
    size_t length = strlen(name);
    for (size_t i = 0; i < n_words; i++) {
        size_t n = strlen(words[i]);
        if (length > n && strcasecmp(name + length - n, words[i]) == 0)
            return true;
    }
    return false;
}

bool names_is_log(const char *input) {
    static const char *const logs[] = {".log", ".out", ".err", ".csv"};
    return names_end_like(input, logs, sizeof logs / sizeof logs[0]);
}

/* Is this a log or a note beside the snapshots? Such a file must not take a name away from a snapshot. The name alone
 * decides, so that a worker that has not looked into another shard's file decides as all others do. */
static bool name_is_prose(const char *input) {
    static const char *const prose[] = {".txt", ".md", ".yml", ".yaml", ".py", ".sh"};
    return names_is_log(input) || names_end_like(input, prose, sizeof prose / sizeof prose[0]);
}

/* Gives all files of a kind their short names and adds the files to `order`, from `order[*count]` on. */
static void names_begin(struct batch *batch, bool prose, struct batch_file **order, uint32_t *count) {
    for (uint32_t i = 0; i < batch->count; i++) {
        struct batch_file *file = &batch->files[i];
        if (name_is_prose(file->input) != prose)
            continue;
        file->name = name_short(batch, file);
        if (prose)
            file->name = name_long(batch, file);
        order[(*count)++] = file;
    }
}

bool names_is_plain(const char *name) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return name[0] != '\0' && name[0] != '.' && name[strspn(name, plain)] == '\0';
}

void names_assign(struct batch *batch) {
    struct batch_file **order = batch_alloc(batch, batch->count, sizeof *order);
    uint32_t count = 0;
    names_begin(batch, false, order, &count);
    names_part(batch, order, count, name_long);
    names_begin(batch, true, order, &count);
    names_part(batch, order, count, name_unique);
}
