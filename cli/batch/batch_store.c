#include "cli/batch/batch_store.h"

#include "base/text.h"
#include "cli/batch/batch_names.h"
#include "cli/ending.h"
#include "cli/json_file.h"
#include "cli/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_NBYTES = 4096, SIDECAR_MEMORY = 256 << 20 };

static const char sidecar_ending[] = ".strata.json";

/* The format of a staging directory's name: part I of N. */
#define STAGING_FORMAT ".strata-%" PRIu32 "-of-%" PRIu32 ".tmp"

/* Endings of a file's outputs in the order in which they are put in place. The sidecar vouches for the others. */
enum { ENDING_PNG, ENDING_EXPORT, ENDING_HTML, ENDING_SIDECAR, N_ENDINGS };

/* The ending of an output. NULL: no such output is wanted. */
static const char *ending_of(const struct batch *batch, const struct batch_file *file, unsigned which) {
    switch (which) {
    case ENDING_PNG: return batch->settings->png ? ".png" : NULL;
    case ENDING_EXPORT:
        return batch_exports(batch, file) ? export_kind_ending(batch->settings->export_kind) : NULL;
    case ENDING_HTML: return batch_writes_page(batch, file) ? ".html" : NULL;
    default: return sidecar_ending;
    }
}

/* ---- who wrote a file ---- */

/* How each kind of output begins if Strata wrote it. */
static const struct {
    const char *ending, *mark;
} marks[] = {
    {".html", "content=\"Strata\""}, {".png", "Strata"},         {".csv", "input,kind,rank,step,device,"},
    {".prom", "# HELP strata_"},     {".json", "\"schema\": 1"}, {".json", "\"schema\": 2"},
    {".json", "\"schema\": 3"},
};

static bool is_our_database(const char *path, const char *head, ssize_t n) {
    return word_ends(path, ".sqlite") && n > EXPORT_APPLICATION_AT + 4 &&
           memcmp(head + EXPORT_APPLICATION_AT, "Stra", 4) == 0;
}

/* Did Strata write the file at `path`? True also if there is none. `*error`: why that is unknown; 0: it is known. */
static bool is_ours(const char *path, int *error) {
    char head[HEAD_NBYTES];
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *error = fd < 0 && errno != ENOENT ? errno : 0;
    if (fd < 0)
        return *error == 0;
    bool ours = false;
    ssize_t n = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, head, sizeof head) : -1;
    ours = is_our_database(path, head, n);
    for (size_t i = 0; n > 0 && i < sizeof marks / sizeof marks[0]; i++)
        ours = ours || (word_ends(path, marks[i].ending) &&
                        memmem(head, (size_t)n, marks[i].mark, strlen(marks[i].mark)) != NULL);
    close(fd);
    return ours;
}

/* Why a file is left alone, as a phrase after its name. */
static const char *objection_to(struct batch *batch, int error) {
    return error == 0
               ? "exists already and is not Strata's; -f replaces it"
               : batch_text(batch,
                            "exists already, and it is not clear whether Strata wrote it: %s; -f replaces it",
                            strerror(error));
}

/* An export is ours if one of our sidecars is beside it: most kinds of file do not name their writer. */
static bool output_is_ours(struct batch *batch, const struct batch_file *file, unsigned which,
                           const char *path, int *error) {
    struct stat status;
    if (which != ENDING_EXPORT)
        return is_ours(path, error);
    const char *sidecar = batch_text(batch, "%s/%s.strata.json", batch->directory, file->name);
    *error = 0;
    return lstat(path, &status) != 0 || (lstat(sidecar, &status) == 0 && is_ours(sidecar, error));
}

const char *store_objection(struct batch *batch, const struct batch_file *file) {
    for (unsigned i = 0; i < N_ENDINGS && !batch->settings->force; i++) {
        const char *ending = ending_of(batch, file, i);
        if (ending == NULL)
            continue;
        char *path = batch_text(batch, "%s/%s%s", batch->directory, file->name, ending);
        int error;
        if (!output_is_ours(batch, file, i, path, &error))
            return batch_text(batch, "%s %s", path, objection_to(batch, error));
    }
    return NULL;
}

/* ---- staging ---- */

/* Removes the files of a directory; Strata makes no folders in it. */
static void directory_empty(DIR *directory) {
    rewinddir(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
}

static bool folders_make(struct batch *batch) {
    bool done = true;
    for (uint32_t i = 0; done && i < names_folders(batch->count); i++) {
        char folder[NAMES_FOLDER_CAPACITY];
        names_folder(i, folder);
        done = output_directories_make(batch_text(batch, "%s/%s", batch->directory, folder));
    }
    return done;
}

/* Is the directory still the one of that name? The lock's previous owner may have removed it. */
static bool staging_is_there(const struct store *store) {
    struct stat mine, there;
    return fstat(dirfd(store->entries), &mine) == 0 && stat(store->staging, &there) == 0 &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* Removes the directory if this run made it. Always false. */
static bool staging_give_up(struct store *store, bool made) {
    terminal_error(store->staging, "cannot open: %s", strerror(errno));
    if (made)
        rmdir(store->staging);
    return false;
}

/* Opens a directory to list it. A link is not followed, because the files there are removed and may not be Strata's. */
static DIR *entries_open(int above, const char *path) {
    int fd = openat(above, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    int error = errno;
    if (entries == NULL && fd >= 0)
        close(fd);
    errno = error;
    return entries;
}

static bool staging_open(struct store *store) {
    enum { ATTEMPTS = 16 };
    for (int attempt = 1;; attempt++) {
        bool made = mkdir(store->staging, 0777) == 0;
        if (!made && !output_directories_make(store->staging))
            return false;
        store->entries = entries_open(AT_FDCWD, store->staging);
        if (store->entries == NULL && (errno != ENOENT || attempt == ATTEMPTS))
            return staging_give_up(store, made);
        if (store->entries == NULL)
            continue;
        /* A file system without locks refuses nothing. */
        bool refused = flock(dirfd(store->entries), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!refused && (staging_is_there(store) || attempt == ATTEMPTS))
            return true;
        closedir(store->entries);
        if (refused) {
            terminal_error(store->batch->directory,
                           "another strata batch is writing this part of it right now");
            return false;
        }
    }
}

/* No signal is taken between making the directory and dooming it. */
static bool staging_open_and_doom(struct store *store) {
    sigset_t before;
    output_hold_signals(&before);
    bool done = staging_open(store);
    if (done)
        output_doom_directory(store->staging);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

/* Skips a number from 1 on without leading zeros, and returns the text behind it. NULL: no such number, or `text` is
 * NULL. */
static const char *number_skip(const char *text) {
    return text == NULL || *text < '1' || *text > '9' ? NULL : text + strspn(text, "0123456789");
}

static const char *word_skip(const char *text, const char *word) {
    size_t length = strlen(word);
    return text != NULL && strncmp(text, word, length) == 0 ? text + length : NULL;
}

static bool is_staging(const char *name) {
    const char *behind = number_skip(word_skip(number_skip(word_skip(name, ".strata-")), "-of-"));
    return behind != NULL && strcmp(behind, ".tmp") == 0;
}

/* Removes leftovers of a killed run with another number of parts. A directory that is locked, or cannot be locked,
 * may be in use. */
static void staging_sweep(int directory, const char *name) {
    DIR *entries = entries_open(directory, name);
    if (entries == NULL)
        return;
    if (flock(dirfd(entries), LOCK_EX | LOCK_NB) == 0) {
        directory_empty(entries);
        unlinkat(directory, name, AT_REMOVEDIR);
    }
    closedir(entries);
}

static void directory_sweep(const char *path, const char *mine) {
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (is_staging(entry->d_name) && strcmp(entry->d_name, mine) != 0)
            staging_sweep(dirfd(directory), entry->d_name);
        output_sweep(dirfd(directory), entry->d_name);
    }
    closedir(directory);
}

/* Removes what killed runs left. A run without shards has the directory to itself. One with shards has not, and some
 * clusters' file systems lock for one machine only. */
static void leftovers_sweep(const struct store *store) {
    const char *mine = strrchr(store->staging, '/') + 1;
    if (store->batch->settings->shard != NULL)
        return;
    directory_sweep(store->batch->directory, mine);
    directory_sweep(batch_text(store->batch, "%s/shards", store->batch->directory), mine);
}

bool store_open(struct store *store, struct batch *batch) {
    char *staging = batch_text(batch, "%s/" STAGING_FORMAT, batch->directory, batch->shard, batch->n_shards);
    *store = (struct store){.batch = batch, .staging = staging};
    if (!output_directories_make(batch->directory) || !folders_make(batch) || !staging_open_and_doom(store))
        return false;
    batch->store = store;
    directory_empty(store->entries);
    leftovers_sweep(store);
    return true;
}

void store_close(struct store *store) {
    directory_empty(store->entries);
    rmdir(store->staging);
    output_spare_directory(store->staging);
    closedir(store->entries);
    store->batch->store = NULL;
}

static char *staged_path(const struct store *store, const struct batch_file *file, const char *ending) {
    return batch_text(store->batch, "%s/%s%s", store->staging, path_name(file->name), ending);
}

/* The other names are on the disk before the sidecar's, because the sidecar vouches for them. */
const char *store_commit(const struct store *store, const struct batch_file *file) {
    struct batch *batch = store->batch;
    for (unsigned i = 0; i < N_ENDINGS; i++) {
        const char *ending = ending_of(batch, file, i);
        const char *to =
            batch_text(batch, "%s/%s%s", batch->directory, file->name, ending != NULL ? ending : ".html");
        bool last = i == ENDING_SIDECAR;
        if (ending == NULL && i == ENDING_HTML) /* the sidecar would vouch for an older page */
            store_unlink(batch, to);
        if (ending != NULL &&
            ((last && !output_keep_names(to)) || rename(staged_path(store, file, ending), to) != 0 ||
             (last && !output_keep_names(to))))
            return batch_text(batch, "cannot write %s: %s", to, strerror(errno));
    }
    return NULL;
}

void store_discard(const struct store *store, const struct batch_file *file) {
    for (unsigned i = 0; i < N_ENDINGS; i++) {
        const char *ending = ending_of(store->batch, file, i);
        if (ending != NULL)
            unlink(staged_path(store, file, ending));
    }
}

/* Removes the export that a sidecar names: most kinds of file do not name their writer. */
static void export_unlink(struct batch *batch, const char *sidecar) {
    cJSON *document = json_file_read(sidecar, SIDECAR_MEMORY, NULL);
    const char *flags = json_file_text(cJSON_GetObjectItemCaseSensitive(document, "batch"), "flags", "");
    const char *name = strstr(flags, "--export ");
    size_t n_name = name != NULL ? strcspn(name += strlen("--export "), " ") : 0;
    int n_stem = (int)(strlen(sidecar) - strlen(sidecar_ending));
    for (unsigned kind = 0; kind < EXPORT_KINDS; kind++) {
        const char *known = export_kind_name(kind);
        if (name != NULL && n_name == strlen(known) && memcmp(name, known, n_name) == 0)
            unlink(batch_text(batch, "%.*s%s", n_stem, sidecar, export_kind_ending(kind)));
    }
    cJSON_Delete(document);
}

void store_unlink(struct batch *batch, const char *path) {
    int error;
    if (!is_ours(path, &error))
        return;
    if (word_ends(path, sidecar_ending))
        export_unlink(batch, path);
    unlink(path);
}

void store_forget(struct batch *batch, const struct batch_file *file) {
    store_unlink(batch, batch_text(batch, "%s/%s%s", batch->directory, file->name, sidecar_ending));
}

void store_remove(struct batch *batch, const char *name) {
    char *path = batch_text(batch, "%s/%s", batch->directory, name);
    store_unlink(batch, path);
    if (strchr(name, '/') != NULL) {
        *strrchr(path, '/') = '\0';
        rmdir(path);
    }
}

bool store_begin(struct output_file *file, struct batch *batch, const char *name, struct arena_host host) {
    char *path = batch_text(batch, "%s/%s", batch->directory, name);
    int error;
    if (!batch->settings->force && !is_ours(path, &error)) {
        terminal_error(path, "%s", objection_to(batch, error));
        return false;
    }
    output_file_begin(file, path, path, host);
    return true;
}
