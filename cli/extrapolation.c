/* strata whatif --extrapolate: from recordings of a program at two sizes, what it needs at a third. */
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/planning.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "cli/whatif.h"
#include "render/report/report_plan.h"

#include <stdlib.h>
#include <string.h>

/* Parses "PATH=SIZE" into settings of its own, whose input ends before the last "=". The caller frees `path`.
 * Returns an enum exit_code. */
static int sized_parse(const char *text, const struct settings *settings, struct settings *own, char **path,
                       uint64_t *size) {
    const char *equals = text != NULL ? strrchr(text, '=') : NULL;
    *own = *settings;
    *path = NULL;
    if (equals == NULL || !number_parse(equals + 1, 1, 1000000000, size)) {
        terminal_error(NULL, "whatif: \"%s\" is not PATH=SIZE with a whole number for the size",
                       text != NULL ? text : "");
        return EXIT_CODE_USAGE;
    }
    own->input = *path = memory_text("%.*s", (int)(equals - text), text);
    return EXIT_CODE_DONE;
}

struct sized {
    struct recording recording;
    struct settings settings;
    char *path;
    bool open;
};

static const char *not_exact(const struct replay *replay) {
    return replay->grade == REPLAY_EXACT ? NULL : "one of the recordings is not replayed exactly";
}

/* Finds the largest size that fits, for each scenario. False: no memory. */
static bool device_largest(struct extrapolated *device, const struct program program[2],
                           const struct extrapolation_report *report, const struct settings *settings,
                           struct arena *scratch) {
    struct largest *largest = arena_alloc(scratch, WHATIF_SCENARIOS_MAX * sizeof *largest);
    device->largest = largest;
    for (uint32_t i = 0; largest != NULL && i < device->whatif.n_scenarios; i++) {
        const struct whatif_scenario *scenario = &device->whatif.scenario[i];
        struct largest_request request = {.a = &program[0],
                                          .b = &program[1],
                                          .x0 = report->size[0],
                                          .x1 = report->size[1],
                                          .budget_bytes = planning_budget(settings),
                                          .settings = scenario->settings};
        if (scenario->same_as != i)
            largest[i] = largest[scenario->same_as];
        else if (!largest_find(&largest[i], &request, scratch))
            return false;
    }
    return largest != NULL;
}

static bool device_extrapolate(struct extrapolated *device, struct sized sized[2],
                               const struct device_trace *first, const struct extrapolation_report *report,
                               const struct settings *settings, struct arena *scratch) {
    const struct trace *traces[] = {&sized[0].recording.trace, &sized[1].recording.trace};
    const struct device_trace *devices[] = {first, trace_device(traces[1], first->ordinal)};
    struct program *program = arena_alloc(scratch, 2 * sizeof *program);
    const struct whatif_request request = whatif_request_of(settings);
    *device = (struct extrapolated){.ordinal = first->ordinal};
    if (devices[1] == NULL) {
        device->extrapolation.refused = "the other recording has no such device";
        return true;
    }
    for (int i = 0; i < 2; i++)
        if (program == NULL || !program_init(&program[i], traces[i], devices[i], scratch) ||
            !replay_run(&device->replay[i], traces[i], devices[i], &program[i], scratch))
            return false;
    for (int i = 0; i < 2 && device->extrapolation.refused == NULL; i++)
        device->extrapolation.refused = not_exact(&device->replay[i]);
    if (device->extrapolation.refused != NULL)
        return true;
    if (!extrapolate(&device->extrapolation, &program[0], report->size[0], &program[1], report->size[1],
                     report->asked, scratch))
        return false;
    if (device->extrapolation.refused != NULL)
        return true;
    return whatif_init_of(&device->whatif, &device->extrapolation.program, &device->replay[0], &request,
                          scratch) &&
           (settings->to_max ? device_largest(device, program, report, settings, scratch)
                             : scenarios_solve(&device->whatif, scratch));
}

/* Extrapolates every device. False: no memory. */
static bool devices_extrapolate(struct sized sized[2], struct extrapolation_report *report,
                                const struct settings *settings, struct arena *scratch) {
    const struct trace *trace = &sized[0].recording.trace;
    struct extrapolated *device = arena_alloc(scratch, (trace->n_devices + (size_t)1) * sizeof *device);
    bool done = device != NULL;
    report->device = device;
    for (uint32_t i = 0; done && i < trace->n_devices; i++)
        if (!settings->has_device || settings->device == trace->devices[i].ordinal)
            done = device_extrapolate(&device[report->n_devices++], sized, &trace->devices[i], report,
                                      settings, scratch);
    return done;
}

/* A drawing and the trace that it shows, in scratch memory. */
struct extrapolated_drawing {
    struct device_trace device;
    struct trace trace;
    struct drawing drawing;
};

/* Prepares a drawing. NULL: no memory. */
static const struct drawing *drawing_of(const struct sized *first, const struct extrapolation_report *report,
                                        uint32_t nth, struct arena *scratch) {
    struct extrapolated_drawing *made = arena_alloc(scratch, sizeof *made);
    struct buffer nothing = {.host = arena_share(scratch)};
    struct sheet words = {.out = &nothing, .arena = scratch};
    if (made == NULL)
        return NULL;
    const struct extrapolated *extrapolated = &report->device[nth];
    if (extrapolated->extrapolation.refused == NULL)
        extrapolation_trace(&made->trace, &made->device, &extrapolated->extrapolation);
    made->drawing = (struct drawing){
        .recording = &first->recording,
        .trace = &made->trace,
        .whatif = &extrapolated->whatif,
        .file = extrapolation_title(&words, report),
        .fingerprint = sheet_format(&words, "%s %s", report->fingerprint[0], report->fingerprint[1]),
        .extrapolated = true};
    bool failed = nothing.failed;
    buffer_release(&nothing);
    return failed ? NULL : &made->drawing;
}

/* The device that would have most in use. UINT32_MAX: all devices are refused. */
static uint32_t fullest_device(const struct extrapolation_report *report) {
    uint32_t best = UINT32_MAX;
    uint64_t most = 0;
    for (uint32_t i = 0; i < report->n_devices; i++) {
        uint64_t bytes = report->device[i].whatif.bounds.requested_peak_bytes;
        if (report->device[i].extrapolation.refused != NULL || (best != UINT32_MAX && bytes <= most))
            continue;
        best = i;
        most = bytes;
    }
    return best;
}

static int no_memory(const struct buffer *out, const struct sized *first, const struct arena *scratch) {
    return out->refused ? EXIT_CODE_FAILED : recording_print_no_memory(&first->recording, scratch->limit_hit);
}

/* Draws the fullest device. Returns an enum exit_code. */
static int picture_build(struct buffer *out, const struct sized *first,
                         const struct extrapolation_report *report, const struct settings *settings,
                         struct arena *scratch) {
    uint32_t nth = fullest_device(report);
    if (nth == UINT32_MAX) {
        terminal_error(NULL, "whatif: there is nothing to draw: %s",
                       report->n_devices != 0 ? report->device[0].extrapolation.refused : "no device");
        return EXIT_CODE_FAILED;
    }
    const struct drawing *drawing = drawing_of(first, report, nth, scratch);
    return drawing != NULL ? drawing_make(out, drawing, settings, scratch) : no_memory(out, first, scratch);
}

/* Writes the answer in the format that was asked for. Returns an enum exit_code. */
static int extrapolation_build(struct buffer *out, struct sized sized[2], struct extrapolation_report *report,
                               const struct settings *settings, struct arena *scratch) {
    if (!devices_extrapolate(sized, report, settings, scratch))
        return no_memory(out, &sized[0], scratch);
    if (settings->to_max)
        return plan_largest_write(out, report, scratch) ? EXIT_CODE_DONE : no_memory(out, &sized[0], scratch);
    if (ending_kind(settings->output) == ENDING_PICTURE)
        return picture_build(out, &sized[0], report, settings, scratch);
    return extrapolation_report_write(out, report, scratch) ? EXIT_CODE_DONE
                                                            : no_memory(out, &sized[0], scratch);
}

static int extrapolation_write(struct sized sized[2], struct extrapolation_report *report,
                               const struct settings *settings, const struct output *output) {
    for (int i = 0; i < 2; i++) {
        if (!recording_read(&sized[i].recording, &sized[i].settings))
            return EXIT_CODE_FAILED;
        report->file[i] = sized[i].recording.input.name;
        report->fingerprint[i] = sized[i].recording.fingerprint;
    }
    if (!recording_check_device(&sized[0].recording, settings))
        return EXIT_CODE_USAGE;
    struct arena scratch;
    recording_scratch(&sized[0].recording, &scratch);
    struct buffer out = {.host = arena_share(&scratch)};
    struct output_stream stream;
    output_stream(&stream, output, &out);
    int code = output_end(&stream, extrapolation_build(&out, sized, report, settings, &scratch));
    buffer_release(&out);
    arena_release(&scratch);
    return code;
}

static int extrapolation_open(struct sized sized[2], struct extrapolation_report *report,
                              const struct settings *settings) {
    struct output output;
    struct output_request request = convert_words_request(settings, ".whatif");
    for (int i = 0; i < 2; i++) {
        sized[i].open = recording_open(&sized[i].recording, &sized[i].settings);
        if (!sized[i].open)
            return EXIT_CODE_FAILED;
    }
    if (!output_choose(&output, &request, &sized[0].recording.input))
        return EXIT_CODE_FAILED;
    int code = EXIT_CODE_FAILED;
    if (output_spares(&output, &sized[1].recording.input))
        code = extrapolation_write(sized, report, settings, &output);
    output_release(&output);
    return code;
}

/* Parses both arguments of the command line. Returns an enum exit_code. */
static int both_parse(struct sized sized[2], struct extrapolation_report *report,
                      const struct settings *settings) {
    const char *const words[2] = {settings->extrapolate, settings->input};
    int code = EXIT_CODE_DONE;
    for (int i = 0; i < 2 && code == EXIT_CODE_DONE; i++)
        code = sized_parse(words[i], settings, &sized[i].settings, &sized[i].path, &report->size[i]);
    report->asked = settings->to_max ? report->size[1] : report->asked;
    if (code != EXIT_CODE_DONE || report->size[0] < report->size[1])
        return code;
    terminal_error(NULL, "whatif: the recording of --extrapolate must be the smaller one");
    return EXIT_CODE_USAGE;
}

int extrapolation_main(const struct settings *settings) {
    struct sized sized[2] = {0};
    struct extrapolation_report report = {
        .format = settings->format, .look = terminal_look(settings->output), .asked = settings->to_size};
    int code = EXIT_CODE_USAGE;
    if (settings->to_size == 0 && !settings->to_max)
        terminal_error(NULL, "whatif: --extrapolate needs --to SIZE");
    else if (ending_kind(settings->output) == ENDING_PAGE)
        terminal_error(settings->output,
                       "is the name of a page, which --extrapolate does not write: name a text, "
                       "Markdown, JSON or PNG file");
    else
        code = both_parse(sized, &report, settings);
    if (code == EXIT_CODE_DONE)
        code = extrapolation_open(sized, &report, settings);
    for (int i = 0; i < 2; i++) {
        if (sized[i].open)
            recording_release(&sized[i].recording);
        free(sized[i].path);
    }
    return code;
}
