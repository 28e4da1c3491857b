#include "base/format.h"
#include "cli/batch/batch_find.h"
#include "cli/batch/batch_join.h"
#include "cli/batch/batch_shard.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/batch/batch_store.h"
#include "cli/batch/batch_workers.h"
#include "cli/browser.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* "1 file failed", "2 files failed" */
static void note_count(uint32_t count, const char *what) {
    if (count != 0)
        terminal_note(NULL, "%s file%s %s", format_count(count).text, count == 1 ? "" : "s", what);
}

static void note_series(const struct index *index, const struct batch *batch) {
    if (index->n_series == 1)
        terminal_note(NULL, "\"%s/%s.html\" joins the %" PRIu32 " dumps of %s", batch->directory,
                      index->series[0].name, index->series[0].n_dumps, index->series[0].what);
    else if (index->n_series != 0)
        terminal_note(NULL, "\"%s/series/\" joins the dumps of each of %s ranks", batch->directory,
                      format_count(index->n_series).text);
}

/* Joins the databases of all rows to DIR/ranks.sqlite; rows of one file share a database. False: printed. */
static bool databases_join(const struct index *index, struct batch *batch) {
    struct export_part *parts = batch_alloc(batch, index->n_rows, sizeof *parts);
    char reason[EXPORT_REASON_NBYTES] = "no memory";
    struct output_file file;
    uint32_t n = 0;
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        if (n != 0 && strcmp(row->name, parts[n - 1].name) == 0)
            continue;
        parts[n++] =
            (struct export_part){.name = row->name,
                                 .path = batch_text(batch, "%s/%s.sqlite", batch->directory, row->name),
                                 .input = row->input,
                                 .rank = row->rank,
                                 .step = row->step};
    }
    if (!store_begin(&file, batch, "ranks.sqlite", (struct arena_host){0}))
        return false;
    bool joined = export_join(&file.out, parts, n, batch->directory, reason);
    if (!joined && !file.out.refused)
        terminal_error(NULL, "%s/ranks.sqlite: %s", batch->directory, reason);
    return output_file_end(&file, joined) && joined;
}

static int index_finish(struct index *index, struct batch *batch, bool complete) {
    int number;
    if (!join_write(index, batch, &number))
        return number > 0 ? 128 + number : EXIT_CODE_FAILED;
    uint64_t compared = index->n_rows - index->n_copies;
    terminal_note(NULL, "\"%s/index.html\" compares %s recording%s", batch->directory,
                  format_count(compared).text, compared == 1 ? "" : "s");
    if (index->n_copies != 0)
        terminal_note(NULL, "%s more %s", format_count(index->n_copies).text,
                      index->n_copies == 1 ? "is a copy" : "are copies");
    note_series(index, batch);
    enum { SHOWN = 5 };
    for (uint32_t i = 0; i < index->n_findings && i < SHOWN; i++)
        terminal_note(NULL, "%s", index->findings[i].title);
    if (index->n_findings > SHOWN)
        terminal_note(NULL, "and %" PRIu32 " more in the index", index->n_findings - SHOWN);
    note_count(index->n_skipped, "skipped");
    note_count(index->n_failed, "failed");
    if (batch->settings->join && !databases_join(index, batch))
        return EXIT_CODE_FAILED;
    browser_open(batch->settings, batch_text(batch, "%s/index.html", batch->directory));
    bool whole = complete && index->n_failed == 0 && !batch->incomplete;
    return whole ? EXIT_CODE_DONE : EXIT_CODE_PARTLY;
}

/* ---- --index ---- */

static int index_run(struct batch *batch) {
    struct index index;
    bool complete;
    return join_directory(&index, batch, &complete) ? index_finish(&index, batch, complete)
                                                    : EXIT_CODE_FAILED;
}

/* ---- converting ---- */

/* Says that no snapshot was found, and what was found instead. Unreadable files have been reported already. */
static void nothing_say(const struct batch *batch) {
    uint32_t failed = batch_count(batch, BATCH_FAILED), others = batch->count - failed;
    char others_text[60] = "", failed_text[60] = "";
    if (others != 0 || failed == 0)
        snprintf(others_text, sizeof others_text, "; %" PRIu32 " other file%s %s seen", others,
                 others == 1 ? "" : "s", others == 1 ? "was" : "were");
    if (failed != 0)
        snprintf(failed_text, sizeof failed_text, "; %" PRIu32 " file%s could not be read", failed,
                 failed == 1 ? "" : "s");
    terminal_error(batch->settings->input, "no snapshot was found%s%s", others_text, failed_text);
}

/* Finds the files to convert and names them. False: printed. */
static bool batch_prepare(struct batch *batch, const struct rank_pattern *pattern) {
    batch_find(batch, pattern);
    if (batch->watch == NULL &&
        batch_count(batch, BATCH_WAITING) + batch_count(batch, BATCH_ELSEWHERE) == 0) {
        nothing_say(batch);
        return false;
    }
    names_assign(batch);
    return true;
}

static void batch_resume(struct batch *batch) {
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->files[i].state == BATCH_WAITING && sidecar_is_current(batch, &batch->files[i]))
            batch->files[i].state = BATCH_UP_TO_DATE;
    note_count(batch_count(batch, BATCH_UP_TO_DATE), "up to date");
}

/* After the workers: prints what the shard leaves to do, or writes the index if there is only one shard. */
static int batch_finish(struct batch *batch) {
    struct index index;
    if (!record_write(batch))
        return EXIT_CODE_FAILED;
    if (batch->settings->resume && batch->settings->shard == NULL && !join_remove_stale(batch))
        return EXIT_CODE_FAILED;
    if (batch->settings->shard == NULL) {
        join_batch(&index, batch);
        return index_finish(&index, batch, true);
    }
    uint32_t n_failed = batch_count(batch, BATCH_FAILED);
    note_count(batch_count(batch, BATCH_DONE), "done");
    note_count(n_failed, "failed");
    terminal_note(NULL, "when all shards are done: strata batch --index %s", batch->directory);
    return n_failed == 0 ? EXIT_CODE_DONE : EXIT_CODE_PARTLY;
}

static int batch_convert_all(struct batch *batch) {
    struct store store;
    if (!store_open(&store, batch))
        return EXIT_CODE_FAILED;
    record_remove(batch);
    if (batch->settings->resume)
        batch_resume(batch);
    int number = workers_run(batch);
    int code = number != 0 ? 128 + number : batch_finish(batch);
    store_close(&store);
    return code;
}

/* ---- --watch: finds the inputs that have come to rest, and whether there is anything to do ---- */

/* All zero before the first look. */
struct watch {
    /* [n_seen] each input at the last look: its path, size and time; sorted; malloc'd */
    uint64_t *seen;
    uint32_t n_seen;
    bool looked;
    uint64_t shown; /* hash of everything that the index was made of */
    int code;       /* the exit code so far: that of the last index */
};

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

/*
 * Call it between batch_find's names and the work. Inputs that have changed since the last look (at the first: within
 * the time between two looks) are left out of the batch, or keep the result that they have. True: what is left differs
 * from what the last index was made of. Nothing is printed.
 */
static bool watch_look(struct watch *watch, struct batch *batch) {
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

/* One look of a watched batch, which does nothing while nothing has changed. */
static int batch_look(struct batch *batch) {
    if (batch->watch == NULL || watch_look(batch->watch, batch))
        return batch_convert_all(batch);
    return batch->watch->code;
}

static int batch_work(struct batch *batch) {
    struct rank_pattern pattern;
    if (!shard_choose(batch, batch->settings->shard))
        return EXIT_CODE_USAGE;
    if (!rank_pattern_init(&pattern, batch->settings->rank_regex))
        return EXIT_CODE_USAGE;
    int code =
        rules_fingerprint(batch->settings->rules, batch->rules_fingerprint) && batch_prepare(batch, &pattern)
            ? batch_look(batch)
            : EXIT_CODE_FAILED;
    rank_pattern_release(&pattern);
    return code;
}

/* Refuses combinations of options that mean nothing. True: printed. */
static bool usage_is_wrong(const struct settings *settings) {
    const char *wrong = NULL;
    if (settings->index_directory != NULL && settings->input != NULL)
        wrong = "--index DIR converts nothing; name no snapshot with it";
    else if (settings->index_directory != NULL && settings->shard != NULL)
        wrong = "--index joins all shards; it cannot be combined with --shard";
    else if (settings->index_directory == NULL && settings->output == NULL)
        wrong = "there is no output directory; -o DIR names it";
    else if (settings->output != NULL && strcmp(settings->output, "-") == 0)
        wrong = "a batch writes many files; -o names a directory";
    else if (settings->join && settings->export_kind != EXPORT_SQLITE)
        wrong = "--join makes one database: it needs --export sqlite";
    else if (settings->watch && (settings->index_directory != NULL || settings->shard != NULL))
        wrong = "--watch converts all that comes; it cannot be combined with --index or --shard";
    else if (settings->join && settings->shard != NULL)
        wrong = "--join needs all ranks: strata batch --index DIR --export sqlite --join, when all shards "
                "are done";
    for (uint32_t i = 0; i < settings->n_inputs; i++)
        if (strcmp(settings->inputs[i], "-") == 0 || settings->inputs[i][0] == '\0')
            wrong = "a batch reads files and directories, not standard input";
    if (wrong != NULL)
        terminal_error(NULL, "batch: %s", wrong);
    return wrong != NULL;
}

/* Drops slashes at the end of a directory's path: DIR/ and DIR are the same place. The root stays as it is. */
static const char *directory_plain(struct batch *batch, const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return batch_text(batch, "%.*s", (int)length, path);
}

/* One batch. `watch` NULL: it looks at the inputs once. */
static int batch_once(const struct settings *settings, struct watch *watch) {
    struct batch batch = {.settings = settings, .watch = watch, .shard = 1, .n_shards = 1};
    arena_init(&batch.arena, memory_host(), settings->max_memory_nbytes);
    bool joining = settings->index_directory != NULL;
    batch.directory = directory_plain(&batch, joining ? settings->index_directory : settings->output);
    int code = joining ? index_run(&batch) : batch_work(&batch);
    arena_release(&batch.arena);
    return code;
}

/* Runs batches until a signal comes (only conversions do not let it wait), or until a fault that the next look would
 * not mend. */
static int batch_watch(const struct settings *settings) {
    struct settings look = *settings;
    struct watch watch = {0};
    sigset_t before;
    int code;
    look.resume = true;
    output_hold_signals(&before);
    do {
        uint64_t shown = watch.shown;
        watch.code = code = batch_once(&look, &watch);
        look.open = look.open && watch.shown == shown;
    } while ((code == EXIT_CODE_DONE || code == EXIT_CODE_PARTLY) && workers_pause(settings->every_us) == 0);
    free(watch.seen);
    return code;
}

static int batch_run(const struct settings *settings) {
    if (usage_is_wrong(settings))
        return EXIT_CODE_USAGE;
    return settings->watch ? batch_watch(settings) : batch_once(settings, NULL);
}

const struct verb verb_batch = {
    .name = "batch",
    .bit = VERB_BATCH,
    .operands = "PATH... -o DIR",
    .summary = "many snapshots: a page for each, and an index that compares them",
    .about = "Finds the snapshots among PATHs, converts them side by side and writes into DIR, for each, a\n"
             "page, a sidecar NAME.strata.json (and with --png a picture), and index.html, summary.json, "
             "summary.csv\n"
             "and metrics.prom (Prometheus), which say which rank is different and why. Ranks and steps are "
             "read from the files' names.\n"
             "A file that cannot be read fails alone. docs/cluster.md shows it under Slurm, Open MPI\n"
             "and Kubernetes.\n",
    .examples = "  strata batch dumps/ -o report/\n"
                "  strata batch dumps/ -o report/ -j 8 --png --resume\n"
                "  strata batch dumps/ -o report/ --pages odd --watch\n"
                "  strata batch dumps/ -o report/ --export sqlite --join\n"
                "  strata batch logs/ -o report/ --rank-regex 'node(\\d+)'\n"
                "  srun -n 64 strata batch dumps/ -o report/ --shard auto && strata batch --index report/\n",
    .run = batch_run,
};
