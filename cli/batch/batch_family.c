#include "cli/batch/batch_family.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_DIGITS = 18, STAMP_DIGITS = 8 };

/* A path being copied, with 'N' in place of its numbers of rank and step, and 'T' of a date with a time. */
struct copy {
    char *to;
    size_t used;
    int64_t rank, step;
    bool stamped;
};

static bool is_separator(char c) {
    return c != '\0' && strchr("-_.= :", c) != NULL;
}

/* Digits, and separators between digits: "2025-06-01-12-30", "01_06_10_09.3747". */
static size_t digits_and_separators(const char *text, unsigned *groups) {
    size_t length = strspn(text, "0123456789");
    for (*groups = length != 0; is_separator(text[length]) && isdigit((unsigned char)text[length + 1]);
         ++*groups)
        length += 1 + strspn(text + length + 1, "0123456789");
    return length;
}

/* "Mar_01_06_10_09.3747" */
static size_t month_length(const char *text) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    unsigned groups = 0;
    for (size_t i = 0; i + 3 < sizeof months; i += 3)
        if (strncmp(text, months + i, 3) == 0 && is_separator(text[3])) {
            size_t length = digits_and_separators(text + 4, &groups);
            return groups >= 4 ? 4 + length : 0;
        }
    return 0;
}

/* The length of a date with a time, or of digits enough to be one. The rank's number is not part of it: of
 * "2025-06-01-12-30_3" all but the last group counts. */
static size_t stamp_length(const char *text) {
    size_t digits = strspn(text, "0123456789");
    unsigned groups;
    if (digits >= STAMP_DIGITS)
        return digits;
    if (digits != 4 || text[4] != '-')
        return month_length(text);
    size_t length = digits_and_separators(text, &groups);
    while (groups > 5 && length > 0 && !is_separator(text[length - 1]))
        length--;
    return groups > 5 && length > 0 ? length - 1 : groups >= 3 ? length : 0;
}

static bool behind_step_word(const char *begin, const char *at) {
    static const char *const words[] = {"step", "steps", "iteration", "iter", "itrn", "itr"};
    size_t before = (size_t)(at - begin);
    before -= before > 0 && is_separator(at[-1]);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        if (before >= n && strncasecmp(begin + before - n, words[i], n) == 0)
            return true;
    }
    return false;
}

static void put(struct copy *copy, const char *text, size_t nbytes) {
    memcpy(copy->to + copy->used, text, nbytes);
    copy->used += nbytes;
}

/* Copies the number at `*at`, which stands in a file's own name or (`directory`) in a directory's. */
static void number_put(struct copy *copy, const char *begin, const char **at, bool directory) {
    size_t digits = strspn(*at, "0123456789");
    int64_t number = digits <= NUMBER_DIGITS ? strtoll(*at, NULL, 10) : -1;
    bool step = copy->step >= 0 && number == copy->step && (!directory || behind_step_word(begin, *at));
    bool rank = copy->rank >= 0 && number == copy->rank && !directory;
    if (step || rank)
        put(copy, "N", 1);
    else
        put(copy, *at, digits);
    *at += digits;
}

static void part_put(struct copy *copy, const char *begin, const char *end, bool directory) {
    for (const char *at = begin; at < end;) {
        bool word = at > begin && isalnum((unsigned char)at[-1]);
        size_t stamp = directory || word ? 0 : stamp_length(at);
        if (stamp != 0) {
            put(copy, "T", 1);
            copy->stamped = true;
            at += stamp;
        } else if (isdigit((unsigned char)*at))
            number_put(copy, begin, &at, directory);
        else
            put(copy, at++, 1);
    }
}

char *family_text(struct batch *batch, const char *input, int64_t rank, int64_t step, bool *stamped) {
    struct copy copy = {.to = arena_alloc(&batch->arena, strlen(input) + 1), .rank = rank, .step = step};
    if (copy.to == NULL)
        return NULL;
    for (const char *begin = input;;) {
        const char *slash = strchr(begin, '/'), *end = slash != NULL ? slash : begin + strlen(begin);
        part_put(&copy, begin, end, slash != NULL);
        if (slash == NULL)
            break;
        put(&copy, "/", 1);
        begin = slash + 1;
    }
    copy.to[copy.used] = '\0';
    *stamped = copy.stamped;
    return copy.to;
}
