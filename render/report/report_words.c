/* Phrases and tables that several sections of the report use. */
#include "render/report/report_words.h"
#include "analysis/model/pool_use.h"
#include "render/words/device.h"

#include "base/format.h"
#include "base/numbers.h"
#include "layout/site.h"

#include <inttypes.h>
#include <string.h>

enum { GROUPS_SHOWN = 20 }; /* groups of free blocks */

struct sheet words_sheet(struct buffer *out, struct arena *arena, enum report_format format,
                         struct text_look look) {
    return (struct sheet){.out = out, .arena = arena, .markdown = format == REPORT_MARKDOWN, .look = look};
}

void words_device_heading(struct sheet *sheet, enum trace_kind kind, int32_t ordinal) {
    sheet_heading(sheet, 2, "%s", device_named(kind == TRACE_LOG ? "Rank or GPU" : "Device", ordinal).text);
}

const char *words_site(struct sheet *sheet, const struct trace *trace, uint32_t frame) {
    char text[1024];
    uint32_t length = site_text(trace, frame, text, sizeof text);
    return sheet_name(sheet, text, length < sizeof text ? length : sizeof text - 1);
}

const char *words_moment(struct sheet *sheet, const struct timeline *timeline, uint32_t moment) {
    if (moment == 0)
        return timeline->device->n_events == 0 ? "when the file was written" : "before the first event";
    const char *event = sheet_format(sheet, "after event %s", format_count(moment - 1).text);
    if (!timeline_timed(timeline))
        return event;
    return sheet_format(sheet, "%s (%s)", event, format_duration(timeline_start_us(timeline, moment)).text);
}

const char *words_bytes(struct sheet *sheet, uint64_t bytes) {
    if (bytes < 1024)
        return sheet_format(sheet, "%s bytes", format_count(bytes).text);
    return sheet_format(sheet, "%s (%s bytes)", format_bytes(bytes).text, format_count(bytes).text);
}

const char *words_plural(struct sheet *sheet, const char *thing) {
    size_t nbytes = strlen(thing);
    char last = thing[nbytes - 1];
    return sheet_format(sheet, "%.*s%s", (int)(nbytes - (last == 'y')), thing,
                        last == 'y'   ? "ies"
                        : last == 'h' ? "es"
                                      : "s");
}

const char *words_counted(struct sheet *sheet, uint64_t count, const char *thing) {
    return sheet_format(sheet, "%s %s", format_count(count).text,
                        count == 1 ? thing : words_plural(sheet, thing));
}

void words_rest(struct sheet *sheet, const struct group *groups, uint32_t shown, uint32_t n_groups,
                const char *thing, uint64_t whole) {
    uint64_t rest = 0;
    for (uint32_t i = shown; i < n_groups; i++)
        rest += groups[i].bytes;
    if (shown != n_groups)
        sheet_say(sheet, "Not listed: %s with %s (%s).", words_counted(sheet, n_groups - shown, thing),
                  format_bytes(rest).text, format_share(rest, whole).text);
}

const char *words_capital(struct sheet *sheet, const char *text) {
    return sheet_format(sheet, "%c%s", text[0] - ('a' - 'A'), text + 1);
}

void words_free_blocks(struct sheet *sheet, const struct device_trace *device,
                       const struct free_blocks_summary *summary) {
    static const char *const headings[] = {
        "Pool, stream and requests", "Segments", "Reserved", "Free", "Free blocks", "Largest", NULL};
    uint32_t shown = summary->n_groups < GROUPS_SHOWN ? summary->n_groups : GROUPS_SHOWN;
    unsigned unit = format_unit(LARGEST(shown, i, summary->groups[i].free_blocks.reserved_bytes));
    sheet_table(sheet, headings, "lrrrrr");
    for (uint32_t i = 0; i < shown; i++) {
        const struct free_blocks *free_blocks = &summary->groups[i].free_blocks;
        const struct free_blocks_group *group = &summary->groups[i];
        sheet_cell(sheet, "%s, stream %u, %s", SHEET_SAID(sheet, pool_tell, device, group->pool),
                   (unsigned)group->stream, group->small ? "up to 1 MiB" : "above 1 MiB");
        SHEET_CELLS(sheet, format_count(free_blocks->n_segments).text,
                    format_bytes_in(free_blocks->reserved_bytes, unit).text,
                    format_bytes_in(free_blocks->free_bytes, unit).text,
                    format_count(free_blocks->n_free_blocks).text,
                    format_bytes_in(free_blocks->largest_bytes, unit).text);
    }
    sheet_table_end(sheet);
    if (summary->n_groups > shown)
        sheet_say(sheet, "Not listed: %s more; --json has them all.",
                  format_count(summary->n_groups - shown).text);
}
