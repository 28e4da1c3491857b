#include "cli/beside.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/filter.h"
#include "cli/planning.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "render/report/report.h"

/* Finds the device that a text begins with, and the one of the brief report. False: no memory, printed. */
static bool report_first_device(int32_t *first, const struct recording *recording,
                                const struct settings *settings) {
    uint32_t index;
    *first = settings->has_device ? settings->device : ORDINAL_NONE;
    if (settings->has_device || settings->format == REPORT_JSON || recording->trace.n_devices == 0)
        return true;
    if (!recording_likeliest_device(recording, &index))
        return false;
    *first = recording->trace.devices[index].ordinal;
    return true;
}

bool report_build(struct buffer *report, const struct recording *recording, const struct settings *settings,
                  const struct report_more *more, bool beside, struct arena *scratch) {
    struct filter_set filter;
    if (!filter_set_make(&filter, recording, settings->filter, scratch))
        return false;
    struct plan_request request;
    int32_t first;
    if (!report_first_device(&first, recording, settings))
        return false;
    bool planned = planning_request(&request, settings);
    struct report_options options = {
        .plan = planned ? &request : NULL,
        .format = settings->format,
        .look = terminal_look(settings->output),
        .file = recording->input.name,
        .fingerprint = recording->fingerprint,
        .recording_id = recording->id,
        .kind = recording_kind(recording),
        .group = settings->group,
        .filter = filter.query,
        .top = settings->top,
        .device = settings->has_device ? settings->device : REPORT_ALL_DEVICES,
        .first = first,
        .more = more,
    };
    struct beside hand;
    if (beside) {
        beside_init(&hand, scratch);
        options.beside = &hand.hooks;
    }
    bool done = report_render(report, &recording->trace, &options, beside ? &hand.arena : scratch);
    if (beside)
        beside_release(&hand);
    if (!done && !report->refused)
        recording_print_no_memory(recording, scratch->limit_hit);
    return done;
}

static int report_tell(struct buffer *out, const struct recording *recording, const struct settings *settings,
                       struct arena *scratch) {
    return report_build(out, recording, settings, NULL, true, scratch) ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

static int report_run(const struct settings *given) {
    struct settings settings = *given;
    if (settings.two_formats) {
        terminal_error(
            NULL,
            "report: --json and --markdown are two formats, as each --format is; ask for one at a time");
        return EXIT_CODE_USAGE;
    }
    if (!ending_agrees("report", settings.output, ENDING_WORDS) || !ending_choose_format(&settings))
        return EXIT_CODE_USAGE;
    return convert_words(&settings, "", report_tell);
}

const struct verb verb_report = {
    .name = "report",
    .bit = VERB_REPORT,
    .summary = "the figures as text: what, when, who, why",
    .operands = "SNAPSHOT... (several are one series, and need -o)",
    .about = "Prints what the recording says in words and tables, for people, for an issue, or as JSON\n"
             "for programs. docs/report.md explains every figure.\n",
    .examples =
        "  strata report snapshot.pickle\n"
        "  strata report --markdown oom.pickle -o issue.md\n"
        "  strata report --json --top 0 --group stack snapshot.pickle | jq '.devices[0].peak_bytes'\n",
    .run = report_run,
};
