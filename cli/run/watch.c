#include "cli/run/watch.h"

#include "cli/clock.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TOUCH_US = 10 * 1000 * 1000 };

/* ---- the log of the host ---- */

static void log_write(const struct watch *watch) {
    const struct cgroup *cgroup = &watch->cgroup;
    char group[200] = "", limit[48] = "";
    if (cgroup->limit_bytes != UINT64_MAX)
        snprintf(limit, sizeof limit, " cgroup_limit=%" PRIu64, cgroup->limit_bytes);
    if (cgroup->found)
        snprintf(group, sizeof group, " cgroup=%" PRIu64 " cgroup_peak=%" PRIu64 "%s oom_kill=%" PRIu64,
                 cgroup->current_bytes, cgroup->peak_bytes, limit, cgroup->n_killed);
    folder_log(watch->folder, "strata-host resident=%" PRIu64 " processes=%" PRIu32 "%s", watch->tree.bytes,
               watch->tree.n_ours, group);
}

/* ---- samples ---- */

static bool was_killed(const struct cgroup *cgroup) {
    return cgroup->n_killed > cgroup->first_killed ||
           cgroup->n_killed_anywhere > cgroup->first_killed_anywhere;
}

static void sample(struct watch *watch) {
    int64_t now = clock_us();
    tree_scan(&watch->tree, now);
    cgroup_read(&watch->cgroup);
    if (watch->killed_us == 0 && was_killed(&watch->cgroup))
        watch->killed_us = now;
    log_write(watch);
}

/* ---- the command ---- */

static void variable_set(const char *name, uint32_t value) {
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, value);
    setenv(name, number, 1);
}

static void environment_set(const struct watch *watch) {
    const struct settings *settings = watch->settings;
    const struct folder *folder = watch->folder;
    char host[256] = "";
    const char *before = getenv("PYTHONPATH");
    before = before != NULL ? before : "";
    gethostname(host, sizeof host - 1);
    char *path = memory_text("%s%s%s", folder->recorder, before[0] != '\0' ? ":" : "", before);
    char *log = memory_text("%s/%s", folder->path, folder->log_name);
    char *pid = memory_text("%s:%" PRId32, host, watch->tree.self);
    setenv("PYTHONPATH", path, 1);
    setenv("STRATA_RUN_DIR", folder->path, 1);
    setenv("STRATA_RUN_LOG", log, 1);
    setenv("STRATA_RUN_PID", pid, 1);
    setenv("STRATA_RUN_STACKS", settings->run.all_stacks ? "all" : "python", 1);
    variable_set("STRATA_RUN_STEPS", settings->run.n_steps);
    variable_set("STRATA_RUN_MAX_ENTRIES", settings->run.max_entries);
    variable_set("STRATA_RUN_KEEP", settings->run.keep);
    variable_set("STRATA_RUN_STOP", settings->run.stops);
    variable_set("STRATA_RUN_EVERY_MS", (uint32_t)(settings->run.every_us / 1000));
    free(path);
    free(log);
    free(pid);
}

/* Runs the command in the child. The pipe tells the parent why that failed, and closes when the command runs. */
__attribute__((noreturn)) static void command_exec(const struct watch *watch, const sigset_t *mask,
                                                   int pipe_end) {
    if (watch->own_group)
        setpgid(0, 0);
    output_restore_process();
    environment_set(watch);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    execvp(watch->settings->inputs[0], watch->settings->inputs);
    int error = errno;
    if (write(pipe_end, &error, sizeof error) < 0)
        _exit(EXIT_NOT_RUN);
    _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

/* Is there a terminal that controls this process? Standard input does not tell: getpass, ssh and sudo open /dev/tty. */
static bool has_terminal(void) {
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Starts the command. On a terminal it stays in our process group: it may use the terminal, and Ctrl-C reaches it from
 * there, as it does without us. Elsewhere it leads a group of its own, so that a signal to our group reaches it once,
 * through us. */
static int command_start(struct watch *watch, const sigset_t *mask) {
    int ends[2], error = 0;
    watch->own_group = !has_terminal();
    if (strchr(watch->folder->path, ':') != NULL)
        terminal_error(watch->folder->shown,
                       "nothing is recorded: a path with a colon cannot be in PYTHONPATH");
    if (pipe2(ends, O_CLOEXEC) != 0 || (watch->command = fork()) < 0) {
        terminal_error(watch->settings->inputs[0], "cannot run: %s", strerror(errno));
        return EXIT_NOT_RUN;
    }
    if (watch->command == 0)
        command_exec(watch, mask, ends[1]);
    if (watch->own_group)
        setpgid(watch->command, watch->command);
    close(ends[1]);
    bool failed = read(ends[0], &error, sizeof error) == (ssize_t)sizeof error;
    close(ends[0]);
    if (!failed)
        return 0;
    waitpid(watch->command, NULL, 0);
    terminal_error(watch->settings->inputs[0], "cannot run: %s", strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/* Reaps children, orphans below the command too. True: the command has ended. */
static bool children_reap(struct watch *watch) {
    struct rusage usage;
    bool ended = false;
    int status;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;)
        if (pid == watch->command) {
            watch->status = status;
            watch->command_most_bytes = (uint64_t)usage.ru_maxrss << 10;
            (void)getrusage(RUSAGE_SELF, &usage);
            watch->own_most_bytes = (uint64_t)usage.ru_maxrss << 10;
            ended = true;
        }
    return ended;
}

/* ---- signals ---- */

static void group_signal(const struct watch *watch, int number) {
    if (watch->own_group)
        kill(-watch->command, number);
    else
        kill(watch->command, number);
}

static void tree_kill(struct watch *watch) {
    tree_scan(&watch->tree, clock_us());
    for (uint32_t i = 0; i < watch->tree.n; i++)
        if (watch->tree.processes[i].ours)
            kill(watch->tree.processes[i].pid, SIGKILL);
    group_signal(watch, SIGKILL);
}

/* Signals the recorders only: SIGUSR2 ends a process that does not handle it, such as a shell. */
static void recorders_signal(struct watch *watch) {
    char path[FOLDER_PATH + 8], host[256] = "", prefix[300];
    gethostname(host, sizeof host - 1);
    snprintf(prefix, sizeof prefix, "process-%s-", host);
    snprintf(path, sizeof path, "%s/.run", watch->folder->path);
    DIR *directory = opendir(path);
    tree_scan(&watch->tree, clock_us());
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        char *end;
        long pid = strtol(entry->d_name + strlen(prefix), &end, 10);
        if (strcmp(end, ".json") == 0 && pid > 0 && tree_has(&watch->tree, (int32_t)pid))
            kill((pid_t)pid, SIGUSR2);
    }
    if (directory != NULL)
        closedir(directory);
}

static void asked_note(struct watch *watch, const siginfo_t *info) {
    char path[40];
    if (watch->asked_to_end != 0)
        return;
    watch->asked_to_end = info->si_signo;
    watch->asked_us = clock_us();
    watch->asked_by = info->si_code == SI_USER ? info->si_pid : 0;
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)watch->asked_by);
    FILE *file = watch->asked_by != 0 ? fopen(path, "re") : NULL;
    if (file != NULL && fgets(watch->asked_by_name, sizeof watch->asked_by_name, file) != NULL)
        watch->asked_by_name[strcspn(watch->asked_by_name, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

/* Signals that are passed on to the command: all that would end or stop us, but those of our own faults, and those that
 * only the kernel sends for what we do (a closed pipe, a file too large, use of the terminal). */
static const int not_passed_on[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGTRAP,
                                    SIGSYS,  SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};

static size_t passed_on_list(int list[_NSIG]) {
    size_t n = 0;
    for (int number = 1; number <= SIGRTMAX; number++) {
        bool passed = number <= SIGSYS || number >= SIGRTMIN; /* those between belong to the C library */
        for (size_t i = 0; i < sizeof not_passed_on / sizeof *not_passed_on; i++)
            passed = passed && not_passed_on[i] != number;
        if (passed)
            list[n++] = number;
    }
    return n;
}

/* Has the signal reached the command without us? One of the terminal's has, if the command shares our group. A limit of
 * processor time is each process's own. */
static bool has_reached(const struct watch *watch, const siginfo_t *info) {
    int number = info->si_signo;
    bool of_terminal = number == SIGINT || number == SIGQUIT || number == SIGTSTP || number == SIGHUP;
    return info->si_code == SI_KERNEL && (number == SIGXCPU || (!watch->own_group && of_terminal));
}

static void signal_take(struct watch *watch, const siginfo_t *info) {
    int number = info->si_signo;
    if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
        asked_note(watch, info);
    if (number == SIGINT && ++watch->n_interrupts > 1)
        tree_kill(watch);
    else if (number == SIGUSR2)
        recorders_signal(watch);
    else if (number != SIGCHLD && !has_reached(watch, info))
        group_signal(watch, number);
    if (number == SIGTSTP)
        raise(SIGSTOP);
}

/* ---- the whole ---- */

static void watch_until_end(struct watch *watch, const sigset_t *waited) {
    int64_t next = clock_us(), touch = next;
    while (!children_reap(watch)) {
        int64_t left = next - clock_us();
        if (left <= 0) {
            sample(watch);
            next += (int64_t)watch->settings->run.every_us;
            left = next - clock_us();
            next = left > 0 ? next : clock_us(); /* after a long stop there is nothing to catch up with */
            left = left > 0 ? left : 0;
        }
        if (clock_us() - touch > TOUCH_US) {
            folder_touch(watch->folder);
            touch = clock_us();
        }
        struct timespec moment = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
        siginfo_t info;
        if (sigtimedwait(waited, &info, &moment) > 0)
            signal_take(watch, &info);
    }
}

int watch_run(struct watch *watch) {
    sigset_t waited, before;
    int signals[_NSIG];
    watch->tree = (struct tree){.self = (int32_t)getpid()};
    cgroup_init(&watch->cgroup);
    watch->begin_us = clock_us();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    output_wait_for_signals(signals, passed_on_list(signals), &waited, &before);
    int code = command_start(watch, &before);
    if (code == 0) {
        watch_until_end(watch, &waited);
        sample(watch);
    }
    watch->end_us = clock_us();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int watch_exit_code(const struct watch *watch) {
    return WIFSIGNALED(watch->status) ? 128 + WTERMSIG(watch->status) : WEXITSTATUS(watch->status);
}
