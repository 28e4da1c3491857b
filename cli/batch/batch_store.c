#include "cli/batch/batch_store.h"

#include "base/text.h"
#include "cli/batch/batch_names.h"
#include "cli/ending.h"
#include "cli/terminal.h"
#include "parser/fingerprint.h"

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

#define sidecar_ending ".strata.json"

/* The format of a staging directory's name: part I of N. */
#define STAGING_FORMAT ".strata-%" PRIu32 "-of-%" PRIu32 ".tmp"
/* The same of the list of its outputs, in the folder "shards". */
#define LIST_FORMAT "outputs-%" PRIu32 "-of-%" PRIu32 ".txt"

/* Endings of a file's outputs in the order in which they are put in place. The sidecar vouches for the others. */
enum { ENDING_PNG, ENDING_EXPORT, ENDING_HTML, ENDING_SIDECAR, N_ENDINGS };

static const char *ending_of(const struct batch *batch, unsigned which) {
    switch (which) {
    case ENDING_PNG: return ".png";
    case ENDING_EXPORT: return batch_exports(batch) ? export_kinds[batch->settings->export_kind].ending : "";
    case ENDING_HTML: return ".html";
    default: return sidecar_ending;
    }
}

/* Does the file get this output? */
static bool wants(const struct batch *batch, const struct batch_file *file, unsigned which) {
    return which == ENDING_PNG      ? batch->settings->batch.png
           : which == ENDING_EXPORT ? batch_exports(batch)
                                    : which == ENDING_SIDECAR || batch_writes_page(batch, file);
}

/* ---- which files are ours ---- */

/* The fingerprint of a plain file's bytes. Prints nothing. False: errno. */
static bool file_fingerprint(const char *path, char text[FINGERPRINT_CHARACTERS + 1]) {
    unsigned char block[4096];
    struct stat status;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe is refused, not waited for */
    struct fingerprint *fingerprint = fd >= 0 ? fingerprint_new() : NULL;
    if (fingerprint != NULL && fstat(fd, &status) == 0) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
        while (S_ISREG(status.st_mode) && (n = read(fd, block, sizeof block)) > 0)
            fingerprint_add(fingerprint, block, (size_t)n);
    }
    int error = errno;
    if (n == 0)
        fingerprint_text(fingerprint, text);
    fingerprint_free(fingerprint);
    if (fd >= 0)
        close(fd);
    errno = error;
    return n == 0;
}

static const char list_head[] = "files that strata batch wrote, and their fingerprints\n";

static uint32_t written_hash(const void *store, uint32_t row) {
    return (uint32_t)batch_hash(((const struct store *)store)->written[row].name);
}

static uint32_t *written_slot(struct store *store, const char *name) {
    return ROW_SEEK(&store->by_name, (uint32_t)batch_hash(name), row,
                    strcmp(store->written[row].name, name) == 0);
}

static void written_add(struct store *store, const char *name, const char *fingerprint) {
    batch_need(store->batch, row_table_reserve(&store->by_name, &store->batch->arena, written_hash, store));
    BATCH_GROW(store->batch, store->written, store->capacity, store->n_written);
    uint32_t *slot = written_slot(store, name);
    store->by_name.count += *slot == 0;
    store->written[store->n_written] = (struct written){name, fingerprint, *slot};
    *slot = store->n_written++;
}

/* Why a file is left alone, as a phrase after its name; NULL: we wrote it, or there is none. */
static const char *objection_to(struct store *store, const char *name) {
    struct batch *batch = store->batch;
    struct stat status;
    char fingerprint[FINGERPRINT_CHARACTERS + 1];
    const char *path = batch_text(batch, "%s/%s", batch->directory, name);
    if (lstat(path, &status) != 0 && errno == ENOENT)
        return NULL;
    if (S_ISREG(status.st_mode) && !file_fingerprint(path, fingerprint))
        return batch_text(batch,
                          "exists already, and it is not clear whether Strata wrote it: %s; -f replaces it",
                          strerror(errno));
    for (uint32_t at = S_ISREG(status.st_mode) ? *written_slot(store, name) : 0; at != 0;
         at = store->written[at].before)
        if (strcmp(store->written[at].fingerprint, fingerprint) == 0)
            return NULL;
    return "exists already and is not Strata's; -f replaces it";
}

const char *store_objection(struct batch *batch, const struct batch_file *file) {
    for (unsigned i = 0; i < N_ENDINGS && !batch->settings->force; i++) {
        const char *ending = ending_of(batch, i), *name = batch_text(batch, "%s%s", file->name, ending);
        const char *objection = wants(batch, file, i) ? objection_to(batch->store, name) : NULL;
        if (objection != NULL)
            return batch_text(batch, "%s/%s %s", batch->directory, name, objection);
    }
    return NULL;
}

/* Adds the lines of a list. Lines are "FINGERPRINT NAME"; one that a killed run cut short names no file. False: it is
 * no list. */
static bool list_read(struct store *store, FILE *file) {
    char line[sizeof list_head + 512];
    if (fgets(line, sizeof line, file) != NULL && strcmp(line, list_head) != 0)
        return false;
    while (fgets(line, sizeof line, file) != NULL) {
        char *name = strchr(line, ' ');
        if (name == NULL)
            continue;
        *name++ = '\0';
        name[strcspn(name, "\n")] = '\0';
        if (strlen(line) == FINGERPRINT_CHARACTERS && names_is_plain(name))
            written_add(store, batch_keep(store->batch, name), batch_keep(store->batch, line));
    }
    return true;
}

/* Opens a list. -1: errno, which is 0 for what is no plain file. */
static int list_open(const char *path, int flags) {
    struct stat status;
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    if (fd >= 0) {
        close(fd);
        errno = 0;
    }
    return -1;
}

/* Reads a list. False: errno, which is 0 for what is no list. */
static bool list_take(struct store *store, const char *path) {
    int fd = list_open(path, O_RDONLY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL)
        return false;
    bool done = list_read(store, file);
    fclose(file);
    errno = 0;
    return done;
}

/* Reads the lists of all parts, and opens the own one to add to it. False: printed. */
static bool lists_open(struct store *store) {
    struct batch *batch = store->batch;
    const char *folder = batch_text(batch, "%s/shards", batch->directory);
    store->n_written = 1; /* no row is 0 */
    BATCH_GROW(batch, store->written, store->capacity, store->n_written);
    batch_need(batch, row_table_reserve(&store->by_name, &batch->arena, written_hash, store));
    store->list_path = batch_text(batch, "%s/" LIST_FORMAT, folder, batch->shard, batch->n_shards);
    if (!output_directories_make(folder))
        return false;
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        terminal_error(folder, "cannot list: %s", strerror(errno));
        return false;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (word_ends(entry->d_name, ".txt") && strcmp(entry->d_name, path_name(store->list_path)) != 0)
            (void)list_take(store, batch_text(batch, "%s/%s", folder, entry->d_name));
    closedir(directory);
    bool old = list_take(store, store->list_path), made = false;
    store->list = old || errno == ENOENT ? list_open(store->list_path, O_WRONLY | O_APPEND | O_CREAT) : -1;
    if (store->list >= 0) /* the last line of an old list may be cut short */
        made = write(store->list, old ? "\n" : list_head, old ? 1 : sizeof list_head - 1) > 0;
    if (made)
        return true;
    int error = errno;
    if (store->list >= 0 && !old)
        unlink(store->list_path);
    terminal_error(store->list_path, "%s%s",
                   error == 0 ? "is not a list of Strata's; name another -o DIR" : "cannot write: ",
                   error == 0 ? "" : strerror(error));
    return false;
}

static int written_compare(const void *a, const void *b) {
    return strcmp((*(const struct written *const *)a)->name, (*(const struct written *const *)b)->name);
}

/* Writes the own list anew, with one line for each file that is there, by name. False: printed. */
static bool list_renew(struct store *store) {
    const struct written **lines = batch_alloc(store->batch, store->n_written, sizeof *lines);
    struct output_file file;
    uint32_t n = 0;
    for (uint32_t i = 1; i < store->n_written; i++) {
        const struct written *line = &store->written[i];
        struct stat status;
        if (*written_slot(store, line->name) == i &&
            lstat(batch_text(store->batch, "%s/%s", store->batch->directory, line->name), &status) == 0)
            lines[n++] = line;
    }
    if (n != 0)
        qsort(lines, n, sizeof *lines, written_compare);
    output_file_begin(&file, store->list_path, store->list_path, (struct arena_host){0});
    buffer_add_text(&file.out, list_head);
    for (uint32_t i = 0; i < n; i++)
        buffer_printf(&file.out, "%s %s\n", lines[i]->fingerprint, lines[i]->name);
    return output_file_end(&file, !file.out.failed);
}

/* Gives the staged file its name in the batch's directory. Its line in the list comes first: a run that is killed
 * between both leaves no file that the next run would not know. False: errno. */
static bool output_place(struct store *store, const char *name) {
    struct batch *batch = store->batch;
    char fingerprint[FINGERPRINT_CHARACTERS + 1];
    const char *staged = batch_text(batch, "%s/%s", store->staging, name);
    if (!file_fingerprint(staged, fingerprint) || dprintf(store->list, "%s %s\n", fingerprint, name) < 0 ||
        rename(staged, batch_text(batch, "%s/%s", batch->directory, name)) != 0)
        return false;
    written_add(store, batch_keep(batch, name), batch_keep(batch, fingerprint));
    return true;
}

/* ---- staging ---- */

/* Removes the files of a directory; Strata makes no folders in it. */
static void directory_empty(DIR *directory) {
    rewinddir(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
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
    if (store->batch->settings->batch.shard != NULL)
        return;
    directory_sweep(store->batch->directory, mine);
    directory_sweep(batch_text(store->batch, "%s/shards", store->batch->directory), mine);
}

bool store_open(struct store *store, struct batch *batch) {
    char *staging = batch_text(batch, "%s/" STAGING_FORMAT, batch->directory, batch->shard, batch->n_shards);
    *store = (struct store){.batch = batch, .staging = staging, .list = -1};
    if (!output_directories_make(batch->directory) || !staging_open_and_doom(store))
        return false;
    batch->store = store;
    directory_empty(store->entries);
    leftovers_sweep(store);
    if (lists_open(store))
        return true;
    store_close(store);
    return false;
}

void store_close(struct store *store) {
    directory_empty(store->entries);
    rmdir(store->staging);
    output_spare_directory(store->staging);
    closedir(store->entries);
    if (store->list >= 0)
        close(store->list);
    store->batch->store = NULL;
}

/* The other names are on the disk before the sidecar's, because the sidecar vouches for them. */
const char *store_commit(struct store *store, const struct batch_file *file) {
    struct batch *batch = store->batch;
    for (unsigned i = 0; i < N_ENDINGS; i++) {
        const char *name = batch_text(batch, "%s%s", file->name, ending_of(batch, i));
        const char *to = batch_text(batch, "%s/%s", batch->directory, name);
        bool last = i == ENDING_SIDECAR;
        if (!wants(batch, file, i)) {
            if (i == ENDING_HTML) /* the sidecar would vouch for an older page */
                store_remove(batch, name);
        } else if ((last && !output_keep_names(to)) || !output_place(store, name) ||
                   (last && !output_keep_names(to)))
            return batch_text(batch, "cannot write %s: %s", to, strerror(errno));
    }
    return NULL;
}

void store_discard(const struct store *store, const struct batch_file *file) {
    for (unsigned i = 0; i < N_ENDINGS; i++)
        if (wants(store->batch, file, i))
            unlink(
                batch_text(store->batch, "%s/%s%s", store->staging, file->name, ending_of(store->batch, i)));
}

void store_remove(struct batch *batch, const char *name) {
    if (objection_to(batch->store, name) == NULL)
        unlink(batch_text(batch, "%s/%s", batch->directory, name));
}

void store_forget(struct batch *batch, const char *stem) {
    static const char *const endings[] = {sidecar_ending, ".html", ".png"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        store_remove(batch, batch_text(batch, "%s%s", stem, endings[i]));
    for (unsigned kind = 0; kind < EXPORT_KINDS; kind++)
        store_remove(batch, batch_text(batch, "%s%s", stem, export_kinds[kind].ending));
}

bool store_finish(struct batch *batch, const struct name_list *kept) {
    struct store *store = batch->store;
    bool all = batch->settings->batch.resume && batch->settings->batch.shard == NULL;
    for (uint32_t i = 1; i < store->n_written; i++) {
        const char *name = store->written[i].name;
        if ((all || strncmp(name, "diff-", 5) == 0) && *written_slot(store, name) == i &&
            !name_list_has(kept, name))
            store_remove(batch, name);
    }
    return list_renew(store);
}

bool store_begin(struct output_file *file, struct batch *batch, const char *name, struct arena_host host) {
    const char *objection = batch->settings->force ? NULL : objection_to(batch->store, name);
    const char *shown = batch_text(batch, "%s/%s", batch->directory, name);
    if (objection != NULL) {
        terminal_error(shown, "%s", objection);
        return false;
    }
    output_file_begin(file, batch_text(batch, "%s/%s", batch->store->staging, name), shown, host);
    return true;
}

bool store_end(struct output_file *file, struct batch *batch, const char *name, bool done) {
    const char *staged = batch_text(batch, "%s/%s", batch->store->staging, name);
    sigset_t before;
    output_hold_signals(&before); /* a signal would leave the staged file */
    done = output_file_end(file, done);
    if (done && !output_place(batch->store, name)) {
        terminal_error(batch_text(batch, "%s/%s", batch->directory, name), "cannot write: %s",
                       strerror(errno));
        unlink(staged);
        done = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}
