#include "base/numbers.h"
#include "cli/batch/batch_names.h"

#include "cli/ending.h"
#include "cli/regex.h"
#include "cli/terminal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    PATTERN_CAPACITY = 1024,
    NUMBER_DIGITS = 18,
    TIME_DIGITS = 8,
    PADDED_DIGITS = 6,
    GROUP_CAPACITY = 200
};

/* ---- --rank-regex ---- */

static void group_note(void *context, size_t group, const char *name, size_t length) {
    struct rank_pattern *pattern = context;
    if (pattern->n_first < 2)
        pattern->first[pattern->n_first++] = group;
    if (length == 4 && strncmp(name, "rank", 4) == 0)
        pattern->rank_group = group;
    if (length == 4 && strncmp(name, "step", 4) == 0)
        pattern->step_group = group;
    if (group < RANK_PATTERN_GROUPS)
        snprintf(pattern->names[group], sizeof pattern->names[group], "%.*s", (int)length, name);
}

bool rank_pattern_init(struct rank_pattern *pattern, const char *regex) {
    char reason[REGEX_REASON_CAPACITY];
    *pattern = (struct rank_pattern){.given = regex != NULL};
    if (regex == NULL)
        return true;
    if (strlen(regex) >= PATTERN_CAPACITY) {
        terminal_error(NULL, "--rank-regex: \"%s\" is too long", regex);
        return false;
    }
    char *posix = regex_translate(regex, group_note, pattern);
    bool compiled = regex_compile(&pattern->regex, posix, 0, reason);
    free(posix);
    if (!compiled) {
        terminal_error(NULL, "--rank-regex: \"%s\": %s", regex, reason);
        return false;
    }
    const size_t *first = pattern->first;
    if (pattern->rank_group == 0)
        pattern->rank_group = pattern->step_group == first[0] ? first[1] : first[0];
    if (pattern->step_group == 0)
        pattern->step_group = pattern->rank_group == first[0] ? first[1] : first[0];
    if (pattern->rank_group != 0 && pattern->rank_group < RANK_PATTERN_GROUPS)
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

/* Reads the digits at `text` as a number. BATCH_UNKNOWN: there are none, or too many for a number. */
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

/* "tp=1 pp=2": what the groups with other names matched. Replicas of data parallelism do the same work, so dp is left
 * out. */
static const char *pattern_group(struct batch *batch, const struct rank_pattern *pattern, const char *input,
                                 const regmatch_t *matches) {
    char text[GROUP_CAPACITY] = "";
    size_t used = 0;
    for (size_t i = 1; i < RANK_PATTERN_GROUPS; i++) {
        const char *name = pattern->names[i];
        const regmatch_t *match = &matches[i];
        if (name[0] == '\0' || match->rm_so < 0 || i == pattern->rank_group || i == pattern->step_group ||
            strcmp(name, "dp") == 0)
            continue;
        int n = snprintf(text + used, sizeof text - used, "%s%s=%.*s", used != 0 ? " " : "", name,
                         (int)(match->rm_eo - match->rm_so), input + match->rm_so);
        used += n > 0 && used + (size_t)n < sizeof text ? (size_t)n : 0;
    }
    return used != 0 ? batch_text(batch, "%s", text) : NULL;
}

static void pattern_read(struct batch *batch, const struct rank_pattern *pattern, struct batch_file *file) {
    regmatch_t matches[RANK_PATTERN_GROUPS];
    if (!regex_meets(&pattern->regex, file->input, RANK_PATTERN_GROUPS, matches))
        return;
    file->rank = group_number(file->input, &matches[pattern->rank_group]);
    if (pattern->step_group != 0 && pattern->step_group < RANK_PATTERN_GROUPS)
        file->step = group_number(file->input, &matches[pattern->step_group]);
    file->group = pattern_group(batch, pattern, file->input, matches);
}

/* ---- a word with its number ---- */

struct part {
    const char *at;
    size_t nbytes;
};

static bool is_separator(char c) {
    return c != '\0' && strchr("-_.= ", c) != NULL;
}

/* A word of `part` and the number after it, such as 3 in "oom_rank-3". */
struct numbered {
    size_t begin, end; /* of word and number */
    int64_t number;
};

/*
 * Finds a word and its number. The word must not follow a letter, and at most one separator may stand before its
 * number. A word of one letter ("r0") must not follow a digit either, and only a separator may follow its number.
 * False: not found.
 */
static bool part_find(struct part part, const char *word, struct numbered *found) {
    size_t length = strlen(word), digits;
    for (size_t i = 0; i + length < part.nbytes; i++) {
        bool begins = i == 0 || (length == 1 ? !isalnum((unsigned char)part.at[i - 1])
                                             : !isalpha((unsigned char)part.at[i - 1]));
        if (!begins || strncasecmp(part.at + i, word, length) != 0)
            continue;
        size_t at = i + length;
        at += length > 1 && is_separator(part.at[at]);
        int64_t number = number_at(part.at + at, &digits);
        if (number == BATCH_UNKNOWN || (length == 1 && isalnum((unsigned char)part.at[at + digits])))
            continue;
        *found = (struct numbered){i, at + digits, number};
        return true;
    }
    return false;
}

/* Takes the next part of a path, from the file's name outwards. Begin with at = path + strlen(path), nbytes 0. Slashes
 * at the path's end, which only a sidecar's text can have, end no part. */
static bool part_next(const char *path, struct part *part) {
    size_t end = (size_t)(part->at - path);
    if (part->nbytes != 0 || end != strlen(path)) {
        if (end == 0)
            return false;
        end--; /* the slash */
    } else {
        while (end > 0 && path[end - 1] == '/')
            end--;
    }
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    *part = (struct part){path + begin, end - begin};
    return end != 0;
}

static struct part part_last(const char *path) {
    return (struct part){path + strlen(path), 0};
}

/* Is the word at `begin` part of "local_rank_3"? */
static bool is_local(struct part part, size_t begin) {
    static const char local[] = "local";
    size_t n = sizeof local - 1;
    size_t at = begin > 0 && is_separator(part.at[begin - 1]) ? begin - 1 : begin;
    return at >= n && strncasecmp(part.at + at - n, local, n) == 0;
}

/* ---- ranks, steps, hosts ---- */

static void read_rank(struct batch_file *file) {
    struct part part = part_last(file->input);
    struct numbered found;
    while (file->rank == BATCH_UNKNOWN && part_next(file->input, &part)) {
        if (!part_find(part, "rank", &found) && !part_find(part, "r", &found))
            continue;
        if (!is_local(part, found.begin))
            file->rank = found.number;
        else if (file->local_rank == BATCH_UNKNOWN)
            file->local_rank = found.number;
    }
}

/* Is it a range? "steps1-3" names no step. */
static bool is_range(struct part part, const struct numbered *found) {
    return found->end + 1 < part.nbytes && part.at[found->end] == '-' &&
           isdigit((unsigned char)part.at[found->end + 1]);
}

static void read_step(struct batch_file *file) {
    static const char *const words[] = {"step", "steps", "iteration", "iter", "itrn", "itr"};
    struct part part = part_last(file->input);
    struct numbered found;
    while (file->step == BATCH_UNKNOWN && part_next(file->input, &part))
        for (size_t i = 0; i < sizeof words / sizeof words[0] && file->step == BATCH_UNKNOWN; i++)
            if (part_find(part, words[i], &found) && !is_range(part, &found))
                file->step = found.number;
}

/* Reads the host from a part of the path that begins like "node1" or "host-a". */
static void read_host(struct batch *batch, struct batch_file *file) {
    static const char *const words[] = {"node", "host"};
    struct part part = part_last(file->input);
    while (file->host == NULL && part_next(file->input, &part))
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            size_t n = strlen(words[i]), length = n;
            if (part.nbytes <= n || strncasecmp(part.at, words[i], n) != 0 ||
                isalpha((unsigned char)part.at[n]))
                continue;
            length += is_separator(part.at[length]);
            while (length < part.nbytes && isalnum((unsigned char)part.at[length]))
                length++;
            file->host = batch_text(batch, "%.*s", (int)length, part.at);
        }
}

/* ---- groups of ranks that do the same work ---- */

static size_t group_add(char *text, size_t used, const char *name, int64_t number) {
    const char *blank = used != 0 ? " " : "";
    int n = number == BATCH_UNKNOWN
                ? snprintf(text + used, GROUP_CAPACITY - used, "%s%s", blank, name)
                : snprintf(text + used, GROUP_CAPACITY - used, "%s%s%" PRId64, blank, name, number);
    return n > 0 && used + (size_t)n < GROUP_CAPACITY ? used + (size_t)n : used;
}

static bool path_find(const char *path, const char *word, int64_t *number) {
    struct part part = part_last(path);
    struct numbered found;
    while (part_next(path, &part))
        if (part_find(part, word, &found)) {
            *number = found.number;
            return true;
        }
    return false;
}

static const char *const roles[] = {"actor",   "critic",  "reward",  "reference", "ref",
                                    "rollout", "learner", "prefill", "decode"};

/* Adds the role that a rank has in a job of several programs, such as "actor". */
static size_t group_add_roles(char *text, size_t used, const char *input) {
    int64_t number;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (path_find(input, roles[i], &number))
            used = group_add(text, used, roles[i], BATCH_UNKNOWN);
    return used;
}

/* Takes the number of "actor5" as the rank if nothing else names one. */
static void read_role_rank(struct batch_file *file) {
    int64_t number;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0] && file->rank == BATCH_UNKNOWN; i++)
        if (path_find(file->input, roles[i], &number))
            file->rank = number;
}

void names_places(const char *input, int64_t place[3]) {
    static const char *const words[] = {"ep", "cp", "tp"};
    for (size_t i = 0; i < 3; i++)
        if (!path_find(input, words[i], &place[i]))
            place[i] = BATCH_UNKNOWN;
}

/* Ranks of one role and stage do the same work. Their place in tensor, context or expert parallelism counts where their
 * figures differ by it (index_split_places); their place in data parallelism never does. NULL: the path names no
 * group. */
static const char *group_of(struct batch *batch, const char *input) {
    static const char *const words[] = {"pp", "stage"};
    char text[GROUP_CAPACITY] = "";
    size_t used = group_add_roles(text, 0, input);
    int64_t number;
    for (size_t i = 0; i < 2; i++)
        if (path_find(input, words[i], &number))
            used = group_add(text, used, words[i], number);
    return used != 0 ? batch_text(batch, "%s", text) : NULL;
}

/* ---- numbers that no word explains ---- */

/*
 * The shapes of whole names, without their endings:
 * R rank, S step, L a loose number that is more likely a rank, l one that is more likely a step, T a time of eight
 * digits or more, Z a rank of six digits, D a date and time with separators, '_' a separator (or none between a letter
 * and a number). Any other letter stands for itself.
 */
static const char *const shapes[] = {
    "Z_step_S",
    "snapshot_D_R",
    "snapshot_T_R",
    "snapshot_S_R",
    "memory_snapshot_l",
    "mem_L",
    "memory_trace_L",
    "trace_L",
    "memsnap_L",
    "snapshot_L",
    "L_cuda_memory_snapshot",
    "L_snapshot",
    "L_memory_snapshot",
    "L",
};

static size_t date_length(const char *text) {
    size_t length = strspn(text, "0123456789-_:T"), groups = 1;
    if (strspn(text, "0123456789") != 4 || text[4] != '-')
        return 0;
    /* The last group is the rank. */
    while (length > 0 && isdigit((unsigned char)text[length - 1]))
        length--;
    for (size_t i = 0; i + 1 < length; i++)
        groups += !isdigit((unsigned char)text[i]);
    return length > 0 && groups >= 3 ? length - 1 : 0;
}

struct shape_numbers {
    int64_t rank, step, loose;
    bool rather_step;
    size_t loose_at, loose_length;
};

/* Reads a number of the shape at `text`. Returns its length; 0: it does not fit. */
static size_t shape_number(char kind, const char *text, size_t at, struct shape_numbers *numbers) {
    size_t length;
    int64_t number = number_at(text + at, &length);
    if (kind == 'D')
        return date_length(text + at);
    if (kind == 'T')
        return length >= TIME_DIGITS ? length : 0;
    if (number == BATCH_UNKNOWN || length >= TIME_DIGITS || (kind == 'Z' && length != PADDED_DIGITS))
        return 0;
    if (kind == 'R' || kind == 'Z')
        numbers->rank = number;
    else if (kind == 'S')
        numbers->step = number;
    else {
        numbers->loose = number;
        numbers->rather_step = kind == 'l';
        numbers->loose_at = at;
        numbers->loose_length = length;
    }
    return length;
}

/* Does text[at, end) have this shape? */
static bool shape_fits(const char *shape, const char *text, size_t at, size_t end,
                       struct shape_numbers *numbers) {
    *numbers = (struct shape_numbers){.rank = BATCH_UNKNOWN, .step = BATCH_UNKNOWN, .loose = BATCH_UNKNOWN};
    for (; *shape != '\0'; shape++) {
        if (strchr("RSTZDLl", *shape) != NULL && (*shape != 'l' || shape[1] == '\0')) {
            size_t length = at < end ? shape_number(*shape, text, at, numbers) : 0;
            if (length == 0)
                return false;
            at += length;
        } else if (*shape == '_') {
            if (at < end && is_separator(text[at]))
                at++;
            else if (at == 0 || !isalpha((unsigned char)text[at - 1]) || !isdigit((unsigned char)text[at]))
                return false;
        } else if (at < end && tolower((unsigned char)text[at]) == *shape)
            at++;
        else
            return false;
    }
    return at == end;
}

/* Finds the shape at the beginning of the name, or behind a character that is neither letter nor digit. */
static bool shape_find(const char *shape, const char *base, size_t length, struct shape_numbers *numbers) {
    for (size_t at = 0; at < length; at++) {
        if (at != 0 && (isalnum((unsigned char)base[at - 1]) || !islower((unsigned char)shape[0])))
            continue;
        if (shape_fits(shape, base, at, length, numbers))
            return true;
    }
    return false;
}

static void read_shape(struct batch *batch, struct batch_file *file, const char *base) {
    struct shape_numbers numbers;
    size_t length = names_stem_length(base);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (!shape_find(shapes[i], base, length, &numbers))
            continue;
        file->rank = numbers.rank;
        file->step = file->step == BATCH_UNKNOWN ? numbers.step : file->step;
        file->loose = numbers.loose;
        file->loose_is_step = numbers.rather_step;
        const char *number = base + numbers.loose_at;
        if (numbers.loose != BATCH_UNKNOWN)
            file->family = batch_hash(batch_text(batch, "%.*s#%s", (int)(number - file->input), file->input,
                                                 number + numbers.loose_length));
        return;
    }
}

/* Reads a rank behind a word that names one only if nothing else does. */
static void read_weak_words(struct batch_file *file, const char *base) {
    static const char *const words[] = {"worker", "process", "proc", "gpu", "cuda"};
    struct numbered found;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && file->rank == BATCH_UNKNOWN; i++)
        if (part_find((struct part){base, strlen(base)}, words[i], &found))
            file->rank = found.number;
}

/* rank0/snapshot_200.pickle, rank3.100.memory_snapshot: once the rank is known, the other number is the step. */
static void read_step_behind_rank(struct batch_file *file, const char *base) {
    static const char *const steps[] = {"memory_snapshot_S", "snapshot_S", "rank_R_S_memory_snapshot",
                                        "rank_R_S_snapshot"};
    struct shape_numbers numbers;
    size_t length = names_stem_length(base);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && file->step == BATCH_UNKNOWN; i++)
        if (shape_find(steps[i], base, length, &numbers))
            file->step = numbers.step;
}

void names_read(struct batch *batch, struct batch_file *file, const struct rank_pattern *pattern) {
    const char *base = path_name(file->input);
    read_host(batch, file);
    if (pattern->given) {
        pattern_read(batch, pattern, file);
        if (pattern->step_group == 0)
            read_step(file);
        return;
    }
    read_rank(file);
    read_step(file);
    read_role_rank(file);
    file->group = group_of(batch, file->input);
    if (file->rank != BATCH_UNKNOWN && file->step == BATCH_UNKNOWN)
        read_step_behind_rank(file, base);
    if (file->rank == BATCH_UNKNOWN && file->local_rank == BATCH_UNKNOWN)
        read_shape(batch, file, base);
    if (file->rank == BATCH_UNKNOWN && file->local_rank == BATCH_UNKNOWN && file->loose == BATCH_UNKNOWN)
        read_weak_words(file, base);
}

/* ---- the meaning of a family's numbers ---- */

static int family_compare(const void *a, const void *b) {
    const struct batch_file *x = *(const struct batch_file *const *)a,
                            *y = *(const struct batch_file *const *)b;
    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    return (x->loose > y->loose) - (x->loose < y->loose);
}

/* Are the sorted numbers of one family steps? Numbers from 0 without gaps are ranks; so is a single "snapshot_3", and
 * so are numbers with a gap (a lost dump), but not 100, 200, 300. */
static bool family_is_steps(struct batch_file *const *files, uint32_t count) {
    uint64_t divisor = 0, distinct = 1;
    for (uint32_t i = 1; i < count; i++) {
        divisor = common_divisor(divisor, (uint64_t)(files[i]->loose - files[i - 1]->loose));
        distinct += files[i]->loose != files[i - 1]->loose;
    }
    if (files[0]->loose == 0 && (uint64_t)files[count - 1]->loose == distinct - 1)
        return false;
    return files[0]->loose_is_step || divisor > 1;
}

void names_settle(struct batch *batch) {
    struct batch_file **order = batch_alloc(batch, batch->count, sizeof *order);
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->files[i].loose != BATCH_UNKNOWN && batch->files[i].rank == BATCH_UNKNOWN)
            order[count++] = &batch->files[i];
    if (count != 0)
        qsort(order, count, sizeof *order, family_compare);
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && order[to]->family == order[from]->family;)
            to++;
        bool steps = family_is_steps(order + from, to - from);
        for (uint32_t i = from; i < to; i++)
            if (!steps)
                order[i]->rank = order[i]->loose;
            else if (order[i]->step == BATCH_UNKNOWN)
                order[i]->step = order[i]->loose;
    }
}
