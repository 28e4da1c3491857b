#include "cli/memory.h"

#include "cli/units.h"

#include <assert.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <limits.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* arena.h promises an alignment of 16 bytes. */
static_assert(alignof(max_align_t) >= 16, "realloc aligns less than arenas promise");

static void *host_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    (void)context;
    (void)old_nbytes;
    if (new_nbytes == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_nbytes);
}

struct arena_host memory_host(void) {
    return (struct arena_host){host_resize, NULL};
}

/* Fixes one threshold of glibc, which keeps its other thresholds fixed too. Left to itself, glibc takes ever larger
 * blocks from its heap as larger ones are freed, and a hole below another block of the heap is never given back: that
 * was a fifth of all memory in large recordings. */
void memory_begin(void) {
#if defined(__GLIBC__)
    enum { TRIM_NBYTES = 16 << 20 };
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_NBYTES);
#endif
}

/* Keeps freed blocks for the next replay: the system would have to clear every page of a new block. */
void memory_keep(void) {
#if defined(__GLIBC__)
    enum { OWN_BLOCK_NBYTES = 32 << 20, KEPT_NBYTES = 256 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, OWN_BLOCK_NBYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_NBYTES);
#endif
}

static uint64_t machine_nbytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_nbytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_nbytes > 0 ? (uint64_t)pages * (uint64_t)page_nbytes : UINT64_MAX;
}

/* Reads a limit file of a control group: a number, or "max". UINT64_MAX: no limit, or no such file. */
static uint64_t limit_file_read(const char *path) {
    char text[32];
    uint64_t limit;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return UINT64_MAX;
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    if (!read)
        return UINT64_MAX;
    text[strcspn(text, "\n")] = '\0';
    return size_parse(text, &limit) ? limit : UINT64_MAX;
}

/* The lowest limit of a group and of all groups above it. `group` begins with a slash and is shortened. */
static uint64_t group_limit(const char *mount, char *group, const char *file) {
    uint64_t lowest = UINT64_MAX;
    for (;;) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
        if (length > 0 && (size_t)length < sizeof path) {
            uint64_t limit = limit_file_read(path);
            lowest = limit < lowest ? limit : lowest;
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return lowest;
        *slash = '\0';
    }
}

/* The limit of one line of /proc/self/cgroup: "0::/group" (version 2) or "7:memory:/group" (version 1). */
static uint64_t group_line_limit(char *line) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL)
        return UINT64_MAX;
    *group++ = '\0';
    if (strcmp(controllers, ":") == 0)
        return group_limit("/sys/fs/cgroup", group, "memory.max");
    if (strstr(controllers, "memory") != NULL)
        return group_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    return UINT64_MAX;
}

static uint64_t control_group_nbytes(void) {
    uint64_t lowest = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL)
        return lowest;
    char line[PATH_MAX];
    while (fgets(line, sizeof line, file) != NULL) {
        uint64_t limit = group_line_limit(line);
        lowest = limit < lowest ? limit : lowest;
    }
    fclose(file);
    return lowest;
}

size_t memory_default_limit(void) {
    uint64_t machine = machine_nbytes();
    uint64_t group = control_group_nbytes();
    uint64_t nbytes = machine < group ? machine : group;
    return nbytes == UINT64_MAX ? SIZE_MAX : (size_t)(nbytes / 4 * 3);
}
