/* A running command: started, watched, passed signals on, and the facts of its end. */
#pragma once

#include "cli/options.h"
#include "cli/run/cgroup.h"
#include "cli/run/devices.h"
#include "cli/run/folder.h"
#include "cli/run/tree.h"

#include <sys/types.h>

struct watch {
    const struct settings *settings;
    struct folder *folder;
    struct tree tree;
    struct cgroup cgroup;
    const struct devices *devices; /* NULL: none */
    pid_t command;
    bool own_group;              /* the command leads a process group; else it shares ours */
    int status;                  /* as waitpid tells it, once it has ended */
    uint64_t command_most_bytes; /* the largest resident memory of it or of a child that it waited for */
    int64_t begin_us, end_us;    /* of clock_us */
    int64_t killed_us;           /* when the count of killed processes had risen; 0: it did not */
    int asked_to_end;            /* the first signal that asked us to end; 0: none */
    int64_t asked_us;
    pid_t asked_by;
    char asked_by_name[PROCESS_NAME];
    unsigned n_interrupts;
};

/* Starts the command and returns when it has ended. `watch` starts with settings and folder. 0, or the exit code where
 * it cannot be started (printed): 127 not found, 126 otherwise. Release it in both cases. */
int watch_run(struct watch *watch);

/* The shell's exit code for it: its own, or 128 and the signal. */
int watch_exit_code(const struct watch *watch);

void watch_release(struct watch *watch);
