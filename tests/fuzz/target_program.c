/*
 * The whole program, from its command line on:
 *
 *     words, one per line | "%%\n" | text of the files "config" and "baseline" | "%%\n" | the snapshot "in", or
 *     a recipe for it | "%%\n" | more of them: "in1", "in2" ...
 *
 * A snapshot that begins with the byte 1 or 2 is made by the recipe after it, a pickle or a profiler's trace;
 * "dumps/rank0.pickle" and so on are the same. A word "&&" ends the words of one run; the next run finds what it wrote.
 * "+NAME=VALUE" sets a variable of the environment, "@NAME" names the next dump. No word can name a path outside of the
 * folder, because the characters that this takes are removed.
 */
#include "tests/fuzz/program.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 24, WORDS_NBYTES = 2000, MOST_FILES = 8, MOST_RUNS = 4 };

struct part {
    const uint8_t *at;
    size_t nbytes;
};

/* The part before the next "%%\n"; `rest` moves past that separator. */
static struct part part_take(struct part *rest) {
    const uint8_t *mark = rest->nbytes != 0 ? memmem(rest->at, rest->nbytes, "%%\n", 3) : NULL;
    struct part part = *rest;
    if (mark != NULL)
        part.nbytes = (size_t)(mark - rest->at);
    size_t used = mark != NULL ? part.nbytes + 3 : part.nbytes;
    *rest = (struct part){rest->at + used, rest->nbytes - used};
    return part;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Changes a word so that it cannot leave the folder: slashes stay only between digits. The slashes of a filter's
 * regular expression are written '|'. */
static void word_tame(char *word) {
    bool filter = strncmp(word, "--filter=", 9) == 0;
    for (char *c = word; *c != '\0'; c++) {
        if ((*c == '/' && !(c != word && is_digit(c[-1]) && is_digit(c[1]))) || (c[0] == '.' && c[1] == '.'))
            *c = '_';
        if (*c == '|' && filter)
            *c = '/';
    }
}

/* The variables that batch and check read. */
static const char *const environment[] = {"SLURM_PROCID", "SLURM_NTASKS", "RANK",
                                          "WORLD_SIZE",   "CI",           "GITHUB_STEP_SUMMARY"};
enum { N_ENVIRONMENT = sizeof environment / sizeof *environment };

static void environment_set(char *word) {
    char *value = strchr(word, '=');
    for (unsigned i = 0; value != NULL && i < N_ENVIRONMENT; i++)
        if ((size_t)(value - word) == strlen(environment[i]) &&
            memcmp(word, environment[i], (size_t)(value - word)) == 0)
            (void)setenv(environment[i], value + 1, 1);
}

static void environment_clear(void) {
    for (unsigned i = 0; i < N_ENVIRONMENT; i++)
        (void)unsetenv(environment[i]);
}

/* The names of dumps, in the order of the words. */
static const char *names[MOST_FILES];
static unsigned n_names;

static void name_note(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t length = strspn(name, allowed);
    if (n_names < MOST_FILES && length != 0 && length < 40 && name[length] == '\0' && name[0] != '.')
        names[n_names++] = name;
}

/* The words of one run; false: there are no more. `text` is NULL from the second call on. */
static bool words_take(char *text, struct program_words *words) {
    char *word = strtok(text, "\n");
    words->count = 0;
    program_word(words, "strata");
    for (; word != NULL && strcmp(word, "&&") != 0; word = strtok(NULL, "\n")) {
        word_tame(word);
        if (word[0] == '+')
            environment_set(word + 1);
        else if (word[0] == '@')
            name_note(word + 1);
        else if (words->count < MOST_WORDS)
            program_word(words, word);
    }
    return word != NULL;
}

static void snapshot_write(unsigned number, struct part part) {
    char name[64] = "in";
    uint8_t *made = NULL;
    if (part.nbytes != 0 && part.at[0] == 1)
        part.at = made = recipe_make(part.at + 1, part.nbytes - 1, &part.nbytes);
    else if (part.nbytes != 0 && part.at[0] == 2)
        part.at = made = recipe_make_kineto(part.at + 1, part.nbytes - 1, &part.nbytes);
    if (number != 0)
        (void)snprintf(name, sizeof name, "in%u", number);
    program_write(name, part.at, part.nbytes);
    if (number < n_names)
        (void)snprintf(name, sizeof name, "dumps/%s", names[number]);
    else
        (void)snprintf(name, sizeof name, "dumps/rank%u.pickle", number);
    program_write(name, part.at, part.nbytes);
    free(made);
}

static void files_write(struct part config, struct part rest) {
    program_write("config", config.at, config.nbytes);
    program_write("baseline", config.at, config.nbytes);
    program_folder("dumps");
    snapshot_write(0, part_take(&rest));
    for (unsigned number = 1; number < MOST_FILES && rest.nbytes != 0; number++)
        snapshot_write(number, part_take(&rest));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    char text[WORDS_NBYTES + 1];
    struct part rest = {bytes, nbytes}, line = part_take(&rest), config = part_take(&rest);
    struct program_words words;
    if (line.nbytes > WORDS_NBYTES || memchr(line.at, '\0', line.nbytes) != NULL)
        return -1;
    memcpy(text, line.at, line.nbytes);
    text[line.nbytes] = '\0';
    program_enter();
    environment_clear();
    n_names = 0;
    bool more = words_take(text, &words);
    files_write(config, rest);
    program_run_words(&words);
    for (int runs = 1; more && runs < MOST_RUNS; runs++) {
        more = words_take(NULL, &words);
        program_run_words(&words);
    }
    environment_clear();
    program_leave();
    return 0;
}
