#include "cli/output.h"

#include "base/format.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/pipe.h"
#include "cli/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The temporary file that a signal must remove; empty: none. It changes only while those signals are blocked. */
static char doomed_path[PATH_MAX];

/* Directories that a signal must remove; NULL: none. */
enum { DOOMED_DIRECTORIES = 2 };
static const char *volatile doomed_directories[DOOMED_DIRECTORIES];
static volatile pid_t doomed_by;

static const int caught_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_CAUGHT_SIGNALS = sizeof caught_signals / sizeof caught_signals[0] };

void output_leave(int code) {
    const char *wipe = progress_wipe();
    if (wipe != NULL && write(STDERR_FILENO, wipe, strlen(wipe)) < 0)
        _exit(code);
    if (doomed_path[0] != '\0')
        unlink(doomed_path);
    for (size_t i = 0; i < DOOMED_DIRECTORIES && doomed_by == getpid(); i++)
        if (doomed_directories[i] != NULL)
            rmdir(doomed_directories[i]);
    _exit(code);
}

static void signal_leave(int number) {
    output_leave(128 + number);
}

/* Replaces `from` by `to` in that list; does nothing if `from` is not in it. */
static void doomed_directory_replace(const char *from, const char *to) {
    for (size_t i = 0; i < DOOMED_DIRECTORIES; i++)
        if (doomed_directories[i] == from) {
            doomed_directories[i] = to;
            return;
        }
}

void output_doom_directory(const char *path) {
    doomed_by = getpid();
    doomed_directory_replace(NULL, path);
}

void output_spare_directory(const char *path) {
    doomed_directory_replace(path, NULL);
}

static void (*pipe_before)(int), (*size_before)(int);

void output_catch_signals(void) {
    struct sigaction leave = {.sa_handler = signal_leave}, before;
    sigfillset(&leave.sa_mask);
    for (size_t i = 0; i < N_CAUGHT_SIGNALS; i++)
        if (sigaction(caught_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(caught_signals[i], &leave, NULL);
    pipe_before = signal(SIGPIPE, SIG_IGN);
    size_before = signal(SIGXFSZ, SIG_IGN);
}

static bool was_closed[STDERR_FILENO + 1];

bool output_fill_descriptors(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        was_closed[fd] = fcntl(fd, F_GETFD) < 0;
        if (was_closed[fd] && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) != fd)
            return false;
    }
    return true;
}

void output_restore_process(void) {
    signal(SIGPIPE, pipe_before);
    signal(SIGXFSZ, size_before);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (was_closed[fd])
            close(fd);
}

void output_hold_signals(sigset_t *before) {
    sigset_t caught;
    sigemptyset(&caught);
    for (size_t i = 0; i < N_CAUGHT_SIGNALS; i++)
        sigaddset(&caught, caught_signals[i]);
    pthread_sigmask(SIG_BLOCK, &caught, before);
}

void output_wait_for_signals(const int *signals, size_t n_signals, sigset_t *waited, sigset_t *before) {
    struct sigaction action;
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(waited);
    sigaddset(waited, SIGCHLD);
    for (size_t i = 0; i < n_signals; i++)
        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(waited, signals[i]);
    pthread_sigmask(SIG_BLOCK, waited, before);
}

/* ---- the target ---- */

/* The length of a name without the endings that the output's ending replaces: "x.pickle.gz" becomes "x.html". Outermost
 * endings come first. */
static size_t stem_length(const char *name) {
    static const char *const endings[] = {".gz", ".zst", ".xz", ".pickle", ".pkl", ".json", ".html"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && strncmp(name + length - n, endings[i], n) == 0)
            length -= n;
    }
    return length;
}

/* "directory/stem.html" */
static char *path_beside(const char *directory, size_t directory_length, const char *name,
                         const struct output_request *request) {
    const char *slash = directory_length == 0 || directory[directory_length - 1] == '/' ? "" : "/";
    return memory_text("%.*s%s%.*s%s%s", (int)directory_length, directory, slash, (int)stem_length(name),
                       name, request->part, request->ending);
}

static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* The target's path before links are followed. */
static char *target_path(const struct output_request *request, const struct input *input) {
    const char *path = request->path;
    if (path == NULL && strcmp(input->path, "-") != 0)
        return path_beside(input->path, directory_length(input->path), input->name, request);
    if (path != NULL && (path_is_directory(path) || path[strlen(path) - 1] == '/'))
        return path_beside(path, strlen(path), input->name, request);
    return memory_text("%s", path != NULL ? path : "-");
}

/* Follows symbolic links, because a rename would replace the link instead of the file that it names. */
static void target_follow_links(struct output *output) {
    char *real = realpath(output->path, NULL);
    if (real == NULL)
        return;
    free(output->path);
    output->path = real;
}

static bool directory_check(const struct output *output) {
    int length = (int)directory_length(output->path);
    char *directory = memory_text("%.*s", length == 0 ? 1 : length, length == 0 ? "." : output->path);
    bool usable = access(directory, W_OK | X_OK) == 0;
    if (!usable)
        terminal_error(output->shown, "cannot write: the directory \"%s\": %s", directory, strerror(errno));
    free(directory);
    return usable;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool output_spares(const struct output *output, const struct input *input) {
    struct stat status;
    if (strcmp(output->path, "-") == 0 || stat(output->path, &status) != 0 ||
        !same_file(&status, &input->status))
        return true;
    terminal_error(output->shown, "is the input itself; name another output with -o");
    return false;
}

bool output_spares_path(const struct output *output, const char *path) {
    struct stat target, read;
    if (strcmp(output->path, "-") == 0 || stat(output->path, &target) != 0 || stat(path, &read) != 0 ||
        !S_ISREG(read.st_mode) || !same_file(&target, &read))
        return true;
    terminal_error(output->shown, "is read as well; name another output with -o");
    return false;
}

static bool target_check_file(struct output *output, const struct input *input) {
    struct stat status;
    if (lstat(output->path, &status) != 0)
        return directory_check(output);
    target_follow_links(output);
    if (!output_spares(output, input))
        return false;
    (void)stat(output->path, &status); /* of the file that the links lead to, if it exists */
    output->in_place = S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
    if (output->in_place)
        return true;
    if (S_ISDIR(status.st_mode)) {
        terminal_error(output->shown, "is a directory");
        return false;
    }
    if (!output->force) {
        terminal_error(output->shown, "exists already; -f replaces it");
        return false;
    }
    return directory_check(output);
}

static bool target_check(struct output *output, const struct output_request *request,
                         const struct input *input) {
    bool standard = strcmp(output->path, "-") == 0;
    if (standard && request->binary && isatty(STDOUT_FILENO)) {
        terminal_error(NULL, "will not write %s to a terminal; name a file with -o", request->ending + 1);
        return false;
    }
    output->in_place = standard;
    return standard || target_check_file(output, input);
}

bool output_choose(struct output *output, const struct output_request *request, const struct input *input) {
    *output = (struct output){.force = request->force};
    if (request->path != NULL && request->path[0] == '\0') {
        terminal_error(NULL, "-o \"\" names no file");
        return false;
    }
    output->path = target_path(request, input);
    output->shown = memory_text("%s", strcmp(output->path, "-") == 0 ? "standard output" : output->path);
    if (target_check(output, request, input))
        return true;
    output_release(output);
    return false;
}

void output_release(struct output *output) {
    free(output->path);
    free(output->shown);
    output->path = output->shown = NULL;
}

static bool write_all(int fd, const void *bytes, size_t nbytes) {
    const uint8_t *at = bytes;
    while (nbytes != 0) {
        ssize_t n = write(fd, at, nbytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        nbytes -= (size_t)n;
    }
    return true;
}

/* Pipes and some network file systems answer EINVAL or ENOTSUP, which means that there is nothing to sync. */
static bool sync_to_disk(int fd) {
    while (fsync(fd) != 0) {
        if (errno == EINVAL || errno == ENOTSUP || errno == ENOSYS || errno == EROFS)
            return true;
        if (errno != EINTR)
            return false;
    }
    return true;
}

/* Closes a file. `keep`: the written bytes are on the disk before this returns. False: errno. */
static bool close_written(int fd, bool keep) {
    bool kept = !keep || sync_to_disk(fd);
    int error = errno;
    if (close(fd) != 0 && kept)
        return false; /* network file systems say only here that the disk is full */
    errno = error;
    return kept;
}

/* Exits silently where a pipe's reader has gone, like a program that does not handle SIGPIPE. */
static void leave_quietly(void) {
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

/* Prints an errno. Always false. */
static bool print_write_error(const struct output *output, int error) {
    if (error == EPIPE && output->in_place)
        leave_quietly();
    else if (error == EEXIST)
        terminal_error(output->shown, "appeared in the meantime and is kept; -f replaces it");
    else
        terminal_error(output->shown, "cannot write: %s", strerror(error));
    return false;
}

static int in_place_open(const struct output *output) {
    return strcmp(output->path, "-") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                                          : pipe_open_to_write(output->path, output->shown);
}

#define TEMPORARY_HEAD ".strata-"
#define TEMPORARY_END  ".tmp"
enum { TEMPORARY_DIGITS = 16 };

static bool is_temporary(const char *name) {
    static const char head[] = TEMPORARY_HEAD;
    return strncmp(name, head, strlen(head)) == 0 &&
           strspn(name + strlen(head), "0123456789abcdef") == TEMPORARY_DIGITS &&
           strcmp(name + strlen(head) + TEMPORARY_DIGITS, TEMPORARY_END) == 0;
}

/* Locks the file, so that output_sweep sees that its writer lives; a file system without locks refuses nothing. False:
 * the file was swept before it was locked. */
static bool temporary_lock(int fd) {
    struct stat status;
    (void)flock(fd, LOCK_EX);
    return fstat(fd, &status) != 0 ||
           status.st_nlink != 0; /* if the file is swept after this, its renaming fails */
}

void output_sweep(int directory, const char *name) {
    struct stat status;
    int fd =
        is_temporary(name) ? openat(directory, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(directory, name, 0);
    close(fd);
}

/* Removes what runs that were killed have left beside the target. A file that was written to within a day is left
 * alone: not all file systems lock for all machines. */
static void temporaries_sweep(const char *path) {
    enum { DAY_S = 24 * 60 * 60 };
    char *folder = memory_text("%.*s.", (int)directory_length(path), path);
    DIR *directory = opendir(folder);
    struct stat status;
    while (directory != NULL) {
        const struct dirent *entry = readdir(directory);
        if (entry == NULL)
            break;
        if (is_temporary(entry->d_name) &&
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_mtim.tv_sec + DAY_S < time(NULL))
            output_sweep(dirfd(directory), entry->d_name);
    }
    if (directory != NULL)
        closedir(directory);
    free(folder);
}

/* Opens a new file beside the target, locks it and dooms it. Below 0: errno. */
static int temporary_open(const char *path) {
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t number;
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
            return -1;
        int length =
            snprintf(doomed_path, sizeof doomed_path, "%.*s" TEMPORARY_HEAD "%0*" PRIx64 TEMPORARY_END,
                     (int)directory_length(path), path, TEMPORARY_DIGITS, number);
        if (length < 0 || (size_t)length >= sizeof doomed_path) {
            doomed_path[0] = '\0';
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(doomed_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 && temporary_lock(fd))
            return fd;
        doomed_path[0] = '\0'; /* the name may be another run's file now, or the file was swept */
        if (fd >= 0)
            close(fd);
        else if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* Renames without replacing an old file, for file systems without RENAME_NOREPLACE: a hard link, or else an empty file,
 * reserves the name. */
static bool rename_keeping_old(const char *from, const char *to) {
    if (link(from, to) == 0) {
        unlink(from);
        return true;
    }
    if (errno == EEXIST)
        return false;
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    close(fd);
    if (rename(from, to) == 0)
        return true;
    int error = errno;
    unlink(to);
    errno = error;
    return false;
}

/* Gives the temporary file its name. False: errno. */
static bool temporary_commit(const char *path, bool force) {
    if (force)
        return rename(doomed_path, path) == 0;
    if (renameat2(AT_FDCWD, doomed_path, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    return rename_keeping_old(doomed_path, path);
}

/* Opens the directory of a path to make its names last: after a power failure the old names would be there otherwise,
 * or none. Below 0: errno; EACCES means that it may be written but not read, so nothing can be done. */
static int directory_open(const char *path) {
    char directory[PATH_MAX];
    int length = snprintf(directory, sizeof directory, "%.*s", (int)directory_length(path), path);
    if (length < 0 || (size_t)length >= sizeof directory)
        return -1;
    return open(length == 0 ? "." : directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool directory_sync_and_close(int fd) {
    bool done = fd < 0 || sync_to_disk(fd);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return done;
}

bool output_directories_make(const char *path) {
    char *part = memory_text("%s", path);
    bool done = true;
    for (size_t i = 1; done && part[i - 1] != '\0'; i++) {
        struct stat status;
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        int error = mkdir(part, 0777) == 0 ? 0 : errno;
        done = error == 0 || (stat(part, &status) == 0 && S_ISDIR(status.st_mode));
        if (!done)
            terminal_error(part, "cannot make the directory: %s", strerror(error));
        part[i] = path[i];
    }
    free(part);
    return done;
}

bool output_keep_names(const char *path) {
    int fd = directory_open(path);
    return (fd >= 0 || errno == EACCES) && directory_sync_and_close(fd);
}

/* Opens and dooms the temporary file. Signals are blocked only while a file has a name that is not yet, or no longer,
 * the doomed one. Below 0: errno. */
static int doomed_open(const char *path) {
    sigset_t before;
    temporaries_sweep(path);
    output_hold_signals(&before);
    int fd = temporary_open(path), error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return fd;
}

/* Gives the doomed file its name (`done`), or removes it. */
static bool doomed_end(const struct output *output, bool done) {
    sigset_t before;
    output_hold_signals(&before);
    done = done && temporary_commit(output->path, output->force);
    int error = errno;
    if (!done)
        unlink(doomed_path);
    doomed_path[0] = '\0';
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return done;
}

/* Closes the temporary file and gives it its name, for good. False: errno, and nothing is left of it. */
static bool temporary_finish(const struct output *output, int fd, bool done) {
    int error = errno, lock = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* keeps the file locked until it has its name */
    bool closed = close_written(fd, done);
    done = done && closed;
    error = closed ? error : errno;
    int directory = done ? directory_open(output->path) : -1; /* so that little can fail later */
    if (done && directory < 0 && errno != EACCES) {
        error = errno;
        done = false;
    }
    errno = error;
    done = doomed_end(output, done);
    error = errno;
    if (lock >= 0)
        close(lock);
    if (!done) {
        directory_sync_and_close(directory);
        errno = error;
        return false;
    }
    return directory_sync_and_close(directory);
}

/* ---- streams ---- */

static bool stream_open(struct output_stream *stream) {
    const struct output *output = stream->output;
    if (stream->fd < 0)
        stream->fd = output->in_place ? in_place_open(output) : doomed_open(output->path);
    return stream->fd >= 0;
}

static bool stream_take(void *context, const void *bytes, size_t nbytes) {
    struct output_stream *stream = context;
    return (stream_open(stream) && write_all(stream->fd, bytes, nbytes)) ||
           print_write_error(stream->output, errno);
}

void output_stream(struct output_stream *stream, const struct output *output, struct buffer *out) {
    *stream = (struct output_stream){.output = output, .out = out, .fd = -1};
    out->sink = (struct buffer_sink){stream_take, stream};
}

/* Writes what is left in the buffer. False: printed. */
static bool stream_finish(struct output_stream *stream) {
    if (!buffer_flush(stream->out)) {
        if (!stream->out->refused)
            terminal_error(stream->output->shown, "no memory");
        return false;
    }
    bool done = stream_open(stream);
    int fd = stream->fd;
    stream->fd = -1;
    if (done)
        done =
            stream->output->in_place ? close_written(fd, false) : temporary_finish(stream->output, fd, true);
    return done || print_write_error(stream->output, errno);
}

static void stream_abandon(struct output_stream *stream) {
    if (stream->fd >= 0 && stream->output->in_place)
        close(stream->fd);
    else if (stream->fd >= 0)
        temporary_finish(stream->output, stream->fd, false);
    stream->fd = -1;
    stream->out->sink = (struct buffer_sink){0};
}

static int stream_end(struct output_stream *stream, int code) {
    if (code == EXIT_CODE_DONE && !stream_finish(stream))
        code = EXIT_CODE_FAILED;
    stream_abandon(stream);
    return code;
}

int output_end(struct output_stream *stream, int code) {
    code = stream_end(stream, code);
    if (code == EXIT_CODE_DONE && !stream->output->in_place)
        terminal_note(stream->output->shown, "written, %s", format_bytes(buffer_total(stream->out)).text);
    return code;
}

void output_file_begin(struct output_file *file, const char *path, const char *shown,
                       struct arena_host host) {
    *file = (struct output_file){.output = {.path = memory_text("%s", path),
                                            .shown = memory_text("%s", shown),
                                            .in_place = strcmp(path, "-") == 0,
                                            .force = true},
                                 .out = {.host = host}};
    output_stream(&file->stream, &file->output, &file->out);
}

bool output_file_end(struct output_file *file, bool done) {
    done = stream_end(&file->stream, done ? EXIT_CODE_DONE : EXIT_CODE_FAILED) == EXIT_CODE_DONE;
    buffer_release(&file->out);
    output_release(&file->output);
    return done;
}
