#include "cli/run/folder.h"

#include "cli/memory.h"
#include "cli/output.h"
#include "cli/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern const unsigned char asset_recorder_py[];
extern const size_t asset_recorder_py_nbytes;

enum { LOGS_MOST = 10000, STALE_S = 60 };

static bool fail(const char *path, const char *what) {
    terminal_error(path, "%s: %s", what, strerror(errno));
    return false;
}

static bool folder_choose(char name[FOLDER_PATH]) {
    snprintf(name, FOLDER_PATH, "strata-run");
    for (int i = 2; mkdir(name, 0700) != 0; i++) {
        if (errno != EEXIST || i > LOGS_MOST)
            return fail(name, "cannot make the directory");
        snprintf(name, FOLDER_PATH, "strata-run-%d", i);
    }
    return true;
}

/* Is the folder nobody else's? A group of one's own (as useradd makes it: its number is the user's) is no one else. */
static bool is_own(const char *path) {
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return fail(path, "cannot use the folder");
    bool others_write = (status.st_mode & S_IWOTH) != 0 ||
                        ((status.st_mode & S_IWGRP) != 0 && status.st_gid != (gid_t)status.st_uid);
    if (status.st_uid == geteuid() && !others_write)
        return true;
    terminal_error(
        path, "cannot use the folder: %s, so that Python code in it may be another's; choose another --out",
        status.st_uid != geteuid() ? "it belongs to another user" : "others can write to it (chmod go-w)");
    return false;
}

/* Makes the last folder of the path for its owner alone, and the missing ones above it as they usually are. `made`: it
 * was not there before. False: printed. */
static bool folder_make(char *path, bool *made) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash != NULL && slash != path) {
        *slash = '\0';
        bool above = output_directories_make(path);
        *slash = '/';
        if (!above)
            return false;
    }
    *made = mkdir(path, 0700) == 0;
    return *made || errno == EEXIST || fail(path, "cannot make the directory");
}

/* Writes the recorder into a folder that nobody has prepared, because Python imports whatever lies beside it. */
static bool recorder_write(struct folder *folder) {
    char path[FOLDER_PATH + 64];
    snprintf(folder->recorder, sizeof folder->recorder, "%s/.run/python-XXXXXX", folder->path);
    if (mkdtemp(folder->recorder) == NULL)
        return fail(folder->recorder, "cannot make the directory");
    snprintf(path, sizeof path, "%s/sitecustomize.py", folder->recorder);
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        return fail(path, "cannot write");
    size_t n = fwrite(asset_recorder_py, 1, asset_recorder_py_nbytes, file);
    return (fclose(file) == 0 && n == asset_recorder_py_nbytes) || fail(path, "cannot write");
}

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static bool tree_remove(const char *path) {
    return nftw(path, entry_remove, 8, FTW_DEPTH | FTW_PHYS) == 0;
}

void folder_log_name(int number, char name[FOLDER_LOG]) {
    snprintf(name, FOLDER_LOG, number > 1 ? "host-%d.log" : "host.log", number);
}

static void log_open(struct folder *folder) {
    char path[FOLDER_PATH + 64];
    for (int i = 1; i < LOGS_MOST; i++) {
        folder_log_name(i, folder->log_name);
        snprintf(path, sizeof path, "%s/%s", folder->path, folder->log_name);
        folder->log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (folder->log < 0 || flock(folder->log, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            break;
        close(folder->log);
    }
    if (folder->log < 0)
        fail(path, "cannot write; the host is still watched");
}

/* Makes the folder for what runs leave, and this run's mark in it. */
static bool runs_make(struct folder *folder) {
    char path[FOLDER_PATH + 8], host[256] = "";
    snprintf(path, sizeof path, "%s/.run", folder->path);
    if (mkdir(path, 0700) != 0 &&
        (errno != EEXIST ? !fail(path, "cannot make the directory") : !is_own(path)))
        return false;
    gethostname(host, sizeof host - 1);
    snprintf(folder->mark, sizeof folder->mark, "%s/run-%s-%ld", path, host, (long)getpid());
    int fd = open(folder->mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail(folder->mark, "cannot write");
    close(fd);
    return true;
}

/* Does another run with this mark "run-HOST-PID" live? On this machine its process tells, on another the time since it
 * was touched. */
static bool run_lives(const struct folder *folder, const char *path) {
    char host[256] = "";
    struct stat status;
    const char *name = strrchr(path, '/') + 1, *pid = strrchr(name, '-');
    if (strcmp(path, folder->mark) == 0)
        return false;
    gethostname(host, sizeof host - 1);
    if (pid > name + 4 && strlen(host) == (size_t)(pid - name - 4) &&
        strncmp(host, name + 4, strlen(host)) == 0)
        return kill((pid_t)strtol(pid + 1, NULL, 10), 0) == 0 || errno == EPERM;
    return stat(path, &status) == 0 && time(NULL) - status.st_mtime < STALE_S;
}

static bool is_dump(const struct folder *folder, const char *path) {
    const char *end = strrchr(path, '.');
    (void)folder;
    return end != NULL && strcmp(end, ".pickle") == 0;
}

static bool tree_drop(const struct folder *folder, const char *path) {
    (void)folder;
    return tree_remove(path);
}

/* Calls `each` for every entry of the folder's subfolder `of` that begins with `prefix`; returns the sum of its answers. */
static uint32_t entries_count(const struct folder *folder, const char *of, const char *prefix,
                              bool (*each)(const struct folder *folder, const char *path)) {
    char path[FOLDER_PATH + 8], entry_path[FOLDER_PATH + 400];
    uint32_t n = 0;
    snprintf(path, sizeof path, "%s/%s", folder->path, of);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        snprintf(entry_path, sizeof entry_path, "%s/%s", path, entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            n += each(folder, entry_path);
    }
    if (directory != NULL)
        closedir(directory);
    return n;
}

/* What runs before us left, if none goes on: their notes are not about our processes. */
static void earlier_note(struct folder *folder) {
    if (entries_count(folder, ".run", "run-", run_lives) != 0)
        return;
    (void)entries_count(folder, ".run", "process-", tree_drop);
    (void)entries_count(folder, ".run", "python", tree_drop);
    folder->n_earlier =
        entries_count(folder, ".", "rank", is_dump) + entries_count(folder, ".", "pid", is_dump);
}

bool folder_begin(struct folder *folder, const char *named) {
    char name[FOLDER_PATH];
    *folder = (struct folder){.log = -1};
    if (named == NULL && !folder_choose(name))
        return false;
    bool made = named == NULL;
    if (named != NULL) {
        snprintf(name, sizeof name, "%s", named);
        if (!folder_make(name, &made))
            return false;
    }
    char *real = realpath(name, NULL);
    if (real == NULL || strlen(real) >= sizeof folder->path) {
        free(real);
        return fail(name, "cannot use the folder");
    }
    snprintf(folder->path, sizeof folder->path, "%s", real);
    free(real);
    folder->shown = named != NULL ? named : strrchr(folder->path, '/') + 1;
    if ((!made && !is_own(folder->path)) || !runs_make(folder))
        return false;
    earlier_note(folder);
    if (!recorder_write(folder))
        return false;
    log_open(folder);
    return true;
}

void folder_touch(const struct folder *folder) {
    utimensat(AT_FDCWD, folder->mark, NULL, 0);
}

bool folder_end(struct folder *folder, bool goes_on) {
    unlink(folder->mark);
    if (!goes_on)
        (void)tree_remove(folder->recorder);
    if (folder->log >= 0)
        close(folder->log);
    folder->log = -1;
    return entries_count(folder, ".run", "run-", run_lives) == 0;
}

/* Writes the time as "2026-11-23 10:00:00.123". */
static void log_time_write(char text[32]) {
    struct timespec now;
    struct tm parts;
    char whole[24];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(whole, sizeof whole, "%Y-%m-%d %H:%M:%S", &parts);
    snprintf(text, 32, "%s.%03u", whole, (unsigned)(now.tv_nsec / 1000000) % 1000u);
}

void folder_log(const struct folder *folder, const char *format, ...) {
    char line[600], time[32];
    va_list arguments;
    log_time_write(time);
    int n = snprintf(line, sizeof line, "%s ", time);
    va_start(arguments, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, arguments);
    va_end(arguments);
    n = n < (int)sizeof line - 1 ? n : (int)sizeof line - 2;
    line[n] = '\n';
    ssize_t written = folder->log >= 0 ? write(folder->log, line, (size_t)n + 1) : 0;
    (void)written;
}
