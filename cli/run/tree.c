#include "cli/run/tree.h"

#include "cli/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STAT_NBYTES = 1024,
    SHARE_BUDGET_US = 2000, /* per scan: reading a share walks all pages, 10 ms for some 10 GiB */
    REREAD_SCANS = 60       /* another process may have got the id by then */
};

/* ---- files of /proc ---- */

static bool file_read(const char *path, char *text, size_t capacity) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, capacity - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n > 0)
        text[n] = '\0';
    return n > 0;
}

/* Indexes of the words behind the name, from 1. */
enum { FIELD_PARENT = 2, FIELD_FLAGS = 7, FIELD_PAGES = 22, FLAG_EXITING = 4 };

/* Reads the word `field` as a number; 0: there is none. */
static uint64_t field_read(const char *text, unsigned field) {
    for (; field > 0 && *text != '\0'; field--) {
        text += strspn(text, " ");
        if (field == 1)
            return strtoull(text, NULL, 10);
        text += strcspn(text, " ");
    }
    return 0;
}

/* Reads /proc/PID/stat: "PID (NAME) STATE PPID ...". A name may hold blanks and parentheses. */
static bool stat_read(struct process *process) {
    char path[40], text[STAT_NBYTES];
    snprintf(path, sizeof path, "/proc/%" PRId32 "/stat", process->pid);
    if (!file_read(path, text, sizeof text))
        return false;
    char *name = strchr(text, '('), *end = strrchr(text, ')');
    if (name == NULL || end == NULL || end < name)
        return false;
    snprintf(process->name, sizeof process->name, "%.*s", (int)(end - name - 1), name + 1);
    char state = end[1] != '\0' ? end[2] : 'Z';
    process->parent = (int32_t)field_read(end + 1, FIELD_PARENT);
    uint64_t resident_bytes = field_read(end + 1, FIELD_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    bool exits = state == 'Z' || (field_read(end + 1, FIELD_FLAGS) & FLAG_EXITING) != 0;
    if (exits ||
        (resident_bytes == 0 && process->resident_bytes != 0)) /* it exits: keeps the sizes seen before */
        return false;
    process->resident_bytes = resident_bytes;
    return true;
}

static void share_read(struct process *process) {
    char path[48], text[STAT_NBYTES];
    snprintf(path, sizeof path, "/proc/%" PRId32 "/smaps_rollup", process->pid);
    const char *line = file_read(path, text, sizeof text) ? strstr(text, "\nPss:") : NULL;
    if (line == NULL)
        return;
    process->share_bytes = strtoull(line + strlen("\nPss:"), NULL, 10) << 10;
    process->share_resident = process->resident_bytes;
}

/* ---- the table ---- */

static int process_compare(const void *a, const void *b) {
    const struct process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct process *process_find(const struct tree *tree, uint32_t n, int32_t pid) {
    struct process key = {.pid = pid};
    return n != 0 ? bsearch(&key, tree->processes, n, sizeof key, process_compare) : NULL;
}

bool tree_has(const struct tree *tree, int32_t pid) {
    const struct process *process = process_find(tree, tree->n, pid);
    return process != NULL && process->ours;
}

static bool process_add(struct tree *tree, int32_t pid) {
    if (tree->n == tree->capacity) {
        uint32_t capacity = tree->capacity != 0 ? tree->capacity * 2 : 256;
        struct process *more = realloc(tree->processes, capacity * sizeof *more);
        if (more == NULL)
            return false;
        tree->processes = more;
        tree->capacity = capacity;
    }
    tree->processes[tree->n++] = (struct process){.pid = pid, .seen = true};
    return true;
}

/* Lists all processes of /proc: marks those that we know, and adds the others behind them. */
static void processes_list(struct tree *tree) {
    DIR *directory = opendir("/proc");
    uint32_t n_known = tree->n;
    for (uint32_t i = 0; i < n_known; i++)
        tree->processes[i].seen = directory == NULL;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (*end != '\0' || pid <= 0 || pid > INT32_MAX || pid == tree->self)
            continue;
        struct process *known = process_find(tree, n_known, (int32_t)pid);
        if (known != NULL)
            known->seen = true;
        else if (!process_add(tree, (int32_t)pid))
            break;
    }
    if (directory != NULL)
        closedir(directory);
    for (uint32_t i = n_known; i < tree->n; i++)
        tree->processes[i].seen = stat_read(&tree->processes[i]);
    if (tree->n != 0)
        qsort(tree->processes, tree->n, sizeof *tree->processes, process_compare);
}

/* Finds our processes: our children and their children, in whatever order their ids came. */
static void ours_find(struct tree *tree) {
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < tree->n; i++) {
            struct process *process = &tree->processes[i];
            if (process->ours || !process->seen)
                continue;
            if (process->parent == tree->self || tree_has(tree, process->parent)) {
                process->ours = true;
                more = true;
            }
        }
    }
}

/* Adds a process to those that are gone; only the largest are kept. */
static void gone_add(struct tree *tree, const struct process *process) {
    struct process *place = &tree->gone[0];
    if (tree->n_gone < TREE_GONE)
        place = &tree->gone[tree->n_gone++];
    else
        for (uint32_t i = 1; i < TREE_GONE; i++)
            if (tree->gone[i].bytes < place->bytes)
                place = &tree->gone[i];
    if (place->bytes <= process->bytes)
        *place = *process;
}

static void gone_drop(struct tree *tree) {
    uint32_t kept = 0;
    bool again = ++tree->n_scans % REREAD_SCANS == 0;
    for (uint32_t i = 0; i < tree->n; i++) {
        struct process *process = &tree->processes[i];
        if (process->ours && !process->seen)
            gone_add(tree, process);
        else if (process->seen && (process->ours || !again))
            tree->processes[kept++] = *process;
    }
    tree->n = kept;
}

static void process_measure(struct process *process, int64_t now_us) {
    uint64_t moved = process->share_bytes + process->resident_bytes;
    process->bytes = process->share_bytes == 0         ? process->resident_bytes
                     : moved > process->share_resident ? moved - process->share_resident
                                                       : 0;
    process->most_bytes = process->bytes > process->most_bytes ? process->bytes : process->most_bytes;
    process->seen_us = now_us;
}

/* Reads the shares of a few processes at a time, in turn. */
static void shares_read(struct tree *tree) {
    int64_t begin = clock_us();
    for (uint32_t i = 0; i < tree->n && clock_us() - begin < SHARE_BUDGET_US; i++) {
        struct process *process = &tree->processes[tree->next_share++ % tree->n];
        if (process->ours)
            share_read(process);
    }
}

static void ours_sum(struct tree *tree, int64_t now_us) {
    const struct process *largest = NULL;
    tree->bytes = tree->n_ours = 0;
    for (uint32_t i = 0; i < tree->n; i++) {
        struct process *process = &tree->processes[i];
        if (!process->ours)
            continue;
        process_measure(process, now_us);
        tree->bytes += process->bytes;
        tree->n_ours++;
        if (largest == NULL || process->bytes > largest->bytes)
            largest = process;
    }
    if (tree->bytes > tree->most_bytes && largest != NULL) {
        tree->most_bytes = tree->bytes;
        tree->largest = *largest;
    }
}

void tree_scan(struct tree *tree, int64_t now_us) {
    processes_list(tree);
    ours_find(tree);
    for (uint32_t i = 0; i < tree->n; i++) {
        struct process *process = &tree->processes[i];
        if (process->ours && process->seen)
            process->seen = stat_read(process);
    }
    gone_drop(tree);
    shares_read(tree);
    ours_sum(tree, now_us);
}

const struct process *tree_gone_largest(const struct tree *tree, int64_t since_us) {
    const struct process *largest = NULL;
    for (uint32_t i = 0; i < tree->n_gone; i++)
        if (tree->gone[i].seen_us >= since_us && (largest == NULL || tree->gone[i].bytes > largest->bytes))
            largest = &tree->gone[i];
    return largest;
}

void tree_release(struct tree *tree) {
    free(tree->processes);
}
