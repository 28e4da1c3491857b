#include "cli/host_log.h"

#include "analysis/findings/levels.h"
#include "cli/ending.h"
#include "cli/memory.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    HOST_NOTES_MOST = 2048,       /* notes at most; of a longer log the highest of neighbours */
    BEFORE_US = 60 * 1000 * 1000, /* a level of this age still holds when a recording begins */
    LINE_NBYTES = 600
};

/* What a recorder writes before the name of a dump (python/torch_strata/recorder.py). */
static const char dump_word[] = " strata-dump ";

enum names { NAMES_NOTHING, NAMES_OTHERS, NAMES_DUMP };

/* Which dumps does a log name? A name with a word behind it is that of a process that ran elsewhere. */
static enum names log_names(FILE *log, const char *dump) {
    char line[LINE_NBYTES];
    enum names names = NAMES_NOTHING;
    size_t length = strlen(dump);
    while (names != NAMES_DUMP && fgets(line, sizeof line, log) != NULL) {
        const char *at = strstr(line, dump_word), *name = at != NULL ? at + strlen(dump_word) : "";
        if (at != NULL)
            names = strncmp(name, dump, length) == 0 && name[length] == '\n' ? NAMES_DUMP : NAMES_OTHERS;
    }
    return names;
}

/* Finds the log that names the dump, or the only one if it names none; `*path` NULL: there is no such log. A series has
 * the name of its first file. False: one cannot be read, printed. */
static bool log_choose(const struct recording *recording, const struct settings *settings,
                       const char **path) {
    *path = NULL;
    for (uint32_t i = 0; i < settings->n_hosts && *path == NULL; i++) {
        struct stat status;
        bool plain = stat(settings->hosts[i], &status) != 0 || S_ISREG(status.st_mode);
        FILE *log = plain ? fopen(settings->hosts[i], "re") : NULL; /* a pipe would be waited for */
        if (log == NULL) {
            terminal_error(recording->input.shown, "--host: \"%s\" cannot be read: %s", settings->hosts[i],
                           plain ? strerror(errno) : "it is no plain file");
            return false;
        }
        enum names names = log_names(log, path_name(recording->input.path));
        if (names == NAMES_DUMP || (names == NAMES_NOTHING && settings->n_hosts == 1))
            *path = settings->hosts[i];
        fclose(log);
    }
    return true;
}

/* Reads a log. Release `host` whatever the result is. False: printed. */
static bool host_read(struct recording *host, const struct settings *settings, const char *path,
                      size_t limit) {
    struct settings own = *settings;
    memset(host, 0, sizeof *host);
    own.input = path;
    own.max_memory_nbytes = limit != 0 ? limit : 1;
    own.n_hosts = own.n_owners = 0;
    own.series = own.redact = false;
    own.format = REPORT_TEXT; /* nobody asks for the log's id */
    if (!recording_open(host, &own) || !recording_read(host, &own))
        return false;
    const struct device_trace *levels = trace_device(&host->trace, ORDINAL_CPU);
    if (host->trace.kind == TRACE_LOG && levels != NULL && levels->time_us != NULL)
        return true;
    terminal_error(NULL, "--host: \"%s\" has no levels of the host's memory with their times", path);
    return false;
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

bool host_log_apply(struct recording *recording, const struct settings *settings) {
    struct trace *trace = &recording->trace;
    struct recording host;
    const char *path;
    uint32_t n_before = 0, n = 0;
    if (settings->n_hosts == 0 || !trace_has_allocations(trace))
        return true;
    if (!log_choose(recording, settings, &path))
        return false;
    if (path == NULL) {
        terminal_note(recording->input.shown, "no log of --host names it, so nothing of the host is shown");
        return true;
    }
    bool done = host_read(&host, settings, path, trace->arena.limit_nbytes - trace->arena.used_nbytes);
    for (uint32_t i = 0; done && i < trace->n_devices; i++) {
        n_before += trace->devices[i].n_notes;
        if (!device_note(trace, &trace->devices[i], trace_device(&host.trace, ORDINAL_CPU)))
            done = recording_print_no_memory(recording, trace->arena.limit_hit) == 0;
        n += trace->devices[i].n_notes;
    }
    if (done && n == n_before)
        terminal_note(path, "has no level of the time of \"%s\"", recording->input.shown);
    recording_release(&host);
    return done;
}
