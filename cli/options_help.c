/* A verb's help: its usage, its options from the table, examples. */
#include "cli/options_internal.h"

#include <stdio.h>
#include <string.h>

/* "  -o, --output PATH" padded to the column of the explanations; those of several lines stay in their
 * column. */
static void option_print(const struct option *option) {
    enum { COLUMN = 28 };
    char left[80];
    char letter[8] = "    ";
    if (option->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    const char *value = option->value != NULL ? option->value : "";
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, value[0] == '[' ? "" : " ", value);
    printf("%-*s", COLUMN, left);
    if (strlen(left) >= COLUMN)
        printf("\n%*s", COLUMN, "");
    for (const char *line = option->help;;) {
        size_t length = strcspn(line, "\n");
        printf("%.*s\n", (int)length, line);
        if (line[length] == '\0')
            return;
        line += length + 1;
        printf("%*s", COLUMN, "");
    }
}

void options_print_help(const struct verb *verb) {
    printf("Usage: strata %s [OPTION]... %s\n\n%s\nOptions:\n", verb->name,
           verb->operands != NULL ? verb->operands : "SNAPSHOT", verb->about);
    for (const struct option *option = NULL; (option = option_behind(option, verb->bit)) != NULL;)
        option_print(option);
    printf("\nSizes: 75GiB and 75G are 1024-based, 80GB is 1000-based, a plain number is bytes.\n"
           "Exit codes: 0 done, 1 cannot read or write, 2 wrong usage%s.\n\nExamples:\n%s",
           verb->bit == VERB_BATCH   ? ", 4 some files failed, or a timeline or difference"
           : verb->bit == VERB_CHECK ? ", 3 a rule is broken or not to be trusted"
                                     : "",
           verb->examples);
}
