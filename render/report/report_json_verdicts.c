/* Writes verdicts as JSON: categories, steps, phases, checks. */
#include "analysis/findings/levels.h"
#include "analysis/findings/peak_made.h"
#include "base/format.h"
#include "render/report/report_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void report_json_categories(struct json_writer *json, const struct report_device *report) {
    json_bool(json, "categories_inferred", report->categories_inferred);
    json_array(json, "categories_at_peak", JSON_LINES);
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++) {
        const struct category_sum *sum = &report->category_at_peak[i];
        if (sum->count == 0)
            continue;
        json_object(json, NULL, JSON_COMPACT);
        json_u64(json, "bytes", sum->bytes);
        json_u64(json, "count", sum->count);
        json_u64(json, "older_bytes", sum->older_bytes);
        json_text(json, "category", category_label[i].name);
        if (i == CATEGORY_OTHER) {
            json_object(json, "reason", JSON_COMPACT);
            for (uint32_t r = 0; r < REASON_COUNT; r++)
                if (report->reason_at_peak[r] != 0)
                    json_u64(json, category_reason_label[r].name, report->reason_at_peak[r]);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
}

/* Adds the annotation's own text, or else "step 3", "turn 0", "forward". */
static void add_span_name(struct json_writer *json, const struct report_device *report,
                          const struct span *span) {
    const struct turns *turns = &report->verdicts.turns;
    struct text own = trace_text(report->trace, span->name);
    if (span->kind == SPAN_ANNOTATION)
        json_string(json, "name", own.at, own.nbytes);
    else if (span->kind != SPAN_STEP)
        json_text(json, "name", span_kind_name[span->kind]);
    else {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, turns_number(turns, span->step));
        const char *unit = turns->source == TURNS_PROFILER_STEP ? "ProfilerStep#" : turns_unit(turns);
        json_string_begin(json, "name");
        json_string_add(json, unit, strlen(unit));
        json_string_add(json, " ", turns->source == TURNS_PROFILER_STEP ? 0 : 1);
        json_string_add(json, number, strlen(number));
        json_string_end(json);
    }
}

static void add_span(struct json_writer *json, const struct report_device *report, const struct span *span) {
    json_object(json, NULL, JSON_COMPACT);
    add_span_name(json, report, span);
    json_text(json, "kind", span_kind_name[span->kind]);
    if (span->step == SPAN_NO_STEP)
        json_null(json, "step");
    else
        json_i64(json, "step", turns_number(&report->verdicts.turns, span->step));
    json_i64(json, "from_event", report_event(span->from_moment));
    json_i64(json, "to_event", report_event(span->to_moment));
    json_known_u64(json, "begin_bytes", span->begin_known, span->begin_bytes);
    json_u64(json, "end_bytes", span->end_bytes);
    json_u64(json, "peak_bytes", span->peak_bytes);
    json_i64(json, "peak_event", report_event(span->peak_moment));
    json_end(json);
}

static void add_spans(struct json_writer *json, const char *name, const struct report_device *report,
                      const struct spans *spans) {
    json_array(json, name, JSON_LINES);
    for (uint32_t i = 0; i < spans->count; i++)
        add_span(json, report, &spans->span[i]);
    json_end(json);
}

static void add_per(struct json_writer *json, const struct finding *finding) {
    const char *unit = finding_unit_name[finding->unit];
    if (unit == NULL) {
        json_null(json, "per");
        return;
    }
    json_object(json, "per", JSON_COMPACT);
    json_text(json, "unit", unit);
    json_u64(json, "bytes", finding->per_bytes);
    json_u64(json, "n", finding->per_n);
    json_end(json);
}

/* Adds members that only some kinds of finding have. */
static void add_own(struct json_writer *json, const struct finding *finding) {
    if (finding->kind == FINDING_OPTIMIZER_TEMPORARIES)
        json_text(json, "implementation", finding_way_name[finding->variant]);
    if (finding->kind == FINDING_HISTORY_FULL)
        json_u64(json, "max_entries", finding->max_entries);
}

static void add_finding(struct json_writer *json, const struct report_device *report,
                        const struct finding *finding) {
    const struct verdicts *verdicts = &report->verdicts;
    char text[FINDING_TEXT_NBYTES];
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "kind", finding_kind_name((enum finding_kind)finding->kind));
    json_text(json, "severity", finding_severity_name[finding->severity]);
    json_text(json, "confidence", finding_confidence_name[finding->confidence]);
    finding_title(verdicts, finding, text, sizeof text);
    json_text(json, "title", text);
    finding_detail(verdicts, finding, text, sizeof text);
    json_text(json, "detail", text);
    finding_action(verdicts, finding, text, sizeof text);
    json_text(json, "action", text[0] != '\0' ? text : NULL);
    report_site_json(json, "site", report->trace, finding->site, finding->site != 0);
    json_i64(json, "bytes", finding_has_bytes(finding) ? (int64_t)finding->bytes : -1);
    json_u64(json, "count", finding->count);
    add_per(json, finding);
    json_known_u64(json, "saves_peak_bytes", finding->saves_known, finding->saves);
    add_own(json, finding);
    json_i64(json, "from_event", report_event(finding->from_moment));
    json_i64(json, "to_event", report_event(finding->to_moment));
    json_i64(json, "at_event", report_event(finding->at_moment));
    finding_view(verdicts, finding, text, sizeof text);
    json_text(json, "view", text);
    json_end(json);
}

static void add_checks(struct json_writer *json, const struct verdicts *verdicts) {
    char text[FINDING_TEXT_NBYTES];
    json_array(json, "checks", JSON_COMPACT);
    for (uint32_t i = 0; i < verdicts_checks(verdicts); i++) {
        struct check check = verdicts_check(verdicts, i, text, sizeof text);
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "kind", finding_kind_name(check.kind));
        json_text(json, "state", check_state_name[check.state]);
        json_u64(json, "looked", check.looked);
        if (text[0] != '\0')
            json_text(json, "text", text);
        json_end(json);
    }
    json_end(json);
}

static void add_older(struct json_writer *json, const struct older *older) {
    json_object(json, "older", JSON_COMPACT);
    json_u64(json, "bytes", older->bytes);
    json_u64(json, "named_bytes", older->named_bytes);
    json_u64(json, "copies", older->copies);
    json_text(json, "source", older_source_name[older->source]);
    json_end(json);
}

/* Adds the layers that repeat inside a forward; nothing if none do. */
static void add_layers(struct json_writer *json, const struct report_device *report) {
    const struct layer_summary *layers = &report->layers;
    if (layers->n_layers == 0)
        return;
    json_object(json, "layers", JSON_COMPACT);
    json_u64(json, "n", layers->n_layers);
    json_u64(json, "bytes", layers->bytes);
    json_u64(json, "alike_percent", layers->alike);
    report_site_json(json, "site", report->trace, layers->site, layers->site != 0);
    json_known_i64(json, "odd_layer", layers->odd_bytes != 0, layers->odd_layer);
    json_i64(json, "odd_bytes", layers->odd_bytes);
    report_site_json(json, "odd_site", report->trace, layers->odd_site, layers->odd_site != 0);
    json_end(json);
}

/* Of a log, which has levels: the highest one that it prints, and where. */
static void add_peak_made(struct json_writer *json, const struct report_device *report) {
    const struct verdicts *verdicts = &report->verdicts;
    uint64_t peak = report->timeline.peak_bytes;
    char text[FINDING_TEXT_NBYTES] = "No level of memory in use was read from the log.";
    struct peak_made made = {.phase = PEAK_OTHER};
    struct levels levels;
    levels_find(&levels, report->device);
    const struct level_track *track = &levels.track[levels.shown];
    if (trace_has_allocations(report->trace)) {
        peak_made_of(&made, verdicts);
        peak_made_text(&made, verdicts, text, sizeof text);
        if (report->plan.text[0] != '\0')
            json_text(json, "plan", report->plan.text);
        add_layers(json, report);
    } else if (track->count != 0)
        snprintf(text, sizeof text,
                 "The highest level of %s that the log prints is %s, in line %" PRIu64
                 ". A log does not say what it was made of.",
                 level_title[levels.shown], format_bytes(track->peak).text,
                 levels_line(report->device, track->peak_event));
    json_object(json, "peak_made_of", JSON_COMPACT);
    json_text(json, "text", text);
    json_text(json, "phase", peak_phase_name[made.phase]);
    json_array(json, "parts", JSON_COMPACT);
    for (uint32_t i = 0; i < made.n_parts; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "category", category_label[made.part[i].category].name);
        json_u64(json, "bytes", made.part[i].bytes);
        json_share(json, "share", made.part[i].bytes, peak);
        json_end(json);
    }
    json_end(json);
    if (made.avoidable == NULL)
        json_null(json, "avoidable");
    else {
        json_object(json, "avoidable", JSON_COMPACT);
        json_text(json, "kind", finding_kind_name((enum finding_kind)made.avoidable->kind));
        json_u64(json, "saves_peak_bytes", made.avoidable->saves);
        json_u64(json, "peak_without_bytes", peak - made.avoidable->saves);
        json_end(json);
    }
    json_end(json);
}

void report_json_verdicts(struct json_writer *json, const struct report_device *report) {
    const struct verdicts *verdicts = &report->verdicts;
    char text[FINDING_TEXT_NBYTES];
    add_peak_made(json, report);
    add_older(json, &verdicts->older);
    json_array(json, "findings", JSON_LINES);
    for (uint32_t i = 0; i < verdicts->findings.count; i++)
        add_finding(json, report, &verdicts->findings.finding[i]);
    json_end(json);
    json_object(json, "judged", JSON_COMPACT);
    json_u64(json, "steps", verdicts->judged.steps);
    json_text(json, "steps_from", turns_source_name[verdicts->judged.steps_from]);
    json_bool(json, "phases", verdicts->judged.phases);
    json_text(json, "growth", growth_judged_name[verdicts->judged.growth]);
    verdicts_judged_text(verdicts, text, sizeof text);
    json_text(json, "text", text);
    add_checks(json, verdicts);
    json_end(json);
    add_spans(json, "steps", report, &verdicts->steps);
    add_spans(json, "phases", report, &verdicts->phases);
    if (verdicts->phases.left_out != 0)
        json_u64(json, "phases_left_out", verdicts->phases.left_out);
}
