#include "cli/batch/batch_join.h"

#include "base/search.h"
#include "cli/batch/batch_diffs.h"
#include "cli/batch/batch_made.h"
#include "cli/batch/batch_names.h"
#include "cli/batch/batch_pages.h"
#include "cli/batch/batch_series.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/batch/batch_store.h"
#include "cli/json_file.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "render/index/index.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MISSING_SHOWN = 400 };

/* ---- rows and refusals ---- */

static bool index_reserve(struct index *index, uint32_t count) {
    size_t n = (size_t)count + 1; /* room for one more note, about series */
    index->failed = arena_alloc(index->arena, n * sizeof *index->failed);
    index->skipped = arena_alloc(index->arena, n * sizeof *index->skipped);
    index->notes = arena_alloc(index->arena, n * sizeof *index->notes);
    return index->failed != NULL && index->skipped != NULL && index->notes != NULL;
}

static void index_refuse(struct index *index, const struct batch_file *file) {
    struct index_refusal refusal = {file->input, file->reason != NULL ? file->reason : ""};
    if (file->state == BATCH_FAILED)
        index->failed[index->n_failed++] = refusal;
    else
        index->skipped[index->n_skipped++] = refusal;
}

bool join_batch(struct index *index, struct batch *batch) {
    *index = (struct index){.arena = &batch->arena, .version = STRATA_VERSION};
    bool done = index_reserve(index, batch->count);
    for (uint32_t i = 0; done && i < batch->count; i++) {
        struct batch_file *file = &batch->files[i];
        struct sidecar sidecar;
        if (file->state == BATCH_FAILED || file->state == BATCH_SKIPPED) {
            index_refuse(index, file);
            continue;
        }
        if (file->row != NULL) {
            struct index_row row = *file->row;
            /* the --group-by of this run counts, not that of the run that wrote the sidecar */
            row.group = row.has_allocations ? file->group : row.group;
            done = index_add_row(index, &row);
            continue;
        }
        enum sidecar_result result = sidecar_read(&sidecar, batch->directory, file->name, &batch->arena);
        if (result == SIDECAR_READ) {
            done = index_add_row(index, &sidecar.row);
        } else if (result == SIDECAR_NO_MEMORY) {
            done = false;
        } else {
            file->state = BATCH_FAILED;
            file->reason = "its sidecar is gone or cannot be read";
            terminal_error(file->path, "%s", file->reason);
            index_refuse(index, file);
        }
    }
    if (!done)
        terminal_error(NULL, "no memory for the index");
    return done;
}

/* ---- joining a directory ---- */

/* A shard's record. Records with the same number of shards form a group; the runs of a group should have seen the same
 * files. */
struct shard_record {
    uint32_t of, shard;
    char fingerprint[24];
};

struct join {
    struct index *index;
    struct batch *batch; /* its files: one for each row (with `path` = the sidecar's name) and each refusal */
    struct index_row *rows;
    uint32_t n_rows, rows_capacity;
    struct shard_record *records;
    uint32_t n_records, records_capacity;
    bool (*take)(struct join *join, const char *name); /* handles each sidecar; false: no memory */
    /* used by join_remove: the names that the files have */
    struct name_list kept;
    bool lacks_sidecars;  /* there is one that cannot be read */
    uint32_t n_older;     /* sidecars of older versions of Strata, */
    struct sidecar older; /* the first of them */
    bool told;            /* an error that ends the join was printed */
};

/* Lists the names in a directory that have this ending, without the ending, sorted; `*names` is in the arena. A missing
 * directory has none. False: no memory, or the directory cannot be read (already printed). */
static bool directory_names(struct join *join, const char *path, const char *ending,
                            struct name_list *names) {
    bool done = true;
    size_t n = strlen(ending);
    DIR *directory = opendir(path);
    *names = (struct name_list){0};
    if (directory == NULL)
        done = errno == ENOENT || errno == ENOTDIR;
    if (done)
        errno = 0;
    for (struct dirent *entry; directory != NULL && done && (entry = readdir(directory)) != NULL; errno = 0) {
        size_t length = strlen(entry->d_name);
        if (length <= n || strcmp(entry->d_name + length - n, ending) != 0)
            continue;
        done = name_list_add(names, join->batch,
                             batch_text(join->batch, "%.*s", (int)(length - n), entry->d_name));
    }
    done = done && errno == 0;
    join->told = !done && errno != 0 && errno != ENOMEM;
    if (join->told)
        terminal_error(path, "cannot read the directory: %s", strerror(errno));
    if (directory != NULL)
        closedir(directory);
    name_list_sort(names);
    return done;
}

static struct batch_file *join_add(struct join *join, const char *input, int64_t rank, int64_t step) {
    struct batch_file *file = batch_add(join->batch);
    if (file != NULL) {
        file->input = input;
        file->rank = rank;
        file->step = step;
    }
    return file;
}

/* Reads "0.1.0" as numbers; a part that is missing or not a number stays as it is. */
static void version_read(const char *version, unsigned long part[3]) {
    char *end;
    for (size_t i = 0; i < 3 && *version >= '0' && *version <= '9'; i++) {
        part[i] = strtoul(version, &end, 10);
        version = *end == '.' ? end + 1 : "";
    }
}

/* Is "0.1.0" older than this version? A missing version is the oldest. */
static bool version_is_older(const char *version) {
    unsigned long theirs[3] = {0}, ours[3] = {0};
    version_read(version, theirs);
    version_read(STRATA_VERSION, ours);
    for (size_t i = 0; i < 3; i++)
        if (theirs[i] != ours[i])
            return theirs[i] < ours[i];
    return false;
}

static bool join_sidecar(struct join *join, const char *name) {
    struct sidecar sidecar;
    enum sidecar_result result = sidecar_read(&sidecar, join->batch->directory, name, &join->batch->arena);
    if (result == SIDECAR_NO_MEMORY)
        return false;
    if (result == SIDECAR_UNREADABLE) {
        terminal_error(name, "its sidecar cannot be read; skipped");
        join->lacks_sidecars = true;
        return true;
    }
    if (result == SIDECAR_NONE) {
        terminal_error(name, "is not a sidecar of this version of Strata%s; skipped", sidecar.fault.text);
        join->lacks_sidecars |= sidecar.fault.text[0] != '\0';
        return true;
    }
    if (!ARENA_GROW(&join->batch->arena, join->rows, join->rows_capacity, (uint64_t)join->n_rows + 1))
        return false;
    if (join->batch->settings->group_by != NULL && sidecar.row.has_allocations)
        sidecar.row.group = names_group(join->batch, sidecar.row.input, sidecar.row.host);
    join->rows[join->n_rows++] = sidecar.row;
    if (version_is_older(sidecar.version) && join->n_older++ == 0)
        join->older = sidecar;
    struct batch_file *file = join_add(join, sidecar.row.input, sidecar.rank, sidecar.row.step);
    if (file == NULL)
        return false;
    file->path = sidecar.row.name;
    file->state = BATCH_DONE;
    return true;
}

static bool join_shard(struct join *join, uint32_t shard, uint32_t of, const char *fingerprint) {
    if (!ARENA_GROW(&join->batch->arena, join->records, join->records_capacity,
                    (uint64_t)join->n_records + 1))
        return false;
    struct shard_record *record = &join->records[join->n_records++];
    *record = (struct shard_record){.of = of, .shard = shard};
    snprintf(record->fingerprint, sizeof record->fingerprint, "%s", fingerprint);
    return true;
}

static bool join_refusal(struct join *join, const cJSON *refusal) {
    struct batch *batch = join->batch;
    struct batch_file *file = join_add(join, batch_text(batch, "%s", json_file_text(refusal, "input", "")),
                                       json_file_number(refusal, "rank", BATCH_UNKNOWN),
                                       json_file_number(refusal, "step", BATCH_UNKNOWN));
    if (file == NULL || file->input == NULL)
        return false;
    bool failed = cJSON_IsTrue(json_member(refusal, "failed"));
    file->state = failed ? BATCH_FAILED : BATCH_SKIPPED;
    file->reason = batch_text(batch, "%s", json_file_text(refusal, "reason", ""));
    return file->reason != NULL;
}

static bool join_record_document(struct join *join, const cJSON *document) {
    enum { OF_MAX = 1 << 20 };
    int64_t shard = json_file_number(document, "shard", 0), of = json_file_number(document, "of", 0);
    if (shard < 1 || of < shard || of > OF_MAX)
        return true;
    if (!join_shard(join, (uint32_t)shard, (uint32_t)of, json_file_text(document, "fingerprint", "")))
        return false;
    const cJSON *refusal;
    cJSON_ArrayForEach(refusal, json_member(document, "refused")) {
        if (!join_refusal(join, refusal))
            return false;
    }
    return true;
}

static bool join_record(struct join *join, const char *name) {
    const struct arena *arena = &join->batch->arena;
    char *path = batch_text(join->batch, "%s/shards/%s.json", join->batch->directory, name);
    struct json_fault fault = {0};
    cJSON *document =
        path != NULL ? json_file_read(path, arena->limit_nbytes - arena->used_nbytes, &fault) : NULL;
    bool done = path != NULL && (document != NULL ? join_record_document(join, document) : errno != ENOMEM);
    if (document == NULL && done && errno != 0 && errno != ENOENT && errno != ENXIO && errno != E2BIG)
        join->lacks_sidecars = true;
    if (fault.text[0] != '\0') {
        terminal_error(path, "is not the record of a shard%s; skipped", fault.text);
        join->lacks_sidecars = true;
    }
    cJSON_Delete(document);
    return done;
}

/* ---- notes about shards ---- */

static int record_compare(const void *a, const void *b) {
    const struct shard_record *x = a, *y = b;
    if (x->of != y->of)
        return x->of < y->of ? -1 : 1;
    return (x->shard > y->shard) - (x->shard < y->shard);
}

/* Writes "2, 5-7": the shards without a record. `records` is of one group and sorted. False: none is missing. */
static bool missing_text(const struct shard_record *records, uint32_t count, char *text, size_t capacity) {
    size_t used = 0;
    uint32_t next = 1; /* the first that was not seen yet */
    *text = '\0';
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t seen = i < count ? records[i].shard : records[0].of + 1;
        if (seen > next && used < capacity) {
            int n = snprintf(text + used, capacity - used,
                             seen - next > 1 ? "%s%" PRIu32 "-%" PRIu32 : "%s%" PRIu32, used != 0 ? ", " : "",
                             next, seen - 1);
            used += n > 0 ? (size_t)n : 0;
        }
        next = seen + 1;
    }
    return *text != '\0';
}

static bool records_differ(const struct shard_record *records, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(records[0].fingerprint, records[i].fingerprint) != 0)
            return true;
    return false;
}

static void join_note(struct join *join, const char *note) {
    if (note == NULL)
        return;
    join->index->notes[join->index->n_notes++] = note;
    terminal_error(join->batch->directory, "%s", note);
}

/* Notes sidecars of an older version: their figures are shown, but they may lack what this version would say. */
static void join_note_older(struct join *join) {
    const struct sidecar *older = &join->older;
    char others[40] = "";
    if (join->n_older > 1)
        snprintf(others, sizeof others, " and %" PRIu32 " more", join->n_older - 1);
    if (join->n_older != 0)
        join_note(join, batch_text(join->batch,
                                   "\"%s\"%s: made by an older version of Strata (%s); strata batch --resume "
                                   "converts again what older versions made",
                                   older->row.name, others,
                                   older->version[0] != '\0' ? older->version : "unknown"));
}

/* Notes missing shards of a group, and shards that did not see the same files. */
static bool join_notes_group(struct join *join, const struct shard_record *records, uint32_t count) {
    char missing[MISSING_SHOWN];
    bool lacks = missing_text(records, count, missing, sizeof missing);
    bool differ = records_differ(records, count);
    if (lacks)
        join_note(join, batch_text(join->batch, "shards that have not finished: %s of %" PRIu32, missing,
                                   records[0].of));
    if (differ)
        join_note(
            join,
            batch_text(
                join->batch,
                "the %" PRIu32
                " shards did not see the same files, so some may be missing; run them again with --resume",
                records[0].of));
    return !lacks && !differ;
}

static bool join_notes(struct join *join) {
    bool complete = true;
    if (join->n_records != 0)
        qsort(join->records, join->n_records, sizeof *join->records, record_compare);
    for (uint32_t from = 0, to; from < join->n_records; from = to) {
        for (to = from + 1; to < join->n_records && join->records[to].of == join->records[from].of;)
            to++;
        complete = join_notes_group(join, join->records + from, to - from) && complete;
    }
    join_note_older(join);
    return complete;
}

/* ---- one entry per input ---- */

/* Sorts by input; sidecars before refusals, because a file that succeeded once counts as good; failures before
 * skips. */
static int entry_compare(const void *a, const void *b) {
    const struct batch_file *x = a, *y = b;
    int order = strcmp(x->input, y->input);
    if (order == 0 && x->state != y->state)
        order = x->state < y->state ? -1 : 1;
    if (order == 0 && x->state == BATCH_DONE)
        order = strcmp(x->path, y->path);
    return order;
}

static const struct index_row *row_find(const struct join *join, const char *name) {
    uint32_t at = SEARCH(0, join->n_rows, i, strcmp(join->rows[i].name, name) < 0);
    return at < join->n_rows && strcmp(join->rows[at].name, name) == 0 ? &join->rows[at] : NULL;
}

/* Keeps the first entry of each input; of the others it remembers the names of their sidecars only. */
static uint32_t entries_unite(struct batch *batch, struct batch_file *all) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        if (kept == 0 || strcmp(batch->files[kept - 1].input, all[i].input) != 0)
            batch->files[kept++] = all[i];
    return kept;
}

/* The names for this set of inputs. If an input has several sidecars (it had another name before more files came),
 * the one with the right name counts, or else the first. */
static bool join_entries(struct join *join) {
    struct batch *batch = join->batch;
    if (batch->count == 0)
        return true;
    qsort(batch->files, batch->count, sizeof *batch->files, entry_compare);
    batch->count = entries_unite(batch, batch->files);
    if (!names_assign(batch))
        return false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct batch_file *file = &batch->files[i];
        if (file->state != BATCH_DONE) {
            index_refuse(join->index, file);
            continue;
        }
        const struct index_row *row = row_find(join, file->name);
        if (row == NULL || strcmp(row->input, file->input) != 0)
            row = row_find(join, file->path);
        if (row != NULL && !index_add_row(join->index, row))
            return false;
    }
    return true;
}

/* Handles the sidecars of a folder below the batch's directory; NULL: of the directory itself. */
static bool join_folder(struct join *join, const char *folder) {
    struct batch *batch = join->batch;
    const char *path =
        folder != NULL ? batch_text(batch, "%s/%s", batch->directory, folder) : batch->directory;
    struct name_list names;
    bool done = path != NULL && directory_names(join, path, ".strata.json", &names);
    for (uint32_t i = 0; done && i < names.count; i++) {
        const char *name = folder != NULL ? batch_text(batch, "%s/%s", folder, names.name[i]) : names.name[i];
        done = name != NULL && join->take(join, name);
    }
    return done;
}

static int row_name_compare(const void *a, const void *b) {
    return strcmp(((const struct index_row *)a)->name, ((const struct index_row *)b)->name);
}

static bool join_sidecars(struct join *join) {
    struct name_list folders;
    bool done = join_folder(join, NULL) && directory_names(join, join->batch->directory, "", &folders);
    for (uint32_t i = 0; done && i < folders.count; i++)
        done = !names_is_folder(folders.name[i]) || join_folder(join, folders.name[i]);
    if (done && join->n_rows != 0)
        qsort(join->rows, join->n_rows, sizeof *join->rows, row_name_compare);
    return done;
}

static bool join_read(struct join *join) {
    struct batch *batch = join->batch;
    struct name_list names;
    bool done = join_sidecars(join);
    char *shards = batch_text(batch, "%s/shards", batch->directory);
    done = done && shards != NULL && directory_names(join, shards, ".json", &names);
    for (uint32_t i = 0; done && i < names.count; i++)
        done = join_record(join, names.name[i]);
    return done && index_reserve(join->index, batch->count + 2 * join->n_records + 1);
}

bool join_directory(struct index *index, struct batch *batch, bool *complete) {
    *index = (struct index){.arena = &batch->arena, .version = STRATA_VERSION};
    struct join join = {.index = index, .batch = batch, .take = join_sidecar};
    bool done = join_read(&join);
    *complete = done && join_notes(&join) && !join.lacks_sidecars;
    done = done && join_entries(&join);
    if (!done && !join.told)
        terminal_error(NULL, "no memory for the index");
    else if (done && index->n_rows == 0 && index->n_failed == 0 && index->n_notes == 0) {
        terminal_error(batch->directory, "holds no results of strata batch");
        done = false;
    }
    return done;
}

/* ---- leftovers of earlier runs ---- */

/* Removes the outputs of a sidecar that belongs to no file of the batch any more. Files of these names that Strata did
 * not write are kept. */
static bool join_remove(struct join *join, const char *name) {
    static const char *const endings[] = {".html", ".png", ".strata.json"};
    bool done = true;
    if (name_list_has(&join->kept, name))
        return true;
    for (size_t i = 0; done && i < sizeof endings / sizeof *endings; i++) {
        const char *output = batch_text(join->batch, "%s%s", name, endings[i]);
        done = output != NULL;
        if (done)
            store_remove(join->batch, output);
    }
    return done;
}

bool join_remove_stale(struct batch *batch) {
    struct join join = {.batch = batch, .take = join_remove};
    bool done = true;
    for (uint32_t i = 0; done && i < batch->count; i++)
        if (batch->files[i].state == BATCH_DONE || batch->files[i].state == BATCH_UP_TO_DATE)
            done = name_list_add(&join.kept, batch, batch->files[i].name);
    name_list_sort(&join.kept);
    for (uint32_t i = 0; done && i < batch->count; i++) /* a failed file's sidecar was removed first */
        done = batch->files[i].state != BATCH_FAILED || batch->files[i].name == NULL ||
               join_remove(&join, batch->files[i].name);
    done = done && join_sidecars(&join);
    if (!done && !join.told)
        terminal_error(NULL, "no memory for the index");
    return done;
}

static bool join_result(const struct index *index, const struct batch *batch, const char *name,
                        bool (*render)(struct buffer *out, const struct index *index)) {
    struct output_file file;
    if (!store_begin(&file, batch->directory, name, batch->settings->force, (struct arena_host){0}))
        return false;
    bool done = render(&file.out, index);
    if (!done && !file.out.refused)
        terminal_error(NULL, "no memory for the index");
    return output_file_end(&file, done);
}

/* Reads places of ranks, unless the command line groups them (that is kept) or the rows are of logs (which are grouped
 * already). */
static void places_read(struct index *index, const struct batch *batch) {
    for (uint32_t i = 0; i < index->n_rows; i++) {
        struct index_row *row = &index->rows[i];
        names_places(!row->has_allocations || batch->settings->group_by != NULL ? "" : row->input,
                     row->place);
    }
}

bool join_write(struct index *index, struct batch *batch, int *number) {
    index_sort(index);
    *number = 0;
    bool done = index_mark_copies(index);
    if (done && !series_write(index, batch, number))
        return false;
    places_read(index, batch);
    done = done && index_split_places(index) && index_analyse(index) && index_unite_settings(index) &&
           index_choose_medians(index);
    if (!done) {
        terminal_error(NULL, "no memory for the index");
        return false;
    }
    if (!pages_make(index, batch, number))
        return false;
    diffs_write(index, batch);
    done = join_result(index, batch, "index.html", index_html) &&
           join_result(index, batch, "summary.csv", index_csv) &&
           join_result(index, batch, "metrics.prom", index_prometheus) &&
           join_result(index, batch, "summary.json", index_json) && made_update(index, batch);
    if (done)
        pages_remove(index, batch);
    return done;
}
