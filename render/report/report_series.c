/* Writes which memory stayed, came and went between the dumps of a series. */
#include "base/bytes.h"
#include "base/format.h"
#include "render/report/report_json.h"
#include "render/report/report_words.h"

#include <string.h>

enum { SITES_SHOWN = 3 };

/* A dump of the series, and its difference from the previous dump. In the first dump everything is new. */
struct dump {
    uint32_t name;   /* id of its string */
    uint32_t moment; /* the moment of its state */
    bool gap;        /* events between this dump and the next are missing */
    uint64_t total, stayed, came, gone;
};

static uint32_t dumps_count(const struct device_trace *device) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < device->n_notes; i++)
        n += device->notes[i].what == NOTE_DUMP || device->notes[i].what == NOTE_DUMP_GAP;
    return n;
}

/* Finds the dumps. O(dumps * allocations). */
static void dumps_find(const struct device_trace *device, struct dump *dump) {
    const struct allocations *allocations = &device->allocations;
    uint32_t n = 0;
    for (uint32_t i = 0; i < device->n_notes; i++) {
        const struct note *note = &device->notes[i];
        if (note->what != NOTE_DUMP && note->what != NOTE_DUMP_GAP)
            continue;
        struct dump *now = &dump[n++];
        *now =
            (struct dump){.name = note->text, .moment = note->event + 1, .gap = note->what == NOTE_DUMP_GAP};
        for (uint32_t allocation = 0; allocation < allocations->count; allocation++) {
            bool before = n > 1 && allocation_is_alive(allocations, allocation, now[-1].moment),
                 after = allocation_is_alive(allocations, allocation, now->moment);
            now->total += after ? allocations->size[allocation] : 0;
            now->stayed += before && after ? allocations->size[allocation] : 0;
            now->came += after && !before ? allocations->size[allocation] : 0;
            now->gone += before && !after ? allocations->size[allocation] : 0;
        }
    }
}

/* Writes in one line the largest call sites of what came, or went, between two dumps. */
static const char *sites_text(struct sheet *sheet, const struct report_device *report, uint64_t *bytes,
                              const struct dump *before, const struct dump *after, bool came) {
    const struct allocations *allocations = &report->device->allocations;
    const char *text = "";
    bytes_zero(bytes, report->trace->frames.count * sizeof *bytes);
    for (uint32_t allocation = 0; allocation < allocations->count; allocation++) {
        bool was = allocation_is_alive(allocations, allocation, before->moment),
             is = allocation_is_alive(allocations, allocation, after->moment);
        if (came ? is && !was : was && !is)
            bytes[report->timeline.site[allocations->stack[allocation]]] += allocations->size[allocation];
    }
    for (unsigned k = 0; k < SITES_SHOWN; k++) {
        uint32_t best = 0;
        for (uint32_t site = 1; site < report->trace->frames.count; site++)
            best = bytes[site] > bytes[best] ? site : best;
        if (bytes[best] == 0)
            break;
        text = sheet_format(sheet, "%s%s%s %s", text, k > 0 ? ", " : "",
                            words_site(sheet, report->trace, best), format_bytes(bytes[best]).text);
        bytes[best] = 0;
    }
    return text;
}

static void change_say(struct sheet *sheet, const struct report_device *report, uint64_t *bytes,
                       const struct dump *dump) {
    struct text name = trace_text(report->trace, dump->name);
    const char *file = sheet_name(sheet, name.at, name.nbytes);
    const char *came = sites_text(sheet, report, bytes, dump - 1, dump, true);
    const char *gone = sites_text(sheet, report, bytes, dump - 1, dump, false);
    if (*came != '\0')
        sheet_point(sheet, "New in %s: %s.", file, came);
    if (*gone != '\0')
        sheet_point(sheet, "Gone by %s: %s.", file, gone);
}

void report_series_text(struct sheet *sheet, const struct report_device *report) {
    static const char *const headings[] = {"Dump", "In use", "Stayed", "New", "Gone", "Then", NULL};
    uint32_t n = trace_has_dumps(report->trace) ? dumps_count(report->device) : 0;
    struct dump *dump = arena_alloc(report->arena, ((size_t)n + 1) * sizeof *dump);
    uint64_t *bytes = arena_alloc(report->arena, ((size_t)report->trace->frames.count + 1) * sizeof *bytes);
    if (dump == NULL || bytes == NULL)
        sheet->out->failed = true;
    if (dump == NULL || bytes == NULL || n == 0)
        return;
    dumps_find(report->device, dump);
    sheet_heading(sheet, 3, "Series");
    sheet_table(sheet, headings, "lrrrrl");
    unsigned unit = format_unit(report->timeline.peak_bytes);
    for (uint32_t i = 0; i < n; i++) {
        struct text name = trace_text(report->trace, dump[i].name);
        SHEET_CELLS(sheet, sheet_name(sheet, name.at, name.nbytes), format_bytes_in(dump[i].total, unit).text,
                    i > 0 ? format_bytes_in(dump[i].stayed, unit).text : "",
                    i > 0 ? format_bytes_in(dump[i].came, unit).text : "",
                    i > 0 ? format_bytes_in(dump[i].gone, unit).text : "",
                    dump[i].gap ? "events missing"
                    : i + 1 < n ? "goes on"
                                : "");
    }
    sheet_table_end(sheet);
    for (uint32_t i = 1; i < n; i++)
        change_say(sheet, report, bytes, &dump[i]);
}

void report_series_json(struct json_writer *json, const struct report_device *report) {
    uint32_t n = trace_has_dumps(report->trace) ? dumps_count(report->device) : 0;
    struct dump *dump = arena_alloc(report->arena, ((size_t)n + 1) * sizeof *dump);
    if (dump == NULL)
        json->out->failed = true;
    if (dump == NULL || n == 0)
        return;
    dumps_find(report->device, dump);
    json_array(json, "series", JSON_LINES);
    for (uint32_t i = 0; i < n; i++) {
        struct text name = trace_text(report->trace, dump[i].name);
        json_object(json, NULL, JSON_COMPACT);
        json_string(json, "file", name.at, name.nbytes);
        json_u64(json, "live_bytes", dump[i].total);
        json_known_u64(json, "stayed_bytes", i > 0, dump[i].stayed);
        json_known_u64(json, "new_bytes", i > 0, dump[i].came);
        json_known_u64(json, "gone_bytes", i > 0, dump[i].gone);
        json_bool(json, "events_missing_behind", dump[i].gap);
        json_i64(json, "event", report_event(dump[i].moment));
        json_end(json);
    }
    json_end(json);
}
