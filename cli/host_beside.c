#include "cli/host_beside.h"

#include "analysis/findings/levels.h"
#include "cli/ending.h"
#include "cli/memory.h"
#include "cli/run/folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LOGS_MOST = 16,               /* at most so many logs beside a dump are searched for its name */
    HOST_NOTES_MOST = 2048,       /* notes at most; of a longer log the highest of neighbours */
    BEFORE_US = 60 * 1000 * 1000, /* a level of this age still holds when a recording begins */
    LOG_NBYTES_MOST = 256 << 20   /* the log of four days on a machine with eight GPUs, read in 6 s */
};

/* The file's name; for a series that of its first file, since `input->name` may be made up. */
static const char *dump_name(const struct input *input) {
    return path_name(input->path);
}

/* The path of a log: "DIR/host.log" for "DIR/dump", then "DIR/host-2.log", ... False: there is no such file, or it is
 * too large. */
static bool path_beside(const struct input *input, int number, char path[FOLDER_PATH]) {
    char name[24] = "host.log";
    int directory = (int)(dump_name(input) - input->path);
    struct stat status;
    if (number > 1)
        snprintf(name, sizeof name, "host-%d.log", number);
    return strcmp(input->path, "-") != 0 &&
           snprintf(path, FOLDER_PATH, "%.*s%s", directory, input->path, name) < FOLDER_PATH &&
           stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= LOG_NBYTES_MOST;
}

enum names { NAMES_NOTHING, NAMES_DUMP, NAMES_ELSEWHERE };

/* Does a log name a dump as written by a watched process, or by one that ran elsewhere? */
static enum names log_names(const char *path, const char *dump) {
    FILE *file = fopen(path, "re");
    char line[600], wanted[FOLDER_PATH];
    enum names names = NAMES_NOTHING;
    int length = snprintf(wanted, sizeof wanted, " strata-dump %s", dump);
    while (file != NULL && names == NAMES_NOTHING && fgets(line, sizeof line, file) != NULL) {
        const char *at = strstr(line, wanted);
        if (at != NULL)
            names = at[length] == '\n' ? NAMES_DUMP : at[length] == ' ' ? NAMES_ELSEWHERE : NAMES_NOTHING;
    }
    if (file != NULL)
        fclose(file);
    return names;
}

/* Finds the log that names the dump, or the only log, if its process ran nowhere else. False: there is none, or it is
 * unknown whose dump this is. */
static bool log_find(const struct input *input, char path[FOLDER_PATH]) {
    int n = 0;
    while (n < LOGS_MOST && path_beside(input, n + 1, path))
        n++;
    for (int i = n; i > 0; i--) {
        enum names names = path_beside(input, i, path) ? log_names(path, dump_name(input)) : NAMES_ELSEWHERE;
        if (names == NAMES_DUMP || (n == 1 && names == NAMES_NOTHING))
            return true;
    }
    return false;
}

/* Reads a log. False: it cannot be read. Release `host` in both cases. */
static bool host_read(struct recording *host, const char *path, size_t limit) {
    struct read_progress progress = {0};
    memset(host, 0, sizeof *host);
    if (!input_open(&host->input, path) || !trace_init(&host->trace, memory_host(), limit))
        return false;
    struct read_source source = input_source(&host->input);
    return trace_read(&host->trace, &source, &progress, &host->error) && host->trace.kind == TRACE_LOG;
}

/* The last event at or before a time, searched from `event` on. */
static uint32_t event_at(const struct device_trace *device, uint32_t event, int64_t time_us) {
    while (event + 1 < device->n_events && device->time_us[event + 1] <= time_us)
        event++;
    return event;
}

static bool is_of_time(const struct device_trace *device, int64_t time_us) {
    return time_us >= device->time_us[0] - BEFORE_US && time_us <= device->time_us[device->n_events - 1];
}

/* Chooses notes for a device: at most one per event and HOST_NOTES_MOST in all. Of several it takes the highest, of
 * those before the recording the last. */
static uint32_t notes_choose(const struct device_trace *device, const struct device_trace *host,
                             struct note *to) {
    uint32_t n = 0, event = 0, step = device->n_events / HOST_NOTES_MOST + 1;
    for (uint32_t i = 0; i < host->n_notes; i++) {
        const struct note *note = &host->notes[i];
        int64_t time_us = host->time_us[note->event];
        if (note->what != NOTE_HOST_USED || !is_of_time(device, time_us))
            continue;
        event = event_at(device, event, time_us);
        bool again = n > 0 && to[n - 1].event / step == event / step;
        if (again && to[n - 1].number >= note->number && time_us > device->time_us[0])
            continue;
        to[again ? n - 1 : n] =
            (struct note){again ? to[n - 1].event : event, 0, note->number, NOTE_HOST_USED};
        n += !again;
    }
    return n;
}

/* Merges two lists of notes, both by rising event; `device` has room. */
static void notes_merge(struct note *to, const struct note *own, uint32_t n_own, const struct note *more,
                        uint32_t n_more) {
    while (n_own + n_more > 0)
        if (n_more == 0 || (n_own > 0 && own->event <= more->event)) {
            *to++ = *own++;
            n_own--;
        } else {
            *to++ = *more++;
            n_more--;
        }
}

static bool device_note(struct trace *trace, struct device_trace *device, const struct device_trace *host) {
    if (device->time_us == NULL || device->n_events == 0 ||
        levels_host_most(device, 0, device->n_events + 1) != 0) /* a page that has them already */
        return true;
    struct arena *arena = &trace->arena;
    struct note *more = arena_column(arena, HOST_NOTES_MOST + 1, sizeof *more);
    uint32_t n = more != NULL ? notes_choose(device, host, more) : 0;
    struct note *all = arena_column(arena, (uint64_t)device->n_notes + n + 1, sizeof *all);
    if (more == NULL || all == NULL)
        return false;
    notes_merge(all, device->notes, device->n_notes, more, n);
    device->notes = all;
    device->n_notes += n;
    return true;
}

bool host_beside(struct recording *recording) {
    struct trace *trace = &recording->trace;
    struct recording host;
    char path[FOLDER_PATH];
    if (!trace_has_allocations(trace) || !log_find(&recording->input, path))
        return true;
    bool done = true;
    if (host_read(&host, path, trace->arena.limit_nbytes - trace->arena.used_nbytes)) {
        const struct device_trace *levels = trace_device(&host.trace, ORDINAL_CPU);
        for (uint32_t i = 0; i < trace->n_devices && done && levels != NULL && levels->time_us != NULL; i++)
            done = device_note(trace, &trace->devices[i], levels);
    }
    recording_release(&host);
    return done;
}
