/*
 * A report on one screen, for chat windows, pull requests and language models: what ran out, what the peak consists of,
 * what was found, what would help. It has at most BRIEF_NBYTES of JSON, whatever the recording: if everything would be
 * longer, findings are left out, the least urgent first, and then texts are cut.
 */
#include "analysis/findings/levels.h"
#include "analysis/findings/peak_made.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "layout/site.h"
#include "render/report/report_parts.h"

#include <string.h>

enum {
    BRIEF_NBYTES = 4096,
    BRIEF_DEVICES = 4,     /* devices that ran out of memory come first, then those with the highest peaks */
    BRIEF_FINDINGS = 6,    /* of a device */
    BRIEF_DIAGNOSTICS = 4, /* of the recording */
    BRIEF_TEXT = 400       /* bytes that are kept of a text */
};

typedef char brief_text[BRIEF_TEXT];

struct brief_finding {
    const char *kind, *severity;
    brief_text title, action, site;
    uint64_t saves;
    bool saves_known;
};

/* The part of a device's report that is kept when its computation is freed. Figures that a log does not have are
 * OOM_UNKNOWN. */
struct brief_device {
    int32_t ordinal;
    uint32_t n_ooms, n_findings;
    uint64_t peak, reserved_peak;
    uint64_t asked, device_free; /* of the last request that failed */
    uint64_t rank;               /* the devices with the highest rank are shown */
    brief_text oom_site, made_of;
    char plan[PLAN_TEXT]; /* at most PLAN_LINES lines */
    struct brief_finding finding[BRIEF_FINDINGS];
};

struct brief {
    uint32_t n_devices, n_kept;
    struct brief_device device[BRIEF_DEVICES];
};

/* Limits on the number of entries and on the length of their texts. */
struct brief_detail {
    uint32_t devices, findings, diagnostics, text;
};

static void oom_keep(struct brief_device *brief, const struct report_device *report) {
    brief->n_ooms = report->device->n_ooms;
    if (brief->n_ooms == 0)
        return;
    const struct oom_event *oom = &report->device->ooms[brief->n_ooms - 1];
    uint32_t site = report->timeline.site[oom->stack];
    brief->asked = oom->size;
    brief->device_free = oom->device_free;
    if (site != 0)
        site_text(report->trace, site, brief->oom_site, BRIEF_TEXT);
}

static void finding_keep(struct brief_finding *brief, const struct report_device *report,
                         const struct finding *finding) {
    const struct verdicts *verdicts = &report->verdicts;
    brief->kind = finding_kind_name((enum finding_kind)finding->kind);
    brief->severity = finding_severity_name[finding->severity];
    brief->saves_known = finding->saves_known;
    brief->saves = finding->saves;
    finding_title(verdicts, finding, brief->title, BRIEF_TEXT);
    finding_action(verdicts, finding, brief->action, BRIEF_TEXT);
    if (finding->site != 0)
        site_text(report->trace, finding->site, brief->site, BRIEF_TEXT);
}

static void peaks_keep(struct brief_device *brief, const struct report_device *report) {
    struct levels levels;
    brief->peak = report->timeline.peak_bytes;
    brief->reserved_peak = report->timeline.reserved_peak;
    if (trace_has_allocations(report->trace))
        return;
    levels_find(&levels, report->device);
    const struct level_track *allocated = &levels.track[LEVEL_ALLOCATED],
                             *reserved = &levels.track[LEVEL_RESERVED];
    brief->peak = allocated->count != 0 ? allocated->peak : OOM_UNKNOWN;
    brief->reserved_peak = reserved->count != 0 ? reserved->peak : OOM_UNKNOWN;
}

static void device_keep(struct brief_device *brief, const struct report_device *report) {
    const struct findings *findings = &report->verdicts.findings;
    struct peak_made made;
    *brief = (struct brief_device){.ordinal = report->device->ordinal};
    peaks_keep(brief, report);
    oom_keep(brief, report);
    brief->rank = brief->n_ooms != 0 ? UINT64_MAX : report->timeline.peak_bytes;
    if (trace_has_allocations(report->trace)) {
        peak_made_of(&made, &report->verdicts);
        peak_made_text(&made, &report->verdicts, brief->made_of, BRIEF_TEXT);
    }
    memcpy(brief->plan, report->plan.text, PLAN_TEXT);
    for (uint32_t i = 0; i < findings->count && i < BRIEF_FINDINGS; i++)
        finding_keep(&brief->finding[brief->n_findings++], report, &findings->finding[i]);
}

/* Keeps BRIEF_DEVICES devices in the order of the file. A later device takes the place of the one with the lowest
 * rank. */
static bool device_take(void *context, const struct report_device *report) {
    struct brief *brief = context;
    uint64_t rank = report->device->n_ooms != 0 ? UINT64_MAX : report->timeline.peak_bytes;
    uint32_t lowest = 0;
    brief->n_devices++;
    if (brief->n_kept == BRIEF_DEVICES) {
        for (uint32_t i = 1; i < BRIEF_DEVICES; i++)
            if (brief->device[i].rank <= brief->device[lowest].rank)
                lowest = i;
        if (brief->device[lowest].rank >= rank)
            return true;
        memmove(&brief->device[lowest], &brief->device[lowest + 1],
                (BRIEF_DEVICES - 1 - lowest) * sizeof *brief->device);
        brief->n_kept--;
    }
    device_keep(&brief->device[brief->n_kept++], report);
    return true;
}

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

static void add_figure(struct json_writer *json, const char *name, uint64_t figure) {
    json_known_u64(json, name, figure != OOM_UNKNOWN, figure);
}

static void add_oom(struct json_writer *json, const struct brief_device *brief, uint32_t most) {
    if (brief->n_ooms == 0) {
        json_null(json, "oom");
        return;
    }
    json_object(json, "oom", JSON_COMPACT);
    json_u64(json, "count", brief->n_ooms);
    add_figure(json, "requested_bytes", brief->asked);
    add_figure(json, "device_free_bytes", brief->device_free);
    add_words(json, "site", brief->oom_site, most);
    json_end(json);
}

static void add_finding(struct json_writer *json, const struct brief_finding *finding, uint32_t most) {
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "kind", finding->kind);
    json_text(json, "severity", finding->severity);
    add_words(json, "title", finding->title, most);
    add_words(json, "action", finding->action, most);
    add_words(json, "site", finding->site, most);
    json_known_u64(json, "saves_peak_bytes", finding->saves_known, finding->saves);
    json_end(json);
}

static void add_plan(struct json_writer *json, const char *lines, uint32_t most) {
    json_array(json, "plan", JSON_LINES);
    while (*lines != '\0') {
        size_t nbytes = strcspn(lines, "\n");
        add_text(json, NULL, (struct text){(const uint8_t *)lines, (uint32_t)nbytes}, most);
        lines += nbytes + (lines[nbytes] != '\0');
    }
    json_end(json);
}

static void add_device(struct json_writer *json, const struct brief_device *brief,
                       const struct brief_detail *detail) {
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "device", brief->ordinal);
    add_figure(json, "peak_bytes", brief->peak);
    add_figure(json, "reserved_peak_bytes", brief->reserved_peak);
    add_oom(json, brief, detail->text);
    add_words(json, "peak_made_of", brief->made_of, detail->text);
    json_array(json, "findings", JSON_LINES);
    for (uint32_t i = 0; i < brief->n_findings && i < detail->findings; i++)
        add_finding(json, &brief->finding[i], detail->text);
    json_end(json);
    add_plan(json, brief->plan, detail->text);
    json_end(json);
}

static void add_diagnostics(struct json_writer *json, const struct trace *trace,
                            const struct brief_detail *detail) {
    json_array(json, "diagnostics", JSON_LINES);
    for (uint32_t i = 0; i < trace->n_diagnostics && i < detail->diagnostics; i++)
        add_text(json, NULL, trace_text(trace, trace->diagnostics[i].message), detail->text);
    json_end(json);
}

static void add_all(struct buffer *out, const struct brief *brief, const struct trace *trace,
                    const struct report_options *options, const struct brief_detail *detail) {
    uint32_t shown = brief->n_kept < detail->devices ? brief->n_kept : detail->devices;
    struct json_writer json = json_document(out, 3);
    json_bool(&json, "brief", true);
    add_words(&json, "file", options->file, detail->text);
    json_text(&json, "kind", options->kind);
    json_array(&json, "devices", JSON_LINES);
    for (uint32_t i = 0; i < shown; i++)
        add_device(&json, &brief->device[i], detail);
    json_end(&json);
    json_u64(&json, "devices_left_out", brief->n_devices - shown);
    add_diagnostics(&json, trace, detail);
    (void)json_document_end(&json);
}

bool report_brief(struct buffer *out, const struct trace *trace, const struct report_options *options,
                  struct arena *scratch) {
    static const struct brief_detail details[] = {{BRIEF_DEVICES, BRIEF_FINDINGS, 4, BRIEF_TEXT},
                                                  {2, 4, 3, 300},
                                                  {1, 4, 2, 300},
                                                  {1, 3, 2, 200},
                                                  {1, 2, 1, 120},
                                                  {1, 1, 1, 60}};
    struct brief *brief = arena_alloc(scratch, sizeof *brief);
    if (brief == NULL)
        return false;
    *brief = (struct brief){0};
    if (!report_each_device(trace, options, scratch, device_take, brief))
        return false;
    struct buffer text = {.host = arena_share(scratch)};
    for (uint32_t i = 0; i < sizeof details / sizeof *details; i++) {
        text.nbytes = 0;
        add_all(&text, brief, trace, options, &details[i]);
        if (text.failed || text.nbytes <= BRIEF_NBYTES)
            break;
    }
    buffer_add(out, text.bytes, text.nbytes);
    bool done = !text.failed;
    buffer_release(&text);
    return done;
}
