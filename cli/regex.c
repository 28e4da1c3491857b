#include "cli/regex.h"

#include "base/text.h"
#include "cli/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A repetition is compiled as so many copies, and closing over n copies takes n * n steps. */
enum { COPIES_MAX = 2000, DEPTH_MAX = 250 };

/* The size of an expression with its repetitions written out. Saturates. */
struct extent {
    const char *at;
    /* atom: the last atom's; sum: of each open group; copies: what repetitions add */
    uint64_t atom, sum[DEPTH_MAX], copies;
    unsigned depth;
};

/* Skips the bracket expression at `text`. */
static const char *brackets_skip(const char *text) {
    const char *at = text + 1;
    at += *at == '^';
    at += *at == ']';
    while (*at != '\0' && *at != ']') {
        const char *end =
            at[0] == '[' && (at[1] == ':' || at[1] == '.' || at[1] == '=') ? strchr(at, ']') : NULL;
        at = end != NULL ? end + 1 : at + 1;
    }
    return *at == ']' ? at + 1 : at;
}

/* What POSIX writes for a letter after a backslash. NULL: the same. */
static const char *class_of(char letter, bool bracketed) {
    switch (letter) {
    case 'd': return bracketed ? "0-9" : "[0-9]";
    case 'D': return bracketed ? NULL : "[^0-9]";
    case 'w': return bracketed ? "[:alnum:]_" : NULL;
    case 's': return bracketed ? "[:space:]" : NULL;
    default: return NULL;
    }
}

/* The bytes from `at`, behind a bracket, that POSIX has no words for: "?:", "?P<name>" or "?<name>". */
static size_t group_head(const char *at, size_t group, regex_note *note, void *context) {
    if (strncmp(at, "?:", 2) == 0)
        return 2;
    size_t skip = strncmp(at, "?P<", 3) == 0 ? 3 : strncmp(at, "?<", 2) == 0 ? 2 : 0;
    size_t n = skip != 0 ? strcspn(at + skip, ">") : 0;
    bool named = n != 0 && at[skip + n] == '>';
    if (note != NULL)
        note(context, group, at + skip, named ? n : 0);
    return named ? skip + n + 1 : 0;
}

char *regex_translate(const char *expression, regex_note *note, void *context) {
    char *posix = memory_alloc(strlen(expression) * strlen("[:alnum:]_") / strlen("\\w") + 1, 1), *to = posix;
    const char *closed = expression; /* the end of the last brackets */
    size_t n_groups = 0;
    for (const char *at = expression; *at != '\0';) {
        bool bracketed = at < closed;
        const char *means = *at == '\\' ? class_of(at[1], bracketed) : NULL;
        if (means != NULL) {
            to = stpcpy(to, means);
            at += 2;
            continue;
        }
        if (!bracketed && *at == '[')
            closed = brackets_skip(at);
        if (!bracketed && *at == '\\' && at[1] != '\0')
            *to++ = *at++;
        else if (!bracketed && *at == '(') {
            *to++ = *at++;
            at += group_head(at, ++n_groups, note, context);
            continue;
        }
        *to++ = *at++;
    }
    return posix;
}

static void atom_add(struct extent *extent, uint64_t size) {
    extent->atom = size;
    extent->sum[extent->depth] += size;
}

/* Repeats the last atom. The result stays below 2^40 times 2^16. */
static void atom_repeat(struct extent *extent, uint64_t times) {
    uint64_t more = times > 1 ? extent->atom * (times - 1) : 0;
    more = more < UINT64_C(1) << 40 ? more : UINT64_C(1) << 40;
    extent->atom += more;
    extent->sum[extent->depth] += more;
    extent->copies += more;
}

/* Reads a repetition: "{2,5}" counts as five times, "{2,}" as three. Anything else in braces is literal. */
static void braces_take(struct extent *extent) {
    char *end;
    unsigned long least = is_digit(extent->at[1]) ? strtoul(extent->at + 1, &end, 10) : 0, most = least;
    if (!is_digit(extent->at[1]))
        end = (char *)(uintptr_t)(extent->at + 1);
    if (*end == ',' && is_digit(end[1]))
        most = strtoul(end + 1, &end, 10);
    else if (*end == ',') {
        most = least + 1;
        end++;
    }
    if (*end != '}') {
        atom_add(extent, 1);
        extent->at++;
        return;
    }
    atom_repeat(extent, most < UINT16_MAX ? most : UINT16_MAX);
    extent->at = end + 1;
}

static void group_end(struct extent *extent) {
    if (extent->depth == 0) {
        atom_add(extent, 1);
        return;
    }
    uint64_t inside = extent->sum[extent->depth--];
    atom_add(extent, inside + 2);
}

/* Takes the next item. NULL: taken; otherwise the reason why not. */
static const char *extent_step(struct extent *extent) {
    char c = *extent->at;
    if (c == '{') {
        braces_take(extent);
        return NULL;
    }
    if (c == '[') {
        extent->at = brackets_skip(extent->at);
        atom_add(extent, 1);
        return NULL;
    }
    if (c == '\\' && extent->at[1] >= '1' && extent->at[1] <= '9')
        return "it refers back to a group";
    extent->at += c == '\\' && extent->at[1] != '\0' ? 2 : 1;
    if (c == '(') {
        if (extent->depth + 1 == DEPTH_MAX)
            return "it nests too deep";
        extent->sum[++extent->depth] = 0;
    } else if (c == ')') {
        group_end(extent);
    } else if (c == '+') {
        atom_repeat(extent, 2);
    } else if (c != '*' && c != '?') {
        atom_add(extent, 1);
    }
    return NULL;
}

/* The reason why an expression is not compiled. NULL: it may be. */
static const char *objection(const char *expression, uint64_t *copies) {
    struct extent extent = {.at = expression};
    const char *reason = NULL;
    while (reason == NULL && *extent.at != '\0' && extent.copies <= COPIES_MAX)
        reason = extent_step(&extent);
    *copies = extent.copies;
    return reason == NULL && extent.copies > COPIES_MAX ? "it repeats too much" : reason;
}

/* The same expression in more characters, "(a){1}{1}". The GNU library makes room for as many nodes as there are
 * characters, and if it later cannot enlarge that room, it frees it twice. Free the result. */
static char *roomy(const char *expression, uint64_t copies) {
    static const char once[] = "{1}";
    const size_t nbytes = strlen(expression), times = nbytes + (size_t)copies + 16;
    char *text = memory_alloc(nbytes + 3 + times * 3, 1), *at = text;
    *at++ = '(';
    memcpy(at, expression, nbytes);
    at += nbytes;
    *at++ = ')';
    for (size_t i = 0; i < times; i++, at += 3)
        memcpy(at, once, 3);
    return text;
}

/* Compiles an expression. Returns an error code of regcomp. Numbers of groups matter only to callers that ask for
 * them. */
static int compile(regex_t *regex, const char *expression, int flags, uint64_t copies) {
    if ((flags & REG_NOSUB) == 0)
        return regcomp(regex, expression, REG_EXTENDED | flags);
    char *text = roomy(expression, copies);
    int code = regcomp(regex, text, REG_EXTENDED | flags);
    free(text);
    return code;
}

bool regex_compile(regex_t *regex, const char *expression, int flags, char reason[REGEX_REASON_CAPACITY]) {
    uint64_t copies = 0;
    const char *refused = objection(expression, &copies);
    if (refused != NULL) {
        (void)snprintf(reason, REGEX_REASON_CAPACITY, "%s", refused);
        return false;
    }
    int code = compile(regex, expression, flags, copies);
    if (code == REG_ESPACE)
        memory_end();
    if (code != 0)
        regerror(code, NULL, reason, REGEX_REASON_CAPACITY);
    return code == 0;
}

/* The GNU library answers "no" when memory ends, so a "no" is checked. */
bool regex_meets(const regex_t *regex, const char *text, size_t n_matches, regmatch_t *matches) {
    errno = 0;
    int code = regexec(regex, text, n_matches, matches, 0);
    if (code == REG_ESPACE || (code != 0 && errno == ENOMEM))
        memory_end();
    return code == 0;
}
