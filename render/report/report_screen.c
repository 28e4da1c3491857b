/*
 * The report of one screen: of the device that ran out of memory, or the largest, what happened, what the peak is made
 * of, who holds most, what was found, and what to do. It has at most SCREEN_LINES lines of SCREEN_COLUMNS columns:
 * if everything would be longer, findings are shortened to their titles, the least urgent first, and then left out.
 * The choice is made at this width whatever the reader's is, so a file, a pipe and a terminal get the same words.
 */
#include "analysis/findings/peak_made.h"
#include "base/format.h"
#include "render/report/report_sites.h"
#include "render/words/device.h"

#include <string.h>

enum { SCREEN_LINES = 24, SCREEN_COLUMNS = 80 };

/* How much is written: findings with their whole text, then findings by their titles, and call sites. */
struct screen_detail {
    uint32_t in_full, titles, sites;
};

static uint32_t lines_of(const struct buffer *text) {
    uint32_t lines = 0;
    for (size_t i = 0; i < text->nbytes; i++)
        lines += text->bytes[i] == '\n';
    return lines;
}

/* Is a failed request told first, before what the peak is made of? */
static bool begins_with_failure(const struct findings *findings) {
    return findings->count != 0 && findings->finding[0].kind == FINDING_OUT_OF_MEMORY;
}

/* Tells the failed request, and why it did not fit: the first of the reasons that the full report has. */
static void failure_write(struct sheet *sheet, const struct report_device *report) {
    const struct finding *failure = &report->verdicts.findings.finding[0];
    const struct oom_event *event = report->device->ooms;
    struct report_oom oom;
    struct report_advice advice[REPORT_ADVICE_MAX];
    report_finding(sheet, report, failure, true);
    if (!trace_has_allocations(report->trace))
        return;
    while (event->event + 1 != failure->at_moment &&
           event + 1 < report->device->ooms + report->device->n_ooms)
        event++;
    if (!report_oom_of(&oom, report, event))
        sheet->out->failed = true;
    else if (report_oom_advice(report, &oom, advice) != 0 && strcmp(advice[0].code, "plan") != 0)
        sheet_say(sheet, "%s", advice[0].text);
}

static void holders_write(struct sheet *sheet, const struct report_device *report, uint32_t most) {
    static const char *const headings[] = {"Bytes", "Share", "Held at the peak by", NULL};
    uint64_t peak = report->timeline.peak_bytes, rest = 0;
    uint32_t n = report->n_groups < most ? report->n_groups : most;
    if (n == 0 || peak == 0 || !trace_has_call_sites(report->trace))
        return;
    unsigned unit = format_unit(report->groups[0].bytes);
    sheet_table(sheet, headings, "rrl");
    for (uint32_t i = 0; i < n; i++) {
        const struct group *group = &report->groups[i];
        SHEET_CELLS(sheet, format_bytes_in(group->bytes, unit).text, format_share(group->bytes, peak).text);
        if (report->options->group == COMPARE_BY_SITE)
            sheet_cell(sheet, "%s", words_site(sheet, report->trace, group->site));
        else {
            struct group_name name = report_group_name(report, group);
            sheet_cell(sheet, "%s", sheet_name(sheet, name.text, strlen(name.text)));
        }
    }
    for (uint32_t i = n; i < report->n_groups; i++)
        rest += report->groups[i].bytes;
    if (n < report->n_groups) {
        SHEET_CELLS(sheet, format_bytes_in(rest, unit).text, format_share(rest, peak).text);
        sheet_cell(sheet, "%s", words_counted(sheet, report->n_groups - n, "other"));
    }
    sheet_table_end(sheet);
}

static void findings_write(struct sheet *sheet, const struct report_device *report,
                           const struct screen_detail *detail) {
    const struct findings *findings = &report->verdicts.findings;
    uint32_t first = begins_with_failure(findings), shown = first;
    if (shown < findings->count || (findings->count == 0 && verdicts_checks(&report->verdicts) != 0))
        sheet_heading(sheet, 3, "What to know");
    if (findings->count == 0)
        report_checks(sheet, &report->verdicts);
    for (; shown < findings->count && shown < first + detail->in_full + detail->titles; shown++)
        report_finding(sheet, report, &findings->finding[shown], shown < first + detail->in_full);
    if (shown < findings->count)
        sheet_point(sheet, "%s", words_counted(sheet, findings->count - shown, "more finding"));
}

/* Names what the screen leaves out: the other devices, and the sections of the full report. */
static void rest_write(struct sheet *sheet, const struct report_device *report) {
    const struct trace *trace = report->trace;
    bool steps = report->verdicts.steps.count != 0;
    if (trace->n_devices > 1)
        sheet_say(sheet, "Not shown: %s. -d N shows one.", words_devices(sheet, trace, report->device));
    if (sheet->markdown)
        return;
    if (!trace_has_allocations(trace))
        sheet_say(sheet, "--full adds %show far to trust it.", steps ? "the steps, and " : "");
    else
        sheet_say(sheet, "--full adds every call site, %s%s%s and trust.",
                  report->device->n_ooms != 0 ? "the error" : "categories", steps ? ", steps" : "",
                  trace_has_segments(trace) ? ", fragmentation" : "");
}

static void screen_write(struct sheet *sheet, const struct report_device *report,
                         const struct screen_detail *detail) {
    const struct report_options *options = report->options;
    const char *device =
        device_named(report->trace->kind == TRACE_LOG ? "rank or GPU" : "device", report->device->ordinal)
            .text;
    sheet_heading(sheet, 1, "Memory of %s, %s", sheet_name(sheet, options->file, strlen(options->file)),
                  sheet_format(sheet, "%s", device));
    if (begins_with_failure(&report->verdicts.findings))
        failure_write(sheet, report);
    if (report->plan.of_setting)
        report_plan_said(sheet, report);
    report_peak_made(sheet, report);
    if (options->filter != NULL)
        sheet_say(sheet, "Of the peak's %s, the filter leaves %s.",
                  format_bytes(report->timeline.peak_bytes).text,
                  format_bytes(report_shown(report)->live[report->timeline.peak_moment]).text);
    if (trace_has_allocations(report->trace))
        holders_write(sheet, report, detail->sites);
    else
        report_log_levels(sheet, report);
    findings_write(sheet, report, detail);
    if (report->plan.text[0] != '\0' && !report->plan.of_setting) {
        sheet_heading(sheet, 3, "What to do");
        report_plan_said(sheet, report);
    }
    rest_write(sheet, report);
}

bool report_screen_device(struct buffer *out, const struct report_device *report) {
    static const struct screen_detail details[] = {{2, 2, 3}, {2, 1, 3}, {2, 0, 3}, {1, 2, 3},
                                                   {1, 1, 3}, {1, 0, 3}, {0, 3, 3}, {0, 2, 3},
                                                   {0, 1, 3}, {0, 1, 2}, {0, 0, 3}, {0, 0, 1}};
    enum { DETAILS = sizeof details / sizeof *details };
    struct buffer text = {.host = arena_share(report->arena)}; /* as the plainest reader gets it */
    uint32_t chosen = 0;
    for (; chosen + 1 < DETAILS; chosen++) {
        struct sheet plain =
            words_sheet(&text, report->arena, REPORT_TEXT, (struct text_look){.columns = SCREEN_COLUMNS});
        text.nbytes = 0;
        screen_write(&plain, report, &details[chosen]);
        if (text.failed || lines_of(&text) <= SCREEN_LINES)
            break;
    }
    struct sheet sheet = words_sheet(out, report->arena, report->options->format, report->options->look);
    screen_write(&sheet, report, &details[chosen]);
    out->failed |= text.failed;
    buffer_release(&text);
    return !out->failed;
}
