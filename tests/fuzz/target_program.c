/*
 * The command line, and everything behind it:
 *
 *     words, one per line | "%%\n" | text of the files "rules", "config" and "baseline" | "%%\n" | the snapshot "in", or a recipe for it
 *
 * A snapshot that begins with the byte 1 or 2 is made by the recipe behind it, a pickle or a profiler's trace;
 * "dumps/rank0.pickle" is the same. Nothing outside
 * of the folder can be named: words lose what a path would need for that.
 */
#include "tests/fuzz/program.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 24, WORDS_NBYTES = 2000 };

struct part {
    const uint8_t *at;
    size_t nbytes;
};

/* What stands before the next "%%\n"; `rest` moves behind that. */
static struct part part_take(struct part *rest) {
    const uint8_t *mark = rest->nbytes != 0 ? memmem(rest->at, rest->nbytes, "%%\n", 3) : NULL;
    struct part part = *rest;
    if (mark != NULL)
        part.nbytes = (size_t)(mark - rest->at);
    size_t used = mark != NULL ? part.nbytes + 3 : part.nbytes;
    *rest = (struct part){rest->at + used, rest->nbytes - used};
    return part;
}

/* A word cannot leave the folder, for it has no slashes; those of a filter's regular expression are written '|'. */
static void word_tame(char *word) {
    bool filter = strncmp(word, "--filter=", 9) == 0;
    for (char *c = word; *c != '\0'; c++) {
        if (*c == '/' || (c[0] == '.' && c[1] == '.'))
            *c = '_';
        if (*c == '|' && filter)
            *c = '/';
    }
}

static int words_split(char *text, char **words) {
    static char name[] = "strata";
    int n = 0;
    words[n++] = name;
    for (char *word = strtok(text, "\n"); word != NULL && n < MOST_WORDS; word = strtok(NULL, "\n")) {
        word_tame(word);
        words[n++] = word;
    }
    words[n] = NULL;
    return n;
}

static void snapshot_write(struct part part) {
    uint8_t *made = NULL;
    if (part.nbytes != 0 && part.at[0] == 1)
        part.at = made = recipe_make(part.at + 1, part.nbytes - 1, &part.nbytes);
    else if (part.nbytes != 0 && part.at[0] == 2)
        part.at = made = recipe_make_kineto(part.at + 1, part.nbytes - 1, &part.nbytes);
    program_write("in", part.at, part.nbytes);
    program_folder("dumps");
    program_write("dumps/rank0.pickle", part.at, part.nbytes);
    free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    char text[WORDS_NBYTES + 1], *words[MOST_WORDS + 1];
    struct part rest = {bytes, nbytes}, line = part_take(&rest), rules = part_take(&rest);
    if (line.nbytes > WORDS_NBYTES || memchr(line.at, '\0', line.nbytes) != NULL)
        return -1;
    memcpy(text, line.at, line.nbytes);
    text[line.nbytes] = '\0';
    program_enter();
    program_write("rules", rules.at, rules.nbytes);
    program_write("config", rules.at, rules.nbytes);
    program_write("baseline", rules.at, rules.nbytes);
    snapshot_write(rest);
    program_run(words_split(text, words), words);
    program_leave();
    return 0;
}
