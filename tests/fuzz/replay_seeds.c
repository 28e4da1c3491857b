/*
 * Runs a fuzz target over files and folders of files, without libFuzzer, so that every test run repeats old findings.
 *
 *     replay_NAME PATH...        the last line says how many inputs were run; none is a failure
 */
#include "tests/fuzz/target.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static unsigned n_inputs;

static bool complain(const char *path) {
    (void)fprintf(stderr, "replay_seeds: \"%s\": %s\n", path, strerror(errno));
    return false;
}

/* The target gets a block of exactly the right size, so that the sanitizers see where it ends. */
static bool run_file(const char *path, size_t nbytes) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(nbytes + (nbytes == 0));
    if (file == NULL || bytes == NULL || fread(bytes, 1, nbytes, file) != nbytes) {
        if (file != NULL)
            (void)fclose(file);
        free(bytes);
        return complain(path);
    }
    (void)fclose(file);
    (void)fprintf(stderr, "%s\n", path); /* the last path before a crash is the culprit */
    (void)LLVMFuzzerTestOneInput(bytes, nbytes);
    n_inputs++;
    free(bytes);
    return true;
}

static bool run_path(const char *path);

static bool run_folder(const char *path) {
    struct dirent **entries;
    const int n = scandir(path, &entries, NULL, alphasort);
    bool ok = n >= 0 || complain(path);
    for (int i = 0; i < n; i++) {
        char inner[4096];
        const int length = snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof inner)
            ok = run_path(inner) && ok;
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return ok;
}

static bool run_path(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return complain(path);
    return S_ISDIR(status.st_mode) ? run_folder(path) : run_file(path, (size_t)status.st_size);
}

int main(int argc, char **argv) {
    bool ok = argc > 1;
    for (int i = 1; i < argc; i++)
        ok = run_path(argv[i]) && ok;
    printf("%u inputs\n", n_inputs);
    return ok && n_inputs != 0 ? 0 : 1;
}
