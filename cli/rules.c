#include "cli/rules.h"
#include "base/utf8.h"

#include "analysis/loop/category.h"
#include "cli/memory.h"
#include "cli/pipe.h"
#include "cli/regex.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "parser/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum field { FIELD_FILE, FIELD_FUNCTION, FIELD_METADATA, FIELD_COUNT };

/* Each rule costs a search of every text, and no two expressions can be searched in one pass. */
enum { RULES_MAX = 1000, LINE_NBYTES = 4096, NOT_ASKED = RULES_MAX };

struct rule {
    enum category category;
    enum field field;
    regex_t expression;
};

struct rule_list {
    const char *path;
    struct rule *rule;
    uint32_t count;
    char *text;      /* holds the text that an expression is matched against: room for the longest string */
    uint32_t *first; /* [strings][FIELD_COUNT] the first rule that the string meets; UINT32_MAX: none */
};

static bool rule_wrong(const struct rule_list *list, unsigned line, const char *what, const char *text) {
    terminal_error(list->path, "line %u: %s: \"%.*s\"", line, what, UTF8_FIT(text, 60));
    return false;
}

/* Takes the next word of a line, terminated in place; "" at its end. */
static char *word_take(char **rest) {
    char *word = *rest + strspn(*rest, " \t");
    size_t length = strcspn(word, " \t");
    *rest = word + length;
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return word;
}

/* The category of a rule. CATEGORY_COUNT: none that a rule may name; "unknown to the profiler" is not one. */
static enum category category_of_rule(const char *name) {
    enum category category = category_by_name((const uint8_t *)name, (uint32_t)strlen(name));
    return category == CATEGORY_UNKNOWN ? CATEGORY_COUNT : category;
}

static bool rule_parse(struct rule_list *list, unsigned number, char *line) {
    char *category = word_take(&line), *field = word_take(&line), *expression = line + strspn(line, " \t");
    int choice = choice_of(field, "file|function|metadata");
    struct rule rule = {.category = category_of_rule(category), .field = (enum field)choice};
    if (*category == '\0' || *category == '#')
        return true;
    if (rule.category == CATEGORY_COUNT)
        return rule_wrong(
            list, number,
            "not a category (parameter, gradient, optimizer_state, activation, temporary, input, "
            "autograd_detail, workspace, result, weight_copy, other)",
            category);
    if (choice < 0)
        return rule_wrong(list, number, "not a field (file, function, metadata)", field);
    char reason[REGEX_REASON_CAPACITY];
    if (*expression == '\0' || !regex_compile(&rule.expression, expression, REG_NOSUB, reason))
        return rule_wrong(list, number, "not a regular expression", expression);
    if (list->count == RULES_MAX) {
        regfree(&rule.expression);
        return rule_wrong(list, number, "too many rules (a file may have 1,000)", expression);
    }
    list->rule[list->count++] = rule;
    return true;
}

static bool rules_parse(struct rule_list *list, FILE *file) {
    char line[LINE_NBYTES];
    bool done = true;
    for (unsigned number = 1; done && fgets(line, sizeof line, file) != NULL; number++) {
        size_t length = strcspn(line, "\r\n");
        if (line[length] == '\0' && !feof(file)) /* a device that gives zeros would never end */
            return rule_wrong(list, number, "a line that is too long, or is not text", line);
        line[length] = '\0';
        done = rule_parse(list, number, line);
    }
    return done;
}

/* Reads the file. A pipe is accepted (`--rules <(...)`); a directory opens, but has no lines. */
static bool rules_read(struct rule_list *list) {
    list->rule = memory_alloc(RULES_MAX, sizeof *list->rule);
    int fd = pipe_open_to_read(list->path, list->path);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL && fd >= 0)
        close(fd);
    bool done = file != NULL && rules_parse(list, file);
    if (file == NULL || (done && ferror(file))) {
        terminal_error(list->path, "cannot read: %s", strerror(errno));
        done = false;
    }
    if (file != NULL)
        fclose(file);
    return done;
}

bool file_fingerprint(const char *path, char text[FINGERPRINT_CHARACTERS + 1]) {
    unsigned char block[LINE_NBYTES];
    struct stat status;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe is refused, not waited for */
    struct fingerprint *fingerprint = fd >= 0 ? fingerprint_new() : NULL;
    if (fingerprint != NULL && fstat(fd, &status) == 0) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
        while (S_ISREG(status.st_mode) && (n = read(fd, block, sizeof block)) > 0)
            fingerprint_add(fingerprint, block, (size_t)n);
    }
    int error = errno;
    if (n == 0)
        fingerprint_text(fingerprint, text);
    fingerprint_free(fingerprint);
    if (fd >= 0)
        close(fd);
    errno = error;
    return n == 0;
}

bool rules_fingerprint(const char *path, char text[FINGERPRINT_CHARACTERS + 1]) {
    text[0] = '\0';
    bool done = path == NULL || file_fingerprint(path, text);
    if (!done)
        terminal_error(path, "cannot read: %s", strerror(errno));
    return done;
}

static void rules_release(struct rule_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        regfree(&list->rule[i].expression);
    free(list->rule);
    free(list->text);
    free(list->first);
}

/* ---- matching ---- */

static void texts_begin(struct rule_list *list, const struct trace *trace) {
    uint32_t longest = 0, nbytes;
    for (uint32_t i = 0; i < trace->strings.count; i++) {
        trace_string(trace, i, &nbytes);
        longest = nbytes > longest ? nbytes : longest;
    }
    size_t n_first = (size_t)trace->strings.count * FIELD_COUNT;
    list->text = memory_alloc((size_t)longest + 1, 1);
    list->first = memory_alloc(n_first, sizeof *list->first);
    for (size_t i = 0; i < n_first; i++)
        list->first[i] = NOT_ASKED;
}

static bool string_meets(struct rule_list *list, const struct rule *rule, const struct trace *trace,
                         uint32_t id) {
    struct text bytes = trace_text(trace, id);
    memcpy(list->text, bytes.at, bytes.nbytes);
    list->text[bytes.nbytes] = '\0';
    return regex_meets(&rule->expression, list->text, 0, NULL);
}

/* The first rule that a text meets as `field`. Each text is tested once, however many frames have it. */
static uint32_t first_rule_of(struct rule_list *list, const struct trace *trace, enum field field,
                              uint32_t id) {
    uint32_t *known = &list->first[(size_t)id * FIELD_COUNT + field];
    if (*known != NOT_ASKED)
        return *known;
    *known = UINT32_MAX;
    for (uint32_t i = 0; i < list->count && *known == UINT32_MAX; i++)
        if (list->rule[i].field == field && string_meets(list, &list->rule[i], trace, id))
            *known = i;
    return *known;
}

static uint32_t first_rule_of_frame(struct rule_list *list, const struct trace *trace,
                                    const struct frame *frame) {
    uint32_t file = first_rule_of(list, trace, FIELD_FILE, frame->file),
             function = first_rule_of(list, trace, FIELD_FUNCTION, frame->name);
    return file < function ? file : function;
}

static uint32_t first_rule_of_context(struct rule_list *list, const struct trace *trace, uint32_t context) {
    uint32_t metadata = trace->contexts.context[context].user_metadata;
    return metadata == 0 ? UINT32_MAX : first_rule_of(list, trace, FIELD_METADATA, metadata);
}

/* Finds the first rule of every stack: its innermost frame's or its parent's, whichever comes first in the file. */
static void stacks_match(struct rule_list *list, const struct trace *trace, uint32_t *of_stack) {
    uint32_t *of_frame = memory_alloc((size_t)trace->frames.count + 1, sizeof *of_frame);
    of_frame[0] = of_stack[0] = UINT32_MAX;
    for (uint32_t i = 1; i < trace->frames.count; i++)
        of_frame[i] = first_rule_of_frame(list, trace, &trace->frames.frame[i]);
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        uint32_t own = of_frame[trace->stacks.frame[i]], outer = of_stack[stack_parent(&trace->stacks, i)];
        of_stack[i] = own < outer ? own : outer;
    }
    free(of_frame);
}

/* ---- noting ---- */

/* The index of the first rule that each stack and each context meets; UINT32_MAX: none. */
struct verdict {
    uint32_t *of_stack;   /* [stacks.count] */
    uint32_t *of_context; /* [n_contexts] */
    uint32_t n_contexts;  /* the file's own contexts; rules add more */
    uint32_t *noted;      /* [n_contexts][CATEGORY_COUNT] the context with that category; 0: not made yet */
    uint32_t name[CATEGORY_COUNT]; /* strings; 0: not added yet */
};

static void verdict_find(struct verdict *verdict, struct rule_list *list, const struct trace *trace) {
    size_t n = trace->contexts.count;
    *verdict =
        (struct verdict){.of_stack = memory_alloc(trace->stacks.count + (size_t)1, sizeof *verdict->of_stack),
                         .of_context = memory_alloc(n, sizeof *verdict->of_context),
                         .n_contexts = trace->contexts.count,
                         .noted = memory_alloc(n, CATEGORY_COUNT * sizeof *verdict->noted)};
    stacks_match(list, trace, verdict->of_stack);
    for (uint32_t i = 0; i < verdict->n_contexts; i++)
        verdict->of_context[i] = first_rule_of_context(list, trace, i);
}

static void verdict_release(struct verdict *verdict) {
    free(verdict->of_stack);
    free(verdict->of_context);
    free(verdict->noted);
}

/* Returns the context with another category; makes it where it is not there yet. 0: no memory. */
static uint32_t context_noting(struct verdict *verdict, struct trace *trace, uint32_t context,
                               enum category category) {
    uint32_t *noted = &verdict->noted[(size_t)context * CATEGORY_COUNT + category];
    const char *name = category_label[category].name;
    if (*noted != 0)
        return *noted;
    if (verdict->name[category] == 0)
        verdict->name[category] = trace_string_add(trace, name, strlen(name));
    if (verdict->name[category] == 0 ||
        !ARENA_GROW(&trace->arena, trace->contexts.context, trace->contexts.capacity,
                    (uint64_t)trace->contexts.count + 1))
        return 0;
    *noted = trace->contexts.count++;
    trace->contexts.context[*noted] = trace->contexts.context[context];
    trace->contexts.context[*noted].category = verdict->name[category];
    return *noted;
}

static bool allocations_note(struct verdict *verdict, const struct rule_list *list, struct trace *trace,
                             const struct allocations *allocations) {
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint32_t own = verdict->of_stack[allocations->stack[i]],
                 noted = verdict->of_context[allocations->context[i]];
        uint32_t first = own < noted ? own : noted;
        if (first == UINT32_MAX)
            continue;
        allocations->context[i] =
            context_noting(verdict, trace, allocations->context[i], list->rule[first].category);
        if (allocations->context[i] == 0)
            return false;
    }
    return true;
}

static bool rules_note(struct rule_list *list, struct trace *trace) {
    struct verdict verdict;
    bool done = true;
    texts_begin(list, trace);
    verdict_find(&verdict, list, trace);
    for (uint32_t i = 0; done && i < trace->n_devices; i++)
        done = allocations_note(&verdict, list, trace, &trace->devices[i].allocations);
    verdict_release(&verdict);
    if (!done)
        terminal_error(list->path, "no memory");
    return done;
}

bool rules_apply(const char *path, struct trace *trace) {
    struct rule_list list = {.path = path};
    bool done = rules_read(&list) && rules_note(&list, trace);
    rules_release(&list);
    return done;
}
