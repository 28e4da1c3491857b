/*
 * A library to preload into the program, which makes its calls fail, one by one.
 *
 *     FAULT=malloc:17         the 17th allocation fails
 *     FAULT=write:3:28        the 3rd write fails with errno 28
 *     FAULT=write:3:short     the 3rd write takes one byte only
 *     FAULT=malloc:17:on      the 17th allocation fails, and all after it
 *     FAULT=write:3:term      SIGTERM comes just before the 3rd write
 *     FAULT=write:3:stop      SIGSTOP comes there, so that a test can look at the files
 *     FAULT=place:1f3c:2      the 2nd allocation of the place 1f3c fails; `:on` as above, all after it in any place
 *     FAULT_SHOW=1            prints the callers of an allocation that fails by its place on standard error
 *     FAULT_LOG=FILE          writes every call but allocations to FILE, and at the end how often each was called
 *     FAULT_PLACES=FILE       appends the place of every allocation to FILE: struct record
 *
 * Calls are counted by kind, in each process from its start. Calls that the C library makes itself are not seen, except
 * allocations. A place is a hash of the return addresses of an allocation, up to the beginning of the thread; it is the
 * same in every run of one program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
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

enum { MODULES_MAX = 64, FRAMES_MAX = 128 };

struct record {
    uint64_t process, place;
};

/* Where the program and its libraries lie, by rising address: they are loaded elsewhere in every run. */
static struct { uintptr_t begin, end; } modules[MODULES_MAX];
static int n_modules;
static int places_fd = -1;
static uint64_t place_wanted; /* 0: none */
static _Thread_local bool in_backtrace;

void *__libc_malloc(size_t nbytes);
void *__libc_calloc(size_t count, size_t nbytes);
void *__libc_realloc(void *ptr, size_t nbytes);

/* ---- reading the environment ---- */

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

static int module_note(struct dl_phdr_info *info, size_t nbytes, void *context) {
    (void)nbytes;
    (void)context;
    if (n_modules == MODULES_MAX)
        return 1;
    modules[n_modules].begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            if (begin < modules[n_modules].begin)
                modules[n_modules].begin = begin;
            modules[n_modules].end = begin + info->dlpi_phdr[i].p_memsz;
        }
    n_modules++;
    return 0;
}

/* The same number in every run for one address: its module, and the offset in it. */
static uint64_t address_of(uintptr_t address) {
    for (int i = 0; i < n_modules; i++)
        if (address >= modules[i].begin && address < modules[i].end)
            return (uint64_t)(i + 1) << 48 | (address - modules[i].begin);
    return 0;
}

/* Never 0. The first frames are this library's. */
static uint64_t place_here(void) {
    enum { OWN = 2 };
    void *frame[FRAMES_MAX];
    uint64_t hash = 0xcbf29ce484222325;
    in_backtrace = true;
    int n = backtrace(frame, FRAMES_MAX);
    in_backtrace = false;
    for (int i = OWN; i < n; i++)
        hash = (hash ^ address_of((uintptr_t)frame[i])) * 0x100000001b3 ^ hash >> 29;
    return hash | 1;
}

/* Runs before the program's own calls count, so what it allocates is not counted. */
static void begin_places(const char *path) {
    void *frame[4];
    in_backtrace = true;
    backtrace(frame, 4); /* loads the unwinder */
    in_backtrace = false;
    dl_iterate_phdr(module_note, NULL);
    if (path != NULL)
        places_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("FAULT"), *log = getenv("FAULT_LOG"), *places = getenv("FAULT_PLACES");
    const char *colon = fault != NULL ? strchr(fault, ':') : NULL;
    char *how;
    if (log != NULL)
        snprintf(log_path, sizeof log_path, "%s", log);
    bool by_place = fault != NULL && strncmp(fault, "place:", 6) == 0;
    if (places != NULL || by_place)
        begin_places(places);
    if (by_place) {
        place_wanted = strtoull(colon + 1, &how, 16);
        colon = *how == ':' ? how : NULL;
    }
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

static void show(void) {
    void *frame[FRAMES_MAX];
    backtrace_symbols_fd(frame, backtrace(frame, FRAMES_MAX), STDERR_FILENO);
}

/* Whether this allocation is the one that fails, by its place. */
static bool fails_here(void) {
    static atomic_ulong n_here;
    static atomic_bool all;
    if (in_backtrace || (places_fd < 0 && place_wanted == 0))
        return false;
    if (atomic_load(&all))
        return true;
    struct record record = {(uint64_t)getpid(), place_here()};
    if (places_fd >= 0)
        syscall(SYS_write, places_fd, &record, sizeof record);
    if (record.place != place_wanted || atomic_fetch_add(&n_here, 1) + 1 != nth_wanted)
        return false;
    atomic_store(&all, from_then_on);
    if (getenv("FAULT_SHOW") != NULL)
        show();
    return true;
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

static bool allocation_fails(void) {
    if (!fails(MALLOC) && !fails_here())
        return false;
    errno = ENOMEM;
    return true;
}

static void *next_of(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* ---- the calls ---- */

void *malloc(size_t size) {
    return allocation_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nmemb, size_t size) {
    return allocation_fails() ? NULL : __libc_calloc(nmemb, size);
}

void *realloc(void *ptr, size_t size) {
    return allocation_fails() ? NULL : __libc_realloc(ptr, size);
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

/* As on Linux, the descriptor is closed although the call fails. */
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
