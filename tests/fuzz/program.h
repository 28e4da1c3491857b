/* The whole program as a function, in a folder of its own that is emptied behind it. */
#ifndef STRATA_TESTS_FUZZ_PROGRAM_H
#define STRATA_TESTS_FUZZ_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Enters an empty folder, the same one each time. */
void program_enter(void);

void program_folder(const char *name);

/* Writes a file there, in a folder that was made. */
void program_write(const char *name, const void *bytes, size_t nbytes);

/* Runs the program with these words, of which the first is its name; checks the exit code, and that no temporary file is
 * left. */
void program_run(int n_words, char **words);

/* Removes everything in the folder. */
void program_leave(void);

#endif
