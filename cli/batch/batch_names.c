#include "cli/batch/batch_names.h"

#include "cli/terminal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATTERN_CAPACITY = 1024, GROUPS = 10, NUMBER_DIGITS = 18, SHORT_NAME = 120 };

/* ---- --rank-regex ---- */

/* The name of a group at "(?P<name>" or "(?<name>"; 0: there is none. `*length` covers all after the '('. */
static size_t group_name(const char *at, const char **name, size_t *length) {
    size_t skip = strncmp(at, "?P<", 3) == 0 ? 3 : strncmp(at, "?<", 2) == 0 ? 2 : 0;
    size_t n = skip != 0 ? strcspn(at + skip, ">") : 0;
    if (n == 0 || at[skip + n] != '>')
        return 0;
    *name = at + skip;
    *length = skip + n + 1;
    return n;
}

static void group_note(struct rank_pattern *pattern, size_t group, const char *name, size_t length) {
    if (length == 4 && strncmp(name, "rank", 4) == 0)
        pattern->rank_group = group;
    if (length == 4 && strncmp(name, "step", 4) == 0)
        pattern->step_group = group;
}

/* Rewrites what POSIX has not. False: too long. */
static bool pattern_translate(struct rank_pattern *pattern, const char *from, char *to, size_t capacity) {
    size_t used = 0, n_groups = 0;
    for (bool in_class = false; *from != '\0' && used + 8 < capacity; from++) {
        const char *name;
        size_t length, n;
        if (from[0] == '\\' && from[1] == 'd') {
            used += (size_t)snprintf(to + used, capacity - used, in_class ? "0-9" : "[0-9]");
            from++;
        } else if (from[0] == '\\' && from[1] != '\0') {
            to[used++] = *from++;
            to[used++] = *from;
        } else {
            in_class = *from == '[' || (in_class && *from != ']');
            to[used++] = *from;
            if (in_class || *from != '(')
                continue;
            n_groups++;
            if ((n = group_name(from + 1, &name, &length)) != 0) {
                group_note(pattern, n_groups, name, n);
                from += length;
            }
        }
    }
    to[used] = '\0';
    return *from == '\0';
}

bool rank_pattern_init(struct rank_pattern *pattern, const char *regex) {
    char posix[PATTERN_CAPACITY], reason[200];
    *pattern = (struct rank_pattern){.given = regex != NULL};
    if (regex == NULL)
        return true;
    if (!pattern_translate(pattern, regex, posix, sizeof posix)) {
        terminal_error(NULL, "--rank-regex: \"%s\" is too long", regex);
        return false;
    }
    int error = regcomp(&pattern->regex, posix, REG_EXTENDED);
    if (error != 0) {
        regerror(error, &pattern->regex, reason, sizeof reason);
        terminal_error(NULL, "--rank-regex: \"%s\": %s", regex, reason);
        return false;
    }
    size_t n_groups = pattern->regex.re_nsub;
    if (pattern->rank_group == 0 && n_groups != 0)
        pattern->rank_group = pattern->step_group == 1 ? 2 : 1;
    if (pattern->step_group == 0 && n_groups >= 2)
        pattern->step_group = pattern->rank_group == 1 ? 2 : 1;
    if (pattern->rank_group != 0 && pattern->rank_group <= n_groups && pattern->rank_group < GROUPS)
        return true;
    terminal_error(NULL, "--rank-regex: \"%s\" has no group for the rank, such as rank([0-9]+)", regex);
    regfree(&pattern->regex);
    return false;
}

void rank_pattern_release(struct rank_pattern *pattern) {
    if (pattern->given)
        regfree(&pattern->regex);
}

/* ---- numbers in names ---- */

/* Digits at `text` as a number; BATCH_UNKNOWN: none, or too many for one. */
static int64_t number_at(const char *text, size_t *length) {
    size_t n = strspn(text, "0123456789");
    *length = n;
    return n != 0 && n <= NUMBER_DIGITS ? strtoll(text, NULL, 10) : BATCH_UNKNOWN;
}

static int64_t group_number(const char *text, const regmatch_t *match) {
    size_t length;
    if (match->rm_so < 0)
        return BATCH_UNKNOWN;
    int64_t number = number_at(text + match->rm_so, &length);
    return (regoff_t)length == match->rm_eo - match->rm_so ? number : BATCH_UNKNOWN;
}

static void pattern_read(const struct rank_pattern *pattern, const char *input, int64_t *rank,
                         int64_t *step) {
    regmatch_t matches[GROUPS];
    if (regexec(&pattern->regex, input, GROUPS, matches, 0) != 0)
        return;
    *rank = group_number(input, &matches[pattern->rank_group]);
    if (pattern->step_group != 0 && pattern->step_group < GROUPS)
        *step = group_number(input, &matches[pattern->step_group]);
}

/*
 * The number after a word of `part`, such as 3 in "oom_rank-3": the word begins where no letter stands before it, and
 * at most one of "-_.=" stands between. A word of one letter ("r0") also wants no digit before it and nothing but a
 * separator behind its number.
 */
static int64_t word_number(const char *part, size_t nbytes, const char *word) {
    size_t length = strlen(word), digits;
    for (size_t i = 0; i + length < nbytes; i++) {
        bool begins = i == 0 || (length == 1 ? !isalnum((unsigned char)part[i - 1])
                                             : !isalpha((unsigned char)part[i - 1]));
        if (!begins || strncasecmp(part + i, word, length) != 0)
            continue;
        size_t at = i + length;
        if (length > 1 && strchr("-_.=", part[at]) != NULL)
            at++;
        int64_t number = number_at(part + at, &digits);
        if (number != BATCH_UNKNOWN && (length > 1 || !isalnum((unsigned char)part[at + digits])))
            return number;
    }
    return BATCH_UNKNOWN;
}

static int64_t words_number(const char *part, size_t nbytes, const char *const *words) {
    int64_t number = BATCH_UNKNOWN;
    for (; *words != NULL && number == BATCH_UNKNOWN; words++)
        number = word_number(part, nbytes, *words);
    return number;
}

/* The same over the parts of a path, from the file's name outwards. */
static int64_t path_number(const char *path, const char *const *words) {
    size_t end = strlen(path);
    for (;;) {
        size_t begin = end;
        while (begin > 0 && path[begin - 1] != '/')
            begin--;
        int64_t number = words_number(path + begin, end - begin, words);
        if (number != BATCH_UNKNOWN || begin == 0)
            return number;
        end = begin - 1;
    }
}

static const char *const rank_words[] = {"rank", "r", NULL};
static const char *const step_words[] = {"step", "steps", "iteration", "iter", "itrn", "itr", NULL};
/* Words that name a rank only where nothing else does. */
static const char *const weak_words[] = {"snapshot", "memsnap", "worker", "process",
                                         "proc",     "gpu",     "cuda",   NULL};

/* "3.pickle": a name that is a number. */
static int64_t bare_number(const char *base) {
    size_t length;
    int64_t number = number_at(base, &length);
    return base[length] == '\0' || base[length] == '.' ? number : BATCH_UNKNOWN;
}

void names_read(const char *input, const struct rank_pattern *pattern, int64_t *rank, int64_t *step) {
    const char *slash = strrchr(input, '/'), *base = slash != NULL ? slash + 1 : input;
    *rank = *step = BATCH_UNKNOWN;
    if (pattern->given)
        pattern_read(pattern, input, rank, step);
    else
        *rank = path_number(input, rank_words);
    if (*step == BATCH_UNKNOWN && pattern->step_group == 0)
        *step = path_number(input, step_words);
    /* rank0/snapshot_200.pickle: where the rank is known, the snapshot's number is another one. */
    if (*rank != BATCH_UNKNOWN && *step == BATCH_UNKNOWN && !pattern->given)
        *step = word_number(base, strlen(base), "snapshot");
    if (*rank != BATCH_UNKNOWN || pattern->given)
        return;
    *rank = words_number(base, strlen(base), weak_words);
    if (*rank == BATCH_UNKNOWN)
        *rank = bare_number(base);
}

/* ---- names of outputs ---- */

static const char *const endings[] = {".gz",   ".zip",  ".pickle", ".pkl", ".pt",
                                      ".json", ".html", ".trace",  ".pt",  ".snapshot"};

static size_t stem_length(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && strncasecmp(name + length - n, endings[i], n) == 0)
            length -= n;
    }
    return length;
}

/* The path in one word that every file system takes. NULL: no memory. */
static const char *path_word(struct batch *batch, const char *input) {
    size_t length = stem_length(input);
    char *word = batch_text(batch, "%.*s", (int)length, input);
    for (char *at = word; at != NULL && *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("._-", *at) == NULL)
            *at = '_';
    if (word != NULL && (word[0] == '.' || word[0] == '-'))
        word[0] = '_';
    if (word == NULL || length <= SHORT_NAME)
        return word;
    return batch_text(batch, "%.*s-%08" PRIx32, SHORT_NAME, word, (uint32_t)batch_hash(input));
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
    if (word == NULL || file->rank == BATCH_UNKNOWN)
        return word;
    return batch_text(batch, "%s-%s", file->name, word);
}

/* Two files of one path cannot be, so the hash decides; a number would depend on the other files. */
static const char *name_unique(struct batch *batch, const struct batch_file *file) {
    return batch_text(batch, "%s-%016" PRIx64, file->name, batch_hash(file->input));
}

static int name_compare(const void *a, const void *b) {
    const struct batch_file *const *x = a, *const *y = b;
    return strcasecmp((*x)->name, (*y)->name);
}

/* The page of the whole batch has these names. */
static bool name_reserved(const char *name) {
    return strcasecmp(name, "index") == 0 || strcasecmp(name, "summary") == 0;
}

/* Gives other names to the files whose name is not theirs alone (some file systems know no case). */
static bool names_part(struct batch *batch, struct batch_file **order, uint32_t count,
                       const char *(*rename)(struct batch *, const struct batch_file *)) {
    if (count != 0)
        qsort(order, count, sizeof *order, name_compare);
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && strcasecmp(order[from]->name, order[to]->name) == 0;)
            to++;
        bool shared = to - from > 1 || name_reserved(order[from]->name);
        for (uint32_t i = from; shared && i < to; i++)
            if ((order[i]->name = rename(batch, order[i])) == NULL)
                return false;
    }
    return true;
}

bool names_assign(struct batch *batch) {
    struct batch_file **order = malloc(((size_t)batch->count + 1) * sizeof *order);
    uint32_t count = 0;
    bool done = order != NULL;
    for (uint32_t i = 0; done && i < batch->count; i++) {
        struct batch_file *file = &batch->files[i];
        if (file->state == BATCH_SKIPPED)
            continue;
        file->name = name_short(batch, file);
        order[count++] = file;
        done = file->name != NULL;
    }
    done = done && names_part(batch, order, count, name_long) && names_part(batch, order, count, name_unique);
    free(order);
    return done;
}
