#include "cli/run/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *group_open(const char *folder, const char *name) {
    char path[CGROUP_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "re");
}

/* Reads a number, or "max". False: no such file. */
static bool number_read(const char *folder, const char *name, uint64_t *number) {
    FILE *file = group_open(folder, name);
    char text[32];
    bool read = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (!read)
        return false;
    *number = strncmp(text, "max", 3) == 0 ? UINT64_MAX : strtoull(text, NULL, 10);
    return true;
}

/* Reads the number after a word at the beginning of a line. */
static void count_read(FILE *file, const char *word, uint64_t *count) {
    char line[128];
    size_t length = strlen(word);
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, word, length) == 0 && line[length] == ' ')
            *count = strtoull(line + length, NULL, 10);
    fclose(file);
}

/* The two versions: how to recognise a mount, a line of /proc/self/cgroup, and the names of the files. */
static const struct cgroup_files {
    const char *mount, *option, *line;
    const char *current, *peak, *max;
    const char *killed, *over; /* names of counts: of kills, and of requests that met the limit */
} versions[] = {
    {" - cgroup2 ", "", "0::", "memory.current", "memory.peak", "memory.max", "memory.events", NULL},
    {" - cgroup ", "memory", "memory:", "memory.usage_in_bytes", "memory.max_usage_in_bytes",
     "memory.limit_in_bytes", "memory.oom_control", "memory.failcnt"}};

/* Finds the mount point of a version. False: none. */
static bool mount_find(char mount[CGROUP_PATH], const struct cgroup_files *files) {
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[CGROUP_PATH + 512];
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        const char *type = strstr(line, files->mount);
        found = type != NULL && strstr(type, files->option) != NULL &&
                sscanf(line, "%*s %*s %*s %*s %4095s", mount) == 1;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

/* Finds the group's path below the mount in /proc/self/cgroup: "0::/user.slice/job" or "4:memory:/job". */
static bool path_find(char path[CGROUP_PATH], const char *mount, const char *wanted) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[CGROUP_PATH + 8], *at = NULL;
    while (file != NULL && at == NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        at = strstr(line, wanted);
    }
    if (file != NULL)
        fclose(file);
    return at != NULL && snprintf(path, CGROUP_PATH, "%s%s", mount, at + strlen(wanted)) < CGROUP_PATH;
}

static bool has_memory(const struct cgroup *cgroup) {
    uint64_t bytes;
    return number_read(cgroup->path, cgroup->files->current, &bytes);
}

/* Steps to the parent group, at most to the mount. False: none. */
static bool step_up(char *path, size_t least) {
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) < least)
        return false;
    *slash = '\0';
    return true;
}

/* Finds the group. In a container its path may lie outside of the mount; then the nearest group above it that exists is
 * taken. */
static bool group_find_mounted(struct cgroup *cgroup) {
    char mount[CGROUP_PATH];
    if (!mount_find(mount, cgroup->files) || !path_find(cgroup->path, mount, cgroup->files->line))
        return false;
    while (!has_memory(cgroup))
        if (!step_up(cgroup->path, strlen(mount)))
            return false;
    return true;
}

/* Tries version 2, then 1: both may be mounted, but only one of them has memory. `named`: its folder; "": look for
 * it. */
static bool group_find(struct cgroup *cgroup, const char *named) {
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        cgroup->files = &versions[i];
        if (named[0] != '\0')
            snprintf(cgroup->path, sizeof cgroup->path, "%s", named);
        if (named[0] != '\0' ? has_memory(cgroup) : group_find_mounted(cgroup))
            return true;
    }
    return false;
}

static const char *group_named(void) {
    const char *named = getenv("STRATA_CGROUP");
    return named != NULL ? named : "";
}

/* Reads the limit, which may be that of a group above. Version 1 writes the largest number of pages where there is
 * none. */
static void limit_read(struct cgroup *cgroup, bool look_above) {
    char path[CGROUP_PATH];
    uint64_t limit;
    cgroup->limit_bytes = UINT64_MAX;
    memcpy(path, cgroup->path, sizeof path);
    do
        if (number_read(path, cgroup->files->max, &limit) && limit < UINT64_MAX >> 2 &&
            limit < cgroup->limit_bytes)
            cgroup->limit_bytes = limit;
    while (look_above && step_up(path, 1));
}

uint64_t cgroup_limit(void) {
    struct cgroup cgroup = {.limit_bytes = UINT64_MAX};
    if (group_find(&cgroup, ""))
        limit_read(&cgroup, true);
    return cgroup.limit_bytes;
}

void cgroup_read(struct cgroup *cgroup) {
    count_read(fopen("/proc/vmstat", "re"), "oom_kill", &cgroup->n_killed_anywhere);
    if (!cgroup->found)
        return;
    const struct cgroup_files *files = cgroup->files;
    number_read(cgroup->path, files->current, &cgroup->current_bytes);
    if (!number_read(cgroup->path, files->peak, &cgroup->peak_bytes) && /* there since Linux 5.19 */
        cgroup->current_bytes > cgroup->peak_bytes)
        cgroup->peak_bytes = cgroup->current_bytes;
    limit_read(cgroup, group_named()[0] == '\0');
    count_read(group_open(cgroup->path, files->killed), "oom_kill", &cgroup->n_killed);
    if (files->over == NULL)
        count_read(group_open(cgroup->path, files->killed), "oom", &cgroup->n_limit);
    else
        number_read(cgroup->path, files->over, &cgroup->n_limit);
}

void cgroup_init(struct cgroup *cgroup) {
    *cgroup = (struct cgroup){.limit_bytes = UINT64_MAX};
    cgroup->found = group_find(cgroup, group_named());
    cgroup_read(cgroup);
    cgroup->first_limit = cgroup->n_limit;
    cgroup->first_killed = cgroup->n_killed;
    cgroup->first_killed_anywhere = cgroup->n_killed_anywhere;
}
