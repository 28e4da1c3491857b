/* Writes the largest size of a program that is served, as text, Markdown and JSON. */
#include "base/json_writer.h"
#include "render/report/report_plan.h"
#include "render/report/report_sheet.h"
#include "render/report/report_words.h"

#include <string.h>

static void largest_json(struct json_writer *json, const struct extrapolated *device) {
    char settings[ALLOCATOR_SETTINGS_TEXT];
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "device", device->ordinal);
    json_text(json, "refused", device->extrapolation.refused);
    json_array(json, "largest", JSON_LINES);
    for (uint32_t i = 0; device->largest != NULL && i < device->whatif.n_scenarios; i++) {
        const struct largest *largest = &device->largest[i];
        allocator_settings_print(&largest->settings, settings);
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "name", device->whatif.scenario[i].name);
        json_text(json, "settings", settings);
        json_u64(json, "size", largest->size);
        json_array(json, "also", JSON_COMPACT);
        for (uint32_t k = 0; k < largest->n_also; k++)
            json_u64(json, NULL, largest->also[k]);
        json_end(json);
        json_u64(json, "peak_reserved_bytes_min", largest->peak_min_bytes);
        json_u64(json, "peak_reserved_bytes_max", largest->peak_max_bytes);
        json_u64(json, "replays", largest->n_replays);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static bool largests_json(struct buffer *out, const struct extrapolation_report *report) {
    struct json_writer json = json_document(out, 1);
    json_text(&json, "file", report->file[1]);
    json_text(&json, "fingerprint", report->fingerprint[1]);
    json_array(&json, "files", JSON_COMPACT);
    json_text(&json, NULL, report->file[0]);
    json_text(&json, NULL, report->file[1]);
    json_end(&json);
    json_array(&json, "devices", JSON_LINES);
    for (uint32_t i = 0; i < report->n_devices; i++)
        largest_json(&json, &report->device[i]);
    json_end(&json);
    json_null(&json, "together");
    return json_document_end(&json);
}

static const char *also_text(struct sheet *sheet, const struct largest *largest) {
    const char *text = "";
    for (uint32_t i = 0; i < largest->n_also; i++)
        text = sheet_format(sheet, "%s%s%s", text, i > 0 ? ", " : "", format_count(largest->also[i]).text);
    return text;
}

static const char *size_text(struct sheet *sheet, uint64_t size, uint64_t top) {
    if (size == 0)
        return "not even 1";
    return sheet_format(sheet, size < top ? "%s" : "%s or more: none above is tried",
                        format_count(size).text);
}

static void largest_write(struct sheet *sheet, const struct extrapolated *device, uint64_t top) {
    static const char *const headings[] = {"Settings", "At most", "Also", "Reserved", NULL};
    words_device_heading(sheet, TRACE_SNAPSHOT, device->ordinal);
    if (device->extrapolation.refused != NULL) {
        sheet_say(sheet, "Refused: %s.", device->extrapolation.refused);
        return;
    }
    sheet_say(sheet, "The largest that is served (model):");
    sheet_table(sheet, headings, "lrll");
    for (uint32_t i = 0; i < device->whatif.n_scenarios; i++) {
        const struct largest *largest = &device->largest[i];
        SHEET_CELLS(sheet, device->whatif.scenario[i].name, size_text(sheet, largest->size, top),
                    also_text(sheet, largest),
                    largest->size == 0 ? "-"
                                       : PLAN_SAID(sheet, plan_words_range, largest->peak_min_bytes,
                                                   largest->peak_max_bytes));
    }
    sheet_table_end(sheet);
}

bool plan_largest_write(struct buffer *out, const struct extrapolation_report *report,
                        struct arena *scratch) {
    if (report->format == REPORT_JSON)
        return largests_json(out, report);
    struct sheet sheet = words_sheet(out, scratch, report->format, (struct text_look){0});
    sheet_heading(&sheet, 1, "Plan: the largest of %s",
                  sheet_quote(&sheet, report->file[1], strlen(report->file[1])));
    for (uint32_t i = 0; i < report->n_devices; i++)
        largest_write(&sheet, &report->device[i], largest_most(report->size[1]));
    sheet_point(&sheet, "Larger sizes are models of the two recordings. Also lists larger sizes that are "
                        "served although a smaller one is not; only the next three sizes were tried.");
    return !out->failed;
}
