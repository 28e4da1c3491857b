/* Runs a command: starts it, watches it, passes signals on, and notes how it ended. */
#pragma once

#include "cli/options.h"
#include "cli/run/cgroup.h"
#include "cli/run/folder.h"
#include "cli/run/tree.h"

#include <sys/types.h>

/* Exit codes for a command that does not exist, and for one that cannot be run, as a shell has them. */
enum { EXIT_NOT_FOUND = 127, EXIT_NOT_RUN = 126 };

struct watch {
    const struct settings *settings;
    struct folder *folder;
    struct tree tree;
    struct cgroup cgroup;
    pid_t command;
    bool own_group; /* the command leads a process group; else it shares ours */
    int status;     /* as waitpid gives it, once the command has ended */
    /* the largest resident memory of the command or of a child that it waited for */
    uint64_t command_most_bytes;
    uint64_t own_most_bytes;  /* our own maximum */
    int64_t begin_us, end_us; /* times of clock_us */
    /* when the count of killed processes was seen to have risen; 0: it did not */
    int64_t killed_us;
    int asked_to_end; /* the first signal that asked us to end; 0: none */
    int64_t asked_us;
    pid_t asked_by;
    char asked_by_name[PROCESS_NAME];
    unsigned n_interrupts;
};

/* Starts the command and returns when it has ended. `watch` starts with settings and folder. Returns 0, or the exit
 * code where it cannot be started (printed): 127 not found, 126 otherwise. Release watch->tree in both cases. */
int watch_run(struct watch *watch);

/* The exit code that a shell gives: the command's own, or 128 plus the signal. */
int watch_exit_code(const struct watch *watch);
