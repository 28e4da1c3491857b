#include "cli/exit_code.h"
#include "cli/filter.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "render/report/report.h"

bool report_build(struct buffer *report, const struct recording *recording, const struct settings *settings,
                  struct arena *scratch) {
    struct filter_set filter;
    if (!filter_set_make(&filter, recording, settings, scratch))
        return false;
    struct report_options options = {
        .format = settings->format,
        .file = recording->input.name,
        .fingerprint = recording->fingerprint,
        .recording_id = recording->id,
        .kind = recording_kind(recording),
        .group = settings->group,
        .filter = filter.query,
        .top = settings->top,
        .device = settings->has_device ? settings->device : REPORT_ALL_DEVICES,
    };
    if (report_render(report, &recording->trace, &options, scratch))
        return true;
    if (!report->refused)
        recording_print_no_memory(recording, scratch->limit_hit);
    return false;
}

static int report_write(struct recording *recording, const struct settings *settings,
                        const struct output *output) {
    if (!recording_read(recording, settings))
        return EXIT_CODE_FAILED;
    if (!recording_check_device(recording, settings))
        return EXIT_CODE_USAGE;
    struct arena scratch;
    recording_scratch(recording, &scratch);
    struct buffer report = {.host = arena_share(&scratch)};
    struct output_stream stream;
    output_stream(&stream, output, &report);
    bool done = report_build(&report, recording, settings, &scratch) && output_finish(&stream);
    output_abandon(&stream);
    buffer_release(&report);
    arena_release(&scratch);
    return done ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

static const char *report_ending(enum report_format format) {
    static const char *const endings[] = {
        [REPORT_TEXT] = ".txt", [REPORT_JSON] = ".report.json", [REPORT_MARKDOWN] = ".md"};
    return endings[format];
}

static int report_run(const struct settings *settings) {
    struct recording recording;
    struct output output;
    struct output_request request = {settings->output != NULL ? settings->output : "-",
                                     report_ending(settings->format), settings->force, false};
    if (settings->two_formats) {
        terminal_error(NULL, "report: --json and --markdown are two formats; ask for one at a time");
        return EXIT_CODE_USAGE;
    }
    if (!recording_open(&recording, settings))
        return EXIT_CODE_FAILED;
    int code = EXIT_CODE_FAILED;
    if (output_choose(&output, &request, &recording.input)) {
        code = report_write(&recording, settings, &output);
        output_release(&output);
    }
    recording_release(&recording);
    return code;
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
