#include "cli/input.h"

#include "cli/ahead.h"
#include "cli/pipe.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "parser/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct input_reader {
    int fd;
    bool waits;       /* it is a pipe or a device, whose reads may take for ever */
    int stop_pipe[2]; /* closing [1] wakes a reading thread that waits for a pipe */
    struct fingerprint *fingerprint;
    struct ahead *ahead;
    atomic_uint_least64_t position; /* bytes handed out; the thread that shows progress asks for it */
    /* of a file: the offset at which it was opened, and at which it is read once more */
    off_t first, again;
};

/* Waits until there is something to read or the reading is stopped. Files never wait. */
static bool wait_readable(struct input_reader *reader) {
    if (!reader->waits)
        return true;
    struct pollfd fds[2] = {{.fd = reader->fd, .events = POLLIN},
                            {.fd = reader->stop_pipe[0], .events = POLLIN}};
    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR)
            return true; /* the read will report the fault */
    return fds[1].revents == 0;
}

static int64_t file_read(void *context, void *to, size_t nbytes) {
    struct input_reader *reader = context;
    for (;;) {
        if (!wait_readable(reader))
            return 0;
        ssize_t n = read(reader->fd, to, nbytes);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
    }
}

static void file_seen(void *context, const void *bytes, size_t nbytes) {
    struct input_reader *reader = context;
    fingerprint_add(reader->fingerprint, bytes, nbytes);
}

static void stop_pipe_close(struct input_reader *reader, size_t end) {
    if (reader->stop_pipe[end] >= 0)
        close(reader->stop_pipe[end]);
    reader->stop_pipe[end] = -1;
}

static void reader_free(struct input_reader *reader) {
    stop_pipe_close(reader, 1);
    ahead_free(reader->ahead);
    stop_pipe_close(reader, 0);
    fingerprint_free(reader->fingerprint);
    close(reader->fd);
    free(reader);
}

/* Takes over `fd` (closed if this fails). NULL: no memory or no thread. */
static struct input_reader *reader_new(int fd, bool waits) {
    struct input_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        close(fd);
        return NULL;
    }
    *reader = (struct input_reader){.fd = fd, .waits = waits, .stop_pipe = {-1, -1}};
    reader->first = waits ? 0 : lseek(fd, 0, SEEK_CUR);
    reader->fingerprint = fingerprint_new();
    if (reader->fingerprint != NULL && pipe2(reader->stop_pipe, O_CLOEXEC) == 0)
        reader->ahead = ahead_new((struct read_source){.read = file_read, .context = reader},
                                  (struct ahead_watcher){file_seen, reader});
    if (reader->ahead != NULL)
        return reader;
    reader_free(reader);
    return NULL;
}

static const char *path_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void open_error_print(const struct input *input, int error) {
    char found[PATH_MAX];
    if (error == ENOENT && suggestion_of_file(input->path, found))
        terminal_error(input->shown, "cannot open: %s; did you mean \"%s\"?", strerror(error), found);
    else
        terminal_error(input->shown, "cannot open: %s", strerror(error));
}

/* Opens the input's path and examines the file. Below 0: printed. */
static int input_open_file(struct input *input) {
    bool standard = strcmp(input->path, "-") == 0;
    int fd =
        standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : pipe_open_to_read(input->path, input->shown);
    if (fd < 0 || fstat(fd, &input->status) != 0)
        open_error_print(input, errno);
    else if (S_ISDIR(input->status.st_mode))
        terminal_error(input->shown,
                       "is a directory; name one snapshot file, or did you mean `strata batch %s -o DIR`?",
                       input->shown);
    else if (isatty(fd))
        terminal_error(input->shown, "is a terminal; name a snapshot file or pipe one in");
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool input_open(struct input *input, const char *path) {
    bool standard = strcmp(path, "-") == 0;
    *input = (struct input){
        .path = path,
        .name = standard ? "stdin" : path_base_name(path),
        .shown = standard ? "standard input" : path,
    };
    int fd = input_open_file(input);
    if (fd < 0)
        return false;
    bool regular = S_ISREG(input->status.st_mode);
    if (regular)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    errno = 0;
    input->reader = reader_new(fd, !regular);
    if (input->reader == NULL)
        terminal_error(input->shown, "cannot read: %s",
                       errno == EMFILE || errno == ENFILE ? strerror(errno)
                                                          : "no memory or no thread for it");
    return input->reader != NULL;
}

static int64_t source_took(struct input_reader *reader, int64_t n) {
    if (n > 0)
        atomic_fetch_add_explicit(&reader->position, (uint64_t)n, memory_order_relaxed);
    return n;
}

static int64_t source_read(void *context, void *to, size_t nbytes) {
    struct input_reader *reader = context;
    return source_took(reader, ahead_read(reader->ahead, to, nbytes));
}

static int64_t source_lend(void *context, uint8_t **bytes) {
    struct input_reader *reader = context;
    return source_took(reader, ahead_lend(reader->ahead, bytes));
}

static int64_t again_read(void *context, void *to, size_t nbytes) {
    struct input_reader *reader = context;
    ssize_t n;
    do
        n = pread(reader->fd, to, nbytes, reader->again);
    while (n < 0 && errno == EINTR);
    reader->again += n > 0 ? n : 0;
    return n;
}

static bool source_again(void *context, struct read_source *again) {
    struct input_reader *reader = context;
    reader->again = reader->first;
    *again = (struct read_source){.read = again_read, .context = reader};
    return true;
}

static struct read_ahead *helper_ahead_start(const struct read_source *source, struct read_source *ahead) {
    struct ahead *thread = ahead_new(*source, (struct ahead_watcher){0});
    *ahead = (struct read_source){.read = ahead_read,
                                  .lend = ahead_lend,
                                  .context = thread,
                                  .max_unpacked_nbytes = source->max_unpacked_nbytes};
    return (struct read_ahead *)thread;
}

static void helper_ahead_stop(struct read_ahead *ahead) {
    ahead_free((struct ahead *)ahead);
}

static const struct read_helpers helpers_of_files = {helper_ahead_start, helper_ahead_stop, source_again};
static const struct read_helpers helpers_of_pipes = {helper_ahead_start, helper_ahead_stop, NULL};

struct read_source input_source(struct input *input) {
    bool file = S_ISREG(input->status.st_mode) && input->reader->first >= 0;
    return (struct read_source){.read = source_read,
                                .lend = source_lend,
                                .context = input->reader,
                                .size_hint =
                                    S_ISREG(input->status.st_mode) ? (uint64_t)input->status.st_size : 0,
                                .helpers = file ? &helpers_of_files : &helpers_of_pipes};
}

uint64_t input_position(const struct input *input) {
    return atomic_load_explicit(&input->reader->position, memory_order_relaxed);
}

bool input_finish(struct input *input, char fingerprint[FINGERPRINT_CHARACTERS + 1]) {
    int error = ahead_stop(input->reader->ahead, true);
    if (error != 0) {
        terminal_error(input->shown, "cannot read: %s", strerror(error));
        return false;
    }
    fingerprint_text(input->reader->fingerprint, fingerprint);
    return true;
}

void input_close(struct input *input) {
    if (input->reader != NULL)
        reader_free(input->reader);
    input->reader = NULL;
}
