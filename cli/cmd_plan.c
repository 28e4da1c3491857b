/* strata plan: the least change with which the recorded requests would be served. */
#include "analysis/plan/plan.h"
#include "cli/beside.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "layout/device_part.h"
#include "render/report/report_plan.h"

#include <stdio.h>

/* Shorter searches are over before a line could be read. */
enum { PROGRESS_EVENTS_LEAST = 100000 };

/* The line of progress: how much of the recording was replayed, over all runs. */
static void search_progress(void *context, uint64_t n_replayed) {
    char line[128];
    (void)context;
    snprintf(line, sizeof line, "planning: %s operations replayed", format_count(n_replayed).text);
    (void)progress_show(line);
}

static struct plan_request request_of(const struct settings *settings) {
    return (struct plan_request){.gpu_bytes = settings->gpu_bytes,
                                 .keep_bytes = settings->keep_bytes,
                                 .keep_percent = settings->keep_percent,
                                 .n_ranks = (uint32_t)settings->n_ranks,
                                 .without = settings->without};
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

static bool devices_plan(struct plan_report *report, const struct recording *recording,
                         const struct settings *settings, const struct plan_request *request,
                         struct arena *scratch) {
    const struct trace *trace = &recording->trace;
    struct plan *device = arena_alloc(scratch, (trace->n_devices + (size_t)1) * sizeof *device);
    report->device = device;
    for (uint32_t i = 0; device != NULL && i < trace->n_devices; i++)
        if ((!settings->has_device || settings->device == trace->devices[i].ordinal) &&
            !device_plan(&device[report->n_devices++], trace, i, request, scratch))
            return false;
    return device != NULL;
}

/* An enum exit_code. */
static int plan_build(struct buffer *out, const struct recording *recording, const struct settings *settings,
                      struct arena *scratch) {
    struct plan_report report = {.format = settings->format,
                                 .look = terminal_look(settings->output),
                                 .file = recording->input.name,
                                 .fingerprint = recording->fingerprint};
    struct plan_request request = request_of(settings);
    struct beside beside;
    struct arena guarded;
    beside_init(&beside, scratch);
    request.beside = &beside.hooks;
    arena_init(&guarded, beside.hooks.host, SIZE_MAX);
    bool done = devices_plan(&report, recording, settings, &request, &guarded) &&
                plan_report_write(out, &report, &guarded);
    arena_release(&guarded);
    beside_release(&beside);
    if (!done && !out->refused)
        recording_print_no_memory(recording, scratch->limit_hit);
    return done ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

static int plan_main(const struct settings *settings) {
    if (settings->gpu_bytes != 0 && settings->keep_bytes >= settings->gpu_bytes) {
        terminal_error(NULL, "plan: --keep leaves nothing of --gpu");
        return EXIT_CODE_USAGE;
    }
    static const char *const endings[] = {
        [REPORT_TEXT] = ".plan.txt", [REPORT_JSON] = ".plan.json", [REPORT_MARKDOWN] = ".plan.md"};
    if (ending_kind(settings->output) != ENDING_WORDS) {
        terminal_error(NULL,
                       "plan: text, Markdown and JSON are written; strata whatif draws a page or a picture");
        return EXIT_CODE_USAGE;
    }
    return convert_words(settings, endings[settings->format], plan_build);
}

const struct verb verb_plan = {
    .name = "plan",
    .bit = VERB_PLAN,
    .summary = "the least change that makes it fit",
    .about = "Changes that can be shown from the recording (settings, findings, checkpointing\n"
             "of blocks, the optimizer and its state), what each would give, and the smallest\n"
             "set with which the recorded requests are served. docs/plan.md explains it.\n",
    .examples = "  strata plan oom.pickle\n"
                "  strata plan --gpu 24GiB --json snapshot.pickle\n",
    .run = plan_main,
};
