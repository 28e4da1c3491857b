#include "base/numbers.h"
#include "cli/batch/batch_names.h"

#include "cli/ending.h"
#include "cli/memory.h"
#include "cli/regex.h"
#include "cli/terminal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATTERN_CAPACITY = 1024, NUMBER_DIGITS = 18, GROUP_CAPACITY = 200 };

/* ---- names in use ---- */

#define BEGIN  "(^|[^a-z])"
#define FIRST  "(^|[^0-9a-z])"
#define MARK   "[-_.= ]"
#define NUMBER MARK "?([0-9]{1,18})($|[^0-9])"
#define SHORT  "([0-9]{1,7})" /* more digits are a time */

/* Words, each looked for in one part of a path after the other, and shapes of whole names without their endings. */
enum name_word {
    NAME_RANK,
    NAME_R,
    NAME_STEP,
    NAME_HOST,
    NAME_ROLE,
    NAME_STAGE,
    NAME_EP,
    NAME_CP,
    NAME_TP,
    NAME_WEAK, /* names a rank only if nothing else does */
    SHAPES,
    SHAPES_END = SHAPES + 8, /* the next ones name the step of a file whose rank is known */
};

/* For each its groups: of the number, or of a word's text; of a shape's rank, step and loose number, which is a rank or,
 * rather, a step. */
static const struct {
    const char *expression;
    uint8_t number, text, rank, step, loose, rather_step;
} known[] = {
    [NAME_RANK] = {"(^|[^a-z]|local" MARK "?)rank" NUMBER, .number = 2, .text = 1},
    [NAME_R] = {FIRST "r([0-9]{1,18})($|[^0-9a-z])", .number = 2},
    [NAME_STEP] = {BEGIN "(steps?|iter(ation)?|itrn?)" MARK "?([0-9]{1,18})($|[^-0-9]|-$|-[^0-9])",
                   .number = 4},
    [NAME_HOST] = {"^((node|host)(" MARK "[0-9a-z]*|[0-9][0-9a-z]*))", .text = 1},
    [NAME_ROLE] = {BEGIN "(actor|critic|reward|reference|ref|rollout|learner|prefill|decode)" NUMBER,
                   .number = 3, .text = 2},
    [NAME_STAGE] = {BEGIN "(pp|stage)" NUMBER, .number = 3, .text = 2},
    [NAME_EP] = {BEGIN "ep" NUMBER, .number = 2},
    [NAME_CP] = {BEGIN "cp" NUMBER, .number = 2},
    [NAME_TP] = {BEGIN "tp" NUMBER, .number = 2},
    [NAME_WEAK] = {BEGIN "(worker|process|proc|gpu|cuda)" NUMBER, .number = 3},
    [SHAPES] = {"^([0-9]{6})" MARK "step" MARK "?" SHORT "$", .rank = 1, .step = 2},
    {FIRST "snapshot" MARK "?[0-9]{4}-[0-9]+([-_:T]+[0-9]+)+" MARK SHORT "$", .rank = 3},
    {FIRST "snapshot" MARK "?[0-9]{8,}" MARK SHORT "$", .rank = 2},
    {FIRST "snapshot" MARK "?" SHORT MARK SHORT "$", .step = 2, .rank = 3},
    {FIRST "memory" MARK "snapshot" MARK "?" SHORT "$", .loose = 2, .rather_step = 1},
    {FIRST "(mem|memory" MARK "trace|trace|memsnap|snapshot)" MARK "?" SHORT "$", .loose = 3},
    {"^" SHORT MARK "(cuda" MARK "memory" MARK "|memory" MARK ")?snapshot$", .loose = 1},
    {"^" SHORT "$", .loose = 1},
    [SHAPES_END] = {FIRST "snapshot" MARK "?" SHORT "$", .step = 2},
    {FIRST "rank" MARK "?[0-9]{1,7}" MARK SHORT MARK "(memory" MARK ")?snapshot$", .step = 2},
};
enum { N_KNOWN = sizeof known / sizeof *known, GROUPS = 6 };
static_assert(sizeof known / sizeof *known == NAMES_KNOWN, "rank_pattern has room for all");

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

static bool known_release(struct rank_pattern *pattern) {
    for (unsigned i = 0; i < N_KNOWN; i++)
        regfree(&pattern->known[i]);
    return false;
}

bool rank_pattern_init(struct rank_pattern *pattern, const char *regex) {
    char reason[REGEX_REASON_CAPACITY];
    *pattern = (struct rank_pattern){.given = regex != NULL};
    for (unsigned i = 0; i < N_KNOWN; i++)
        if (regcomp(&pattern->known[i], known[i].expression, REG_EXTENDED | REG_ICASE) != 0)
            memory_end();
    if (regex == NULL)
        return true;
    if (strlen(regex) >= PATTERN_CAPACITY) {
        terminal_error(NULL, "--rank-regex: \"%s\" is too long", regex);
        return known_release(pattern);
    }
    char *posix = regex_translate(regex, group_note, pattern);
    bool compiled = regex_compile(&pattern->regex, posix, 0, reason);
    free(posix);
    if (!compiled) {
        terminal_error(NULL, "--rank-regex: \"%s\": %s", regex, reason);
        return known_release(pattern);
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
    return known_release(pattern);
}

void rank_pattern_release(struct rank_pattern *pattern) {
    known_release(pattern);
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

/* What an expression met: a copy of the text, and its groups. */
struct met {
    char text[1024];
    regmatch_t group[GROUPS];
};

static bool text_meets(const regex_t *regex, const char *text, size_t nbytes, struct met *met) {
    if (nbytes >= sizeof met->text)
        return false;
    memcpy(met->text, text, nbytes);
    met->text[nbytes] = '\0';
    return regex_meets(regex, met->text, GROUPS, met->group);
}

static int64_t met_number(const struct met *met, unsigned group) {
    return group != 0 ? group_number(met->text, &met->group[group]) : BATCH_UNKNOWN;
}

/* Looks for a word in the parts of a path up to `*end`, from the file's name outwards. Moves `*end` before the part that
 * has it. */
static bool path_meets(const struct rank_pattern *pattern, enum name_word word, const char *path, size_t *end,
                       struct met *met) {
    for (bool met_it = false; *end > 0; *end -= *end > 0) {
        size_t begin = *end;
        while (begin > 0 && path[begin - 1] != '/')
            begin--;
        met_it = text_meets(&pattern->known[word], path + begin, *end - begin, met);
        *end = begin;
        if (met_it)
            return true;
    }
    return false;
}

/* The number after a word in the path; BATCH_UNKNOWN: none. */
static int64_t path_number(const struct rank_pattern *pattern, enum name_word word, const char *path,
                           struct met *met) {
    size_t end = strlen(path);
    return path_meets(pattern, word, path, &end, met) ? met_number(met, known[word].number) : BATCH_UNKNOWN;
}

/* In each part "rank" counts before "r"; a local rank is no rank. */
static void read_rank(const struct rank_pattern *pattern, struct batch_file *file) {
    struct met met;
    for (size_t end = strlen(file->input); end > 0 && file->rank == BATCH_UNKNOWN; end -= end > 0) {
        size_t begin = end;
        while (begin > 0 && file->input[begin - 1] != '/')
            begin--;
        bool word = text_meets(&pattern->known[NAME_RANK], file->input + begin, end - begin, &met);
        if (word && met.group[1].rm_eo - met.group[1].rm_so > 1)
            file->local_rank = file->local_rank == BATCH_UNKNOWN ? met_number(&met, 2) : file->local_rank;
        else if (word || text_meets(&pattern->known[NAME_R], file->input + begin, end - begin, &met))
            file->rank = met_number(&met, 2);
        end = begin;
    }
}

static const char *met_text(struct batch *batch, const struct met *met, unsigned group) {
    const regmatch_t *match = &met->group[group];
    return batch_text(batch, "%.*s", (int)(match->rm_eo - match->rm_so), met->text + match->rm_so);
}

/* Ranks of one role and stage are compared. Their place in data parallelism does not matter; peers.h says when that in
 * tensor, context or expert parallelism does. */
static void read_group(struct batch *batch, const struct rank_pattern *pattern, struct batch_file *file) {
    struct met met;
    int64_t number = path_number(pattern, NAME_ROLE, file->input, &met);
    if (number != BATCH_UNKNOWN) {
        file->group = met_text(batch, &met, known[NAME_ROLE].text);
        file->rank = file->rank == BATCH_UNKNOWN ? number : file->rank;
    }
    number = path_number(pattern, NAME_STAGE, file->input, &met);
    if (number != BATCH_UNKNOWN)
        file->group =
            batch_text(batch, "%s%s%s%" PRId64, file->group != NULL ? file->group : "",
                       file->group != NULL ? " " : "", met_text(batch, &met, known[NAME_STAGE].text), number);
}

void names_places(const struct rank_pattern *pattern, const char *input, int64_t place[3]) {
    struct met met;
    for (unsigned i = 0; i < 3; i++)
        place[i] = path_number(pattern, (enum name_word)(NAME_EP + i), input, &met);
}

/* Reads the numbers of a whole name by the first shape from `from` on that it has. */
static void read_shape(struct batch *batch, const struct rank_pattern *pattern, struct batch_file *file,
                       unsigned from, unsigned to) {
    const char *base = path_name(file->input);
    struct met met;
    for (unsigned i = from; i < to; i++) {
        if (!text_meets(&pattern->known[i], base, names_stem_length(base), &met))
            continue;
        file->rank = file->rank == BATCH_UNKNOWN ? met_number(&met, known[i].rank) : file->rank;
        file->step = file->step == BATCH_UNKNOWN ? met_number(&met, known[i].step) : file->step;
        file->loose = met_number(&met, known[i].loose);
        file->loose_is_step = known[i].rather_step;
        const char *number = base + met.group[known[i].loose].rm_so,
                   *end = base + met.group[known[i].loose].rm_eo;
        if (file->loose != BATCH_UNKNOWN)
            file->family =
                batch_hash(batch_text(batch, "%.*s#%s", (int)(number - file->input), file->input, end));
        return;
    }
}

void names_read(struct batch *batch, struct batch_file *file, const struct rank_pattern *pattern) {
    const char *base = path_name(file->input);
    struct met met;
    size_t end = strlen(file->input);
    if (path_meets(pattern, NAME_HOST, file->input, &end, &met))
        file->host = met_text(batch, &met, known[NAME_HOST].text);
    if (pattern->given)
        pattern_read(batch, pattern, file);
    if (!pattern->given || pattern->step_group == 0)
        file->step = path_number(pattern, NAME_STEP, file->input, &met);
    if (pattern->given)
        return;
    read_rank(pattern, file);
    read_group(batch, pattern, file);
    if (file->rank != BATCH_UNKNOWN && file->step == BATCH_UNKNOWN)
        read_shape(batch, pattern, file, SHAPES_END, N_KNOWN);
    if (file->rank != BATCH_UNKNOWN || file->local_rank != BATCH_UNKNOWN)
        return;
    read_shape(batch, pattern, file, SHAPES, SHAPES_END);
    if (file->rank == BATCH_UNKNOWN && file->loose == BATCH_UNKNOWN &&
        text_meets(&pattern->known[NAME_WEAK], base, strlen(base), &met))
        file->rank = met_number(&met, known[NAME_WEAK].number);
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
