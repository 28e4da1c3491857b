#include "cli/recording.h"
#include "base/utf8.h"

#include "analysis/loop/category.h"
#include "analysis/loop/frame_bits.h"
#include "base/format.h"
#include "cli/exit_code.h"
#include "cli/host_log.h"
#include "cli/memory.h"
#include "cli/terminal.h"
#include "layout/device_part.h"
#include "layout/owner.h"
#include "layout/timeline.h"
#include "parser/fingerprint.h"
#include "parser/recording_id.h"
#include "parser/series/series.h"
#include "render/words/diagnostics.h"
#include "trace/redact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool recording_open(struct recording *recording, const struct settings *settings) {
    memset(recording, 0, sizeof *recording);
    return input_open(&recording->input, settings->input);
}

int recording_print_no_memory(const struct recording *recording, bool limit_hit) {
    if (limit_hit)
        terminal_error(recording->input.shown, "needs more than the %s it may take; --max-memory allows more",
                       format_bytes(recording->trace.arena.limit_nbytes).text);
    else
        terminal_error(recording->input.shown, "no memory");
    return EXIT_CODE_FAILED;
}

/* Prints that the trace has no memory. Always false. */
static bool trace_no_memory(const struct recording *recording) {
    (void)recording_print_no_memory(recording, recording->trace.arena.limit_hit);
    return false;
}

static void print_read_error(const struct recording *recording, const struct read_error *error) {
    if (error->code == READ_NO_MEMORY)
        (void)trace_no_memory(recording);
    else if (error->code == READ_IO)
        terminal_error(recording->input.shown, "cannot read: %s", strerror(error->errno_value));
    else if (error->code == READ_EMPTY)
        terminal_error(recording->input.shown, "%s", error->message);
    else
        terminal_error(
            recording->input.shown, "%s%s (offset %" PRIu64 ")",
            error->code == READ_TRUNCATED && strstr(error->message, "cut off") == NULL ? "is cut off: " : "",
            error->message, error->offset);
}

/* Estimates the progress. The reader counts decompressed bytes, while the rest of the file is known only in its own
 * bytes. */
static bool report_progress(void *context, uint64_t nbytes, uint64_t n_events) {
    (void)nbytes;
    progress_report(input_position(context), n_events);
    return true;
}

static void note_device(const struct trace *trace, const struct device_trace *device, const char *path) {
    struct text name = trace_text(trace, device->name);
    if (device->name != 0)
        terminal_note(path, "device %" PRId32 " is a %.*s, %s", device->ordinal, (int)name.nbytes,
                      (const char *)name.at, format_bytes(device->capacity_bytes).text);
    terminal_note(path, "device %" PRId32 ": %s events, %s allocations", device->ordinal,
                  format_count(device->n_events).text, format_count(device->allocations.count).text);
}

static void note_details(const struct recording *recording) {
    const struct trace *trace = &recording->trace;
    const char *path = recording->input.shown;
    terminal_note(path, "fingerprint %s", recording->fingerprint);
    terminal_note(path, "read into %s of memory: %s stacks, %s frames",
                  format_bytes(trace->arena.peak_nbytes).text, format_count(trace->stacks.count - 1).text,
                  format_count(trace->frames.count - 1).text);
    if (trace->rank != RANK_UNKNOWN)
        terminal_note(path, "rank %" PRId32, trace->rank);
    for (uint32_t i = 0; i < trace->n_devices; i++)
        note_device(trace, &trace->devices[i], path);
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        struct text message = trace_text(trace, trace->diagnostics[i].message);
        terminal_note(path, "%.*s", (int)message.nbytes, (const char *)message.at);
    }
}

/* The first diagnostic with this code. NULL: none. */
static const struct diagnostic *diagnostic_find(const struct trace *trace, const char *code) {
    for (uint32_t i = 0; i < trace->n_diagnostics; i++)
        if (text_is(trace_text(trace, trace->diagnostics[i].code), code))
            return &trace->diagnostics[i];
    return NULL;
}

/* Prints one line, without being asked, about the parts of the recording that are missing. */
static void note_cut(const struct recording *recording) {
    static const struct {
        const char *code, *lead;
    } cuts[] = {{"truncated", "is cut off: "},
                {"damaged", "is cut off: "},
                {"overflow", "its beginning is cut off: "}};
    const struct trace *trace = &recording->trace;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        const struct diagnostic *found = diagnostic_find(trace, cuts[i].code);
        if (found == NULL)
            continue;
        struct text text = trace_text(trace, found->message);
        terminal_note(recording->input.shown, "%s%.*s", text_contains(text, "cut off") ? "" : cuts[i].lead,
                      (int)text.nbytes, (const char *)text.at);
        return;
    }
}

/* Applies the patterns of owners, and notes a pattern that no file meets: it is often a typing error. */
static bool owners_apply(struct recording *recording, const struct settings *settings) {
    for (uint32_t i = 0; i < settings->n_owners; i++) {
        const struct owner_pattern *pattern = &settings->owners[i];
        uint32_t n_frames;
        if (!frames_tell_owner(&recording->trace, pattern->text, pattern->owner, &n_frames))
            return trace_no_memory(recording);
        if (n_frames == 0)
            terminal_note(recording->input.shown, "--%s %s matches no file in its stacks",
                          pattern->owner == OWNER_USER ? "own" : "library", pattern->text);
    }
    return true;
}

/* Prepares the trace in this order: its id first, since that is the decoded file's; patterns before
 * redaction, since they match paths; the meaning of frames last, once for all devices. */
static bool recording_prepare(struct recording *recording, const struct settings *settings) {
    if (settings->format == REPORT_JSON && !recording_id(&recording->trace, recording->id))
        return trace_no_memory(recording);
    if (!owners_apply(recording, settings))
        return false;
    if (!host_log_apply(recording, settings))
        return false;
    if ((!settings->redact || trace_redact(&recording->trace, settings->redact_all, category_is_known)) &&
        frames_keep(&recording->trace) && annotations_keep(&recording->trace))
        return true;
    return trace_no_memory(recording);
}

/* Reads the one input. */
static bool input_fill(struct recording *recording, const struct settings *settings) {
    struct read_source source = input_source(&recording->input);
    source.max_unpacked_nbytes = settings->max_unpacked_nbytes;
    struct read_progress progress = {report_progress, &recording->input};
    progress_start(recording->input.name, source.size_hint);
    bool done = trace_read(&recording->trace, &source, &progress, &recording->error);
    progress_end();
    if (!done)
        print_read_error(recording, &recording->error);
    return done && input_finish(&recording->input, recording->fingerprint);
}

/* ---- several dumps as one recording (parser/series/series.h) ---- */

static bool part_read(struct recording *part, const struct settings *settings, const char *path,
                      size_t limit) {
    struct settings own = *settings;
    own.input = path;
    own.series = false;
    own.max_memory_nbytes = limit != 0 ? limit : 1;
    own.format = REPORT_TEXT; /* an id, if asked for, is that of the whole only */
    own.n_owners = own.n_hosts = 0;
    own.redact = false;
    return recording_open(part, &own) && recording_read(part, &own);
}

static void refuse(const struct recording *parts, uint32_t wrong, enum series_result result) {
    static const char *const reasons[] = {
        [SERIES_NOT_SNAPSHOTS] = "is not a memory snapshot; a series is made of snapshots",
        [SERIES_OTHER_RANK] = "has another rank than the first dump; a series has dumps of one process only",
        [SERIES_OTHER_DEVICES] =
            "has no device in common with the first dump; a series has dumps of one process only",
        [SERIES_NOT_IN_ORDER] = "ends before the dump given before it; name the oldest first",
        [SERIES_OTHER_RUN] =
            "has other events at the same times than the dump before it; a series has dumps of one process",
        [SERIES_MERGED] =
            "is a page in which allocations are merged (--max-html-size): name the dump itself"};
    terminal_error(parts[wrong].input.shown, "%s", reasons[result]);
}

static bool parts_join(struct recording *recording, const struct recording *parts, uint32_t n) {
    struct series_part *part = memory_alloc(n, sizeof *part);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < n; i++)
        part[i] = (struct series_part){&parts[i].trace, parts[i].input.name};
    enum series_result result = series_make(&recording->trace, part, n, &wrong);
    free(part);
    if (result == SERIES_NO_MEMORY)
        recording_print_no_memory(recording, recording->trace.arena.limit_hit);
    else if (result != SERIES_DONE)
        refuse(parts, wrong, result);
    if (result != SERIES_DONE)
        recording->error.code = result == SERIES_NO_MEMORY ? READ_NO_MEMORY
                                : result == SERIES_MERGED  ? READ_LIMIT
                                                           : READ_BAD_SHAPE;
    return result == SERIES_DONE;
}

/* Makes the fingerprint of a series from its files' fingerprints, one after the other. */
static void fingerprint_join(struct recording *recording, const struct recording *parts, uint32_t n) {
    struct fingerprint *fingerprint = fingerprint_new();
    if (fingerprint == NULL)
        memory_end();
    for (uint32_t i = 0; i < n; i++)
        fingerprint_add(fingerprint, parts[i].fingerprint, strlen(parts[i].fingerprint));
    fingerprint_text(fingerprint, recording->fingerprint);
    fingerprint_free(fingerprint);
}

/* Fills the recording's trace, which is empty and initialised, from all inputs of the settings, and its fingerprint
 * from theirs. All parts are in memory at once, within the limit. False: printed. */
static bool series_read(struct recording *recording, const struct settings *settings) {
    uint32_t n = settings->n_inputs, n_read = 0;
    size_t left = recording->trace.arena.limit_nbytes;
    struct recording *parts = memory_alloc(n, sizeof *parts);
    bool done = true;
    for (; n_read < n && done; n_read++) {
        done = part_read(&parts[n_read], settings, settings->inputs[n_read], left);
        recording->error = parts[n_read].error;
        size_t used = parts[n_read].trace.arena.used_nbytes;
        left = left > used ? left - used : 0;
    }
    recording->trace.arena.limit_nbytes = left != 0 ? left : 1;
    snprintf(recording->series_name, sizeof recording->series_name, "%.*s and %u more",
             UTF8_FIT(recording->input.name, 100), n - 1);
    recording->input.name = recording->series_name;
    done = done && parts_join(recording, parts, n);
    if (done)
        fingerprint_join(recording, parts, n);
    for (uint32_t i = 0; i < n_read; i++)
        recording_release(&parts[i]);
    free(parts);
    return done;
}

bool recording_read(struct recording *recording, const struct settings *settings) {
    if (!trace_init(&recording->trace, memory_host(), settings->max_memory_nbytes))
        return trace_no_memory(recording);
    bool done = settings->series ? series_read(recording, settings) : input_fill(recording, settings);
    if (done && !diagnostics_say(&recording->trace))
        return trace_no_memory(recording);
    if (done)
        note_cut(recording);
    if (done && settings->verbose)
        note_details(recording);
    return done && recording_prepare(recording, settings);
}

void recording_release(struct recording *recording) {
    input_close(&recording->input);
    trace_release(&recording->trace);
}

void recording_scratch(const struct recording *recording, struct arena *scratch) {
    const struct arena *arena = &recording->trace.arena;
    size_t left = arena->limit_nbytes == SIZE_MAX ? SIZE_MAX : arena->limit_nbytes - arena->used_nbytes;
    arena_init(scratch, memory_host(), left);
}

enum color_by recording_color_by(const struct recording *recording, const struct settings *settings) {
    if (!settings->has_color_by && !trace_has_call_sites(&recording->trace))
        return COLOR_BY_CATEGORY;
    return settings->color_by;
}

uint64_t recording_capacity(const struct recording *recording, const struct settings *settings,
                            uint32_t device) {
    return settings->capacity_bytes != 0 ? settings->capacity_bytes
                                         : recording->trace.devices[device].capacity_bytes;
}

const char *recording_kind(const struct recording *recording) {
    static const char *const kinds[] = {[TRACE_SNAPSHOT] = "snapshot",
                                        [TRACE_KINETO] = "kineto",
                                        [TRACE_MEMORY_TIMELINE] = "memory_timeline",
                                        [TRACE_LOG] = "log",
                                        [TRACE_SERIES] = "series"};
    return kinds[recording->trace.kind];
}

/* Writes all devices but `shown` (UINT32_MAX: all): "0 (10,000 events, ran out of memory), 3 (no events)". */
static void devices_text(const struct trace *trace, uint32_t shown, char *text, size_t capacity) {
    size_t used = 0;
    *text = '\0';
    for (uint32_t i = 0; i < trace->n_devices && used < capacity; i++) {
        const struct device_trace *device = &trace->devices[i];
        if (i == shown)
            continue;
        bool none = device->n_events == 0;
        struct figure count = format_count(device->n_events);
        int n = snprintf(text + used, capacity - used, "%s%" PRId32 " (%s event%s%s)", used != 0 ? ", " : "",
                         device->ordinal, none ? "no" : count.text, device->n_events == 1 ? "" : "s",
                         device->n_ooms != 0 ? ", ran out of memory" : "");
        used += n > 0 ? (size_t)n : 0;
    }
}

/* Index of the device with this ordinal. UINT32_MAX: there is none; printed. */
static uint32_t device_find(const struct recording *recording, int32_t ordinal) {
    const struct trace *trace = &recording->trace;
    const struct device_trace *device = trace_device(trace, ordinal);
    if (device != NULL)
        return (uint32_t)(device - trace->devices);
    char text[512];
    devices_text(trace, UINT32_MAX, text, sizeof text);
    if (trace->n_devices == 0)
        terminal_error(recording->input.shown, "has no device %" PRId32 ", and no other", ordinal);
    else
        terminal_error(recording->input.shown, "has no device %" PRId32 "; there are: %s", ordinal, text);
    return UINT32_MAX;
}

/* Is `a` more likely to be wanted than `b`? A GPU is, then one that ran out of memory, then one with more events. */
static bool device_is_likelier(const struct device_trace *a, const struct device_trace *b) {
    bool a_oom = a->n_ooms != 0, b_oom = b->n_ooms != 0;
    bool a_host = a->ordinal == ORDINAL_HOST, b_host = b->ordinal == ORDINAL_HOST;
    if (a_host != b_host)
        return b_host;
    return a_oom != b_oom ? a_oom : a->n_events > b->n_events;
}

/* Index of the likeliest device, the first of equal ones; in a log a GPU, if the log mentions any. */
static uint32_t device_likeliest(const struct trace *trace) {
    uint32_t best =
        trace->kind == TRACE_LOG && trace->n_devices > 1 && trace->devices[0].ordinal == ORDINAL_CPU;
    for (uint32_t i = 1; i < trace->n_devices; i++)
        if (device_is_likelier(&trace->devices[i], &trace->devices[best]))
            best = i;
    return best;
}

/* The peak of one device. False: no memory, printed. */
static bool device_peak(const struct recording *recording, uint32_t index, uint64_t *peak_bytes) {
    struct arena scratch;
    struct trace part;
    struct timeline timeline;
    recording_scratch(recording, &scratch);
    bool done = device_part_init(&part, &recording->trace, index, &scratch) &&
                timeline_init(&timeline, &part, index, &scratch);
    if (done)
        *peak_bytes = timeline.peak_bytes;
    else
        recording_print_no_memory(recording, scratch.limit_hit);
    arena_release(&scratch);
    return done;
}

/* Finds, among the devices as likely as `*index`, the one with the highest peak. Peaks are computed only if there are
 * several. False: no memory, printed. */
static bool device_with_highest_peak(const struct recording *recording, uint32_t *index) {
    const struct trace *trace = &recording->trace;
    const struct device_trace *first = &trace->devices[*index];
    uint64_t highest = 0, peak = 0;
    uint32_t n_candidates = 0;
    for (uint32_t i = *index; i < trace->n_devices; i++)
        n_candidates += !device_is_likelier(first, &trace->devices[i]);
    for (uint32_t i = *index; n_candidates > 1 && i < trace->n_devices; i++) {
        if (device_is_likelier(first, &trace->devices[i]))
            continue;
        if (!device_peak(recording, i, &peak))
            return false;
        if (peak > highest) {
            highest = peak;
            *index = i;
        }
    }
    return true;
}

/* Prints which device is shown and why, if there are others. */
static void device_note(const struct recording *recording, uint32_t index) {
    const struct device_trace *device = &recording->trace.devices[index];
    char text[512];
    devices_text(&recording->trace, index, text, sizeof text);
    if (*text != '\0')
        terminal_note(recording->input.shown, "device %" PRId32 " is shown%s; -d shows another: %s",
                      device->ordinal, device->n_ooms != 0 ? ", which ran out of memory" : "", text);
}

/* Prints a note if another device than the named one had the trouble that people look for. */
static void chosen_device_note(const struct recording *recording, uint32_t index) {
    const struct trace *trace = &recording->trace;
    const struct device_trace *device = &trace->devices[index];
    const struct device_trace *likeliest = &trace->devices[device_likeliest(trace)];
    char text[512];
    devices_text(trace, index, text, sizeof text);
    if (device->n_events == 0 && likeliest->n_events != 0)
        terminal_note(recording->input.shown, "device %" PRId32 " has no events; -d shows another: %s",
                      device->ordinal, text);
    else if (device->n_ooms == 0 && likeliest->n_ooms != 0)
        terminal_note(recording->input.shown,
                      "device %" PRId32 " did not run out of memory; -d shows another: %s", device->ordinal,
                      text);
}

/* Index of the device that -d names. UINT32_MAX: printed. */
static uint32_t device_chosen(const struct recording *recording, const struct settings *settings) {
    uint32_t index = device_find(recording, settings->device);
    if (index != UINT32_MAX)
        chosen_device_note(recording, index);
    return index;
}

bool recording_likeliest_device(const struct recording *recording, uint32_t *index) {
    *index = device_likeliest(&recording->trace);
    return device_with_highest_peak(recording, index);
}

bool recording_choose_device(const struct recording *recording, const struct settings *settings,
                             uint32_t *index, int *code) {
    const struct trace *trace = &recording->trace;
    if (settings->has_device) {
        *code = EXIT_CODE_USAGE;
        *index = device_chosen(recording, settings);
        return *index != UINT32_MAX;
    }
    *code = EXIT_CODE_FAILED;
    if (trace->n_devices == 0) {
        terminal_error(recording->input.shown, "shows nothing: no device has events, blocks or segments");
        return false;
    }
    if (!recording_likeliest_device(recording, index))
        return false;
    device_note(recording, *index);
    return true;
}

bool recording_check_device(const struct recording *recording, const struct settings *settings) {
    return !settings->has_device || device_chosen(recording, settings) != UINT32_MAX;
}
