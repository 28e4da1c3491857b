#include "cli/batch/batch_find.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_shard.h"
#include "cli/terminal.h"
#include "parser/formats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_LIMIT = 64 };

struct search {
    struct batch *batch;
    const struct rank_pattern *pattern;
    size_t prefix;      /* `input` leaves out so many characters of a path */
    struct stat output; /* the output directory's */
    bool output_exists;
    bool no_memory;
};

/* ---- recognition ---- */

/* Is the file named like a snapshot? If so, an empty file is a lost dump; any other empty file is ignored. */
static bool name_promises(const struct batch_file *file) {
    static const char *const endings[] = {".pickle", ".pkl", ".gz", ".zst", ".xz", ".zip", ".pt"};
    size_t length = strlen(file->input);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && strcasecmp(file->input + length - n, endings[i]) == 0)
            return true;
    }
    return false;
}

static void file_skip(struct batch_file *file, const char *reason) {
    file->state = BATCH_SKIPPED;
    file->reason = reason;
}

/* Is it a text that does not count? A text counts only if the command line names it, or if it is called like a log. */
static bool is_prose(const struct format *format, const struct batch_file *file) {
    return strcmp(format->name, "log") == 0 && !names_is_log(file->input);
}

/* Reports a file that cannot be examined. It does not count as a snapshot. */
static void file_fail(struct batch *batch, struct batch_file *file, const char *what) {
    file->state = BATCH_FAILED;
    file->reason = batch_text(batch, "%s: %s", what, strerror(errno));
    terminal_error(file->path, "%s", file->reason != NULL ? file->reason : what);
}

/* A file that the command line names is read in any case: the reader then reports what is wrong with it. */
static void file_recognise(struct batch *batch, struct batch_file *file) {
    uint8_t head[FORMAT_NBYTES];
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (n < 0 && !file->named)
        file_fail(batch, file, fd < 0 ? "cannot open" : "cannot read");
    if (fd >= 0)
        close(fd);
    file->compressed = n > 2 && (memcmp(head, "\x1f\x8b", 2) == 0 || memcmp(head, "PK", 2) == 0);
    const struct format *format = n > 0 ? format_of(head, (size_t)n) : NULL;
    if (n == 0 && !file->named && !name_promises(file))
        file_skip(file, "is empty");
    else if (n > 0 && !file->named && (format == NULL || is_prose(format, file)))
        file_skip(file, "is not a memory snapshot: it does not begin like one");
}

/* ---- walking ---- */

static struct batch_file *search_note(struct search *search, const char *path) {
    struct batch_file *file = batch_add(search->batch);
    const char *copy = file != NULL ? batch_text(search->batch, "%s", path) : NULL;
    if (copy == NULL) {
        search->no_memory = true;
        return NULL;
    }
    file->path = copy;
    file->input = strlen(copy) > search->prefix ? copy + search->prefix : copy;
    return file;
}

/* Notes a file of another shard by its name only: the file system is not asked about it. False: no memory. */
static bool search_pass(struct search *search, const char *path) {
    struct batch_file *file = search_note(search, path);
    if (file == NULL)
        return false;
    file->state = BATCH_ELSEWHERE;
    search->no_memory |= !names_read(search->batch, file, search->pattern);
    return true;
}

static bool search_add(struct search *search, const char *path, const struct stat *status, bool named) {
    struct batch_file *file = search_note(search, path);
    if (file == NULL)
        return false;
    file->named = named;
    file->nbytes = (uint64_t)status->st_size;
    file->mtime_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
    file->device = (uint64_t)status->st_dev;
    file->inode = (uint64_t)status->st_ino;
    search->no_memory |= !names_read(search->batch, file, search->pattern);
    file_recognise(search->batch, file);
    return file->state != BATCH_FAILED || file->reason != NULL;
}

/* Reports a path that cannot be searched; the search goes on without it. False: no memory. */
static bool search_fail(struct search *search, const char *path, const char *what, const char *why) {
    struct batch_file *file = search_note(search, path);
    if (file == NULL)
        return false;
    file->state = BATCH_FAILED;
    file->reason = batch_text(search->batch, "%s%s", what, why);
    terminal_error(path, "%s", file->reason != NULL ? file->reason : "");
    return file->reason != NULL;
}

/* Does a batch write files of this name? Snapshots and results may share a directory. */
static bool is_result(const char *name) {
    return strcmp(name, "summary.json") == 0 || strcmp(name, "summary.csv") == 0 ||
           strcmp(name, "metrics.prom") == 0 || strcmp(name, "shards") == 0 || strcmp(name, "series") == 0 ||
           names_is_folder(name) || names_end(name, ".html") || names_end(name, ".png") ||
           names_end(name, ".strata.json") || export_kind_of_path(name) != EXPORT_KINDS;
}

static bool is_output(const struct search *search, const struct stat *status) {
    return search->output_exists && status->st_dev == search->output.st_dev &&
           status->st_ino == search->output.st_ino;
}

/* Is this folder the batch's output directory, or one of the folders in it for results? */
static bool takes_results(const struct search *search, char *folder) {
    struct stat status;
    for (int above = 0; above < 2; above++) {
        if (stat(folder[0] != '\0' ? folder : "/", &status) == 0 && is_output(search, &status))
            return true;
        char *slash = strrchr(folder, '/');
        if (slash == NULL || !names_is_folder(slash + 1))
            return false;
        *slash = '\0';
    }
    return false;
}

/* Is this path, under a snapshot's name or by a link, an earlier result? Its own result would overwrite it. */
static bool is_own_result(const struct search *search, const char *path) {
    char *real = search->output_exists ? realpath(path, NULL) : NULL;
    char *slash = real != NULL ? strrchr(real, '/') : NULL;
    bool is = slash != NULL && is_result(slash + 1);
    if (is) {
        *slash = '\0';
        is = takes_results(search, real);
    }
    free(real);
    return is;
}

static bool search_refuse_result(struct search *search, const char *path) {
    return search_fail(search, path, "",
                       "is in the output directory and would be overwritten; name another -o DIR");
}

/* Is this the directory of another batch's results? */
static bool is_report(const char *path) {
    char *summary, *shards;
    bool is = false;
    if (asprintf(&summary, "%s/summary.json", path) < 0)
        return false;
    if (asprintf(&shards, "%s/shards", path) >= 0) {
        is = access(summary, F_OK) == 0 && access(shards, F_OK) == 0;
        free(shards);
    }
    free(summary);
    return is;
}

static bool search_directory(struct search *search, const char *path, int depth);

/* `type` is what the directory says, DT_UNKNOWN where it says nothing. Every shard looks at links, since one may lead
 * out of the directory or nowhere. */
static bool search_entry(struct search *search, const char *path, unsigned char type, int depth) {
    struct stat status, target;
    if (type == DT_REG && !shard_has(search->batch, path + search->prefix))
        return search_pass(search, path);
    if (lstat(path, &status) != 0)
        return true; /* it was there a moment ago */
    if (S_ISDIR(status.st_mode)) {
        bool enter = !search->batch->settings->flat && depth < DEPTH_LIMIT && !is_output(search, &status) &&
                     !is_report(path);
        return !enter || search_directory(search, path, depth + 1);
    }
    bool link = S_ISLNK(status.st_mode) && stat(path, &target) == 0;
    if (link)
        status = target;
    if (!S_ISREG(status.st_mode))
        return true;
    if (link && is_own_result(search, path))
        return search_refuse_result(search, path);
    return shard_has(search->batch, path + search->prefix) ? search_add(search, path, &status, false)
                                                           : search_pass(search, path);
}

static bool search_directory(struct search *search, const char *path, int depth) {
    struct stat status;
    DIR *directory = opendir(path);
    if (directory == NULL || fstat(dirfd(directory), &status) != 0) {
        int error = errno;
        if (directory != NULL)
            closedir(directory);
        return search_fail(search, path, "cannot read the directory: ", strerror(error));
    }
    bool done = true, results = is_output(search, &status) || is_report(path);
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
    for (struct dirent *entry; done && (entry = readdir(directory)) != NULL;) {
        char *below;
        if (entry->d_name[0] == '.' || (results && is_result(entry->d_name)))
            continue;
        if (asprintf(&below, "%s%s%s", path, slash, entry->d_name) < 0) {
            search->no_memory = true;
            done = false;
            break;
        }
        done = search_entry(search, below, entry->d_type, depth);
        free(below);
    }
    closedir(directory);
    return done;
}

static bool search_add_named(struct search *search, const char *path, const struct stat *status) {
    const char *input = strlen(path) > search->prefix ? path + search->prefix : path;
    return shard_has(search->batch, input) ? search_add(search, path, status, true)
                                           : search_pass(search, path);
}

static bool search_path(struct search *search, const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return search_fail(search, path, "cannot open: ", strerror(errno));
    if (S_ISDIR(status.st_mode))
        return search_directory(search, path, 0);
    if (S_ISREG(status.st_mode))
        return is_own_result(search, path) ? search_refuse_result(search, path)
                                           : search_add_named(search, path, &status);
    return search_fail(search, path, "", "is neither a file nor a directory");
}

/* ---- what results call the files ---- */

/* The length of the directory in `path`: the whole path of a directory (with its slash), the part before the name of a
 * file. */
static size_t directory_part(const char *path) {
    struct stat status;
    size_t length = strlen(path);
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return path[length - 1] == '/' ? length : length + 1;
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* The length of the part that several paths share, up to a slash: a/r0 and a/r1 become r0/... and r1/... */
static size_t shared_prefix(char *const *paths, uint32_t count) {
    size_t shared = directory_part(paths[0]);
    for (uint32_t i = 1; i < count; i++) {
        size_t mine = directory_part(paths[i]), n = 0;
        while (n < shared && n < mine && paths[0][n] == paths[i][n] && paths[0][n] != '\0')
            n++;
        if (n < shared)
            while (n > 0 && paths[0][n - 1] != '/')
                n--;
        shared = n;
    }
    return shared;
}

static int input_compare(const void *a, const void *b) {
    const struct batch_file *x = a, *y = b;
    int order = strcmp(x->input, y->input);
    return order != 0 ? order : strcmp(x->path, y->path);
}

/* ---- the same file twice ---- */

static int identity_compare(const void *a, const void *b) {
    const struct batch_file *x = *(const struct batch_file *const *)a,
                            *y = *(const struct batch_file *const *)b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return strcmp(x->input, y->input);
}

static bool twins_skip(struct batch *batch) {
    struct batch_file **order = malloc(((size_t)batch->count + 1) * sizeof *order);
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < batch->count; i++)
        order[i] = &batch->files[i];
    qsort(order, batch->count, sizeof *order, identity_compare);
    for (uint32_t i = 1, first = 0; i < batch->count; i++) {
        if (order[i]->device != order[first]->device || order[i]->inode != order[first]->inode)
            first = i;
        else if (order[i]->state == BATCH_WAITING && order[i]->inode != 0)
            file_skip(order[i], batch_text(batch, "is the same file as %s", order[first]->input));
    }
    free(order);
    return true;
}

/* Drops files that are in the batch twice. The same path twice needs no message. */
static void repeats_drop(struct batch *batch) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        if (kept == 0 || strcmp(batch->files[kept - 1].path, batch->files[i].path) != 0)
            batch->files[kept++] = batch->files[i];
    batch->count = kept;
}

bool batch_find(struct batch *batch, const struct rank_pattern *pattern) {
    const struct settings *settings = batch->settings;
    struct search search = {.batch = batch, .pattern = pattern};
    search.output_exists = stat(batch->directory, &search.output) == 0;
    search.prefix = shared_prefix(settings->inputs, settings->n_inputs);
    bool done = true;
    for (uint32_t i = 0; done && i < settings->n_inputs; i++)
        done = search_path(&search, settings->inputs[i]);
    if (done && batch->count != 0) {
        qsort(batch->files, batch->count, sizeof *batch->files, input_compare);
        repeats_drop(batch);
        search.no_memory |= !twins_skip(batch) || !names_settle(batch);
    }
    if (search.no_memory)
        terminal_error(NULL, "no memory for the list of files");
    return done && !search.no_memory;
}
