/* The control group (version 2, or else 1) of this process: its memory, its limit, and the kills in it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CGROUP_PATH = 4096 };

struct cgroup {
    bool found;
    const struct cgroup_files *files; /* this version's names */
    char path[CGROUP_PATH];
    uint64_t current_bytes, peak_bytes;
    uint64_t limit_bytes; /* the lowest limit of this group and of those above it; UINT64_MAX: none */
    /* how often the limit was reached; in version 2, how often nothing could be given back */
    uint64_t n_limit;
    uint64_t n_killed;          /* processes of the group that were killed for memory, by whomever */
    uint64_t n_killed_anywhere; /* on this machine, by the kernel */
    uint64_t first_limit, first_killed, first_killed_anywhere; /* counts when the run began */
};

/* The lowest memory limit of this process's group and of those above it. UINT64_MAX: none. */
uint64_t cgroup_limit(void);

/* Finds the group: STRATA_CGROUP names its folder (for tests and unusual mounts), otherwise /proc does. Without a
 * group only the machine's count is known. */
void cgroup_init(struct cgroup *cgroup);

/* Reads the figures again; those that cannot be read stay unchanged. */
void cgroup_read(struct cgroup *cgroup);
