#include "cli/pipe.h"

#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000 };

static bool is_pipe(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

static int without_waiting(const char *path, int flags) {
    return open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Makes reads and writes of the descriptor wait again. */
static int waiting_again(int fd) {
    if (fd < 0 || fcntl(fd, F_SETFL, 0) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Waits until something is written, or the writer has gone again. */
static void wait_for_writer(int fd, const char *shown) {
    struct pollfd end = {.fd = fd, .events = POLLIN};
    if (fd < 0 || poll(&end, 1, PATIENCE_MS) != 0)
        return;
    terminal_note(shown, "is a pipe that nobody has written into yet; waiting for data");
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
}

int pipe_open_to_read(const char *path, const char *shown) {
    if (!is_pipe(path))
        return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int fd = without_waiting(path, O_RDONLY);
    wait_for_writer(fd, shown);
    return waiting_again(fd);
}

/* Waits for a pipe's reader: opening without waiting fails with ENXIO while there is none. */
static int wait_for_reader(const char *path, const char *shown) {
    enum { LOOK_MS = 50 };
    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += LOOK_MS) {
        int fd = without_waiting(path, O_WRONLY);
        if (fd >= 0 || errno != ENXIO)
            return waiting_again(fd);
        (void)poll(NULL, 0, LOOK_MS);
    }
    terminal_note(shown, "is a pipe that nobody reads yet; waiting for a reader");
    return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

int pipe_open_to_write(const char *path, const char *shown) {
    return is_pipe(path) ? wait_for_reader(path, shown) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}
