/* strata plan: finds the smallest change with which the recorded requests would be served. */
#include "analysis/plan/plan.h"
#include "cli/beside.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/recording.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "layout/device_part.h"
#include "render/report/report_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A search of fewer events is over before a line of progress could be read. */
enum { PROGRESS_EVENTS_LEAST = 100000 };

/* Shows how much of the recording was replayed, over all runs. */
static void search_progress(void *context, uint64_t n_replayed) {
    char line[128];
    (void)context;
    snprintf(line, sizeof line, "planning: %s operations replayed", format_count(n_replayed).text);
    (void)progress_show(line);
}

static bool device_plan(struct plan *plan, const struct trace *trace, uint32_t index,
                        const struct plan_request *request, struct arena *scratch) {
    struct plan_request own = *request;
    struct trace *part = arena_alloc(scratch, sizeof *part);
    struct timeline *timeline = arena_alloc(scratch, sizeof *timeline);
    if (trace->devices[index].n_events > PROGRESS_EVENTS_LEAST)
        own.progress = search_progress;
    bool done = part != NULL && timeline != NULL && device_part_init(part, trace, index, scratch) &&
                timeline_init(timeline, part, index, scratch) &&
                plan_of_timeline(plan, timeline, &own, scratch);
    progress_end();
    return done;
}

/* Plans the devices one after the other: a plan takes room for all devices, so the plans of a thousand are not held at
 * once. */
struct plan_maker {
    const struct trace *trace;
    const struct settings *settings;
    const struct plan_request *request;
    struct arena arena; /* memory of the current plan */
    struct plan plan;
};

static const struct plan *plan_make(void *context, uint32_t i) {
    struct plan_maker *maker = context;
    while (maker->settings->has_device && maker->trace->devices[i].ordinal != maker->settings->device)
        i++;
    arena_release(&maker->arena);
    return device_plan(&maker->plan, maker->trace, i, maker->request, &maker->arena) ? &maker->plan : NULL;
}

/* Writes the plan as text. Returns an enum exit_code. */
static int plan_build(struct buffer *out, const struct recording *recording, const struct settings *settings,
                      struct arena *scratch) {
    struct beside beside; /* a second thread that helps; both take from one memory */
    struct plan_request request;
    struct plan_maker maker = {.trace = &recording->trace, .settings = settings, .request = &request};
    struct plan_report report = {.format = settings->format,
                                 .look = terminal_look(settings->output),
                                 .file = recording->input.name,
                                 .fingerprint = recording->fingerprint,
                                 .n_devices = settings->has_device ? 1 : recording->trace.n_devices,
                                 .make = plan_make,
                                 .context = &maker};
    (void)planning_request(&request, settings);
    memory_keep();
    beside_init(&beside, scratch);
    request.beside = &beside.hooks;
    arena_init(&maker.arena, beside.hooks.host, SIZE_MAX);
    bool done = plan_report_write(out, &report, &beside.arena);
    arena_release(&maker.arena);
    beside_release(&beside);
    if (!done && !out->refused)
        recording_print_no_memory(recording, scratch->limit_hit);
    return done ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

/* Appends the page that opens with the plan, with the plans of all devices. Returns an enum exit_code. */
static int plan_show(struct buffer *out, struct recording *recording, const struct settings *settings,
                     uint32_t device) {
    struct settings own = *settings;
    char view[64];
    own.plan.all_devices = true;
    own.plan.unwanted = false;
    snprintf(view, sizeof view, "device=%" PRId32 "&tab=plan", recording->trace.devices[device].ordinal);
    return page_render(out, recording, &own, device, view, true) == HTML_DONE ? EXIT_CODE_DONE
                                                                              : EXIT_CODE_FAILED;
}

/* ---- one setting for several recordings, each of which is read, replayed and released again ---- */

/* Adds a device's need under each setting. False: no memory. */
static bool device_add(struct plan_together *together, const struct recording *recording, uint32_t index,
                       struct arena *scratch) {
    const struct device_trace *device = &recording->trace.devices[index];
    struct plan_need need[PLAN_NEEDS];
    struct program program;
    struct replay replay;
    if (!program_init(&program, &recording->trace, device, scratch) ||
        !replay_run(&replay, &recording->trace, device, &program, scratch))
        return false;
    if (replay.grade == REPLAY_REFUSED) {
        terminal_note(recording->input.shown, "device %d is left out: %s", (int)device->ordinal,
                      replay.reason);
        return true;
    }
    if (!plan_needs_find(need, &together->n_needs, &program, &replay, together->budget_bytes, scratch))
        return false;
    if (together->n_devices++ == 0)
        memcpy(together->need, need, sizeof need);
    for (uint32_t i = 0; i < together->n_needs; i++)
        plan_need_unite(&together->need[i], &need[i]);
    return true;
}

static bool recording_add(struct plan_together *together, const struct recording *recording,
                          const struct settings *settings) {
    const struct trace *trace = &recording->trace;
    bool done = true;
    for (uint32_t i = 0; done && i < trace->n_devices; i++) {
        struct arena scratch;
        if (settings->has_device && settings->device != trace->devices[i].ordinal)
            continue;
        recording_scratch(recording, &scratch);
        done = device_add(together, recording, i, &scratch);
        if (!done)
            recording_print_no_memory(recording, scratch.limit_hit);
        arena_release(&scratch);
    }
    return done;
}

static bool input_add(struct plan_together *together, const struct settings *settings, uint32_t nth) {
    struct settings own = *settings;
    struct recording recording;
    own.input = settings->inputs[nth];
    if (!recording_open(&recording, &own))
        return false;
    bool done = recording_read(&recording, &own) && recording_add(together, &recording, settings);
    if (done && nth == 0)
        memcpy(together->fingerprint, recording.fingerprint, sizeof together->fingerprint);
    recording_release(&recording);
    return done;
}

static int together_write(const struct plan_together *together, const struct settings *settings,
                          const struct output *output) {
    struct arena scratch;
    struct output_stream stream;
    arena_init(&scratch, memory_host(), SIZE_MAX); /* some KB */
    struct buffer out = {.host = arena_share(&scratch)};
    output_stream(&stream, output, &out);
    bool done = plan_together_write(&out, together, settings->format, &scratch);
    int code = output_end(&stream, done ? EXIT_CODE_DONE : EXIT_CODE_FAILED);
    if (!done && !out.refused)
        terminal_error(NULL, "no memory");
    buffer_release(&out);
    arena_release(&scratch);
    return code;
}

static int plan_together_main(const struct settings *settings) {
    struct plan_together together = {.file = (const char *const *)settings->inputs,
                                     .n_files = settings->n_inputs,
                                     .budget_bytes = planning_budget(settings)};
    struct output_request request = convert_words_request(settings, ".plan");
    struct recording first;
    struct output output;
    int code = EXIT_CODE_FAILED;
    if (!recording_open(&first, settings))
        return code;
    if (output_choose(&output, &request, &first.input)) {
        bool spared = true, done = true;
        for (uint32_t i = 1; spared && i < settings->n_inputs; i++)
            spared = output_spares_path(&output, settings->inputs[i]);
        for (uint32_t i = 0; spared && done && i < settings->n_inputs; i++)
            done = input_add(&together, settings, i);
        if (spared && done)
            code = together_write(&together, settings, &output);
        output_release(&output);
    }
    recording_release(&first);
    return code;
}

/* ---- the command line ---- */

/* False: the usage is wrong; printed. */
static bool settings_check(const struct settings *settings) {
    const char *wrong = NULL;
    if (settings->plan.has_keep && settings->plan.gpu_bytes == 0)
        wrong = "--keep leaves a part of --gpu SIZE to others, and there is no --gpu";
    else if (settings->plan.has_keep && settings->plan.keep_bytes >= settings->plan.gpu_bytes)
        wrong =
            "--keep is as large as --gpu or larger, so nothing is left to plan with; give a smaller --keep";
    else if (settings->n_inputs > 1 && settings->format == REPORT_JSON && settings->has_device)
        wrong = "of several recordings, --json holds all devices; leave out -d or --json";
    else if (ending_kind(settings->output) == ENDING_PICTURE)
        wrong = "a plan is no picture any more; -o X.html writes the page that shows it";
    else if (ending_kind(settings->output) != ENDING_WORDS && settings->n_inputs > 1)
        wrong = "of several recordings, a plan is .txt, .md or .json; a page takes one recording";
    if (wrong != NULL)
        terminal_error(NULL, "plan: %s", wrong);
    return wrong == NULL;
}

static int plan_main(const struct settings *given) {
    struct settings settings = *given;
    if (!ending_choose("plan", &settings) || !settings_check(&settings))
        return EXIT_CODE_USAGE;
    if (settings.n_inputs > 1)
        return plan_together_main(&settings);
    if (ending_kind(settings.output) == ENDING_PAGE)
        return convert_run(&settings, ".plan", ".html", plan_show);
    return convert_words(&settings, ".plan", plan_build);
}

const struct verb verb_plan = {
    .name = "plan",
    .bit = VERB_PLAN,
    .summary = "the least change that makes it fit",
    .operands = "SNAPSHOT... (of several, only settings are compared)",
    .about = "Lists changes of the program (settings, findings, checkpointing of blocks, the optimizer\n"
             "and its state) with the memory that each would save, and finds the smallest set with\n"
             "which the recorded requests are served. docs/plan.md explains it.\n",
    .examples = "  strata plan oom.pickle\n"
                "  strata plan --gpu 24GiB --json snapshot.pickle\n"
                "  strata plan --gpu 24GiB snapshot.pickle -o plan.html\n"
                "  strata plan --set expandable_segments=True oom.pickle\n",
    .run = plan_main,
};
