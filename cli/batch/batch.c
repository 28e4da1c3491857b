#include "cli/batch/batch.h"

#include "base/format.h"
#include "cli/batch/batch_store.h"
#include "cli/batch/batch_workers.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void batch_end(struct batch *batch) {
    if (batch->pool != NULL)
        workers_kill(batch->pool);
    if (batch->store != NULL)
        store_close(batch->store);
    if (batch->arena.limit_hit)
        terminal_error(NULL, "the batch needs more than the %s it may take; --max-memory allows more",
                       format_bytes(batch->arena.limit_nbytes).text);
    else
        terminal_error(NULL, "no memory for the batch");
    output_leave(EXIT_CODE_FAILED);
}

void *batch_alloc(struct batch *batch, size_t count, size_t item_nbytes) {
    void *items =
        count <= SIZE_MAX / 2 / item_nbytes ? arena_alloc(&batch->arena, count * item_nbytes) : NULL;
    batch_need(batch, items != NULL);
    return items;
}

char *batch_text(struct batch *batch, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    batch_need(batch, length >= 0);
    char *text = batch_alloc(batch, (size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

const char *batch_keep(struct batch *batch, const char *text) {
    size_t nbytes = text != NULL ? strlen(text) + 1 : 1;
    return memcpy(batch_alloc(batch, nbytes, 1), text != NULL ? text : "", nbytes);
}

cJSON *batch_json(struct batch *batch, const char *path, struct json_fault *fault) {
    cJSON *document = json_file_read(path, batch->arena.limit_nbytes - batch->arena.used_nbytes, fault);
    batch_need(batch, document != NULL || errno != ENOMEM);
    return document;
}

struct batch_file *batch_add(struct batch *batch) {
    BATCH_GROW(batch, batch->files, batch->capacity, batch->count);
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

int64_t batch_mtime_ns(const struct stat *status) {
    return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

uint64_t batch_hash(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}
