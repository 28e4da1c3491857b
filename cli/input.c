#include "cli/input.h"

#include "cli/terminal.h"
#include "parser/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Large enough that the price of a system call and of a wake-up vanishes, small enough for the cache. */
enum { BLOCK_NBYTES = 1 << 20, BLOCK_COUNT = 4 };

struct input_block {
    uint8_t *bytes;
    size_t nbytes;
};

struct input_reader {
    int fd;
    bool waits;       /* a pipe or a device: its reads may take for ever */
    int stop_pipe[2]; /* closing [1] wakes a reader that waits for a pipe */
    struct fingerprint *fingerprint;
    pthread_t thread;
    bool started;

    pthread_mutex_t mutex; /* guards the following */
    pthread_cond_t changed;
    uint64_t filled, emptied; /* blocks, since the beginning */
    bool ended, draining, stopped;
    int error; /* errno of a failed read */
    struct input_block block[BLOCK_COUNT];

    uint64_t position; /* the parser's side */
    size_t used;       /* of block[emptied % BLOCK_COUNT] */
};

/* Waits until there is something to read or the reading is stopped. Files never wait. */
static bool reader_wait_readable(struct input_reader *reader) {
    if (!reader->waits)
        return true;
    struct pollfd fds[2] = {{.fd = reader->fd, .events = POLLIN},
                            {.fd = reader->stop_pipe[0], .events = POLLIN}};
    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR)
            return true; /* the read will say what is wrong */
    return fds[1].revents == 0;
}

static ssize_t reader_read(struct input_reader *reader, uint8_t *to) {
    for (;;) {
        if (!reader_wait_readable(reader))
            return 0;
        ssize_t n = read(reader->fd, to, BLOCK_NBYTES);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
    }
}

/* The next block to fill, NULL: stopped. */
static struct input_block *reader_claim(struct input_reader *reader) {
    pthread_mutex_lock(&reader->mutex);
    while (reader->filled - reader->emptied == BLOCK_COUNT && !reader->draining && !reader->stopped)
        pthread_cond_wait(&reader->changed, &reader->mutex);
    struct input_block *block = reader->stopped ? NULL : &reader->block[reader->filled % BLOCK_COUNT];
    pthread_mutex_unlock(&reader->mutex);
    return block;
}

/* Hands a block to the parser's side; `n` 0: the end, below 0: failed with errno. */
static void reader_publish(struct input_reader *reader, struct input_block *block, ssize_t n) {
    int error = errno;
    pthread_mutex_lock(&reader->mutex);
    if (n > 0) {
        block->nbytes = (size_t)n;
        reader->filled++;
    } else {
        reader->ended = true;
        reader->error = n < 0 ? error : 0;
    }
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->mutex);
}

static void *reader_run(void *context) {
    struct input_reader *reader = context;
    for (struct input_block *block; (block = reader_claim(reader)) != NULL;) {
        ssize_t n = reader_read(reader, block->bytes);
        reader_publish(reader, block, n);
        if (n <= 0)
            break;
        /* The block is not filled again before this thread claims it, so it may be read here while it is
         * parsed. */
        fingerprint_add(reader->fingerprint, block->bytes, (size_t)n);
    }
    return NULL;
}

/* Starts the thread with every signal blocked: signals belong to the main thread, which owns the output. */
static bool reader_start(struct input_reader *reader) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    reader->started = pthread_create(&reader->thread, NULL, reader_run, reader) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return reader->started;
}

static void reader_free(struct input_reader *reader) {
    for (size_t i = 0; i < BLOCK_COUNT; i++)
        free(reader->block[i].bytes);
    fingerprint_free(reader->fingerprint);
    for (size_t i = 0; i < 2; i++)
        if (reader->stop_pipe[i] >= 0)
            close(reader->stop_pipe[i]);
    pthread_cond_destroy(&reader->changed);
    pthread_mutex_destroy(&reader->mutex);
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
    pthread_mutex_init(&reader->mutex, NULL);
    pthread_cond_init(&reader->changed, NULL);
    reader->fingerprint = fingerprint_new();
    bool ready = reader->fingerprint != NULL && pipe2(reader->stop_pipe, O_CLOEXEC) == 0;
    for (size_t i = 0; i < BLOCK_COUNT; i++)
        ready = (reader->block[i].bytes = malloc(BLOCK_NBYTES)) != NULL && ready;
    if (ready && reader_start(reader))
        return reader;
    reader_free(reader);
    return NULL;
}

static const char *path_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Opens what `input` names and looks at it. Below 0: printed. */
static int input_open_file(struct input *input) {
    bool standard = strcmp(input->path, "-") == 0;
    int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                      : open(input->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &input->status) != 0)
        terminal_error(input->shown, "cannot open: %s", strerror(errno));
    else if (S_ISDIR(input->status.st_mode))
        terminal_error(input->shown, "is a directory; name one snapshot file");
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
    input->reader = reader_new(fd, !regular);
    if (input->reader == NULL)
        terminal_error(input->shown, "cannot read: no memory or no thread for it");
    return input->reader != NULL;
}

/* Waits for a filled block. NULL: the end or a failure. */
static struct input_block *reader_next(struct input_reader *reader) {
    pthread_mutex_lock(&reader->mutex);
    while (reader->filled == reader->emptied && !reader->ended)
        pthread_cond_wait(&reader->changed, &reader->mutex);
    bool filled = reader->filled != reader->emptied;
    pthread_mutex_unlock(&reader->mutex);
    return filled ? &reader->block[reader->emptied % BLOCK_COUNT] : NULL;
}

static void reader_release(struct input_reader *reader) {
    pthread_mutex_lock(&reader->mutex);
    reader->emptied++;
    reader->used = 0;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->mutex);
}

static int64_t source_read(void *context, void *to, size_t nbytes) {
    struct input_reader *reader = context;
    struct input_block *block = reader_next(reader);
    if (block == NULL) {
        errno = reader->error;
        return reader->error != 0 ? -1 : 0;
    }
    size_t left = block->nbytes - reader->used;
    size_t n = left < nbytes ? left : nbytes;
    memcpy(to, block->bytes + reader->used, n);
    reader->used += n;
    reader->position += n;
    if (reader->used == block->nbytes)
        reader_release(reader);
    return (int64_t)n;
}

struct read_source input_source(struct input *input) {
    bool regular = S_ISREG(input->status.st_mode);
    uint64_t size = regular ? (uint64_t)input->status.st_size : 0;
    return (struct read_source){.read = source_read, .context = input->reader, .size_hint = size};
}

uint64_t input_position(const struct input *input) {
    return input->reader->position;
}

/* Ends the thread: after the last byte (`draining`), or as soon as possible. */
static void reader_join(struct input_reader *reader, bool draining) {
    if (!reader->started)
        return;
    pthread_mutex_lock(&reader->mutex);
    reader->draining = draining;
    reader->stopped = !draining;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->mutex);
    if (!draining) {
        close(reader->stop_pipe[1]);
        reader->stop_pipe[1] = -1;
    }
    pthread_join(reader->thread, NULL);
    reader->started = false;
}

bool input_finish(struct input *input, char fingerprint[FINGERPRINT_CHARACTERS + 1]) {
    struct input_reader *reader = input->reader;
    reader_join(reader, true);
    if (reader->error != 0) {
        terminal_error(input->shown, "cannot read: %s", strerror(reader->error));
        return false;
    }
    fingerprint_text(reader->fingerprint, fingerprint);
    return true;
}

void input_close(struct input *input) {
    if (input->reader == NULL)
        return;
    reader_join(input->reader, false);
    reader_free(input->reader);
    input->reader = NULL;
}
