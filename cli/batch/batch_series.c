#include "cli/batch/batch_series.h"

#include "cli/batch/batch_family.h"
#include "cli/batch/batch_names.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/batch/batch_workers.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A row that may be a dump of a series: what the dumps of one series share, and this one's place among them. */
struct candidate {
    const struct index_row *row;
    const char *family;
    bool by_events; /* the path tells no moment, so its events must */
    uint64_t first_us, last_us;
    uint32_t number; /* of the row */
};

static int number_compare(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* Compares rank and part of a job; 0: the same. */
static int who_compare(const struct candidate *x, const struct candidate *y) {
    int order = number_compare(x->row->rank, y->row->rank);
    if (order == 0)
        order = number_compare(x->row->local_rank, y->row->local_rank);
    if (order == 0)
        order = strcmp(x->row->host, y->row->host);
    if (order == 0)
        order = x->by_events - y->by_events;
    return order != 0 ? order : strcmp(x->family, y->family);
}

static int candidate_compare(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    int order = who_compare(x, y);
    if (order == 0)
        order = number_compare(x->row->step, y->row->step);
    if (order == 0 && x->by_events && x->last_us != y->last_us)
        order = x->last_us < y->last_us ? -1 : 1;
    return order != 0 ? order : strcmp(x->row->input, y->row->input);
}

/* Does `b`, which ends later, begin before `a` has ended? Only the begin of the last sample is known, not its end. */
static bool windows_meet(const struct candidate *a, const struct candidate *b) {
    return b->first_us <= a->last_us + (a->last_us - a->first_us) / (INDEX_SAMPLES / 2) + 1;
}

static bool belongs(const struct candidate *before, const struct candidate *next) {
    return who_compare(before, next) == 0 && (!next->by_events || windows_meet(before, next));
}

static const char *directory_text(struct batch *batch, const char *input) {
    const char *slash = strrchr(input, '/');
    return batch_text(batch, "%.*s/rank", slash != NULL ? (int)(slash - input) : 0, input);
}

/* May a row be a dump of a series? False: it may not, or, with `*no_memory` set, there is no memory. */
static bool candidate_init(struct candidate *candidate, struct batch *batch, const struct index_row *row,
                           bool *no_memory) {
    bool stamped = false;
    *candidate = (struct candidate){.row = row};
    if (!row->is_snapshot || row->copy_of != NULL)
        return false;
    if (row->sample_us != NULL && row->n_samples != 0) {
        candidate->first_us = row->sample_us[0];
        candidate->last_us = row->sample_us[row->n_samples - 1];
    }
    candidate->family = family_text(batch, row->input, row->rank, row->step, &stamped);
    candidate->by_events = row->step == INDEX_UNKNOWN && !stamped;
    if (candidate->by_events)
        candidate->family = directory_text(batch, row->input);
    *no_memory = candidate->family == NULL;
    return !*no_memory && (!candidate->by_events || (row->rank != INDEX_UNKNOWN && candidate->last_us != 0));
}

static bool series_fill(struct batch *runs, const struct batch *batch, struct batch_series *series,
                        const struct candidate *candidates) {
    for (uint32_t i = 0; i < series->n; i++) {
        const struct index_row *row = candidates[i].row;
        series->rows[i] = candidates[i].number;
        series->pages[i] = batch_text(runs, "%s/%s.html", batch->directory, row->name);
        if (series->pages[i] == NULL)
            return false;
        series->made_of = series->made_of * 0x100000001b3u ^ batch_hash(row->name) ^ row->stamp;
    }
    return true;
}

static bool series_add(struct batch *runs, const struct batch *batch, const struct candidate *candidates,
                       uint32_t count) {
    struct batch_file *file = batch_add(runs);
    struct batch_series *series = arena_alloc(&runs->arena, sizeof *series);
    if (file == NULL || series == NULL)
        return false;
    *series = (struct batch_series){.n = count, .must_join = candidates[0].by_events};
    series->pages = arena_alloc(&runs->arena, count * sizeof *series->pages);
    series->rows = arena_alloc(&runs->arena, count * sizeof *series->rows);
    file->series = series;
    file->rank = candidates[0].row->rank;
    file->input = candidates[0].family;
    file->path = batch_text(runs, "%s/%s", runs->directory, file->input);
    file->compressed = true; /* as the payloads of pages are */
    return series->pages != NULL && series->rows != NULL && file->path != NULL &&
           series_fill(runs, batch, series, candidates);
}

static bool series_find(struct batch *runs, struct batch *batch, const struct index *index) {
    struct candidate *candidates = malloc(((size_t)index->n_rows + 1) * sizeof *candidates);
    uint32_t count = 0;
    bool no_memory = candidates == NULL;
    for (uint32_t i = 0; !no_memory && i < index->n_rows; i++)
        if (candidate_init(&candidates[count], batch, &index->rows[i], &no_memory))
            candidates[count++].number = i;
    if (count != 0)
        qsort(candidates, count, sizeof *candidates, candidate_compare);
    for (uint32_t from = 0, to; !no_memory && from < count; from = to) {
        for (to = from + 1; to < count && belongs(&candidates[to - 1], &candidates[to]);)
            to++;
        no_memory = to - from > 1 && !series_add(runs, batch, candidates + from, to - from);
    }
    free(candidates);
    return !no_memory && names_assign(runs);
}

static const char *what_text(struct batch *batch, const struct batch_file *file) {
    return file->rank != BATCH_UNKNOWN ? batch_text(batch, "rank %" PRId64, file->rank) : file->input;
}

/* Takes over a series whose outputs are there and current. False: no memory. */
static bool series_take(struct index *index, struct batch *batch, const struct batch *runs,
                        struct batch_file *file) {
    struct index_series *series = &index->series[index->n_series];
    *series = (struct index_series){.rank = file->rank, .n_dumps = file->series->n};
    series->dump = arena_alloc(index->arena, series->n_dumps * sizeof *series->dump);
    series->name = batch_text(batch, "series/%s", file->name);
    series->what = what_text(batch, file);
    if (series->dump == NULL || series->name == NULL || series->what == NULL)
        return false;
    enum sidecar_result result = sidecar_read_series(series, runs, file, index->arena);
    for (uint32_t i = 0; i < series->n_dumps; i++)
        series->dump[i].row = file->series->rows[i];
    if (result == SIDECAR_READ && sidecar_has_outputs(runs, file)) {
        file->state = BATCH_UP_TO_DATE;
        index->n_series++;
    }
    return result != SIDECAR_NO_MEMORY;
}

static bool series_take_those(struct index *index, struct batch *batch, struct batch *runs,
                              enum batch_state state) {
    bool done = true;
    for (uint32_t i = 0; done && i < runs->count; i++)
        if (runs->files[i].state == state)
            done = series_take(index, batch, runs, &runs->files[i]);
    return done;
}

/* Adds one note for all series that could not be made. */
static bool series_note(struct index *index, struct batch *batch, const struct batch *runs) {
    const struct batch_file *first = runs->files;
    uint32_t count = batch_count(runs, BATCH_FAILED);
    if (count == 0)
        return true;
    while (first->state != BATCH_FAILED)
        first++;
    const char *what = what_text(batch, first);
    const char *note =
        batch_text(batch, "no timeline of the %" PRIu32 " dumps of %s%s: %s", first->series->n,
                   what != NULL ? what : "", count > 1 ? ", nor of others" : "", first->reason);
    if (note != NULL)
        index->notes[index->n_notes++] = note;
    return note != NULL;
}

static int series_compare(const void *a, const void *b) {
    const struct index_series *x = a, *y = b;
    int order = number_compare(x->rank, y->rank);
    return order != 0 ? order : strcmp(x->name, y->name);
}

/* Sums the bytes to read, from which the memory of the conversion is estimated. */
static void series_measure(struct batch_file *file) {
    for (uint32_t i = 0; file->state == BATCH_WAITING && i < file->series->n; i++) {
        struct stat status;
        if (stat(file->series->pages[i], &status) == 0)
            file->nbytes += (uint64_t)status.st_size;
    }
}

static bool series_make(struct batch *runs, int *number) {
    struct store store;
    for (uint32_t i = 0; i < runs->count; i++)
        series_measure(&runs->files[i]);
    if (!store_open(&store, runs))
        return true; /* printed; the index is written without it */
    *number = workers_run(runs, &store);
    store_close(&store);
    return *number == 0;
}

/* Is a series missing, although its dumps hold enough to make it? */
static bool some_are_lacking(const struct batch *runs) {
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct batch_file *file = &runs->files[i];
        if (file->state != BATCH_UP_TO_DATE && file->state != BATCH_SKIPPED && !file->series->merged)
            return true;
    }
    return false;
}

static bool series_run(struct index *index, struct batch *batch, struct batch *runs, int *number) {
    const struct settings *settings = batch->settings;
    bool keeps = settings->resume || settings->index_directory != NULL;
    index->series = arena_alloc(index->arena, ((size_t)runs->count + 1) * sizeof *index->series);
    if (index->series == NULL || (keeps && !series_take_those(index, batch, runs, BATCH_WAITING)))
        return false;
    if (batch_count(runs, BATCH_WAITING) != 0 && !series_make(runs, number))
        return false;
    if (!series_take_those(index, batch, runs, BATCH_DONE) || !series_note(index, batch, runs))
        return false;
    batch->incomplete |= some_are_lacking(runs);
    if (index->n_series != 0)
        qsort(index->series, index->n_series, sizeof *index->series, series_compare);
    return true;
}

bool series_write(struct index *index, struct batch *batch, int *number) {
    struct settings settings = *batch->settings;
    /* The pages are redacted already and have the categories of rules and patterns. */
    settings.redact = false;
    settings.rules = NULL;
    settings.n_owners = 0;
    struct batch runs = {.settings = &settings, .shard = 1, .n_shards = 1};
    *number = 0;
    if (settings.no_series || settings.pages != PAGES_ALL) /* series are made of pages */
        return true;
    arena_init(&runs.arena, arena_share(&batch->arena), SIZE_MAX);
    runs.directory = batch_text(&runs, "%s/series", batch->directory);
    bool done = runs.directory != NULL && series_find(&runs, batch, index) &&
                (runs.count == 0 || series_run(index, batch, &runs, number));
    if (!done && *number <= 0)
        terminal_error(NULL, "no memory for the timelines of several dumps");
    arena_release(&runs.arena);
    return done;
}
