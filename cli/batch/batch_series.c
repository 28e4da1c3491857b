#include "cli/batch/batch_series.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/batch/batch_store.h"
#include "cli/batch/batch_workers.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { NUMBER_DIGITS = 18, STAMP_DIGITS = 8 };

/* ---- families of paths ---- */

/*
 * The family of a path is the common form of the paths of one rank's dumps,
 * "iteration_N/rankN_memory_snapshot.pickle": 'N' replaces the numbers of step and rank, 'T' a date with a time. In a
 * directory only a number after a word for a step is replaced, so that run3/ and run4/ stay two families.
 */
struct copy {
    char *to;
    size_t used;
    int64_t rank, step;
    bool stamped;
};

static bool is_separator(char c) {
    return c != '\0' && strchr("-_.= :", c) != NULL;
}

/* Digits, and separators between digits: "2025-06-01-12-30", "01_06_10_09.3747". */
static size_t digits_and_separators(const char *text, unsigned *groups) {
    size_t length = strspn(text, "0123456789");
    for (*groups = length != 0; is_separator(text[length]) && isdigit((unsigned char)text[length + 1]);
         ++*groups)
        length += 1 + strspn(text + length + 1, "0123456789");
    return length;
}

/* "Mar_01_06_10_09.3747" */
static size_t month_length(const char *text) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    unsigned groups = 0;
    for (size_t i = 0; i + 3 < sizeof months; i += 3)
        if (strncmp(text, months + i, 3) == 0 && is_separator(text[3])) {
            size_t length = digits_and_separators(text + 4, &groups);
            return groups >= 4 ? 4 + length : 0;
        }
    return 0;
}

/* The length of a date with a time, or of digits enough to be one. The rank's number is not part of it: of
 * "2025-06-01-12-30_3" all but the last group counts. */
static size_t stamp_length(const char *text) {
    size_t digits = strspn(text, "0123456789");
    unsigned groups;
    if (digits >= STAMP_DIGITS)
        return digits;
    if (digits != 4 || text[4] != '-')
        return month_length(text);
    size_t length = digits_and_separators(text, &groups);
    while (groups > 5 && length > 0 && !is_separator(text[length - 1]))
        length--;
    return groups > 5 && length > 0 ? length - 1 : groups >= 3 ? length : 0;
}

static bool behind_step_word(const char *begin, const char *at) {
    static const char *const words[] = {"step", "steps", "iteration", "iter", "itrn", "itr"};
    size_t before = (size_t)(at - begin);
    before -= before > 0 && is_separator(at[-1]);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        if (before >= n && strncasecmp(begin + before - n, words[i], n) == 0)
            return true;
    }
    return false;
}

static void put(struct copy *copy, const char *text, size_t nbytes) {
    memcpy(copy->to + copy->used, text, nbytes);
    copy->used += nbytes;
}

/* Copies the number at `*at`. `directory`: it is in the name of a directory, not of the file. */
static void number_put(struct copy *copy, const char *begin, const char **at, bool directory) {
    size_t digits = strspn(*at, "0123456789");
    int64_t number = digits <= NUMBER_DIGITS ? strtoll(*at, NULL, 10) : -1;
    bool step = copy->step >= 0 && number == copy->step && (!directory || behind_step_word(begin, *at));
    bool rank = copy->rank >= 0 && number == copy->rank && !directory;
    if (step || rank)
        put(copy, "N", 1);
    else
        put(copy, *at, digits);
    *at += digits;
}

static void part_put(struct copy *copy, const char *begin, const char *end, bool directory) {
    for (const char *at = begin; at < end;) {
        bool word = at > begin && isalnum((unsigned char)at[-1]);
        size_t stamp = directory || word ? 0 : stamp_length(at);
        if (stamp != 0) {
            put(copy, "T", 1);
            copy->stamped = true;
            at += stamp;
        } else if (isdigit((unsigned char)*at))
            number_put(copy, begin, &at, directory);
        else
            put(copy, at++, 1);
    }
}

/* The family of a row's path. `*stamped`: the path has a time. */
static char *family_text(struct batch *batch, const struct index_row *row, bool *stamped) {
    const char *input = row->input;
    struct copy copy = {.to = batch_alloc(batch, strlen(input) + 1, 1), .rank = row->rank, .step = row->step};
    for (const char *begin = input;;) {
        const char *slash = strchr(begin, '/'), *end = slash != NULL ? slash : begin + strlen(begin);
        part_put(&copy, begin, end, slash != NULL);
        if (slash == NULL)
            break;
        put(&copy, "/", 1);
        begin = slash + 1;
    }
    copy.to[copy.used] = '\0';
    *stamped = copy.stamped;
    return copy.to;
}

/* ---- which dumps belong together ---- */

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

/* May a row be a dump of a series? */
static bool candidate_init(struct candidate *candidate, struct batch *batch, const struct index_row *row) {
    bool stamped = false;
    *candidate = (struct candidate){.row = row};
    if (!row->is_snapshot || row->copy_of != NULL)
        return false;
    if (row->sample_us != NULL && row->n_samples != 0) {
        candidate->first_us = row->sample_us[0];
        candidate->last_us = row->sample_us[row->n_samples - 1];
    }
    candidate->family = family_text(batch, row, &stamped);
    candidate->by_events = row->step == INDEX_UNKNOWN && !stamped;
    if (!candidate->by_events)
        return true;
    const char *slash = strrchr(row->input, '/');
    candidate->family =
        batch_text(batch, "%.*s/rank", slash != NULL ? (int)(slash - row->input) : 0, row->input);
    return row->rank != INDEX_UNKNOWN && candidate->last_us != 0;
}

static void series_add(struct batch *runs, const struct candidate *candidates, uint32_t count) {
    struct batch_file *file = batch_add(runs);
    struct batch_series *series = batch_alloc(runs, 1, sizeof *series);
    *series = (struct batch_series){.n = count,
                                    .must_join = candidates[0].by_events,
                                    .pages = batch_alloc(runs, count, sizeof *series->pages),
                                    .rows = batch_alloc(runs, count, sizeof *series->rows)};
    for (uint32_t i = 0; i < count; i++) {
        const struct index_row *row = candidates[i].row;
        series->rows[i] = candidates[i].number;
        series->pages[i] = batch_text(runs, "%s/%s.html", runs->outer->directory, row->name);
        series->made_of = series->made_of * 0x100000001b3u ^ batch_hash(row->name) ^ row->stamp;
    }
    file->series = series;
    file->rank = candidates[0].row->rank;
    file->input = candidates[0].family;
    file->path = batch_text(runs, "%s/%s", runs->directory, file->input);
    file->compressed = true; /* as the payloads of pages are */
}

static void series_find(struct batch *runs, const struct index *index) {
    struct candidate *candidates = batch_alloc(runs, index->n_rows, sizeof *candidates);
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->n_rows; i++)
        if (candidate_init(&candidates[count], runs, &index->rows[i]))
            candidates[count++].number = i;
    qsort(candidates, count, sizeof *candidates, candidate_compare);
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && belongs(&candidates[to - 1], &candidates[to]);)
            to++;
        if (to - from > 1)
            series_add(runs, candidates + from, to - from);
    }
    names_assign(runs);
}

/* ---- making them ---- */

/* "rank 3", or the family where no rank is known. */
static const char *what_text(struct batch *batch, const struct batch_file *file) {
    return file->rank != BATCH_UNKNOWN ? batch_text(batch, "rank %" PRId64, file->rank)
                                       : batch_keep(batch, file->input);
}

/* Takes over the series of a state whose outputs are there and current. */
static void series_take(struct index *index, struct batch *runs, enum batch_state state) {
    struct batch *batch = runs->outer;
    for (uint32_t i = 0; i < runs->count; i++) {
        struct batch_file *file = &runs->files[i];
        struct index_series *series = &index->series[index->n_series];
        if (file->state != state)
            continue;
        *series = (struct index_series){.rank = file->rank,
                                        .n_dumps = file->series->n,
                                        .dump = batch_alloc(batch, file->series->n, sizeof *series->dump),
                                        .name = batch_text(batch, "series/%s", file->name),
                                        .what = what_text(batch, file)};
        bool read = sidecar_read_series(series, runs, file);
        for (uint32_t k = 0; k < series->n_dumps; k++)
            series->dump[k].row = file->series->rows[k];
        if (!read || !sidecar_has_outputs(runs, file))
            continue;
        file->state = BATCH_UP_TO_DATE;
        index->n_series++;
    }
}

/* Adds one note for all series that could not be made. */
static void series_note(struct index *index, const struct batch *runs) {
    const struct batch_file *first = runs->files;
    uint32_t count = batch_count(runs, BATCH_FAILED);
    if (count == 0)
        return;
    while (first->state != BATCH_FAILED)
        first++;
    index->notes[index->n_notes++] =
        batch_text(runs->outer, "no timeline of the %" PRIu32 " dumps of %s%s: %s", first->series->n,
                   what_text(runs->outer, first), count > 1 ? ", nor of others" : "", first->reason);
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

/* False: ended by the signal `*number`. */
static bool series_make(struct batch *runs, int *number) {
    struct store store;
    for (uint32_t i = 0; i < runs->count; i++)
        series_measure(&runs->files[i]);
    if (!store_open(&store, runs))
        return true; /* printed; the index is written without it */
    *number = workers_run(runs);
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

static bool series_run(struct index *index, struct batch *runs, int *number) {
    const struct settings *settings = runs->settings;
    index->series = batch_alloc(runs->outer, runs->count + (size_t)1, sizeof *index->series);
    if (settings->resume || settings->index_directory != NULL)
        series_take(index, runs, BATCH_WAITING);
    if (batch_count(runs, BATCH_WAITING) != 0 && !series_make(runs, number))
        return false;
    series_take(index, runs, BATCH_DONE);
    series_note(index, runs);
    runs->outer->incomplete |= some_are_lacking(runs);
    qsort(index->series, index->n_series, sizeof *index->series, series_compare);
    return true;
}

bool series_write(struct index *index, struct batch *batch, int *number) {
    struct settings settings = *batch->settings;
    /* The pages are redacted already and have the categories of rules and patterns. */
    settings.redact = false;
    settings.rules = NULL;
    settings.n_owners = 0;
    struct batch runs = {.settings = &settings, .outer = batch, .shard = 1, .n_shards = 1};
    *number = 0;
    if (settings.no_series || settings.pages != PAGES_ALL) /* series are made of pages */
        return true;
    arena_init(&runs.arena, arena_share(&batch->arena), SIZE_MAX);
    runs.directory = batch_text(&runs, "%s/series", batch->directory);
    series_find(&runs, index);
    bool done = runs.count == 0 || series_run(index, &runs, number);
    arena_release(&runs.arena);
    return done;
}
