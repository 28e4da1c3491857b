#include "cli/run/ending.h"

#include "base/format.h"
#include "cli/json_file.h"
#include "cli/terminal.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_NBYTES = 1000,
    FIRST_FINDINGS = 3,
    NEAR_US = 3 * 1000 * 1000, /* a process and the count of kills may be seen a sample or two apart */
    TIME_LIMIT_SLACK_S = 120   /* time between a scheduler's limit and the last process that it kills */
};

/* Prints a row: " Host peak 12.3 GiB in 9 processes". */
__attribute__((format(printf, 2, 3))) static void row(const char *name, const char *format, ...) {
    char text[LINE_NBYTES], tame[2 * LINE_NBYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    terminal_tame(tame, sizeof tame, text);
    fprintf(stderr, "  %-14s %s\n", name, tame);
}

/* ---- pages ---- */

/* Runs a verb in the folder, in a process of its own with its own memory; its output goes to .run/NAME.log. */
__attribute__((noreturn)) static void verb_child(const struct folder *folder, const struct verb *verb,
                                                 char **words) {
    struct settings settings;
    char log[FOLDER_PATH + 32];
    int n = 0;
    while (words[n] != NULL)
        n++;
    snprintf(log, sizeof log, "%s/.run/%s.log", folder->path, verb->name);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    umask(077);
    if (fd >= 0) {
        dup2(fd, STDERR_FILENO);
        dup2(fd, STDOUT_FILENO);
    }
    if (chdir(folder->path) != 0 || options_parse(verb, n, words, &settings) != OPTIONS_RUN)
        _exit(1);
    terminal_init(true, COLOR_AUTO);
    int code = verb->run(&settings);
    fflush(NULL);
    _exit(code);
}

/* Runs a verb and waits for it. Returns its exit code; -1: it has none. */
static int verb_beside(const struct folder *folder, const struct verb *verb, char **words) {
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        verb_child(folder, verb, words);
    bool ended = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
    return ended ? WEXITSTATUS(status) : -1;
}

bool ending_pages(const struct folder *folder) {
    enum { LOGS_MOST = 16 }; /* of runs that share the folder */
    char output[] = "-o", host[] = "--host", end[] = "--", here[] = ".";
    char logs[LOGS_MOST][FOLDER_LOG], path[2 * FOLDER_PATH];
    char *words[5 + 2 * LOGS_MOST] = {output, here};
    size_t n = 2;
    for (int i = 0; i < LOGS_MOST; i++) {
        folder_log_name(i + 1, logs[i]);
        snprintf(path, sizeof path, "%s/%s", folder->path, logs[i]);
        if (access(path, R_OK) != 0)
            break;
        words[n++] = host;
        words[n++] = logs[i];
    }
    words[n++] = end;
    words[n] = here;
    int code = verb_beside(folder, &verb_batch, words);
    snprintf(path, sizeof path, "%s/summary.json", folder->path);
    return (code == 0 || code == 4) && access(path, R_OK) == 0;
}

/* ---- who ended it ---- */

static struct figure duration_of(int64_t us) {
    return format_duration(us / 1000000 * 1000000);
}

/* Describes a process: "python3 (process 4711), 15.9 GiB when last seen". */
static void process_text(const struct watch *watch, const struct process *process, char text[LINE_NBYTES]) {
    int n = snprintf(text, LINE_NBYTES, "%s (process %" PRId32 "), %s when last seen", process->name,
                     process->pid, format_bytes(process->bytes).text);
    bool killed = process->pid == watch->command && WIFSIGNALED(watch->status);
    uint64_t most = killed ? watch->command_most_bytes : process->most_bytes;
    if (most > process->bytes + process->bytes / 50)
        snprintf(text + n, LINE_NBYTES - (size_t)n, ", %s at most", format_bytes(most).text);
}

/* The process that was killed: the command itself, or else the largest process that ended at about that time. */
static const struct process *process_killed(const struct watch *watch) {
    bool killed = WIFSIGNALED(watch->status) && WTERMSIG(watch->status) == SIGKILL;
    int64_t since = watch->killed_us - NEAR_US - 2 * (int64_t)watch->settings->run.every_us;
    for (uint32_t i = 0; killed && i < watch->tree.n_gone; i++)
        if (watch->tree.gone[i].pid == watch->command)
            return &watch->tree.gone[i];
    return tree_gone_largest(&watch->tree, since);
}

static void memory_kill_say(const struct watch *watch) {
    const struct cgroup *cgroup = &watch->cgroup;
    const struct process *process = process_killed(watch);
    char text[LINE_NBYTES] = "a process that ended before it was seen";
    if (process != NULL)
        process_text(watch, process, text);
    if (cgroup->n_killed == cgroup->first_killed)
        row("Out of memory", "the host: the kernel killed for memory, by its count for the whole machine; it "
                             "does not say by which limit");
    else if (cgroup->n_limit > cgroup->first_limit)
        row("Out of memory", "the host, by the limit of the cgroup: %s of %s were in use",
            format_bytes(cgroup->peak_bytes).text,
            cgroup->limit_bytes != UINT64_MAX ? format_bytes(cgroup->limit_bytes).text : "an unknown limit");
    else
        row("Out of memory", "the host: the kernel killed for memory, not for this cgroup's own limit");
    row("Killed", "%s", text);
}

/* When the scheduler ends the job, in seconds since 1970; 0: unknown. */
static int64_t job_end(void) {
    const char *text = getenv("SLURM_JOB_END_TIME");
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static bool time_is_up(void) {
    int64_t end = job_end();
    return end != 0 && time(NULL) >= end - TIME_LIMIT_SLACK_S;
}

static void asked_say(const struct watch *watch) {
    char who[64] = "";
    if (watch->asked_by_name[0] != '\0')
        snprintf(who, sizeof who, " from %s (process %ld)", watch->asked_by_name, (long)watch->asked_by);
    if (watch->asked_to_end == SIGINT)
        row("Interrupted", "by Ctrl-C or SIGINT%s, %s after the start", who,
            duration_of(watch->asked_us - watch->begin_us).text);
    else if (time_is_up())
        row("Time limit",
            "of the Slurm job: it was over when signal %d (%s)%s came, %s after the start; not memory",
            watch->asked_to_end, strsignal(watch->asked_to_end), who,
            duration_of(watch->asked_us - watch->begin_us).text);
    else
        row("Asked to end",
            "by signal %d (%s)%s, %s after the start, as a scheduler does at its time limit; not memory",
            watch->asked_to_end, strsignal(watch->asked_to_end), who,
            duration_of(watch->asked_us - watch->begin_us).text);
}

static void signal_say(const struct watch *watch) {
    int number = WTERMSIG(watch->status);
    if (number == SIGKILL && time_is_up())
        row("Time limit", "of the Slurm job: it was over when the command was killed; not memory");
    else if (number == SIGKILL)
        row("Killed",
            "by SIGKILL from outside: neither %s counted a kill for lack of memory, and no time limit is "
            "known",
            watch->cgroup.found ? "its cgroup nor the kernel"
                                : "the kernel nor anything else that can be read");
}

static void why_say(const struct watch *watch) {
    int code = watch_exit_code(watch);
    bool signaled = WIFSIGNALED(watch->status);
    char how[80];
    snprintf(how, sizeof how, signaled ? "was ended by signal %d (%s)" : "ended with code %d",
             signaled ? WTERMSIG(watch->status) : code, signaled ? strsignal(WTERMSIG(watch->status)) : "");
    fprintf(stderr, "strata run: the command %s after %s\n", how,
            format_duration(watch->end_us - watch->begin_us).text);
    bool of_group = watch->cgroup.n_killed > watch->cgroup.first_killed;
    bool of_machine = watch->killed_us != 0 && watch->asked_to_end == 0 &&
                      (code == 128 + SIGKILL || (code != 0 && !signaled && !watch->cgroup.found));
    if (of_group || of_machine)
        memory_kill_say(watch);
    else if (watch->asked_to_end != 0)
        asked_say(watch);
    else if (signaled)
        signal_say(watch);
    else if (code == 128 + SIGKILL)
        row("Killed", "a process below it, by SIGKILL: nothing counted a kill for memory");
}

/* ---- what was recorded ---- */

/* Prints the first line of strata plan for a dump. */
static void plan_say(const struct folder *folder, const char *input) {
    char dump[FOLDER_PATH], said[FOLDER_PATH + 32];
    char brief[] = "--brief", force[] = "-f", output[] = "-o", end[] = "--";
    char *words[] = {brief, force, output, said, end, dump, NULL};
    snprintf(dump, sizeof dump, "%s", input);
    snprintf(said, sizeof said, "%s/.run/plan.json", folder->path);
    cJSON *report =
        verb_beside(folder, &verb_report, words) == 0 ? json_file_read(said, 1 << 20, NULL) : NULL;
    const cJSON *device;
    cJSON_ArrayForEach(device, json_member(report, "devices")) {
        const cJSON *lines = json_member(device, "plan");
        const char *first = cJSON_GetStringValue(cJSON_GetArrayItem(lines, 0));
        if (first != NULL)
            row("Plan", "%s", first);
    }
    cJSON_Delete(report);
}

/* Prints what ran out on the devices. Returns the input of the first dump that ran out; NULL: none did. */
static const char *device_say(const cJSON *rows) {
    const cJSON *item, *highest = NULL;
    const char *ran_out = NULL;
    int64_t said = -1; /* each rank once, because its later dumps are of the same request */
    cJSON_ArrayForEach(item, rows) {
        if (strcmp(json_file_text(item, "kind", ""), "log") == 0)
            continue;
        int64_t rank = json_file_number(item, "rank", -2);
        if (json_file_number(item, "oom", 0) > 0 && rank != said &&
            json_file_number(item, "oom_requested_bytes", -1) >= 0) {
            said = rank;
            ran_out = ran_out != NULL ? ran_out : json_file_text(item, "input", NULL);
            row("Out of memory", "the device of %s: %s requested, %s free", json_file_text(item, "input", ""),
                format_bytes((uint64_t)json_file_number(item, "oom_requested_bytes", 0)).text,
                format_bytes((uint64_t)json_file_number(item, "oom_free_bytes", 0)).text);
        }
        if (highest == NULL ||
            json_file_number(item, "peak_bytes", 0) > json_file_number(highest, "peak_bytes", 0))
            highest = item;
    }
    if (highest != NULL)
        row("Device peak", "%s allocated, %s reserved (%s)",
            format_bytes((uint64_t)json_file_number(highest, "peak_bytes", 0)).text,
            format_bytes((uint64_t)json_file_number(highest, "reserved_peak_bytes", 0)).text,
            json_file_text(highest, "input", ""));
    return ran_out;
}

static void findings_say(const cJSON *findings) {
    const cJSON *item;
    int n = 0;
    cJSON_ArrayForEach(item, findings) if (n < FIRST_FINDINGS)
        row(n++ == 0 ? "Know first" : "", "%s", json_file_text(item, "title", ""));
}

static void summary_say(const struct folder *folder) {
    char path[FOLDER_PATH + 32];
    snprintf(path, sizeof path, "%s/summary.json", folder->path);
    cJSON *summary = json_file_read(path, (size_t)256 << 20, NULL);
    if (summary == NULL)
        return;
    const char *ran_out = device_say(json_member(summary, "rows"));
    findings_say(json_member(summary, "findings"));
    if (ran_out != NULL)
        plan_say(folder, ran_out);
    cJSON_Delete(summary);
}

static void host_say(const struct watch *watch) {
    const struct cgroup *cgroup = &watch->cgroup;
    char group[120] = "";
    if (cgroup->found)
        snprintf(group, sizeof group, "; its cgroup %s of %s", format_bytes(cgroup->peak_bytes).text,
                 cgroup->limit_bytes != UINT64_MAX ? format_bytes(cgroup->limit_bytes).text : "no limit");
    /* A process may live between two samples. The count of a short one has what we held when we forked. */
    if (watch->command_most_bytes > watch->tree.most_bytes &&
        watch->command_most_bytes > watch->own_most_bytes)
        row("Host peak",
            "%s in one process, by the kernel's count (it was gone before a sample could see it)%s",
            format_bytes(watch->command_most_bytes).text, group);
    else
        row("Host peak", "%s, most of it in %s (process %" PRId32 "): %s%s",
            format_bytes(watch->tree.most_bytes).text, watch->tree.largest.name, watch->tree.largest.pid,
            format_bytes(watch->tree.largest.bytes).text, group);
}

/* A device's memory when least of it was free, as a recorder saw it. */
struct level {
    int64_t gpu;
    uint64_t used, total, reserved; /* reserved: by the allocator of the process that looked */
};

struct recorded {
    uint32_t n_processes, n_elsewhere, n_dumps;
    uint64_t us, nbytes;
    char why_not[300];
    struct level level; /* of the fullest device; total 0: none was noted */
};

static void level_add(struct level *fullest, const cJSON *noted) {
    const cJSON *item;
    cJSON_ArrayForEach(item, noted) {
        struct level level = {json_file_number(item, "gpu", 0), (uint64_t)json_file_number(item, "used", 0),
                              (uint64_t)json_file_number(item, "total", 0),
                              (uint64_t)json_file_number(item, "reserved", 0)};
        if (level.used > fullest->used)
            *fullest = level;
    }
}

static void level_say(const struct level *level) {
    uint64_t others = level->used > level->reserved ? level->used - level->reserved : 0;
    if (level->total != 0)
        row("Device level",
            "GPU %" PRId64
            ": %s of %s in use at most; %s of it outside of PyTorch's allocator in the process "
            "that looked: other processes, CUDA's own",
            level->gpu, format_bytes(level->used).text, format_bytes(level->total).text,
            format_bytes(others).text);
}

static void recorded_add(struct recorded *recorded, const char *path) {
    cJSON *said = json_file_read(path, 1 << 20, NULL);
    if (said == NULL)
        return;
    const char *why_not = json_file_text(said, "why_not", "");
    if (why_not[0] != '\0')
        snprintf(recorded->why_not, sizeof recorded->why_not, "%s", why_not);
    else
        recorded->n_processes++;
    recorded->n_elsewhere += cJSON_IsFalse(json_member(said, "watched")) ? 1 : 0;
    recorded->n_dumps += (uint32_t)json_file_number(said, "dumps", 0);
    recorded->us += (uint64_t)json_file_number(said, "microseconds", 0);
    recorded->nbytes += (uint64_t)json_file_number(said, "dumped_bytes", 0);
    level_add(&recorded->level, json_member(said, "levels"));
    cJSON_Delete(said);
}

static void recorded_say(const struct folder *folder) {
    struct recorded recorded = {0};
    char path[FOLDER_PATH + 300];
    snprintf(path, sizeof path, "%s/.run", folder->path);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, "process-", 8) != 0 || strcmp(entry->d_name + length - 5, ".json") != 0)
            continue;
        snprintf(path, sizeof path, "%s/.run/%s", folder->path, entry->d_name);
        recorded_add(&recorded, path);
    }
    if (directory != NULL)
        closedir(directory);
    level_say(&recorded.level);
    if (recorded.n_processes != 0)
        row("Recorded", "%" PRIu32 " process%s; %" PRIu32 " dump%s of %s, which stopped the program for %s",
            recorded.n_processes, recorded.n_processes == 1 ? "" : "es", recorded.n_dumps,
            recorded.n_dumps == 1 ? "" : "s", format_bytes(recorded.nbytes).text,
            format_duration((int64_t)recorded.us).text);
    if (recorded.n_elsewhere != 0)
        row("", "%" PRIu32 " of them ran elsewhere, as those of srun do: their host memory was not watched",
            recorded.n_elsewhere);
    if (recorded.n_processes == 0)
        row("Recorded", "nothing: %s",
            recorded.why_not[0] != '\0'
                ? recorded.why_not
                : "no Python process below the command used CUDA, XPU or Ascend through torch");
}

void ending_print(const struct watch *watch, bool has_pages, bool others_go_on) {
    const struct folder *folder = watch->folder;
    why_say(watch);
    if (has_pages)
        summary_say(folder);
    if (watch->tree.most_bytes != 0 || watch->command_most_bytes > watch->own_most_bytes)
        host_say(watch);
    recorded_say(folder);
    if (folder->n_earlier != 0 && has_pages)
        row("Earlier dumps",
            "%" PRIu32 " were in %s before this run: what is said of devices is about them too",
            folder->n_earlier, folder->shown);
    if (has_pages)
        row("Pages", "%s/index.html", folder->shown);
    else if (others_go_on)
        row("Pages", "the last run to end in %s writes them", folder->shown);
    else if (!watch->settings->run.no_report)
        row("Pages", "none: %s/.run/batch.log says why", folder->shown);
    else
        row("Folder", "%s", folder->shown);
}
