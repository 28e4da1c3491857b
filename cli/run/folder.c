#include "cli/run/folder.h"

#include "cli/output.h"
#include "cli/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
    for (int i = 2; mkdir(name, 0777) != 0; i++) {
        if (errno != EEXIST || i > LOGS_MOST)
            return fail(name, "cannot make the directory");
        snprintf(name, FOLDER_PATH, "strata-run-%d", i);
    }
    return true;
}

/* Writes the recorder under another name and renames it, because another run may read it at the same moment. */
static bool recorder_write(const struct folder *folder) {
    char path[FOLDER_PATH + 64], part[FOLDER_PATH + 96];
    snprintf(path, sizeof path, "%s/.run/python", folder->path);
    if (!output_directories_make(path))
        return false;
    snprintf(path, sizeof path, "%s/.run/python/sitecustomize.py", folder->path);
    snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid());
    FILE *file = fopen(part, "we");
    if (file == NULL)
        return fail(part, "cannot write");
    size_t n = fwrite(asset_recorder_py, 1, asset_recorder_py_nbytes, file);
    if (fclose(file) != 0 || n != asset_recorder_py_nbytes || rename(part, path) != 0) {
        fail(path, "cannot write");
        unlink(part);
        return false;
    }
    return true;
}

static void log_open(struct folder *folder) {
    char path[FOLDER_PATH + 64];
    snprintf(folder->log_name, sizeof folder->log_name, "host.log");
    for (int i = 2; i < LOGS_MOST; i++) {
        snprintf(path, sizeof path, "%s/%s", folder->path, folder->log_name);
        folder->log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (folder->log < 0 || flock(folder->log, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            break;
        close(folder->log);
        snprintf(folder->log_name, sizeof folder->log_name, "host-%d.log", i);
    }
    if (folder->log < 0)
        fail(path, "cannot write; the host is still watched");
}

static bool mark_make(struct folder *folder) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    snprintf(folder->mark, sizeof folder->mark, "%s/.run/run-%s-%ld", folder->path, host, (long)getpid());
    int fd = open(folder->mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(folder->mark, "cannot write");
    close(fd);
    return true;
}

/* Does the run of a mark "run-HOST-PID" live? On this machine its process tells, on another the time since it was
 * touched. */
static bool mark_lives(const char *folder, const char *name) {
    char path[FOLDER_PATH + 400], host[256] = "";
    struct stat status;
    const char *pid = strrchr(name, '-');
    gethostname(host, sizeof host - 1);
    if (pid > name + 4 && strlen(host) == (size_t)(pid - name - 4) &&
        strncmp(host, name + 4, strlen(host)) == 0)
        return kill((pid_t)strtol(pid + 1, NULL, 10), 0) == 0 || errno == EPERM;
    snprintf(path, sizeof path, "%s/.run/%s", folder, name);
    return stat(path, &status) == 0 && time(NULL) - status.st_mtime < STALE_S;
}

/* Calls `each` for every entry of the folder's subfolder `of` that begins with `prefix`; returns the sum of its answers. */
static uint32_t entries_count(const struct folder *folder, const char *of, const char *prefix,
                              bool (*each)(const char *path, const char *folder, const char *name)) {
    char path[FOLDER_PATH + 8], entry_path[FOLDER_PATH + 400];
    uint32_t n = 0;
    snprintf(path, sizeof path, "%s/%s", folder->path, of);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        snprintf(entry_path, sizeof entry_path, "%s/%s", path, entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            n += each(entry_path, folder->path, entry->d_name);
    }
    if (directory != NULL)
        closedir(directory);
    return n;
}

static bool run_lives(const char *path, const char *folder, const char *name) {
    (void)path;
    return mark_lives(folder, name);
}

static bool is_dump(const char *path, const char *folder, const char *name) {
    const char *end = strrchr(name, '.');
    (void)path;
    (void)folder;
    return end != NULL && strcmp(end, ".pickle") == 0;
}

static bool note_drop(const char *path, const char *folder, const char *name) {
    (void)folder;
    (void)name;
    return unlink(path) == 0;
}

/* What runs before us left, if none goes on: their notes are not about our processes. */
static void earlier_note(struct folder *folder) {
    if (entries_count(folder, ".run", "run-", run_lives) != 0)
        return;
    (void)entries_count(folder, ".run", "process-", note_drop);
    folder->n_earlier = entries_count(folder, ".", "rank", is_dump);
}

bool folder_begin(struct folder *folder, const char *named) {
    char name[FOLDER_PATH];
    *folder = (struct folder){.log = -1};
    if (named == NULL && !folder_choose(name))
        return false;
    if (named != NULL) {
        snprintf(name, sizeof name, "%s", named);
        if (!output_directories_make(name))
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
    if (!recorder_write(folder))
        return false;
    earlier_note(folder);
    if (!mark_make(folder))
        return false;
    log_open(folder);
    return true;
}

void folder_touch(const struct folder *folder) {
    utimensat(AT_FDCWD, folder->mark, NULL, 0);
}

bool folder_end(struct folder *folder) {
    unlink(folder->mark);
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
