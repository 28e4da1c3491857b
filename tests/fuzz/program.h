/* Runs the whole program as a function, in a folder of its own that is emptied afterwards. */
#pragma once

#include "tests/fuzz/recipe.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Enters an empty folder, the same one each time. */
void program_enter(void);

void program_folder(const char *name);

/* Writes a file there, and makes its folder. */
void program_write(const char *name, const void *bytes, size_t nbytes);

/* Writes the pickle that a recipe makes. */
static inline void program_write_recipe(const char *name, const uint8_t *bytes, size_t nbytes) {
    size_t made_nbytes;
    uint8_t *made = recipe_make(bytes, nbytes, &made_nbytes);
    program_write(name, made, made_nbytes);
    free(made);
}

/* Runs the program with these words, of which the first is its name; checks the exit code, and that no temporary file is
 * left. */
void program_run(int n_words, char **words);

/* A command line that grows; words beyond the maximum are left out. The words must outlive it. */
enum { PROGRAM_WORDS_MAX = 40 };
struct program_words {
    int count;
    char *word[PROGRAM_WORDS_MAX + 1];
};
void program_word(struct program_words *words, const char *word);

/* Runs the program with the collected words. */
void program_run_words(struct program_words *words);

/* Removes everything in the folder. */
void program_leave(void);
