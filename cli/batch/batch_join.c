#include "cli/batch/batch_join.h"

#include "base/search.h"
#include "base/text.h"
#include "cli/batch/batch_names.h"
#include "cli/batch/batch_pages.h"
#include "cli/batch/batch_series.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/batch/batch_store.h"
#include "cli/json_file.h"
#include "cli/terminal.h"
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

/* Starts an index with room for so many refusals and notes, and for one more note, about series. */
static void index_begin(struct index *index, struct batch *batch, size_t count) {
    *index = (struct index){.arena = &batch->arena,
                            .failed = batch_alloc(batch, count, sizeof *index->failed),
                            .skipped = batch_alloc(batch, count, sizeof *index->skipped),
                            .notes = batch_alloc(batch, count + 1, sizeof *index->notes)};
}

static void index_refuse(struct index *index, const struct batch_file *file) {
    struct index_refusal refusal = {file->input, file->reason != NULL ? file->reason : ""};
    if (file->state == BATCH_FAILED)
        index->failed[index->n_failed++] = refusal;
    else
        index->skipped[index->n_skipped++] = refusal;
}

/* Adds the row of a file that is done, from its sidecar. */
static void index_take(struct index *index, struct batch *batch, struct batch_file *file) {
    struct sidecar sidecar;
    if (sidecar_read(&sidecar, batch, file->name) == SIDECAR_READ) {
        batch_need(batch, index_add_row(index, &sidecar.row));
        return;
    }
    file->state = BATCH_FAILED;
    file->reason = "its sidecar is gone or cannot be read";
    terminal_error(file->path, "%s", file->reason);
    index_refuse(index, file);
}

void join_batch(struct index *index, struct batch *batch) {
    index_begin(index, batch, batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        struct batch_file *file = &batch->files[i];
        if (file->state == BATCH_FAILED || file->state == BATCH_SKIPPED)
            index_refuse(index, file);
        else if (file->row == NULL)
            index_take(index, batch, file);
        else {
            struct index_row row = *file->row;
            /* the --group-by of this run counts, not that of the run that wrote the sidecar */
            row.group = row.has_allocations ? file->group : row.group;
            batch_need(batch, index_add_row(index, &row));
        }
    }
}

/* ---- joining a directory ---- */

/* A shard's record. Records with the same number of shards form a group; the runs of a group should have seen the same
 * files. */
struct shard_record {
    uint32_t of, shard;
    const char *fingerprint;
};

struct join {
    struct index *index;
    struct batch *batch; /* its files: one for each row (with `path` = the sidecar's name) and each refusal */
    struct index_row *rows;
    uint32_t n_rows, rows_capacity;
    struct shard_record *records;
    uint32_t n_records, records_capacity;
    void (*take)(struct join *join, const char *name); /* handles each sidecar */
    struct name_list kept; /* used by join_remove: the names that the files have */
    bool lacks_sidecars;   /* there is one that cannot be read */
    uint32_t n_older;      /* sidecars of older versions of Strata, */
    struct sidecar older;  /* the first of them */
};

/* Lists the names in a directory that have this ending, without the ending, sorted. A missing directory has none.
 * False: the directory cannot be read; printed. */
static bool directory_names(struct join *join, const char *path, const char *ending,
                            struct name_list *names) {
    DIR *directory = opendir(path);
    *names = (struct name_list){0};
    if (directory == NULL && (errno == ENOENT || errno == ENOTDIR))
        return true;
    errno = directory != NULL ? 0 : errno;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL; errno = 0) {
        if (word_ends(entry->d_name, ending))
            name_list_add(names, join->batch,
                          batch_text(join->batch, "%.*s", (int)(strlen(entry->d_name) - strlen(ending)),
                                     entry->d_name));
    }
    int error = errno;
    if (directory != NULL)
        closedir(directory);
    batch_need(join->batch, error != ENOMEM);
    if (error != 0)
        terminal_error(path, "cannot read the directory: %s", strerror(error));
    name_list_sort(names);
    return error == 0;
}

static struct batch_file *join_add(struct join *join, const char *input, int64_t rank, int64_t step) {
    struct batch_file *file = batch_add(join->batch);
    file->input = input;
    file->rank = rank;
    file->step = step;
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

static void join_sidecar(struct join *join, const char *name) {
    struct sidecar sidecar;
    enum sidecar_result result = sidecar_read(&sidecar, join->batch, name);
    if (result == SIDECAR_UNREADABLE)
        terminal_error(name, "its sidecar cannot be read; skipped");
    else if (result == SIDECAR_NONE)
        terminal_error(name, "is not a sidecar of this version of Strata%s; skipped", sidecar.fault.text);
    join->lacks_sidecars |= result == SIDECAR_UNREADABLE || sidecar.fault.text[0] != '\0';
    if (result != SIDECAR_READ)
        return;
    if (join->batch->settings->group_by != NULL && sidecar.row.has_allocations)
        sidecar.row.group = names_group(join->batch, sidecar.row.input, sidecar.row.host);
    BATCH_GROW(join->batch, join->rows, join->rows_capacity, join->n_rows);
    join->rows[join->n_rows++] = sidecar.row;
    if (version_is_older(sidecar.version) && join->n_older++ == 0)
        join->older = sidecar;
    struct batch_file *file = join_add(join, sidecar.row.input, sidecar.rank, sidecar.row.step);
    file->path = sidecar.row.name;
    file->state = BATCH_DONE;
}

static void join_refusal(struct join *join, const cJSON *refusal) {
    struct batch_file *file = join_add(join, batch_keep(join->batch, json_file_text(refusal, "input", "")),
                                       json_file_number(refusal, "rank", BATCH_UNKNOWN),
                                       json_file_number(refusal, "step", BATCH_UNKNOWN));
    file->state = cJSON_IsTrue(json_member(refusal, "failed")) ? BATCH_FAILED : BATCH_SKIPPED;
    file->reason = batch_keep(join->batch, json_file_text(refusal, "reason", ""));
}

static void join_record_document(struct join *join, const cJSON *document) {
    enum { OF_MAX = 1 << 20 };
    int64_t shard = json_file_number(document, "shard", 0), of = json_file_number(document, "of", 0);
    const cJSON *refusal;
    if (shard < 1 || of < shard || of > OF_MAX)
        return;
    BATCH_GROW(join->batch, join->records, join->records_capacity, join->n_records);
    join->records[join->n_records++] = (struct shard_record){
        (uint32_t)of, (uint32_t)shard, batch_keep(join->batch, json_file_text(document, "fingerprint", ""))};
    cJSON_ArrayForEach(refusal, json_member(document, "refused")) {
        join_refusal(join, refusal);
    }
}

static void join_record(struct join *join, const char *name) {
    struct json_fault fault = {0};
    char *path = batch_text(join->batch, "%s/shards/%s.json", join->batch->directory, name);
    cJSON *document = batch_json(join->batch, path, &fault);
    if (document == NULL)
        join->lacks_sidecars |=
            fault.text[0] != '\0' || (errno != 0 && errno != ENOENT && errno != ENXIO && errno != E2BIG);
    if (fault.text[0] != '\0')
        terminal_error(path, "is not the record of a shard%s; skipped", fault.text);
    if (document != NULL)
        join_record_document(join, document);
    cJSON_Delete(document);
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
static void join_entries(struct join *join) {
    struct batch *batch = join->batch;
    if (batch->count == 0)
        return;
    qsort(batch->files, batch->count, sizeof *batch->files, entry_compare);
    batch->count = entries_unite(batch, batch->files);
    names_assign(batch);
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct batch_file *file = &batch->files[i];
        if (file->state != BATCH_DONE) {
            index_refuse(join->index, file);
            continue;
        }
        const struct index_row *row = row_find(join, file->name);
        if (row == NULL || strcmp(row->input, file->input) != 0)
            row = row_find(join, file->path);
        if (row != NULL)
            batch_need(batch, index_add_row(join->index, row));
    }
}

/* Handles the sidecars of a folder below the batch's directory; NULL: of the directory itself. False: it cannot be
 * read; printed. */
static bool join_folder(struct join *join, const char *folder) {
    struct batch *batch = join->batch;
    const char *path =
        folder != NULL ? batch_text(batch, "%s/%s", batch->directory, folder) : batch->directory;
    struct name_list names;
    bool done = directory_names(join, path, ".strata.json", &names);
    for (uint32_t i = 0; done && i < names.count; i++)
        join->take(join, folder != NULL ? batch_text(batch, "%s/%s", folder, names.name[i]) : names.name[i]);
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
    if (join->n_rows != 0)
        qsort(join->rows, join->n_rows, sizeof *join->rows, row_name_compare);
    return done;
}

bool join_directory(struct index *index, struct batch *batch, bool *complete) {
    struct join join = {.index = index, .batch = batch, .take = join_sidecar};
    struct name_list names;
    if (!join_sidecars(&join) ||
        !directory_names(&join, batch_text(batch, "%s/shards", batch->directory), ".json", &names))
        return false;
    for (uint32_t i = 0; i < names.count; i++)
        join_record(&join, names.name[i]);
    index_begin(index, batch, batch->count + 2 * (size_t)join.n_records + 1);
    *complete = join_notes(&join) && !join.lacks_sidecars;
    join_entries(&join);
    if (index->n_rows + index->n_failed + index->n_notes != 0)
        return true;
    terminal_error(batch->directory, "holds no results of strata batch");
    return false;
}

/* ---- leftovers of earlier runs ---- */

/* Removes the outputs of a sidecar that belongs to no file of the batch any more. Files of these names that Strata did
 * not write are kept. */
static void join_remove(struct join *join, const char *name) {
    static const char *const endings[] = {".html", ".png", ".strata.json"};
    for (size_t i = 0; !name_list_has(&join->kept, name) && i < sizeof endings / sizeof *endings; i++)
        store_remove(join->batch, batch_text(join->batch, "%s%s", name, endings[i]));
}

bool join_remove_stale(struct batch *batch) {
    struct join join = {.batch = batch, .take = join_remove};
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->files[i].state == BATCH_DONE || batch->files[i].state == BATCH_UP_TO_DATE)
            name_list_add(&join.kept, batch, batch->files[i].name);
    name_list_sort(&join.kept);
    for (uint32_t i = 0; i < batch->count; i++) /* a failed file's sidecar was removed first */
        if (batch->files[i].state == BATCH_FAILED && batch->files[i].name != NULL)
            join_remove(&join, batch->files[i].name);
    return join_sidecars(&join);
}

static bool join_result(const struct index *index, struct batch *batch, const char *name,
                        bool (*render)(struct buffer *out, const struct index *index)) {
    struct output_file file;
    if (!store_begin(&file, batch, name, (struct arena_host){0}))
        return false;
    bool done = render(&file.out, index);
    batch_need(batch, done || file.out.refused);
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
    batch_need(batch, index_mark_copies(index));
    if (!series_write(index, batch, number))
        return false;
    places_read(index, batch);
    batch_need(batch, index_split_places(index) && index_analyse(index) && index_unite_settings(index) &&
                          index_choose_medians(index));
    if (!pages_make(index, batch, number))
        return false;
    diffs_write(index, batch);
    bool done = join_result(index, batch, "index.html", index_html) &&
                join_result(index, batch, "summary.csv", index_csv) &&
                join_result(index, batch, "metrics.prom", index_prometheus) &&
                join_result(index, batch, "summary.json", index_json) && made_update(index, batch);
    if (done)
        pages_remove(index, batch);
    return done;
}
