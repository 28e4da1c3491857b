#include "cli/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a batch writes stays far below that; anything larger is somebody else's. */
static const off_t nbytes_most = 64 << 20;

/* ---- a tree in bounded memory: two bytes of text can make a node of a hundred ---- */

static size_t memory_left;

static void *tree_alloc(size_t nbytes) {
    if (nbytes > memory_left) {
        errno = E2BIG;
        return NULL;
    }
    void *block = malloc(nbytes);
    if (block != NULL)
        memory_left -= malloc_usable_size(block) < memory_left ? malloc_usable_size(block) : memory_left;
    return block;
}

static void tree_free(void *block) {
    memory_left += malloc_usable_size(block);
    free(block);
}

/* Others use cJSON too: the limit holds while this parses, and what it made is plain memory. */
static cJSON *parse_within(const char *text, size_t nbytes, size_t memory_nbytes) {
    memory_left = memory_nbytes;
    cJSON_InitHooks(&(cJSON_Hooks){tree_alloc, tree_free});
    errno = 0;
    cJSON *document = cJSON_ParseWithLength(text, nbytes);
    cJSON_InitHooks(NULL);
    return document;
}

/* ---- reading ---- */

static bool read_all(int fd, char *text, size_t nbytes) {
    size_t have = 0;
    for (ssize_t n; have < nbytes && (n = read(fd, text + have, nbytes - have)) > 0;)
        have += (size_t)n;
    return have == nbytes;
}

/* Whoever wrote into the directory may have put a pipe or a device there: opening must not wait. */
cJSON *json_file_read(const char *path, size_t memory_nbytes) {
    struct stat status;
    cJSON *document = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    bool plain = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= nbytes_most;
    size_t nbytes = plain ? (size_t)status.st_size : 0;
    char *text = plain ? malloc(nbytes + 1) : NULL;
    errno = plain && text == NULL ? ENOMEM : 0;
    if (text != NULL && read_all(fd, text, nbytes))
        document = parse_within(text, nbytes, memory_nbytes);
    int error = errno;
    free(text);
    close(fd);
    errno = error;
    return document;
}

int64_t json_file_number(const cJSON *object, const char *name, int64_t missing) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    bool number = cJSON_IsNumber(item) && item->valuedouble > -0x1p62 && item->valuedouble < 0x1p62;
    return number ? (int64_t)item->valuedouble : missing;
}

const char *json_file_text(const cJSON *object, const char *name, const char *missing) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : missing;
}

const char *json_file_keep(struct arena *arena, const char *text) {
    size_t nbytes = text != NULL ? strlen(text) + 1 : 1;
    char *copy = arena_alloc(arena, nbytes);
    if (copy != NULL && text != NULL)
        memcpy(copy, text, nbytes);
    return copy;
}
