/* Writes the report of a log, which has levels at lines. It leaves out what a log does not tell; in JSON that is null.
 */
#include "analysis/findings/budget.h"
#include "analysis/findings/levels.h"
#include "analysis/findings/log_oom.h"
#include "base/format.h"
#include "base/numbers.h"
#include "render/report/report_json.h"
#include "render/report/report_words.h"

#include <inttypes.h>

static const char *line_text(struct sheet *sheet, const struct report_device *report, uint32_t event) {
    return sheet_format(sheet, "line %s", format_count(levels_line(report->device, event)).text);
}

static void track_row(struct sheet *sheet, const struct report_device *report,
                      const struct level_track *track, unsigned level, unsigned unit) {
    static const char *const names[] = {"Allocated", "Reserved", "Used on the device", "Used on the host"},
                             *const peaks[] = {"Allocated, peaks", "Reserved, peaks", "",
                                               "Used on the host, peaks"};
    if (track->count == 0)
        return;
    SHEET_CELLS(sheet, track->peaks ? peaks[level] : names[level], format_count(track->count).text,
                format_bytes_in(track->first, unit).text, format_bytes_in(track->peak, unit).text,
                format_bytes_in(track->last, unit).text, line_text(sheet, report, track->peak_event));
}

static void duration_say(struct sheet *sheet, const struct report_device *report,
                         const struct levels *levels) {
    const struct timeline *timeline = &report->timeline;
    const char *lines = words_counted(sheet, levels->n_lines, "line");
    if (!timeline_timed(timeline) || timeline_start_us(timeline, report->device->n_events) == 0)
        sheet_say(sheet, "Levels printed in %s of the log, not allocations.", lines);
    else
        sheet_say(sheet, "Levels printed in %s of the log in %s, not allocations.", lines,
                  format_duration(timeline_start_us(timeline, report->device->n_events)).text);
}

static void budget_table(struct sheet *sheet, const struct report_device *report) {
    static const char *const headings[] = {"Part", "Bytes", NULL};
    struct budget budget;
    budget_of(&budget, report->device);
    if (budget.known == 0)
        return;
    sheet_say(sheet, "What the server plans to use the device's memory for, by the lines of its start:");
    sheet_table(sheet, headings, "lr");
    for (unsigned part = 0; part < BUDGET_PARTS; part++) {
        if ((budget.known >> part & 1) == 0)
            continue;
        SHEET_CELLS(sheet, budget_label[part].title,
                    part == BUDGET_TOKENS ? format_count(budget.bytes[part]).text
                                          : format_bytes(budget.bytes[part]).text);
    }
    sheet_table_end(sheet);
    uint64_t took = budget.bytes[BUDGET_GRAPHS], planned = budget.bytes[BUDGET_GRAPHS_PLANNED];
    if ((budget.known >> BUDGET_GRAPHS & 1) != 0 && (budget.known >> BUDGET_GRAPHS_PLANNED & 1) != 0 &&
        took != planned)
        sheet_say(sheet,
                  took < planned
                      ? "CUDA graphs took %s less than was estimated before: the KV cache could have it."
                      : "CUDA graphs took %s more than was estimated before.",
                  format_bytes(distance_of(took, planned)).text);
}

static void tracks_table(struct sheet *sheet, const struct report_device *report,
                         const struct levels *levels) {
    static const char *const headings[] = {"Level", "Lines", "First", "Highest", "Last", "Highest in", NULL};
    unsigned unit = format_unit(LARGEST(LEVEL_KINDS, i, levels->track[i].peak));
    sheet_table(sheet, headings, "lrrrrl");
    for (unsigned level = 0; level < LEVEL_KINDS; level++)
        track_row(sheet, report, &levels->track[level], level, unit);
    sheet_table_end(sheet);
}

void report_log_levels(struct sheet *sheet, const struct report_device *report) {
    struct levels levels;
    levels_find(&levels, report->device);
    if (levels.track[levels.shown].count != 0)
        tracks_table(sheet, report, &levels);
    budget_table(sheet, report);
}

void report_log_text(struct sheet *sheet, const struct report_device *report) {
    struct levels levels;
    levels_find(&levels, report->device);
    sheet_heading(sheet, 3, "Levels");
    if (levels.track[levels.shown].count != 0) {
        duration_say(sheet, report, &levels);
        tracks_table(sheet, report, &levels);
    } else {
        sheet_say(sheet, "No level of memory in use was read from the log.");
    }
    budget_table(sheet, report);
    if (levels.outside_known)
        sheet_say(
            sheet,
            "Used on the device beyond what PyTorch had reserved: %s at most, %s. That is what PyTorch does "
            "not see: contexts of drivers, NCCL and other libraries, other processes.",
            format_bytes(levels.outside_bytes).text, line_text(sheet, report, levels.outside_event));
    if (report->device->capacity_bytes != 0)
        sheet_say(sheet, "Capacity of the %s, by the log: %s.",
                  report->device->ordinal == ORDINAL_CPU ? "host" : "device",
                  format_bytes(report->device->capacity_bytes).text);
}

static void add_track(struct json_writer *json, const struct report_device *report,
                      const struct level_track *track, unsigned level) {
    if (track->count == 0) {
        json_null(json, level_name[level]);
        return;
    }
    json_object(json, level_name[level], JSON_COMPACT);
    json_u64(json, "lines", track->count);
    json_bool(json, "peaks", track->peaks);
    json_u64(json, "first_bytes", track->first);
    json_u64(json, "peak_bytes", track->peak);
    json_u64(json, "last_bytes", track->last);
    json_u64(json, "peak_event", track->peak_event);
    json_u64(json, "peak_line", levels_line(report->device, track->peak_event));
    json_end(json);
}

static void add_levels(struct json_writer *json, const struct report_device *report,
                       const struct levels *levels) {
    json_object(json, "levels", JSON_LINES);
    json_text(json, "shown", level_name[levels->shown]);
    json_u64(json, "lines", levels->n_lines);
    for (unsigned level = 0; level < LEVEL_KINDS; level++)
        add_track(json, report, &levels->track[level], level);
    json_known_u64(json, "outside_torch_bytes", levels->outside_known, levels->outside_bytes);
    json_known_u64(json, "capacity_bytes", report->device->capacity_bytes != 0,
                   report->device->capacity_bytes);
    json_end(json);
}

static void add_oom_cause(struct json_writer *json, const struct report_device *report, uint32_t event) {
    struct log_oom_facts facts;
    log_oom_facts_of(&facts, report->device, event);
    json_text(json, "cause", log_oom_cause_name[facts.cause]);
    if (facts.setting == 0) {
        json_null(json, "setting");
        return;
    }
    struct text setting = trace_text(report->trace, facts.setting);
    json_string(json, "setting", setting.at, setting.nbytes);
}

static void add_oom(struct json_writer *json, const struct report_device *report,
                    const struct oom_event *oom) {
    static const struct {
        const char *name;
        enum note_what what;
    } notes[] = {{"requested_bytes", NOTE_ASKED},
                 {"device_free_bytes", NOTE_DEVICE_FREE},
                 {"line", NOTE_LINE},
                 {"device_total_bytes", NOTE_DEVICE_TOTAL},
                 {"live_bytes", NOTE_ALLOCATED},
                 {"reserved_bytes", NOTE_RESERVED},
                 {"unallocated_bytes", NOTE_UNALLOCATED},
                 {"process_bytes", NOTE_PROCESS_USED},
                 {"other_processes_bytes", NOTE_OTHERS_USED},
                 {"allowed_bytes", NOTE_ALLOWED},
                 {"other_bytes", NOTE_OTHER_USED}};
    uint32_t site = report->timeline.site[oom->stack];
    json_object(json, NULL, JSON_COMPACT);
    json_u64(json, "event", oom->event);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        uint64_t number = 0;
        bool known = levels_note(report->device, oom->event, notes[i].what, &number);
        json_known_u64(json, notes[i].name, known, number);
    }
    add_oom_cause(json, report, oom->event);
    /* the line of the user's own code that made the request, if a traceback above the error has one */
    report_site_json(json, "site", report->trace, site,
                     oom->stack != 0 && log_oom_site_is_own(report->trace, site));
    json_end(json);
}

static void add_budget(struct json_writer *json, const struct report_device *report) {
    struct budget budget;
    budget_of(&budget, report->device);
    if (budget.known == 0) {
        json_null(json, "budget");
        return;
    }
    json_array(json, "budget", JSON_LINES);
    for (unsigned part = 0; part < BUDGET_PARTS; part++) {
        if ((budget.known >> part & 1) == 0)
            continue;
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "name", budget_label[part].name);
        json_u64(json, part == BUDGET_TOKENS ? "tokens" : "bytes", budget.bytes[part]);
        json_end(json);
    }
    json_end(json);
}

void report_log_json(struct json_writer *json, const struct report_device *report) {
    struct levels levels;
    levels_find(&levels, report->device);
    add_levels(json, report, &levels);
    add_budget(json, report);
    json_array(json, "oom_details", JSON_LINES);
    for (uint32_t i = 0; i < report->device->n_ooms; i++)
        add_oom(json, report, &report->device->ooms[i]);
    json_end(json);
}
