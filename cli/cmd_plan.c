/* strata plan: the least change with which the recorded requests would be served. */
#include "analysis/plan/plan.h"
#include "cli/beside.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "render/report/report_plan.h"

/* One device. False: no memory. */
static bool device_plan(struct plan *plan, const struct recording *recording, uint32_t index,
                        const struct plan_request *request, struct arena *scratch) {
    const struct trace *trace = &recording->trace;
    struct program *program = arena_alloc(scratch, sizeof *program);
    struct replay *replay = arena_alloc(scratch, sizeof *replay);
    struct timeline *timeline = arena_alloc(scratch, sizeof *timeline);
    struct verdicts *verdicts = arena_alloc(scratch, sizeof *verdicts);
    return program != NULL && replay != NULL && timeline != NULL && verdicts != NULL &&
           program_init(program, trace, &trace->devices[index], scratch) &&
           replay_run(replay, trace, &trace->devices[index], program, scratch) &&
           timeline_init(timeline, trace, index, scratch) &&
           verdicts_init_with_cuts(verdicts, timeline, scratch) &&
           plan_find(plan, program, replay, verdicts, request, scratch);
}

static bool devices_plan(struct plan_report *report, const struct recording *recording,
                         const struct settings *settings, struct arena *scratch) {
    const struct trace *trace = &recording->trace;
    struct plan *device = arena_alloc(scratch, (trace->n_devices + (size_t)1) * sizeof *device);
    const struct plan_request request = {.gpu_bytes = settings->gpu_bytes,
                                         .keep_bytes = settings->gpu_bytes / 50,
                                         .n_ranks = (uint32_t)settings->n_ranks};
    report->device = device;
    for (uint32_t i = 0; device != NULL && i < trace->n_devices; i++)
        if ((!settings->has_device || settings->device == trace->devices[i].ordinal) &&
            !device_plan(&device[report->n_devices++], recording, i, &request, scratch))
            return false;
    return device != NULL;
}

/* An enum exit_code. */
static int plan_build(struct buffer *out, const struct recording *recording, const struct settings *settings,
                      struct arena *scratch) {
    struct plan_report report = {
        .format = settings->format, .file = recording->input.name, .fingerprint = recording->fingerprint};
    if (devices_plan(&report, recording, settings, scratch) && plan_report_write(out, &report, scratch))
        return EXIT_CODE_DONE;
    if (!out->refused)
        recording_print_no_memory(recording, scratch->limit_hit);
    return EXIT_CODE_FAILED;
}

static int plan_main(const struct settings *settings) {
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
