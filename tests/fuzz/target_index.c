/* `batch --index`: sidecars, and records of shards, that another program may have written. Files are divided by "%%\n";
 * those that begin with '!' are records. */
#include "tests/fuzz/program.h"
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <string.h>

enum { MOST_FILES = 12 };

static void file_write(unsigned number, const uint8_t *bytes, size_t nbytes) {
    char name[64];
    if (nbytes != 0 && bytes[0] == '!') {
        (void)snprintf(name, sizeof name, "folder/shards/shard-%u-of-3.json", number % 3 + 1);
        program_write(name, bytes + 1, nbytes - 1);
    } else {
        (void)snprintf(name, sizeof name, "folder/rank%u.strata.json", number);
        program_write(name, bytes, nbytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    static char *const words[] = {"strata", "batch", "--index", "folder", "-f", NULL};
    program_enter();
    program_folder("folder");
    program_folder("folder/shards");
    for (unsigned number = 0; number < MOST_FILES && nbytes != 0; number++) {
        const uint8_t *mark = memmem(bytes, nbytes, "%%\n", 3);
        size_t part_nbytes = mark != NULL ? (size_t)(mark - bytes) : nbytes;
        file_write(number, bytes, part_nbytes);
        size_t used = mark != NULL ? part_nbytes + 3 : part_nbytes;
        bytes += used;
        nbytes -= used;
    }
    program_run(5, (char **)(uintptr_t)words);
    program_leave();
    return 0;
}
