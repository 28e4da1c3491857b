/*
 * Preloaded into the program: makes its calls fail, one by one.
 *
 *     FAULT=malloc:17         the 17th allocation fails
 *     FAULT=write:3:28        the 3rd write fails with errno 28
 *     FAULT=write:3:short     the 3rd write takes one byte only
 *     FAULT=malloc:17:on      the 17th allocation fails, and all after it
 *     FAULT=write:3:term      SIGTERM comes just before the 3rd write
 *     FAULT=write:3:stop      SIGSTOP does, so that a test can look around
 *     FAULT_LOG=FILE          every call but allocations is noted in FILE, and at the end how often each was called
 *
 * Calls are counted by kind and in each process from its start; what the C library calls for itself is not seen, except
 * allocations.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { MALLOC, WRITE, FSYNC, CLOSE, RENAME, OPEN, READ, THREAD, FORK, MKDIR, FSTAT, KINDS };
static const char *const names[KINDS] = {"malloc", "write",  "fsync", "close", "rename", "open",
                                         "read",   "thread", "fork",  "mkdir", "fstat"};

static atomic_ulong counts[KINDS];
static int kind_wanted = -1, error_wanted = EIO;
static unsigned long nth_wanted;
static bool is_short, from_then_on;
static int signal_sent; /* 0: the call fails instead */
static char log_path[512];

void *__libc_malloc(size_t nbytes);
void *__libc_calloc(size_t count, size_t nbytes);
void *__libc_realloc(void *ptr, size_t nbytes);

/* ---- what is asked for ---- */

static void note(const char *what, unsigned long number) {
    char line[96];
    if (log_path[0] == '\0')
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    int n = snprintf(line, sizeof line, "%s %lu\n", what, number);
    if (fd >= 0) {
        syscall(SYS_write, fd, line, n);
        syscall(SYS_close, fd);
    }
}

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("FAULT"), *log = getenv("FAULT_LOG");
    const char *colon = fault != NULL ? strchr(fault, ':') : NULL;
    char *how;
    if (log != NULL)
        snprintf(log_path, sizeof log_path, "%s", log);
    if (colon == NULL)
        return;
    nth_wanted = strtoul(colon + 1, &how, 10);
    how += *how == ':';
    for (int kind = 0; kind < KINDS; kind++)
        if (strncmp(names[kind], fault, (size_t)(colon - fault)) == 0 && names[kind][colon - fault] == '\0')
            kind_wanted = kind;
    is_short = strcmp(how, "short") == 0;
    signal_sent = strcmp(how, "term") == 0 ? SIGTERM : strcmp(how, "stop") == 0 ? SIGSTOP : 0;
    from_then_on = strcmp(how, "on") == 0;
    error_wanted = kind_wanted == MALLOC        ? ENOMEM
                   : *how >= '1' && *how <= '9' ? (int)strtol(how, NULL, 10)
                                                : EIO;
    memset(counts, 0, sizeof counts);
}

__attribute__((destructor)) static void end(void) {
    char what[32];
    for (int kind = 0; kind < KINDS; kind++) {
        snprintf(what, sizeof what, "total %s", names[kind]);
        note(what, counts[kind]);
    }
}

/* Whether this call is the one that fails. */
static bool fails(enum kind kind) {
    unsigned long nth = atomic_fetch_add(&counts[kind], 1) + 1;
    if (kind != MALLOC)
        note(names[kind], nth);
    bool now = (int)kind == kind_wanted && (from_then_on ? nth >= nth_wanted : nth == nth_wanted);
    if (now && signal_sent != 0) {
        kill(getpid(), signal_sent);
        return false;
    }
    if (now)
        errno = kind == MALLOC ? ENOMEM : error_wanted;
    return now;
}

static void *next_of(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* ---- the calls ---- */

void *malloc(size_t size) {
    return fails(MALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t nmemb, size_t size) {
    return fails(MALLOC) ? NULL : __libc_calloc(nmemb, size);
}

void *realloc(void *ptr, size_t size) {
    return fails(MALLOC) ? NULL : __libc_realloc(ptr, size);
}

ssize_t write(int fd, const void *buf, size_t n) {
    bool failed = fails(WRITE);
    if (failed && !is_short)
        return -1;
    return syscall(SYS_write, fd, buf, failed && n > 1 ? 1 : n);
}

ssize_t read(int fd, void *buf, size_t nbytes) {
    bool failed = fails(READ);
    if (failed && !is_short)
        return -1;
    return syscall(SYS_read, fd, buf, failed && nbytes > 1 ? 1 : nbytes);
}

int fsync(int fd) {
    return fails(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

/* As Linux has it: the descriptor is gone although the call fails. */
int close(int fd) {
    bool failed = fails(CLOSE);
    int result = (int)syscall(SYS_close, fd);
    if (failed)
        errno = error_wanted;
    return failed ? -1 : result;
}

int rename(const char *old, const char *new) {
    return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
}

int renameat2(int oldfd, const char *old, int newfd, const char *new, unsigned flags) {
    return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, oldfd, old, newfd, new, flags);
}

int open(const char *file, int oflag, ...) {
    va_list arguments;
    va_start(arguments, oflag);
    mode_t mode = (oflag & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fails(OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, file, oflag, mode);
}

int mkdir(const char *path, mode_t mode) {
    return fails(MKDIR) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int fstat(int fd, struct stat *buf) {
    int (*next)(int, struct stat *) = (int (*)(int, struct stat *))next_of("fstat");
    return fails(FSTAT) ? -1 : next(fd, buf);
}

pid_t fork(void) {
    pid_t (*next)(void) = (pid_t(*)(void))next_of("fork");
    return fails(FORK) ? -1 : next();
}

int pthread_create(pthread_t *newthread, const pthread_attr_t *attr, void *(*start_routine)(void *),
                   void *arg) {
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))next_of("pthread_create");
    return fails(THREAD) ? EAGAIN : next(newthread, attr, start_routine, arg);
}
