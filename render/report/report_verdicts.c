/* Writes verdicts for people: findings first, then steps and phases, then categories. */
#include "analysis/findings/peak_made.h"
#include "base/format.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "render/report/report_words.h"

#include <inttypes.h>
#include <string.h>

enum { FINDINGS_SHOWN = 12, SPANS_SHOWN = 12 };

static const char *title_of(struct sheet *sheet, const struct verdicts *verdicts,
                            const struct finding *finding) {
    char text[FINDING_TEXT_NBYTES];
    finding_title(verdicts, finding, text, sizeof text);
    finding_capitalize(text);
    return sheet_quote(sheet, text, strlen(text));
}

static const char *weight_of(struct sheet *sheet, const struct finding *finding) {
    if (finding->severity == SEVERITY_INFO)
        return "note";
    const char *severity = finding_severity_name[finding->severity];
    if (finding->confidence == CONFIDENCE_CERTAIN)
        return severity;
    return sheet_format(sheet, "%s, %s", severity, finding_confidence_name[finding->confidence]);
}

static enum sheet_urgency urgency_of(const struct finding *finding) {
    return finding->severity == SEVERITY_HIGH     ? SHEET_ALARM
           : finding->severity == SEVERITY_MEDIUM ? SHEET_WARNING
                                                  : SHEET_NOTE;
}

/* Is there a finding that is more than a note about the recording? */
static bool has_verdict(const struct verdicts *verdicts) {
    for (uint32_t i = 0; i < verdicts->findings.count; i++)
        if (verdicts->findings.finding[i].severity != SEVERITY_INFO)
            return true;
    return false;
}

void report_checks(struct sheet *sheet, const struct verdicts *verdicts) {
    char text[FINDING_TEXT_NBYTES];
    for (uint32_t i = 0; i < verdicts_checks(verdicts); i++) {
        struct check check = verdicts_check(verdicts, i, text, sizeof text);
        if (check.state != CHECK_FOUND)
            sheet_tagged_point(sheet, SHEET_NOTE, "[%s] %s",
                               check.state == CHECK_CLEAR ? "clear" : "not judged", text);
    }
}

void report_peak_made(struct sheet *sheet, const struct report_device *report) {
    char text[FINDING_TEXT_NBYTES];
    struct peak_made made;
    peak_made_of(&made, &report->verdicts);
    if (made.n_parts == 0 || !trace_has_allocations(report->trace))
        return;
    peak_made_text(&made, &report->verdicts, text, sizeof text);
    sheet_say(sheet, "%s", text);
}

void report_layers(struct sheet *sheet, const struct report_device *report) {
    const struct layer_summary *layers = &report->layers;
    const char *odd = "";
    if (layers->n_layers == 0)
        return;
    if (layers->odd_bytes != 0) {
        uint64_t by = magnitude_of(layers->odd_bytes);
        odd =
            sheet_format(sheet, "; layer %" PRIu32 " is %s %s%s%s", layers->odd_layer, format_bytes(by).text,
                         layers->odd_bytes < 0 ? "smaller" : "larger", layers->odd_site != 0 ? ": see " : "",
                         layers->odd_site != 0 ? words_site(sheet, report->trace, layers->odd_site) : "");
    }
    sheet_say(sheet, "%" PRIu32 " layers of %s%s%s, %" PRIu32 " %% alike%s.", layers->n_layers,
              format_bytes(layers->bytes).text, layers->site != 0 ? " in " : "",
              layers->site != 0 ? words_site(sheet, report->trace, layers->site) : "", layers->alike, odd);
}

void report_finding(struct sheet *sheet, const struct report_device *report, const struct finding *finding,
                    bool in_full) {
    const struct verdicts *verdicts = &report->verdicts;
    char text[FINDING_TEXT_NBYTES] = "";
    if (in_full)
        (finding_asks_plan(finding) && report->plan.text[0] != '\0' ? finding_facts : finding_detail)(
            verdicts, finding, text, sizeof text);
    sheet_tagged_point(sheet, urgency_of(finding), "[%s] %s.%s%s", weight_of(sheet, finding),
                       title_of(sheet, verdicts, finding), in_full ? " " : "",
                       sheet_quote(sheet, text, strlen(text)));
}

void report_plan_said(struct sheet *sheet, const struct report_device *report) {
    const struct plan_said *plan = &report->plan;
    if (plan->text[0] == '\0')
        return;
    sheet_tagged_point(
        sheet, plan->of_setting ? SHEET_WARNING : SHEET_NOTE, plan->certainty != NULL ? "[%s] %s." : "%s%s.",
        plan->certainty != NULL ? plan->certainty : "", sheet_quote(sheet, plan->text, strlen(plan->text)));
    if (plan->code[0] != '\0')
        sheet_code(sheet, plan->code);
}

void report_findings(struct sheet *sheet, const struct report_device *report) {
    const struct verdicts *verdicts = &report->verdicts;
    char text[FINDING_TEXT_NBYTES];
    bool log = !trace_has_allocations(report->trace);
    if (verdicts->findings.count == 0 && (report->device->allocations.count == 0 || log))
        return;
    sheet_heading(sheet, 3, "What to know");
    for (uint32_t i = 0; i < verdicts->findings.count && i < FINDINGS_SHOWN; i++)
        report_finding(sheet, report, &verdicts->findings.finding[i], true);
    if (verdicts->findings.count > FINDINGS_SHOWN)
        sheet_say(sheet, "Not listed: %s; --json has them all.",
                  words_counted(sheet, verdicts->findings.count - FINDINGS_SHOWN, "more finding"));
    if (report->device->n_events == 1 || log)
        return;
    verdicts_judged_text(verdicts, text, sizeof text);
    sheet_say(sheet, "%s", text);
    if (!has_verdict(verdicts))
        report_checks(sheet, verdicts);
}

/* ---- steps and phases ---- */

static const char *span_name(struct sheet *sheet, const struct report_device *report,
                             const struct span *span) {
    const struct turns *turns = &report->verdicts.turns;
    if (span->kind == SPAN_STEP)
        return sheet_format(sheet, "%s %" PRId64, turns_unit(turns), turns_number(turns, span->step));
    if (span->kind != SPAN_ANNOTATION)
        return span_kind_name[span->kind];
    struct text name = trace_text(report->trace, span->name);
    return sheet_name(sheet, name.at, name.nbytes);
}

static void span_row(struct sheet *sheet, const struct report_device *report, const struct span *span,
                     unsigned unit) {
    sheet_cell(sheet, "%s", span_name(sheet, report, span));
    sheet_cell(sheet, "%s to %s", format_count(span->from_moment - 1).text,
               format_count(span->to_moment - 1).text);
    int64_t change = (int64_t)(span->end_bytes - span->begin_bytes);
    SHEET_CELLS(sheet, span->begin_known ? format_bytes_in(span->begin_bytes, unit).text : "unknown",
                format_bytes_in(span->peak_bytes, unit).text, format_bytes_in(span->end_bytes, unit).text,
                span->begin_known ? format_change_in(change, unit).text : "unknown");
}

/* Writes a table of spans; of many only the first and the last ones. */
static void spans_table(struct sheet *sheet, const struct report_device *report, const char *heading,
                        const struct span *spans, uint32_t count) {
    const char *headings[] = {heading, "Events", "Begin", "Peak", "End", "Change", NULL};
    uint32_t head = count > SPANS_SHOWN ? SPANS_SHOWN / 2 : count;
    unsigned unit = format_unit_fine(LARGEST(count, i, spans[i].peak_bytes));
    sheet_table(sheet, headings, "llrrrr");
    for (uint32_t i = 0; i < head; i++)
        span_row(sheet, report, &spans[i], unit);
    for (uint32_t i = head == count ? count : count - SPANS_SHOWN / 2; i < count; i++)
        span_row(sheet, report, &spans[i], unit);
    sheet_table_end(sheet);
    if (head != count)
        sheet_say(sheet, "Not listed: %s more in the middle; --json has them all.",
                  format_count(count - SPANS_SHOWN).text);
}

/* The step with the highest peak. SPAN_NO_STEP: there are no steps. */
static uint32_t highest_step(const struct spans *steps) {
    uint32_t best = SPAN_NO_STEP;
    uint64_t most = 0;
    for (uint32_t i = 0; i < steps->count; i++)
        if (steps->span[i].peak_bytes > most) {
            most = steps->span[i].peak_bytes;
            best = steps->span[i].step;
        }
    return best;
}

/* Writes the phases of one step. They follow each other, except for annotations. */
static void phases_of_step(struct sheet *sheet, const struct report_device *report, uint32_t step) {
    const struct spans *phases = &report->verdicts.phases;
    uint32_t from = 0, to;
    while (from < phases->count && phases->span[from].step != step)
        from++;
    for (to = from;
         to < phases->count && phases->span[to].step == step && phases->span[to].kind != SPAN_ANNOTATION;
         to++)
        continue;
    if (to - from < 2)
        return;
    sheet_say(sheet,
              report->verdicts.steps.count > 1 ? "The phases of %s %" PRId64 ", the highest:"
                                               : "The phases of %s %" PRId64 ":",
              turns_unit(&report->verdicts.turns), turns_number(&report->verdicts.turns, step));
    spans_table(sheet, report, "Phase", &phases->span[from], to - from);
}

void report_steps(struct sheet *sheet, const struct report_device *report) {
    const struct spans *steps = &report->verdicts.steps, *phases = &report->verdicts.phases;
    uint32_t step = highest_step(steps);
    if (report->device->n_events < 2 || (steps->count == 0 && phases->count < 2))
        return;
    sheet_heading(sheet, 3, steps->count == 0 ? "Phases" : "Steps and phases");
    if (steps->count > 0)
        spans_table(sheet, report, "", steps->span, steps->count);
    if (step != SPAN_NO_STEP)
        phases_of_step(sheet, report, step);
    else
        spans_table(sheet, report, "", phases->span, phases->count);
}

/* ---- categories ---- */

/* Sorts the categories that occur by falling bytes. Returns how many there are. */
static uint32_t categories_sorted(const struct report_device *report, uint8_t order[CATEGORY_COUNT]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++) {
        uint64_t bytes = report->category_at_peak[i].bytes;
        if (report->category_at_peak[i].count != 0)
            INSERT(order, n, CATEGORY_COUNT, (uint8_t)i, other,
                   bytes > report->category_at_peak[*other].bytes);
    }
    return n;
}

/* Writes "older than the recording, no stack was recorded". */
static const char *reasons_of(struct sheet *sheet, const struct report_device *report) {
    const char *text = "";
    for (uint32_t r = 0; r < REASON_COUNT; r++)
        if (report->reason_at_peak[r] != 0)
            text = sheet_format(sheet, "%s%s%s", text, text[0] != '\0' ? ", " : "",
                                category_reason_label[r].title);
    return text;
}

/* Writes " (older than the recording; by their sizes)" or " (1.2 GiB older than the recording)". */
static const char *older_of(struct sheet *sheet, const struct category_sum *sum, bool named) {
    if (sum->older_bytes == 0 || !named)
        return "";
    const char *bytes =
        sum->older_bytes == sum->bytes ? "" : sheet_format(sheet, "%s ", format_bytes(sum->older_bytes).text);
    return sheet_format(sheet, " (%solder than the recording%s)", bytes,
                        sum->sized_bytes == sum->older_bytes ? "; by their sizes"
                        : sum->sized_bytes != 0              ? "; in part by their sizes"
                                                             : "");
}

void report_categories(struct sheet *sheet, const struct report_device *report) {
    static const char *const headings[] = {"Bytes", "Share", "Count", "Category", NULL};
    uint64_t peak = report->timeline.peak_bytes;
    uint8_t order[CATEGORY_COUNT];
    uint32_t n = categories_sorted(report, order);
    unsigned unit = n > 0 ? format_unit(report->category_at_peak[order[0]].bytes) : 0;
    sheet_say(sheet, report->categories_inferred ? "By category, inferred from stacks and lifetimes:"
                                                 : "By category:");
    sheet_table(sheet, headings, "rrrl");
    for (uint32_t i = 0; i < n; i++) {
        const struct category_sum *sum = &report->category_at_peak[order[i]];
        const char *reasons = order[i] == CATEGORY_OTHER ? reasons_of(sheet, report) : "";
        SHEET_CELLS(sheet, format_bytes_in(sum->bytes, unit).text, format_share(sum->bytes, peak).text,
                    format_count(sum->count).text);
        sheet_cell(sheet, "%s%s%s%s", category_label[order[i]].title, reasons[0] != '\0' ? ": " : "", reasons,
                   older_of(sheet, sum, order[i] != CATEGORY_OTHER));
    }
    sheet_table_end(sheet);
}
