#include "cli/batch/batch_find.h"

#include "base/text.h"
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
};

/* ---- recognition ---- */

/* Is the file named like a snapshot? If so, an empty file is a lost dump; any other empty file is ignored. */
static bool name_promises(const struct batch_file *file) {
    static const char *const endings[] = {".pickle", ".pkl", ".gz", ".zst", ".xz", ".zip", ".pt"};
    return names_end_like(file->input, endings, sizeof endings / sizeof endings[0]);
}

static void file_skip(struct batch_file *file, const char *reason) {
    file->state = BATCH_SKIPPED;
    file->reason = reason;
}

static void file_fail(struct batch_file *file, const char *reason) {
    file->state = BATCH_FAILED;
    file->reason = reason;
    terminal_error(file->path, "%s", reason);
}

/* Is it a text that does not count? A text counts only if the command line names it, or if it is called like a log. */
static bool is_prose(const struct format *format, const struct batch_file *file) {
    return strcmp(format->name, "log") == 0 && !names_is_log(file->input);
}

/* Decides by its first bytes whether a file is a snapshot. A file that the command line names is read in any case: the
 * reader then reports what is wrong with it. */
static void file_recognise(struct batch *batch, struct batch_file *file) {
    uint8_t head[FORMAT_NBYTES];
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (n < 0 && !file->named)
        file_fail(file, batch_text(batch, "cannot %s: %s", fd < 0 ? "open" : "read", strerror(errno)));
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
    file->path = batch_text(search->batch, "%s", path);
    file->input = strlen(path) > search->prefix ? file->path + search->prefix : file->path;
    return file;
}

/* Adds a file. One of another shard is noted by its name only; `status` NULL: it is known to be of another. */
static void search_add(struct search *search, const char *path, const struct stat *status, bool named) {
    struct batch_file *file = search_note(search, path);
    names_read(search->batch, file, search->pattern);
    if (status == NULL || !shard_has(search->batch, file->input)) {
        file->state = BATCH_ELSEWHERE;
        return;
    }
    file->named = named;
    file->nbytes = (uint64_t)status->st_size;
    file->mtime_ns = batch_mtime_ns(status);
    file->device = (uint64_t)status->st_dev;
    file->inode = (uint64_t)status->st_ino;
    file_recognise(search->batch, file);
}

/* Reports a path that cannot be searched; the search goes on without it. */
static void search_fail(struct search *search, const char *path, const char *what, const char *why) {
    file_fail(search_note(search, path), batch_text(search->batch, "%s%s", what, why));
}

/* Does a batch write files of this name? Snapshots and results may share a directory. */
static bool is_result(const char *name) {
    return strcmp(name, "summary.json") == 0 || strcmp(name, "shards") == 0 || word_ends(name, ".html") ||
           word_ends(name, ".png") || word_ends(name, ".strata.json") ||
           export_kind_of_path(name) != EXPORT_KINDS;
}

static bool is_output(const struct search *search, const struct stat *status) {
    return search->output_exists && status->st_dev == search->output.st_dev &&
           status->st_ino == search->output.st_ino;
}

/* Is this path, under a snapshot's name or by a link, an earlier result? Its own result would overwrite it. */
static bool is_own_result(const struct search *search, const char *path) {
    struct stat status;
    char *real = search->output_exists ? realpath(path, NULL) : NULL;
    char *slash = real != NULL ? strrchr(real, '/') : NULL;
    bool is = slash != NULL && is_result(slash + 1);
    if (is) {
        slash[slash == real] = '\0'; /* the root stays */
        is = stat(real, &status) == 0 && is_output(search, &status);
    }
    free(real);
    return is;
}

static void search_refuse_result(struct search *search, const char *path) {
    search_fail(search, path, "", "is in the output directory and would be overwritten; name another -o DIR");
}

/* Is this the directory of another batch's results? */
static bool is_report(struct batch *batch, const char *path) {
    return access(batch_text(batch, "%s/summary.json", path), F_OK) == 0 &&
           access(batch_text(batch, "%s/shards", path), F_OK) == 0;
}

static void search_directory(struct search *search, const char *path, int depth);

/* `type` is what the directory says, DT_UNKNOWN where it says nothing. Every shard looks at links, since one may lead
 * out of the directory or nowhere. */
static void search_entry(struct search *search, const char *path, unsigned char type, int depth) {
    struct stat status, target;
    if (type == DT_REG && !shard_has(search->batch, path + search->prefix)) {
        search_add(search, path, NULL, false);
        return;
    }
    if (lstat(path, &status) != 0)
        return; /* it was there a moment ago */
    if (S_ISDIR(status.st_mode)) {
        if (!search->batch->settings->batch.flat && depth < DEPTH_LIMIT && !is_output(search, &status) &&
            !is_report(search->batch, path))
            search_directory(search, path, depth + 1);
        return;
    }
    bool link = S_ISLNK(status.st_mode) && stat(path, &target) == 0;
    if (link)
        status = target;
    if (link && S_ISREG(status.st_mode) && is_own_result(search, path))
        search_refuse_result(search, path);
    else if (S_ISREG(status.st_mode))
        search_add(search, path, &status, false);
}

static void search_directory(struct search *search, const char *path, int depth) {
    struct stat status;
    DIR *directory = opendir(path);
    if (directory == NULL || fstat(dirfd(directory), &status) != 0) {
        search_fail(search, path, "cannot read the directory: ", strerror(errno));
        if (directory != NULL)
            closedir(directory);
        return;
    }
    bool results = is_output(search, &status) || is_report(search->batch, path);
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && !(results && is_result(entry->d_name)))
            search_entry(search, batch_text(search->batch, "%s%s%s", path, slash, entry->d_name),
                         entry->d_type, depth);
    closedir(directory);
}

static void search_path(struct search *search, const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        search_fail(search, path, "cannot open: ", strerror(errno));
    else if (S_ISDIR(status.st_mode))
        search_directory(search, path, 0);
    else if (!S_ISREG(status.st_mode))
        search_fail(search, path, "", "is neither a file nor a directory");
    else if (is_own_result(search, path))
        search_refuse_result(search, path);
    else
        search_add(search, path, &status, true);
}

/* ---- names of the files in results ---- */

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

static void twins_skip(struct batch *batch) {
    struct batch_file **order = batch_alloc(batch, batch->count, sizeof *order);
    for (uint32_t i = 0; i < batch->count; i++)
        order[i] = &batch->files[i];
    qsort(order, batch->count, sizeof *order, identity_compare);
    for (uint32_t i = 1, first = 0; i < batch->count; i++) {
        if (order[i]->device != order[first]->device || order[i]->inode != order[first]->inode)
            first = i;
        else if (order[i]->state == BATCH_WAITING && order[i]->inode != 0)
            file_skip(order[i], batch_text(batch, "is the same file as %s", order[first]->input));
    }
}

/* Drops files that are in the batch twice. The same path twice needs no message. */
static void repeats_drop(struct batch *batch) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        if (kept == 0 || strcmp(batch->files[kept - 1].path, batch->files[i].path) != 0)
            batch->files[kept++] = batch->files[i];
    batch->count = kept;
}

void batch_find(struct batch *batch, const struct rank_pattern *pattern) {
    const struct settings *settings = batch->settings;
    struct search search = {.batch = batch, .pattern = pattern};
    search.output_exists = stat(batch->directory, &search.output) == 0;
    search.prefix = shared_prefix(settings->inputs, settings->n_inputs);
    for (uint32_t i = 0; i < settings->n_inputs; i++)
        search_path(&search, settings->inputs[i]);
    if (batch->count == 0)
        return;
    qsort(batch->files, batch->count, sizeof *batch->files, input_compare);
    repeats_drop(batch);
    twins_skip(batch);
    names_settle(batch);
}
