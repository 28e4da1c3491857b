/* Reserved memory that is not in use, by cause, at three moments. */
#include "render/report/report_words.h"

#include "base/format.h"
#include "base/json_writer.h"
#include "base/numbers.h"
#include "render/report/report_gap.h"
#include "render/report/report_map.h"

#include <inttypes.h>
#include <stdio.h>

static bool map_find(struct report_device *report, const struct segments *segments, uint32_t moment) {
    struct held held;
    struct arena scratch;
    arena_init(&scratch, arena_share(report->arena), SIZE_MAX);
    bool done = fragmentation_state(&held, &report->timeline, segments,
                                    report->replayed ? &report->replay : NULL, moment, &scratch);
    if (done)
        report_map_make(&report->map, &held);
    arena_release(&scratch);
    return done;
}

bool report_gap_find(struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    const uint32_t moments[REPORT_GAPS] = {timeline->reserved_peak_moment, timeline->peak_moment,
                                           timeline->n_moments - 1};
    const struct replay *replay = report->replayed ? &report->replay : NULL;
    struct segments segments;
    report->gap_known = segments_refusal(report->trace, report->device) == NULL;
    if (!report->gap_known)
        return true;
    if (!segments_init(&segments, report->device, report->arena))
        return false;
    for (int i = 0; i < REPORT_GAPS; i++)
        if (!fragmentation_find(&report->gap[i], timeline, &segments, replay, moments[i], report->arena))
            return false;
    if (!map_find(report, &segments, moments[0]))
        return false;
    ARENA_DROP(report->arena, segments.piece);
    return true;
}

static void pinned_json(struct json_writer *json, const struct report_device *report,
                        const struct pinned_segment *pinned) {
    const struct allocations *allocations = &report->device->allocations;
    char address[24];
    snprintf(address, sizeof address, "0x%" PRIx64, pinned->address);
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "address", address);
    json_u64(json, "bytes", pinned->size);
    json_u64(json, "free_bytes", pinned->free_bytes);
    json_u64(json, "blocks", pinned->n_blocks);
    json_u64(json, "allocation", pinned->allocation);
    json_u64(json, "allocation_bytes", allocations->size[pinned->allocation]);
    report_site_json(json, report->trace, report->timeline.site[allocations->stack[pinned->allocation]]);
    json_end(json);
}

static void gap_json(struct json_writer *json, const struct report_device *report,
                     const struct fragmentation *gap) {
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "event", report_event(gap->moment));
    json_u64(json, "reserved_bytes", gap->reserved_bytes);
    json_u64(json, "live_bytes", gap->live_bytes);
    json_i64(json, "gap_bytes", gap->gap_bytes);
    json_bool(json, "exact", gap->exact);
    json_u64(json, "largest_hole_bytes", gap->largest_free_bytes);
    json_object(json, "causes", JSON_LINES);
    for (unsigned i = 0; i < GAP_CAUSES; i++)
        json_i64(json, gap_cause_name[i], gap->cause_bytes[i]);
    json_end(json);
    json_u64(json, "pinned_segments", gap->n_pinned);
    json_u64(json, "pinned_free_bytes", gap->pinned_free_bytes);
    json_array(json, "pinned", JSON_LINES);
    for (uint32_t i = 0; i < gap->n_pinned && i < PINNED_MAX; i++)
        pinned_json(json, report, &gap->pinned[i]);
    json_end(json);
    json_end(json);
}

void report_gap_json(struct json_writer *json, const struct report_device *report) {
    json_array(json, "fragmentation_at", JSON_LINES);
    for (int i = 0; i < REPORT_GAPS && report->gap_known; i++)
        gap_json(json, report, &report->gap[i]);
    json_end(json);
}

static const char *const cause_text[GAP_CAUSES] = {
    [GAP_ROUNDING] = "rounding up",
    [GAP_UNSPLIT] = "rounding inside blocks",
    [GAP_EMPTY_SEGMENTS] = "empty segments",
    [GAP_FREE_BLOCKS] = "holes",
    [GAP_EXPANDABLE_TAIL] = "free ends of expandable segments",
    [GAP_PRIVATE] = "free in private pools",
    [GAP_CONTRADICTION] = "unexplained: the file contradicts itself",
};

static bool cause_is_there(const struct report_device *report, unsigned cause) {
    for (int i = 0; i < REPORT_GAPS; i++)
        if (report->gap[i].cause_bytes[cause] != 0)
            return true;
    return false;
}

bool report_gap_is_one(const struct timeline *timeline) {
    return timeline->end_bytes == timeline->peak_bytes && timeline->reserved_end == timeline->reserved_peak &&
           timeline_reserved_at(timeline, timeline->peak_moment) == timeline->reserved_peak &&
           timeline->live[timeline->reserved_peak_moment] == timeline->peak_bytes;
}

/* Writes the causes at each of the three moments, or at the last one if all are alike. */
static void causes_table(struct sheet *sheet, const struct report_device *report) {
    static const char *const headings[] = {"", "Most reserved", "Most in use", "At the end", NULL};
    static const char *const heading[] = {"", "Bytes", NULL};
    bool one = report_gap_is_one(&report->timeline);
    uint64_t most = 0;
    for (int i = 0; i < REPORT_GAPS; i++)
        for (unsigned cause = 0; cause < GAP_CAUSES; cause++)
            most = magnitude_of(report->gap[i].cause_bytes[cause]) > most
                       ? magnitude_of(report->gap[i].cause_bytes[cause])
                       : most;
    sheet_say(sheet, "What is not in use, by cause:");
    sheet_table(sheet, one ? heading : headings, one ? "lr" : "lrrr");
    for (unsigned cause = 0; cause < GAP_CAUSES; cause++) {
        if (!cause_is_there(report, cause))
            continue;
        sheet_cell(sheet, "%s", cause_text[cause]);
        for (int i = one ? REPORT_GAPS - 1 : 0; i < REPORT_GAPS; i++) {
            int64_t bytes = report->gap[i].cause_bytes[cause];
            sheet_cell(sheet, "%s%s", bytes < 0 ? "-" : "",
                       format_bytes_in(magnitude_of(bytes), format_unit(most)).text);
        }
    }
    sheet_table_end(sheet);
}

static void pinned_row(struct sheet *sheet, const struct report_device *report,
                       const struct pinned_segment *pinned, unsigned unit) {
    const struct allocations *allocations = &report->device->allocations;
    uint32_t stack = allocations->stack[pinned->allocation];
    sheet_cell(sheet, "0x%" PRIx64, pinned->address);
    sheet_cell(sheet, "%s", format_bytes_in(pinned->size, unit).text);
    sheet_cell(sheet, "%s", format_bytes_in(pinned->free_bytes, unit).text);
    sheet_cell(sheet, "%s", format_count(pinned->n_blocks).text);
    sheet_cell(sheet, "%s", format_bytes_in(allocations->size[pinned->allocation], unit).text);
    sheet_cell(sheet, "%s",
               stack == 0 ? "(no stack recorded)"
                          : words_site(sheet, report->trace, report->timeline.site[stack]));
}

static void pinned_table(struct sheet *sheet, const struct report_device *report,
                         const struct fragmentation *gap) {
    static const char *const headings[] = {"Segment",           "Size", "Free", "Blocks", "Largest",
                                           "Where it was made", NULL};
    enum { SHOWN = 5 };
    if (gap->n_pinned == 0)
        return;
    sheet_say(
        sheet,
        "At the reserved peak, %s less than a quarter in use, and %s %s free. The blocks in use keep %s:",
        gap->n_pinned == 1 ? "1 segment is"
                           : sheet_format(sheet, "%s segments are", format_count(gap->n_pinned).text),
        format_bytes(gap->pinned_free_bytes).text, gap->n_pinned == 1 ? "in it are" : "in them are",
        gap->n_pinned == 1 ? "it reserved" : "them reserved; those with the most free memory");
    uint64_t most = 0;
    for (uint32_t i = 0; i < gap->n_pinned && i < SHOWN; i++)
        most = gap->pinned[i].size > most ? gap->pinned[i].size : most;
    sheet_table(sheet, headings, "lrrrrl");
    for (uint32_t i = 0; i < gap->n_pinned && i < SHOWN; i++)
        pinned_row(sheet, report, &gap->pinned[i], format_unit(most));
    sheet_table_end(sheet);
}

void report_gap(struct sheet *sheet, const struct report_device *report) {
    if (!report->gap_known)
        return;
    causes_table(sheet, report);
    for (int i = 0; i < REPORT_GAPS; i++)
        if (!report->gap[i].exact) {
            sheet_say(sheet, "Not all block sizes are known: some blocks are older than the recording, or "
                             "could not be replayed. Free blocks may partly be remainders of used ones.");
            break;
        }
    report_map_write(sheet, &report->map);
    pinned_table(sheet, report, &report->gap[0]);
}
