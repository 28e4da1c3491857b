#include "cli/json_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* What a batch writes stays far below that; anything larger is somebody else's. */
static const off_t nbytes_most = 64 << 20;

cJSON *json_file_read(const char *path) {
    struct stat status;
    cJSON *document = NULL;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    bool plain =
        fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= nbytes_most;
    size_t nbytes = plain ? (size_t)status.st_size : 0;
    char *text = plain ? malloc(nbytes + 1) : NULL;
    if (text != NULL && fread(text, 1, nbytes, file) == nbytes)
        document = cJSON_ParseWithLength(text, nbytes);
    free(text);
    fclose(file);
    return document;
}
