/*
 * The screen's report (report_screen.c) for programs, pull requests and language models: of one device, what ran out,
 * what the peak consists of, what was found, what would help. It has at most BRIEF_NBYTES of JSON, whatever the
 * recording: if everything would be longer, findings are left out, the least urgent first, and texts are cut.
 */
#include "analysis/findings/levels.h"
#include "analysis/findings/peak_made.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "layout/site.h"
#include "render/report/report_parts.h"

#include <string.h>

enum { BRIEF_NBYTES = 4096 };

/* Limits on the number of entries and on the bytes of their texts. */
struct brief_detail {
    uint32_t findings, diagnostics, text;
};

/* Adds at most this many bytes of a text, in whole characters. "" becomes null. */
static void add_text(struct json_writer *json, const char *name, struct text text, uint32_t most) {
    size_t nbytes = 0, next = 0;
    while (next < text.nbytes && next <= most) {
        nbytes = next;
        utf8_next((const char *)text.at, text.nbytes, &next);
    }
    nbytes = next <= most ? next : nbytes;
    if (text.nbytes == 0) {
        json_null(json, name);
        return;
    }
    json_string_begin(json, name);
    json_string_add(json, text.at, nbytes);
    if (nbytes < text.nbytes)
        json_string_add(json, "...", 3);
    json_string_end(json);
}

static void add_words(struct json_writer *json, const char *name, const char *words, uint32_t most) {
    add_text(json, name, (struct text){(const uint8_t *)words, (uint32_t)strlen(words)}, most);
}

static void add_oom(struct json_writer *json, const struct report_device *report, uint32_t most) {
    const struct device_trace *device = report->device;
    char site[1024];
    if (device->n_ooms == 0) {
        json_null(json, "oom");
        return;
    }
    const struct oom_event *last = &device->ooms[device->n_ooms - 1];
    uint32_t frame = report->timeline.site[last->stack];
    (void)site_text(report->trace, frame, site, sizeof site);
    json_object(json, "oom", JSON_COMPACT);
    json_u64(json, "count", device->n_ooms);
    json_known_u64(json, "requested_bytes", last->size != OOM_UNKNOWN, last->size);
    json_known_u64(json, "device_free_bytes", last->device_free != OOM_UNKNOWN, last->device_free);
    add_words(json, "site", frame != 0 ? site : "", most);
    json_end(json);
}

static void add_finding(struct json_writer *json, const struct report_device *report,
                        const struct finding *finding, uint32_t most) {
    char text[FINDING_TEXT_NBYTES];
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "kind", finding_kind_name((enum finding_kind)finding->kind));
    json_text(json, "severity", finding_severity_name[finding->severity]);
    finding_title(&report->verdicts, finding, text, sizeof text);
    add_words(json, "title", text, most);
    finding_action(&report->verdicts, finding, text, sizeof text);
    add_words(json, "action", text, most);
    (void)site_text(report->trace, finding->site, text, sizeof text);
    add_words(json, "site", finding->site != 0 ? text : "", most);
    json_known_u64(json, "saves_peak_bytes", finding->saves_known, finding->saves);
    json_end(json);
}

static void add_device(struct json_writer *json, const struct report_device *report,
                       const struct brief_detail *detail) {
    const struct findings *findings = &report->verdicts.findings;
    const struct level_track *allocated, *reserved;
    char text[FINDING_TEXT_NBYTES] = "";
    struct levels levels;
    struct peak_made made;
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "device", report->device->ordinal);
    if (trace_has_allocations(report->trace)) {
        json_u64(json, "peak_bytes", report->timeline.peak_bytes);
        json_u64(json, "reserved_peak_bytes", report->timeline.reserved_peak);
        peak_made_of(&made, &report->verdicts);
        peak_made_text(&made, &report->verdicts, text, sizeof text);
    } else {
        levels_find(&levels, report->device);
        allocated = &levels.track[LEVEL_ALLOCATED];
        reserved = &levels.track[LEVEL_RESERVED];
        json_known_u64(json, "peak_bytes", allocated->count != 0, allocated->peak);
        json_known_u64(json, "reserved_peak_bytes", reserved->count != 0, reserved->peak);
    }
    add_oom(json, report, detail->text);
    add_words(json, "peak_made_of", text, detail->text);
    json_array(json, "findings", JSON_LINES);
    for (uint32_t i = 0; i < findings->count && i < detail->findings; i++)
        add_finding(json, report, &findings->finding[i], detail->text);
    json_end(json);
    json_array(json, "plan", JSON_LINES);
    for (const char *line = report->plan.text; *line != '\0';) {
        size_t nbytes = strcspn(line, "\n");
        add_text(json, NULL, (struct text){(const uint8_t *)line, (uint32_t)nbytes}, detail->text);
        line += nbytes + (line[nbytes] != '\0');
    }
    json_end(json);
    json_end(json);
}

struct brief {
    struct buffer *out;
    const struct trace *trace; /* the whole */
    const struct report_options *options;
};

static void document_write(struct buffer *out, const struct brief *brief, const struct report_device *report,
                           const struct brief_detail *detail) {
    const struct report_options *options = brief->options;
    const struct trace *trace = brief->trace;
    struct json_writer json = json_document(out, 3);
    json_bool(&json, "brief", true);
    add_words(&json, "file", options->file, detail->text);
    json_text(&json, "kind", options->kind);
    json_array(&json, "devices", JSON_LINES);
    if (report != NULL)
        add_device(&json, report, detail);
    json_end(&json);
    json_u64(&json, "devices_left_out",
             report != NULL && options->device == REPORT_ALL_DEVICES ? trace->n_devices - 1 : 0);
    json_array(&json, "diagnostics", JSON_LINES);
    for (uint32_t i = 0; i < trace->n_diagnostics && i < detail->diagnostics; i++)
        add_text(&json, NULL, trace_text(trace, trace->diagnostics[i].message), detail->text);
    json_end(&json);
    (void)json_document_end(&json);
}

static bool device_write(void *context, const struct report_device *report) {
    static const struct brief_detail details[] = {{6, 4, 400}, {4, 3, 300}, {4, 2, 300},
                                                  {3, 2, 200}, {2, 1, 120}, {1, 1, 60}};
    const struct brief *brief = context;
    struct buffer text = {.host = brief->out->host};
    for (uint32_t i = 0; i < sizeof details / sizeof *details; i++) {
        text.nbytes = 0;
        document_write(&text, brief, report, &details[i]);
        if (text.failed || text.nbytes <= BRIEF_NBYTES)
            break;
    }
    buffer_add(brief->out, text.bytes, text.nbytes);
    bool done = !text.failed;
    buffer_release(&text);
    return done;
}

bool report_brief(struct buffer *out, const struct trace *trace, const struct report_options *options,
                  struct arena *scratch) {
    struct brief brief = {out, trace, options};
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].ordinal == options->first)
            return report_one_device(trace, i, options, scratch, device_write, &brief);
    return device_write(&brief, NULL);
}
