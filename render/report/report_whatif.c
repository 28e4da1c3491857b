#include "render/report/report_whatif.h"

#include "base/format.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "render/report/report_json.h"
#include "render/report/report_sheet.h"
#include "render/report/report_words.h"
#include "render/words/device.h"

#include <inttypes.h>
#include <string.h>

/* Findings that would lower the peak, those that lower it most first: at most so many are considered, and shown. */
enum { HELPS_MOST = 32, HELPS_SHOWN = 5 };

struct helps {
    const struct finding *finding[HELPS_MOST];
    uint32_t count;
};

static struct helps helps_of(const struct verdicts *verdicts) {
    struct helps helps = {.count = 0};
    for (uint32_t i = 0; verdicts != NULL && i < verdicts->findings.count; i++) {
        const struct finding *finding = &verdicts->findings.finding[i];
        if (finding->saves_known && finding->saves != 0 && helps.count < HELPS_MOST)
            INSERT(helps.finding, helps.count, HELPS_MOST, finding, other, finding->saves > (*other)->saves);
    }
    return helps;
}

/* ---- JSON ---- */

static void settings_json(struct json_writer *json, const struct allocator_settings *settings) {
    char text[ALLOCATOR_SETTINGS_TEXT];
    allocator_settings_print(settings, text);
    json_text(json, "settings", text);
}

static void oom_json(struct json_writer *json, const struct whatif_scenario *scenario) {
    if (!scenario->budgeted || !scenario->oom.happened) {
        json_null(json, "oom");
        return;
    }
    json_object(json, "oom", JSON_COMPACT);
    json_i64(json, "request_index", scenario->oom.request_index);
    json_u64(json, "requested_bytes", scenario->oom.requested_bytes);
    json_u64(json, "reserved_bytes", scenario->oom.reserved_bytes);
    json_u64(json, "active_bytes", scenario->oom.active_bytes);
    json_end(json);
}

static void scenario_json(struct json_writer *json, const struct whatif_scenario *scenario) {
    json_object(json, NULL, JSON_LINES);
    json_text(json, "name", scenario->name);
    settings_json(json, &scenario->settings);
    json_u64(json, "peak_reserved_bytes_min", scenario->peak_min_bytes);
    json_u64(json, "peak_reserved_bytes_max", scenario->peak_max_bytes);
    json_u64(json, "end_reserved_bytes", scenario->end_bytes);
    json_known_u64(json, "retries", scenario->budgeted, scenario->n_retries);
    oom_json(json, scenario);
    json_known_u64(json, "smallest_budget_bytes", scenario->smallest_budget_bytes != 0,
                   scenario->smallest_budget_bytes);
    json_bool(json, "complete", !scenario->endless);
    json_end(json);
}

static void bounds_json(struct json_writer *json, const struct whatif_bounds *bounds, bool known) {
    json_object(json, "bounds", JSON_LINES);
    json_known_u64(json, "requested_peak_bytes", known, bounds->requested_peak_bytes);
    json_known_u64(json, "rounded_peak_bytes", known, bounds->rounded_peak_bytes);
    json_known_u64(json, "packed_bytes", bounds->packed_bytes != 0, bounds->packed_bytes);
    json_end(json);
}

static void scenarios_json(struct json_writer *json, const struct whatif *whatif) {
    json_array(json, "scenarios", JSON_LINES);
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        scenario_json(json, &whatif->scenario[i]);
    json_end(json);
}

static void help_json(struct json_writer *json, const struct whatif *whatif, const struct verdicts *verdicts,
                      const struct finding *finding) {
    char title[FINDING_TEXT_NBYTES];
    finding_title(verdicts, finding, title, sizeof title);
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "kind", finding_kind_name((enum finding_kind)finding->kind));
    json_text(json, "title", title);
    json_u64(json, "saves_peak_bytes", finding->saves);
    json_bool(json, "enough", finding->saves >= whatif->lack.bytes);
    json_end(json);
}

static void lack_json(struct json_writer *json, const struct whatif *whatif,
                      const struct verdicts *verdicts) {
    const struct whatif_lack *lack = &whatif->lack;
    struct helps helps = helps_of(verdicts);
    if (!lack->known) {
        json_null(json, "lacking");
        return;
    }
    json_object(json, "lacking", JSON_LINES);
    json_u64(json, "requested_bytes", whatif->program->device->ooms[0].size);
    json_u64(json, "budget_bytes", whatif_most_bytes(whatif));
    json_text(json, "scenario", whatif->scenario[lack->scenario].name);
    json_u64(json, "bytes", lack->bytes);
    json_u64(json, "at_least_bytes", lack->at_least_bytes);
    json_array(json, "findings", JSON_LINES);
    for (uint32_t i = 0; i < helps.count; i++)
        help_json(json, whatif, verdicts, helps.finding[i]);
    json_end(json);
    json_end(json);
}

static void device_json(struct json_writer *json, const struct whatif *whatif,
                        const struct verdicts *verdicts) {
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "device", whatif->program->device->ordinal);
    report_replay_json(json, &whatif->replay);
    json_object(json, "recorded", JSON_LINES);
    settings_json(json, &whatif->replay.settings);
    json_bool(json, "settings_known", whatif->replay.settings_known);
    json_known_u64(json, "peak_reserved_bytes", whatif_knows_reserved(whatif, whatif->recorded_peak_bytes),
                   whatif->recorded_peak_bytes);
    json_end(json);
    bounds_json(json, &whatif->bounds, whatif_has_requests(whatif));
    json_object(json, "budget", JSON_LINES);
    json_known_u64(json, "at_least_bytes", whatif_knows_reserved(whatif, whatif->budget.at_least_bytes),
                   whatif->budget.at_least_bytes);
    json_known_u64(json, "at_most_bytes", whatif->budget.at_most_bytes != 0, whatif->budget.at_most_bytes);
    json_end(json);
    scenarios_json(json, whatif);
    lack_json(json, whatif, verdicts);
    json_end(json);
}

static bool write_json(struct buffer *out, const struct whatif_report *report) {
    struct json_writer json = json_document(out, 1);
    json_text(&json, "file", report->file);
    json_text(&json, "fingerprint", report->fingerprint);
    json_array(&json, "devices", JSON_LINES);
    for (uint32_t i = 0; i < report->n_devices; i++)
        device_json(&json, &report->device[i], report->verdicts[i]);
    json_end(&json);
    return json_document_end(&json);
}

/* ---- words ---- */

/* Shows two decimals from 1 GiB on, because scenarios differ by less than a tenth. */
static const char *fine_bytes(struct sheet *sheet, uint64_t bytes) {
    if (bytes < GIB || bytes > UINT64_MAX / 200)
        return sheet_format(sheet, "%s", format_bytes(bytes).text);
    uint64_t hundredths =
        (bytes / (GIB / 1024) * 100 + 512) / 1024; /* whole MiB first, so that the product has room */
    return sheet_format(sheet, "%" PRIu64 ".%02" PRIu64 " GiB", hundredths / 100, hundredths % 100);
}

static const char *settings_text(struct sheet *sheet, const struct whatif *whatif) {
    const struct trace *trace = whatif->program->trace;
    const struct device_trace *device = whatif->program->device;
    char text[ALLOCATOR_SETTINGS_TEXT];
    allocator_settings_print(&whatif->replay.settings, text);
    bool segments = trace_has_segments(trace) || trace_has_dumps(trace);
    if (!whatif->replay.settings_known &&
        (!segments || (device->n_segments == 0 && device->n_segment_events == 0)))
        return "the file does not say under which settings";
    const char *known = whatif->replay.settings_known ? "" : ", as its segments show (the file does not say)";
    if (text[0] == '\0')
        return sheet_format(sheet, "default settings%s", known);
    return sheet_format(sheet, "%s%s", sheet_name(sheet, text, strlen(text)), known);
}

static void recorded_write(struct sheet *sheet, const struct whatif *whatif) {
    if (whatif_knows_reserved(whatif, whatif->recorded_peak_bytes))
        sheet_point(sheet, "Recorded: %s; %s reserved at %s.", settings_text(sheet, whatif),
                    fine_bytes(sheet, whatif->recorded_peak_bytes),
                    timeline_reserved_is_bound(whatif->program->device) ? "least" : "most");
    else
        sheet_point(sheet, "Recorded: %s, nor how much was reserved.", settings_text(sheet, whatif));
}

static void bounds_write(struct sheet *sheet, const struct whatif *whatif) {
    const struct whatif_bounds *bounds = &whatif->bounds;
    if (!whatif_has_requests(whatif))
        return;
    sheet_point(
        sheet,
        "Bounds: %s were requested at once, %s rounded up to 512 bytes: no allocator that neither moves nor "
        "shares memory goes below that.",
        fine_bytes(sheet, bounds->requested_peak_bytes), fine_bytes(sheet, bounds->rounded_peak_bytes));
    if (bounds->packed_bytes != 0)
        sheet_point(sheet, "With perfect packing: %s.", fine_bytes(sheet, bounds->packed_bytes));
}

static void budget_write(struct sheet *sheet, const struct whatif *whatif) {
    const struct whatif_budget *budget = &whatif->budget;
    if (!whatif_knows_reserved(whatif, budget->at_least_bytes))
        return;
    if (budget->at_most_bytes != 0)
        sheet_point(sheet,
                    "Budget: the process had at least %s of the device, and at most %s: a request that "
                    "failed or was retried shows that there was no more.",
                    fine_bytes(sheet, budget->at_least_bytes), fine_bytes(sheet, budget->at_most_bytes));
    else
        sheet_point(sheet, "Budget: the process had at least %s of the device; the recording shows no limit.",
                    fine_bytes(sheet, budget->at_least_bytes));
}

/* ---- the table ---- */

static const char *change_text(struct sheet *sheet, const struct whatif_scenario *scenario,
                               const struct whatif_scenario *recorded, unsigned unit) {
    uint64_t middle = scenario->peak_max_bytes, was = recorded->peak_max_bytes;
    if (scenario == recorded)
        return "";
    return sheet_format(sheet, "%s", format_change_in((int64_t)(middle - was), unit).text);
}

static const char *oom_text(struct sheet *sheet, const struct whatif_scenario *scenario) {
    if (!scenario->oom.happened)
        return "no";
    if (scenario->oom.request_index < 0)
        return "before the first event";
    return sheet_format(sheet, "request %s (%s)", format_count((uint64_t)scenario->oom.request_index).text,
                        fine_bytes(sheet, scenario->oom.requested_bytes));
}

static void scenario_row(struct sheet *sheet, const struct whatif *whatif,
                         const struct whatif_scenario *scenario, bool budgets) {
    unsigned unit = format_unit(whatif_highest_bytes(whatif));
    sheet_cell(sheet, "%s", whatif_scenario_title(scenario));
    sheet_cell(sheet, "%s%s", format_range_in(scenario->peak_min_bytes, scenario->peak_max_bytes, unit).text,
               scenario->endless ? " (not to the end)" : "");
    sheet_cell(sheet, "%s", change_text(sheet, scenario, &whatif->scenario[0], unit));
    sheet_cell(sheet, "%s", format_bytes_in(scenario->end_bytes, unit).text);
    if (scenario->budgeted) {
        sheet_cell(sheet, "%s", format_count(scenario->n_retries).text);
        sheet_cell(sheet, "%s", oom_text(sheet, scenario));
    }
    if (budgets)
        sheet_cell(sheet, "%s", format_bytes_in(scenario->smallest_budget_bytes, unit).text);
}

static void scenarios_table(struct sheet *sheet, const struct whatif *whatif) {
    static const char *const plain[] = {"Scenario", "Peak reserved", "Change", "At the end", NULL};
    static const char *const smallest[] = {"Scenario",   "Peak reserved",   "Change",
                                           "At the end", "Smallest budget", NULL};
    static const char *const limited[] = {"Scenario", "Peak reserved", "Change", "At the end",
                                          "Retries",  "Out of memory", NULL};
    static const char *const all[] = {"Scenario", "Peak reserved", "Change",          "At the end",
                                      "Retries",  "Out of memory", "Smallest budget", NULL};
    bool budgeted = whatif->scenario[0].budgeted, budgets = whatif->find_smallest;
    const char *const *headings = budgeted ? (budgets ? all : limited) : budgets ? smallest : plain;
    sheet_table(sheet, headings, budgeted ? (budgets ? "lrrrrlr" : "lrrrrl") : budgets ? "lrrrr" : "lrrr");
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (i <= 1 || whatif->scenario[i].same_as == i)
            scenario_row(sheet, whatif, &whatif->scenario[i], budgets);
    sheet_table_end(sheet);
}

/* ---- what follows ---- */

static const struct whatif_scenario *lowest(const struct whatif *whatif) {
    const struct whatif_scenario *low = &whatif->scenario[0];
    for (uint32_t i = 1; i < whatif->n_scenarios; i++)
        if (whatif->scenario[i].peak_max_bytes < low->peak_min_bytes && !whatif->scenario[i].endless)
            low = &whatif->scenario[i];
    return low;
}

static void lowest_write(struct sheet *sheet, const struct whatif *whatif) {
    const struct whatif_scenario *low = lowest(whatif), *recorded = &whatif->scenario[0];
    unsigned unit = format_unit(whatif_highest_bytes(whatif));
    if (low == recorded) {
        sheet_point(sheet, "No allocator setting helps here (model).");
        return;
    }
    sheet_point(
        sheet,
        "With %s this recorded sequence would have peaked at %s reserved instead of %s (model; allocation "
        "sequence unchanged; window of this recording).",
        low->name, format_range_in(low->peak_min_bytes, low->peak_max_bytes, unit).text,
        format_range_in(recorded->peak_min_bytes, recorded->peak_max_bytes, unit).text);
}

/* The names of the scenarios in which the failed request is served within the budget, or of those in which it is
 * not. */
static const char *names_text(struct sheet *sheet, const struct whatif *whatif, bool served) {
    const char *text = "";
    for (uint32_t i = 0; i < whatif->n_scenarios; i++) {
        const struct whatif_scenario *scenario = &whatif->scenario[i];
        if (scenario->oom.happened != served && scenario->same_as == i)
            text = sheet_format(sheet, "%s%s%s", text, text[0] != '\0' ? "; " : "", scenario->name);
    }
    return text;
}

static void help_write(struct sheet *sheet, const struct whatif *whatif, const struct verdicts *verdicts,
                       const struct finding *finding) {
    char title[FINDING_TEXT_NBYTES];
    bool enough = finding->saves >= whatif->lack.bytes;
    finding_title(verdicts, finding, title, sizeof title);
    sheet_point(sheet, "%s: without it the peak in use would be %s lower, which is %s.",
                sheet_quote(sheet, title, strlen(title)), fine_bytes(sheet, finding->saves),
                enough ? "as much as is lacking" : "less than is lacking");
}

/* Writes the findings that would free some of the missing memory. */
static void helps_write(struct sheet *sheet, const struct whatif *whatif, const struct verdicts *verdicts) {
    struct helps helps = helps_of(verdicts);
    if (helps.count == 0) {
        sheet_point(sheet, "No finding of the report would lower the peak.");
        return;
    }
    sheet_say(sheet, "Findings of the report that would lower the peak:");
    for (uint32_t i = 0; i < helps.count && i < HELPS_SHOWN; i++)
        help_write(sheet, whatif, verdicts, helps.finding[i]);
    if (helps.count > HELPS_SHOWN)
        sheet_point(sheet, "%" PRIu32 " more findings would lower it less.", helps.count - HELPS_SHOWN);
}

/* Writes how many bytes at least would have to go before a scenario serves the request. */
static void lack_write(struct sheet *sheet, const struct whatif *whatif, const struct verdicts *verdicts) {
    const struct whatif_lack *lack = &whatif->lack;
    if (!lack->known)
        return;
    const char *there = fine_bytes(sheet, whatif_most_bytes(whatif)),
               *at_most = whatif->gpu_bytes == 0 ? " at most" : "";
    if (lack->bytes != 0)
        sheet_point(sheet,
                    "The scenario that needs least (%s) would have needed %s: %s more than the %s that the "
                    "process had%s (model).",
                    whatif->scenario[lack->scenario].name, fine_bytes(sheet, lack->smallest_bytes),
                    fine_bytes(sheet, lack->bytes), there, at_most);
    else
        sheet_point(
            sheet,
            "The scenario that needs least (%s) would have needed %s. The process had %s at most, perhaps "
            "less (model).",
            whatif->scenario[lack->scenario].name, fine_bytes(sheet, lack->smallest_bytes), there);
    if (lack->at_least_bytes != 0)
        sheet_point(sheet, "No settings would have been enough: the requests alone go %s beyond the %s.",
                    fine_bytes(sheet, lack->at_least_bytes), there);
    helps_write(sheet, whatif, verdicts);
}

static void oom_write(struct sheet *sheet, const struct whatif *whatif, const struct verdicts *verdicts) {
    const struct device_trace *device = whatif->program->device;
    if (device->n_ooms == 0 || !whatif->scenario[0].budgeted)
        return;
    const char *request = fine_bytes(sheet, device->ooms[0].size),
               *budget = fine_bytes(sheet, whatif_budget_bytes(whatif));
    const char *served = names_text(sheet, whatif, true), *failed = names_text(sheet, whatif, false);
    if (served[0] != '\0')
        sheet_point(sheet,
                    "In a budget of %s, the request that failed (%s) would have fitted with: %s. What the "
                    "program would do next is not recorded.",
                    budget, request, served);
    if (failed[0] != '\0')
        sheet_point(
            sheet,
            "In a budget of %s, the request that failed (%s), or one before it, would still have failed "
            "with: %s. The peaks above are those of an unlimited device, up to and with that request.",
            budget, request, failed);
    lack_write(sheet, whatif, verdicts);
}

/* Writes why the scenario "recorded" may differ from the recording: older memory is laid out anew. */
static void start_write(struct sheet *sheet, const struct whatif *whatif) {
    if (whatif->program->device->allocations.preexisting != 0)
        sheet_point(sheet,
                    "The model first lays out memory from before the recording without gaps, so the scenario "
                    "\"recorded\" may differ from the %s that were recorded.",
                    fine_bytes(sheet, whatif->recorded_peak_bytes));
}

static void assumed_write(struct sheet *sheet, const struct whatif *whatif) {
    const struct releases *releases = &whatif->program->releases;
    uint64_t unknown = releases->n_of_cause[RELEASE_UNKNOWN];
    if (unknown != 0)
        sheet_point(
            sheet, "%s of the recording %s. The model counts %s as the allocator's own %s of empty_cache.",
            words_counted(sheet, unknown, "flush"), unknown == 1 ? "has no stack" : "have no stacks",
            unknown == 1 ? "it" : "them", unknown == 1 ? "retry, not as a call" : "retries, not as calls");
}

static void device_head(struct sheet *sheet, const struct whatif *whatif) {
    words_device_heading(sheet, whatif->program->trace->kind, whatif->program->device->ordinal);
    sheet_say(sheet, "%s", report_replay_text(sheet, &whatif->replay));
}

static void device_rest(struct sheet *sheet, const struct whatif *whatif, const struct verdicts *verdicts) {
    recorded_write(sheet, whatif);
    bounds_write(sheet, whatif);
    budget_write(sheet, whatif);
    if (whatif->n_scenarios == 0) {
        sheet_say(sheet, "Nothing is said about other settings.");
        return;
    }
    if (whatif->replay.grade == REPLAY_NEAR)
        sheet_say(sheet, "The figures below are estimates.");
    sheet_say(sheet, "The same requests under other settings%s:",
              whatif->scenario[0].budgeted
                  ? sheet_format(sheet, "; retries and out of memory in a budget of %s",
                                 fine_bytes(sheet, whatif_budget_bytes(whatif)))
                  : "");
    scenarios_table(sheet, whatif);
    lowest_write(sheet, whatif);
    start_write(sheet, whatif);
    assumed_write(sheet, whatif);
    oom_write(sheet, whatif, verdicts);
}

bool whatif_report_write(struct buffer *out, const struct whatif_report *report, struct arena *scratch) {
    if (report->format == REPORT_JSON)
        return write_json(out, report);
    struct sheet sheet = words_sheet(out, scratch, report->format, report->look);
    sheet_heading(&sheet, 1, "What if: %s", sheet_quote(&sheet, report->file, strlen(report->file)));
    if (report->n_devices == 0)
        sheet_say(&sheet, "%s", no_device_sentence);
    for (uint32_t i = 0; i < report->n_devices; i++) {
        device_head(&sheet, &report->device[i]);
        device_rest(&sheet, &report->device[i], report->verdicts[i]);
    }
    return !out->failed;
}

/* ---- at another size ---- */

static void recording_json(struct json_writer *json, const struct extrapolation_report *report, int which) {
    json_object(json, which == 0 ? "a" : "b", JSON_COMPACT);
    json_text(json, "file", report->file[which]);
    json_text(json, "fingerprint", report->fingerprint[which]);
    json_u64(json, "size", report->size[which]);
    json_end(json);
}

static void layers_json(struct json_writer *json, const struct layers *layers) {
    if (!layers->found) {
        json_null(json, "layers");
        return;
    }
    json_object(json, "layers", JSON_COMPACT);
    json_u64(json, "each", layers->each);
    json_u64(json, "places", layers->n_places);
    json_u64(json, "allocations", layers->n_allocations);
    json_end(json);
}

static void extrapolated_json(struct json_writer *json, const struct extrapolated *device) {
    const struct extrapolation *extrapolation = &device->extrapolation;
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "device", device->ordinal);
    json_text(json, "refused", extrapolation->refused);
    json_u64(json, "constant", extrapolation->n_constant);
    json_u64(json, "linear", extrapolation->n_linear);
    json_u64(json, "quadratic", extrapolation->n_quadratic);
    layers_json(json, &extrapolation->layers);
    if (extrapolation->refused == NULL)
        bounds_json(json, &device->whatif.bounds, true);
    scenarios_json(json, &device->whatif);
    json_end(json);
}

static bool extrapolation_json(struct buffer *out, const struct extrapolation_report *report) {
    struct json_writer json = json_document(out, 1);
    recording_json(&json, report, 0);
    recording_json(&json, report, 1);
    json_u64(&json, "to", report->asked);
    json_array(&json, "devices", JSON_LINES);
    for (uint32_t i = 0; i < report->n_devices; i++)
        extrapolated_json(&json, &report->device[i]);
    json_end(&json);
    return json_document_end(&json);
}

/* Writes "48", or "48 layers" if the size is their number. */
static const char *size_text(struct sheet *sheet, const struct extrapolated *device, uint64_t size) {
    return device->extrapolation.layers.found ? words_counted(sheet, size, "layer")
                                              : sheet_format(sheet, "%s", format_count(size).text);
}

static void layers_write(struct sheet *sheet, const struct layers *layers) {
    const char *each = "each layer makes";
    if (layers->each != 1)
        each = sheet_format(sheet, "every %s make", words_counted(sheet, layers->each, "layer"));
    sheet_point(
        sheet,
        "The second recording has more layers: at %s of the sequence it repeats what is there; %s %s there.",
        words_counted(sheet, layers->n_places, "place"), each,
        words_counted(sheet, layers->n_allocations, "allocation"));
}

static void growth_write(struct sheet *sheet, const struct extrapolation *extrapolation) {
    const char *constant = sheet_format(sheet, "%s", format_count(extrapolation->n_constant).text),
               *linear = sheet_format(sheet, "%s", format_count(extrapolation->n_linear).text);
    if (!extrapolation->layers.found)
        sheet_say(sheet,
                  "%s allocations have the same size in both recordings, %s grow with the given number, %s "
                  "with its square.",
                  constant, linear, format_count(extrapolation->n_quadratic).text);
    else if (extrapolation->n_linear == 0)
        sheet_say(sheet, "The %s that are in both recordings have the same size.",
                  words_counted(sheet, extrapolation->n_constant, "allocation"));
    else
        sheet_say(sheet,
                  "Of the allocations in both recordings, %s have the same size, and %s change with the "
                  "number of layers.",
                  constant, linear);
}

static void extrapolated_head(struct sheet *sheet, const struct extrapolation_report *report,
                              const struct extrapolated *device) {
    words_device_heading(sheet, TRACE_SNAPSHOT, device->ordinal);
    if (device->extrapolation.refused != NULL) {
        sheet_say(sheet, "Refused: %s.", device->extrapolation.refused);
        return;
    }
    for (int i = 0; i < 2; i++)
        sheet_point(sheet, "At %s: %s", size_text(sheet, device, report->size[i]),
                    report_replay_text(sheet, &device->replay[i]));
    if (device->extrapolation.layers.found)
        layers_write(sheet, &device->extrapolation.layers);
    growth_write(sheet, &device->extrapolation);
}

static void extrapolated_rest(struct sheet *sheet, const struct extrapolation_report *report,
                              const struct extrapolated *device) {
    if (device->extrapolation.refused != NULL)
        return;
    const char *asked = size_text(sheet, device, report->asked);
    sheet_point(sheet, "At %s, %s would be requested at once.", asked,
                fine_bytes(sheet, device->whatif.bounds.requested_peak_bytes));
    sheet_say(sheet, "At %s, modelled from the same sequence of requests%s:", asked,
              device->extrapolation.layers.found ? " with more repeats" : "");
    scenarios_table(sheet, &device->whatif);
}

const char *extrapolation_title(struct sheet *sheet, const struct extrapolation_report *report) {
    const char *first = sheet_quote(sheet, report->file[0], strlen(report->file[0]));
    const char *second = sheet_quote(sheet, report->file[1], strlen(report->file[1]));
    const char *asked = sheet_format(sheet, "%s", format_count(report->asked).text),
               *small = sheet_format(sheet, "%s", format_count(report->size[0]).text);
    return sheet_format(sheet, "At %s: %s (%s) and %s (%s)", asked, first, small, second,
                        format_count(report->size[1]).text);
}

bool extrapolation_report_write(struct buffer *out, const struct extrapolation_report *report,
                                struct arena *scratch) {
    if (report->format == REPORT_JSON)
        return extrapolation_json(out, report);
    struct sheet sheet = words_sheet(out, scratch, report->format, report->look);
    sheet_heading(&sheet, 1, "%s", extrapolation_title(&sheet, report));
    if (report->n_devices == 0)
        sheet_say(&sheet, "%s", no_device_sentence);
    for (uint32_t i = 0; i < report->n_devices; i++) {
        extrapolated_head(&sheet, report, &report->device[i]);
        extrapolated_rest(&sheet, report, &report->device[i]);
    }
    return !out->failed;
}
