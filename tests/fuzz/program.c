#include "tests/fuzz/program.h"

#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int strata_main(int argc, char **argv); /* cli/main.c, renamed by the build */

static char folder[64];

static void fail(const char *what) {
    (void)fprintf(stderr, "does not hold: %s\n", what);
    perror("program");
    abort();
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    return place->level == 0 ? 0 : remove(path);
}

static void folder_remove(void) {
    program_leave();
    if (chdir("/") == 0)
        (void)rmdir(folder);
}

void program_enter(void) {
    if (folder[0] == '\0') {
        struct stat status;
        (void)snprintf(folder, sizeof folder, "%s/strata-fuzz-XXXXXX",
                       stat("/dev/shm", &status) == 0 ? "/dev/shm" : "/tmp");
        if (mkdtemp(folder) == NULL)
            fail("a folder");
        (void)atexit(folder_remove);
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "r", stdin) == NULL)
            fail("standard input and output that lead nowhere");
    }
    if (chdir(folder) != 0)
        fail("the folder can be entered");
}

void program_leave(void) {
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void program_folder(const char *name) {
    if (mkdir(name, 0700) != 0)
        fail("a folder can be made");
}

void program_write(const char *name, const void *bytes, size_t nbytes) {
    FILE *file = fopen(name, "wb");
    if (file == NULL || fwrite(bytes, 1, nbytes, file) != nbytes || fclose(file) != 0)
        fail("a file can be written");
}

static int is_temporary(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    return strstr(path + place->base, ".tmp") != NULL;
}

void program_run(int n_words, char **words) {
    int code = strata_main(n_words, words);
    if (code < 0 || code > 4)
        fail("the exit code is one of the documented ones");
    if (nftw(folder, is_temporary, 16, FTW_PHYS) != 0)
        fail("no temporary file is left");
}

void program_word(struct program_words *words, const char *word) {
    if (words->count == PROGRAM_WORDS_MAX)
        return;
    words->word[words->count++] = (char *)(uintptr_t)word;
    words->word[words->count] = NULL;
}

void program_run_words(struct program_words *words) {
    program_run(words->count, words->word);
}
