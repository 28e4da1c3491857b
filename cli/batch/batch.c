#include "cli/batch/batch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *batch_text(struct batch *batch, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length >= 0 ? arena_alloc(&batch->arena, (size_t)length + 1) : NULL;
    if (text == NULL)
        return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

struct batch_file *batch_add(struct batch *batch) {
    if (!ARENA_GROW(&batch->arena, batch->files, batch->capacity, (uint64_t)batch->count + 1))
        return NULL;
    struct batch_file *file = &batch->files[batch->count++];
    memset(file, 0, sizeof *file);
    file->rank = file->step = file->local_rank = file->loose = BATCH_UNKNOWN;
    return file;
}

uint32_t batch_count(const struct batch *batch, enum batch_state state) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        count += batch->files[i].state == state;
    return count;
}

const char *batch_base_name(const struct batch_file *file) {
    const char *slash = strrchr(file->name, '/');
    return slash != NULL ? slash + 1 : file->name;
}

uint64_t batch_hash(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}
