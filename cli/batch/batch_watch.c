#include "cli/batch/batch_watch.h"

#include "cli/batch/batch_sidecar.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int hash_compare(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static uint64_t file_hash(const struct batch_file *file) {
    const uint64_t prime = 0x100000001b3u;
    return ((batch_hash(file->path) ^ file->nbytes) * prime ^ (uint64_t)file->mtime_ns) * prime;
}

/* Does the file seem complete? It has not changed since the last look, or, at the first, for the time between two
 * looks. */
static bool file_rests(const struct watch *watch, const struct batch *batch, const struct batch_file *file) {
    struct timespec now;
    uint64_t hash = file_hash(file);
    if (watch->looked)
        return bsearch(&hash, watch->seen, watch->n_seen, sizeof hash, hash_compare) != NULL;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return now_ns - file->mtime_ns >= (int64_t)batch->settings->every_us * 1000;
}

/* Keeps the file's previous result in the index, if it has one. */
static bool file_keeps(struct batch *batch, struct batch_file *file) {
    struct sidecar sidecar;
    if (sidecar_read(&sidecar, batch, file->name) != SIDECAR_READ ||
        strcmp(sidecar.row.input, file->input) != 0)
        return false;
    file->state = BATCH_UP_TO_DATE;
    return true;
}

bool watch_look(struct watch *watch, struct batch *batch) {
    uint64_t *seen = malloc(((size_t)batch->count + 1) * sizeof *seen), shown = batch->count + UINT64_C(1);
    uint32_t n_seen = batch->count, n_left = 0, n_rows = 0;
    batch_need(batch, seen != NULL);
    for (uint32_t i = 0; i < n_seen; i++)
        seen[i] = file_hash(&batch->files[i]);
    for (uint32_t i = 0; i < batch->count; i++) {
        struct batch_file file = batch->files[i];
        bool rests = file_rests(watch, batch, &file);
        if (!rests && !file_keeps(batch, &file))
            continue;
        shown = shown * 0x100000001b3u ^ (rests ? file_hash(&file) : batch_hash(file.path));
        n_rows += file.state == BATCH_WAITING || file.state == BATCH_UP_TO_DATE;
        batch->files[n_left++] = file;
    }
    batch->count = n_left;
    qsort(seen, n_seen, sizeof *seen, hash_compare);
    free(watch->seen);
    bool differs = n_rows != 0 && shown != watch->shown;
    *watch = (struct watch){seen, n_seen, true, differs ? shown : watch->shown, watch->code};
    return differs;
}
