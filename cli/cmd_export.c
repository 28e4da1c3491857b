#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/filter.h"
#include "cli/memory.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/window.h"
#include "render/export/export.h"
#include "render/words/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct ranging {
    const struct recording *recording;
    const struct settings *settings;
    bool any_oom; /* one of the exported devices ran out of memory */
};

static bool range_refuse(const struct ranging *ranging, const char *option, const char *reason) {
    terminal_error(ranging->recording->input.shown, "%s%s", option, reason);
    return false;
}

static bool range_find(void *context, const struct timeline *timeline, struct export_range *range) {
    const struct ranging *ranging = context;
    const struct settings *settings = ranging->settings;
    struct view view = {.axis = AXIS_EVENTS, .width = 1, .height = 1};
    const char *reason = NULL;
    /* a device without an out-of-memory event is left out where the settings name one and another device has it */
    range->none = ranging->any_oom && timeline->device->n_ooms == 0 &&
                  (settings->at.base == POSITION_OOM || settings->from.base == POSITION_OOM ||
                   settings->to.base == POSITION_OOM);
    if (range->none)
        return true;
    if (!window_resolve(&view, timeline, settings->from, settings->to, &reason))
        return range_refuse(ranging, "", reason);
    range->whole = settings->from.base == POSITION_NONE && settings->to.base == POSITION_NONE;
    if (!range->whole) {
        int64_t from = view.from_q16 / 65536, to = view.to_q16 / 65536, last = timeline->n_moments - 1;
        range->from = (uint32_t)(from < 0 ? 0 : from);
        range->until = (uint32_t)(to < last ? to : last) + 1;
        range->at = timeline_peak_in(timeline, range->from, range->until);
    }
    return settings->at.base == POSITION_NONE || window_moment(timeline, settings->at, &range->at, &reason) ||
           range_refuse(ranging, "--at: ", reason);
}

/* ---- the device, where the export shows one ---- */

/* Finds the ordinal of the device with the highest peak, the first of equal ones. False: no memory, printed. */
static bool device_highest(const struct recording *recording, int32_t *ordinal) {
    const struct trace *trace = &recording->trace;
    uint64_t highest = 0;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        struct arena scratch;
        struct timeline timeline;
        recording_scratch(recording, &scratch);
        bool done = timeline_init(&timeline, trace, i, &scratch);
        if (!done)
            recording_print_no_memory(recording, scratch.limit_hit);
        else if (i == 0 || timeline.peak_bytes > highest) {
            highest = timeline.peak_bytes;
            *ordinal = trace->devices[i].ordinal;
        }
        arena_release(&scratch);
        if (!done)
            return false;
    }
    if (trace->n_devices > 1)
        terminal_note(recording->input.shown, "%s has the highest peak and is exported; -d names another",
                      device_words(*ordinal).text);
    return true;
}

static bool any_oom(const struct trace *trace, int32_t device) {
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].n_ooms != 0 &&
            (device == EXPORT_ALL_DEVICES || device == trace->devices[i].ordinal))
            return true;
    return false;
}

/* The folder of the output, from malloc. NULL: standard output, or a pipe or device whose folder need not be one to
 * write in. */
static char *output_folder(const struct settings *settings) {
    const char *path = settings->output != NULL ? settings->output : settings->input;
    struct stat status;
    if (strcmp(path, "-") == 0)
        return NULL;
    if (path_is_directory(path))
        return memory_text("%s", path);
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return NULL;
    const char *slash = strrchr(path, '/');
    return slash == NULL ? memory_text(".") : memory_text("%.*s", (int)(slash - path) + 1, path);
}

static int export_end(const struct recording *recording, enum export_result result, const char *reason,
                      const struct arena *scratch, bool refused) {
    switch (result) {
    case EXPORT_DONE: return EXIT_CODE_DONE;
    case EXPORT_NO_RANGE: return EXIT_CODE_USAGE;
    case EXPORT_FAILED: terminal_error(recording->input.shown, "%s", reason); break;
    case EXPORT_NO_MEMORY:
        if (!refused)
            recording_print_no_memory(recording, scratch->limit_hit);
        break;
    }
    return EXIT_CODE_FAILED;
}

/* Prints notes on an export whose content may surprise. */
static void peculiarities_tell(const struct recording *recording, const struct settings *settings) {
    const char *shown = recording->input.shown;
    bool moment = settings->at.base != POSITION_NONE || settings->allocated;
    if (recording->trace.n_devices == 0)
        terminal_note(shown, "%s", no_device_sentence);
    else if (!trace_has_allocations(&recording->trace))
        terminal_note(shown, "a log prints levels: each row is one, not an allocation");
    if (moment && !export_kind_of_moment(settings->export_kind))
        terminal_note(shown, "--at and --allocated have no effect on %s, which has every moment",
                      export_kinds[settings->export_kind].name);
}

int export_write(struct buffer *out, const struct recording *recording, const struct settings *settings,
                 const char *folder, struct arena *scratch) {
    struct filter_set filter;
    struct ranging ranging = {.recording = recording, .settings = settings};
    char reason[EXPORT_REASON_NBYTES] = "";
    int32_t device = settings->has_device ? settings->device : EXPORT_ALL_DEVICES;
    if (!filter_set_make(&filter, recording, settings->filter, scratch) ||
        (!settings->has_device && export_kind_of_one_device(settings->export_kind) &&
         !device_highest(recording, &device)))
        return EXIT_CODE_FAILED;
    ranging.any_oom = any_oom(&recording->trace, device);
    peculiarities_tell(recording, settings);
    struct export_options options = {
        .kind = settings->export_kind,
        .file = recording->input.name,
        .fingerprint = recording->fingerprint,
        .source = recording_kind(recording),
        .filter = filter.query,
        .device = device,
        .allocated = settings->allocated,
        .range = range_find,
        .context = &ranging,
        .directory = folder,
    };
    enum export_result result = export_render(out, &recording->trace, &options, scratch, reason);
    return export_end(recording, result, reason, scratch, out->refused);
}

static int export_tell(struct buffer *out, const struct recording *recording, const struct settings *settings,
                       struct arena *scratch) {
    char *folder = output_folder(settings);
    int code = export_write(out, recording, settings, folder, scratch);
    free(folder);
    return code;
}

/* Chooses the kind by --to and the output's ending, which must agree. */
static bool kind_choose(struct settings *settings) {
    enum export_kind by_path =
        settings->output != NULL ? export_kind_of_path(settings->output) : EXPORT_KINDS;
    if (settings->export_kind == EXPORT_KINDS)
        settings->export_kind = by_path;
    if (settings->export_kind == EXPORT_KINDS)
        terminal_error(NULL,
                       "export: which format? Choose it by --to csv, sqlite, pprof, folded or perfetto, "
                       "or by the output's ending");
    else if (settings->allocated && settings->at.base != POSITION_NONE)
        terminal_error(NULL, "export: --at exports the memory that is live then, --allocated all that was "
                             "allocated: give one of them");
    else if (by_path == EXPORT_KINDS && ending_kind(settings->output) != ENDING_WORDS)
        return ending_agrees("export", settings->output, ENDING_WORDS);
    else if (by_path != EXPORT_KINDS && by_path != settings->export_kind)
        terminal_error(settings->output, "the ending says %s, and --to %s", export_kinds[by_path].name,
                       export_kinds[settings->export_kind].name);
    else
        return true;
    return false;
}

static int export_run(const struct settings *given) {
    struct settings settings = *given;
    if (!kind_choose(&settings))
        return EXIT_CODE_USAGE;
    return convert_file(&settings, export_kinds[settings.export_kind].ending,
                        !export_kinds[settings.export_kind].is_text, export_tell);
}

const struct verb verb_export = {
    .name = "export",
    .bit = VERB_EXPORT,
    .summary = "the same figures for SQL, spreadsheets, flame graphs, pprof and Perfetto",
    .operands = "SNAPSHOT... (several are one series, and need -o)",
    .about = "Writes every allocation as a row, or the live memory of a moment by stack, or the curves over\n"
             "time, in the format of another tool. docs/export.md has the tables, and queries.\n",
    .examples = "  strata export snapshot.pickle -o snapshot.csv\n"
                "  strata export --to sqlite snapshot.pickle      writes snapshot.sqlite\n"
                "  strata export --to folded --at oom oom.pickle -o - | flamegraph.pl > oom.svg\n"
                "  strata export --to pprof snapshot.pickle && go tool pprof -http : snapshot.pb.gz\n"
                "  strata export --to perfetto --from peak-500 --to peak+500 snapshot.pickle\n",
    .run = export_run,
};
