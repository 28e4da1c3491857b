/* A verb's help: its usage, its options (from the table) and examples, in lines of at most 80 characters. */
#include "cli/options_internal.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 80, COLUMN = 28 };

/* Moves to the next word of a text in which ends of lines count as blanks. Returns its length; 0: no word is left. */
static size_t word_next(const char **text) {
    *text += strspn(*text, " \n");
    return strcspn(*text, " \n");
}

void help_words_print(const char *text, size_t at, size_t indent) {
    bool first = true;
    for (size_t n; (n = word_next(&text)) != 0; text += n) {
        if (!first && at + 1 + n > LINE) {
            printf("\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", (int)n, text);
        at += n + !first;
        first = false;
    }
    printf("\n");
}

/* Prints " -o, --output PATH", padded to the column of the explanations. */
static void option_print(const struct option *option) {
    char left[80];
    char letter[8] = "    ";
    if (option->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    const char *value = option->value != NULL ? option->value : "";
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, value[0] == '[' ? "" : " ", value);
    printf("%-*s", COLUMN, left);
    if (strlen(left) >= COLUMN)
        printf("\n%*s", COLUMN, "");
    help_words_print(option->help, COLUMN, COLUMN);
}

/* The place at which a backslash breaks a long line: the last blank that leaves room for it. */
static size_t example_break(const char *line, size_t length) {
    size_t at = LINE - 2;
    if (length <= LINE)
        return length;
    while (at > 4 && line[at] != ' ')
        at--;
    return at <= 4 ? length : at;
}

/* Prints a command with its description, which follows after several blanks: below the command where it does not fit
 * beside it. */
static void example_print(const char *line, size_t length) {
    size_t note = 2;
    while (note + 2 < length && strncmp(line + note, "   ", 3) != 0)
        note++;
    if (length > LINE && note + 2 < length) {
        size_t gap = strspn(line + note, " ");
        printf("%.*s\n      %.*s\n", (int)note, line, (int)(length - note - gap), line + note + gap);
        return;
    }
    for (size_t n; (n = example_break(line, length)) < length; line += n, length -= n)
        printf("%.*s \\\n    ", (int)n, line);
    printf("%.*s\n", (int)length, line);
}

static void examples_print(const char *examples) {
    while (*examples != '\0') {
        size_t length = strcspn(examples, "\n");
        example_print(examples, length);
        examples += length + (examples[length] == '\n');
    }
}

void options_print_help(const struct verb *verb) {
    char usage[256];
    snprintf(usage, sizeof usage, "Usage: strata %s [OPTION]... %s", verb->name,
             verb->operands != NULL ? verb->operands : "SNAPSHOT");
    help_words_print(usage, 0, 7);
    printf("\n");
    help_words_print(verb->about, 0, 0);
    printf("\nOptions:\n");
    for (const struct option *option = NULL; (option = option_behind(option, verb->bit)) != NULL;)
        option_print(option);
    printf("\n");
    help_words_print("Sizes: 75GiB and 75G are 1024-based, 80GB is 1000-based, a plain number is bytes.", 0,
                     0);
    help_words_print(verb->exit_codes != NULL ? verb->exit_codes
                                              : "Exit codes: 0 done, 1 cannot read or write, 2 wrong usage.",
                     0, 0);
    printf("\nExamples:\n");
    examples_print(verb->examples);
}
