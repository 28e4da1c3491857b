/* Writes reserved memory that is not in use: at three moments, by cause, and the free blocks at the end. */
#include "base/format.h"
#include "base/numbers.h"
#include "render/report/report_json.h"
#include "render/report/report_words.h"

#include <inttypes.h>
#include <stdio.h>

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
    ARENA_DROP(report->arena, segments.piece);
    return true;
}

/* ---- JSON ---- */

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
    report_site_json(json, "site", report->trace,
                     report->timeline.site[allocations->stack[pinned->allocation]], true);
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

/* ---- causes ---- */

/* Are the three moments alike, that is: is as much reserved and in use at the end as ever? */
static bool moments_are_alike(const struct timeline *timeline) {
    return timeline->end_bytes == timeline->peak_bytes && timeline->reserved_end == timeline->reserved_peak &&
           timeline_reserved_at(timeline, timeline->peak_moment) == timeline->reserved_peak &&
           timeline->live[timeline->reserved_peak_moment] == timeline->peak_bytes;
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

/* Writes the causes at each of the three moments, or at the last one if all are alike. */
static void causes_table(struct sheet *sheet, const struct report_device *report) {
    static const char *const headings[] = {"", "Most reserved", "Most in use", "At the end", NULL};
    static const char *const heading[] = {"", "Bytes", NULL};
    bool one = moments_are_alike(&report->timeline);
    uint64_t most = LARGEST(REPORT_GAPS * GAP_CAUSES, i,
                            magnitude_of(report->gap[i / GAP_CAUSES].cause_bytes[i % GAP_CAUSES]));
    if (most == 0)
        return;
    sheet_say(sheet, "What is not in use, by cause:");
    sheet_table(sheet, one ? heading : headings, one ? "lr" : "lrrr");
    for (unsigned cause = 0; cause < GAP_CAUSES; cause++) {
        if (LARGEST(REPORT_GAPS, i, magnitude_of(report->gap[i].cause_bytes[cause])) == 0)
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
    SHEET_CELLS(sheet, format_bytes_in(pinned->size, unit).text,
                format_bytes_in(pinned->free_bytes, unit).text, format_count(pinned->n_blocks).text,
                format_bytes_in(allocations->size[pinned->allocation], unit).text,
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
    uint32_t shown = gap->n_pinned < SHOWN ? gap->n_pinned : SHOWN;
    unsigned unit = format_unit(LARGEST(shown, i, gap->pinned[i].size));
    sheet_table(sheet, headings, "lrrrrl");
    for (uint32_t i = 0; i < shown; i++)
        pinned_row(sheet, report, &gap->pinned[i], unit);
    sheet_table_end(sheet);
}

static void causes_write(struct sheet *sheet, const struct report_device *report) {
    causes_table(sheet, report);
    for (int i = 0; i < REPORT_GAPS; i++)
        if (!report->gap[i].exact) {
            sheet_say(sheet, "Not all block sizes are known: some blocks are older than the recording, or "
                             "could not be replayed. Free blocks may partly be remainders of used ones.");
            break;
        }
    pinned_table(sheet, report, &report->gap[0]);
}

/* ---- the section ---- */

static void moment_row(struct sheet *sheet, const struct timeline *timeline, const char *name,
                       uint32_t moment, unsigned unit) {
    uint64_t reserved = timeline_reserved_at(timeline, moment), live = timeline->live[moment];
    uint64_t unused = reserved > live ? reserved - live : 0;
    SHEET_CELLS(sheet, name, format_bytes_in(reserved, unit).text, format_bytes_in(live, unit).text,
                format_bytes_in(unused, unit).text, format_share(unused, reserved).text,
                words_moment(sheet, timeline, moment));
}

static void moments_table(struct sheet *sheet, const struct timeline *timeline) {
    static const char *const headings[] = {"", "Reserved", "In use", "Not in use", "Share", "", NULL};
    unsigned unit = format_unit(timeline->reserved_peak);
    bool one = moments_are_alike(timeline);
    sheet_table(sheet, headings, "lrrrrl");
    if (!one) {
        moment_row(sheet, timeline, "Most reserved", timeline->reserved_peak_moment, unit);
        moment_row(sheet, timeline, "Most in use", timeline->peak_moment, unit);
    }
    moment_row(sheet, timeline, one ? "Most, and at the end" : "At the end", timeline->n_moments - 1, unit);
    sheet_table_end(sheet);
}

/* Writes the last row. If the causes are known, rounding is one of them. */
static void end_write(struct sheet *sheet, const struct free_blocks *all, bool causes_known) {
    if (all->n_free_blocks == 0)
        sheet_say(sheet, "By the final blocks, nothing of the %s reserved is free at the end.",
                  format_bytes(all->reserved_bytes).text);
    else
        sheet_say(
            sheet, "By the final blocks, %s of %s reserved are free at the end, in %s; the largest has %s.",
            format_bytes(all->free_bytes).text, format_bytes(all->reserved_bytes).text,
            words_counted(sheet, all->n_free_blocks, "free block"), words_bytes(sheet, all->largest_bytes));
    if (all->n_empty != 0)
        sheet_point(sheet,
                    "%s in %s are wholly free: torch.cuda.empty_cache() gives them back to the device.",
                    format_bytes(all->empty_bytes).text, words_counted(sheet, all->n_empty, "segment"));
    if (all->pending_bytes != 0)
        sheet_point(sheet, "%s have been freed and wait for other streams.",
                    format_bytes(all->pending_bytes).text);
    if (all->requested_bytes != 0 && !causes_known)
        sheet_point(sheet, "Rounding up takes %s, %s of the blocks in use.",
                    format_bytes(free_blocks_rounding(all)).text,
                    format_share(free_blocks_rounding(all), all->used_bytes + all->pending_bytes).text);
}

static const char *size_text(struct sheet *sheet, uint32_t class) {
    if (class == 0)
        return sheet_format(sheet, "below %s", format_bytes(free_block_size_limit[0]).text);
    if (class == FREE_BLOCK_SIZES - 1)
        return sheet_format(sheet, "%s and more", format_bytes(free_block_size_limit[class - 1]).text);
    return sheet_format(sheet, "%s to %s", format_bytes(free_block_size_limit[class - 1]).text,
                        format_bytes(free_block_size_limit[class]).text);
}

static void sizes_table(struct sheet *sheet, const struct free_blocks_summary *free_blocks) {
    static const char *const headings[] = {"Size of the free block", "Free blocks", "Bytes", "Share", NULL};
    if (free_blocks->all.n_free_blocks == 0)
        return;
    unsigned unit = format_unit(LARGEST(FREE_BLOCK_SIZES, i, free_blocks->bytes_of_size[i]));
    sheet_say(sheet, "By size:");
    sheet_table(sheet, headings, "lrrr");
    for (uint32_t i = 0; i < FREE_BLOCK_SIZES; i++) {
        if (free_blocks->count_of_size[i] == 0)
            continue;
        uint64_t bytes = free_blocks->bytes_of_size[i];
        SHEET_CELLS(sheet, size_text(sheet, i), format_count(free_blocks->count_of_size[i]).text,
                    format_bytes_in(bytes, unit).text, format_share(bytes, free_blocks->all.free_bytes).text);
    }
    sheet_table_end(sheet);
}

void report_fragmentation(struct sheet *sheet, const struct report_device *report) {
    sheet_heading(sheet, 3, "Fragmentation");
    if (report->device->n_segments == 0 && report->device->n_segment_events == 0) {
        sheet_say(sheet, "The file holds no segments: nothing is known about reserved memory.");
        return;
    }
    moments_table(sheet, &report->timeline);
    if (report->gap_known)
        causes_write(sheet, report);
    if (report->device->n_blocks == 0)
        return;
    end_write(sheet, &report->free_blocks.all, report->gap_known);
    sheet_say(sheet, "A free block serves only its own pool, stream and class of requests:");
    words_free_blocks(sheet, report->device, &report->free_blocks);
    sizes_table(sheet, &report->free_blocks);
}
