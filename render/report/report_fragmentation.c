/* Reserved memory that is not in use. */
#include "render/report/report_gap.h"
#include "render/report/report_words.h"

#include "base/format.h"

#include <inttypes.h>

static void moment_row(struct sheet *sheet, const struct timeline *timeline, const char *name,
                       uint32_t moment, unsigned unit) {
    uint64_t reserved = timeline_reserved_at(timeline, moment), live = timeline->live[moment];
    uint64_t unused = reserved > live ? reserved - live : 0;
    sheet_cell(sheet, "%s", name);
    sheet_cell(sheet, "%s", format_bytes_in(reserved, unit).text);
    sheet_cell(sheet, "%s", format_bytes_in(live, unit).text);
    sheet_cell(sheet, "%s", format_bytes_in(unused, unit).text);
    sheet_cell(sheet, "%s", format_share(unused, reserved).text);
    sheet_cell(sheet, "%s", words_moment(sheet, timeline, moment));
}

static void moments_table(struct sheet *sheet, const struct timeline *timeline) {
    static const char *const headings[] = {"", "Reserved", "In use", "Not in use", "Share", "", NULL};
    unsigned unit = format_unit(timeline->reserved_peak);
    bool one = report_gap_is_one(timeline);
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
    uint64_t most = 0;
    for (uint32_t i = 0; i < FREE_BLOCK_SIZES; i++)
        most = free_blocks->bytes_of_size[i] > most ? free_blocks->bytes_of_size[i] : most;
    sheet_say(sheet, "By size:");
    sheet_table(sheet, headings, "lrrr");
    for (uint32_t i = 0; i < FREE_BLOCK_SIZES; i++) {
        if (free_blocks->count_of_size[i] == 0)
            continue;
        sheet_cell(sheet, "%s", size_text(sheet, i));
        sheet_cell(sheet, "%s", format_count(free_blocks->count_of_size[i]).text);
        sheet_cell(sheet, "%s", format_bytes_in(free_blocks->bytes_of_size[i], format_unit(most)).text);
        sheet_cell(sheet, "%s",
                   format_share(free_blocks->bytes_of_size[i], free_blocks->all.free_bytes).text);
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
    report_gap(sheet, report);
    if (report->device->n_blocks == 0)
        return;
    end_write(sheet, &report->free_blocks.all, report->gap_known);
    sheet_say(sheet, "A free block serves only its own pool, stream and class of requests:");
    words_free_blocks(sheet, report->device, &report->free_blocks);
    sizes_table(sheet, &report->free_blocks);
}
