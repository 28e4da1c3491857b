/* The report for people. One walk writes both forms, the sheet knows which. */
#include "layout/site.h"
#include "trace/format.h"
#include "render/report_parts.h"
#include "render/report_sheet.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

enum {
    CALLERS_SHOWN = 3,   /* user frames outside of the call site */
    OOMS_SHOWN = 5,      /* a run that goes on after the first tries the same again and again */
    OOM_GROUPS_SHOWN = 5 /* what held the memory then */
};

/* ---- names ---- */

static const char *frame_name(struct sheet *sheet, const struct trace *trace, uint32_t frame) {
    char text[1024];
    uint32_t length = site_text(trace, frame, text, sizeof text);
    return sheet_name(sheet, text, length < sizeof text ? length : sizeof text - 1);
}

/* "train.py:88 step ← main.py:3 main": the next frames of the user's own code outside of the call site. */
static const char *callers_name(struct sheet *sheet, const struct trace *trace, const struct group *group) {
    const char *text = "";
    uint32_t last = group->site, shown = 0;
    bool outside = false;
    for (uint32_t stack = group->stack; stack != 0 && shown < CALLERS_SHOWN;
         stack = trace->stacks.stack[stack].parent) {
        uint32_t frame = trace->stacks.stack[stack].frame;
        if (outside && frame != last && frame_kind_of(trace, frame) == FRAME_USER) {
            text =
                sheet_format(sheet, "%s%s%s", text, shown != 0 ? " ← " : "", frame_name(sheet, trace, frame));
            last = frame;
            shown++;
        }
        outside = outside || frame == group->site;
    }
    return text;
}

/* "after event 18,204 (12.3 s)", "before the first event" */
static const char *moment_text(struct sheet *sheet, const struct timeline *timeline, uint32_t moment) {
    if (moment == 0)
        return timeline->device->n_events == 0 ? "the whole time" : "before the first event";
    const char *event = sheet_format(sheet, "after event %s", format_count(moment - 1).text);
    if (timeline->start_us == NULL)
        return event;
    return sheet_format(sheet, "%s (%s)", event, format_duration(timeline->start_us[moment]).text);
}

/* "71.2 GiB (76,450,123,456 bytes)" */
static const char *exact_bytes(struct sheet *sheet, uint64_t bytes) {
    if (bytes < 1024)
        return sheet_format(sheet, "%s bytes", format_count(bytes).text);
    return sheet_format(sheet, "%s (%s bytes)", format_bytes(bytes).text, format_count(bytes).text);
}

/* "1 allocation", "210 allocations" */
static const char *counted(struct sheet *sheet, uint64_t count, const char *thing) {
    return sheet_format(sheet, "%s %s%s", format_count(count).text, thing, count == 1 ? "" : "s");
}

/* ---- summary ---- */

static void row_begin(struct sheet *sheet, const char *name) {
    sheet_cell(sheet, "%s", name);
}

static void events_row(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    uint32_t n_events = report->device->n_events;
    row_begin(sheet, "Events");
    if (n_events == 0)
        sheet_cell(sheet, "none: only the state at the end was recorded");
    else if (timeline->start_us == NULL)
        sheet_cell(sheet, "%s, without times", format_count(n_events).text);
    else
        sheet_cell(sheet, "%s in %s", format_count(n_events).text,
                   format_duration(timeline->start_us[n_events]).text);
}

static void allocations_row(struct sheet *sheet, const struct report_device *report) {
    const struct lives *lives = &report->device->lives;
    row_begin(sheet, "Allocations");
    if (lives->preexisting == 0)
        sheet_cell(sheet, "%s, all made while recording", format_count(lives->count).text);
    else
        sheet_cell(sheet, "%s, of these %s older than the recording", format_count(lives->count).text,
                   format_count(lives->preexisting).text);
}

static void peak_row(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    row_begin(sheet, "Peak");
    sheet_cell(sheet, "%s %s, in %s", exact_bytes(sheet, timeline->peak_bytes),
               moment_text(sheet, timeline, timeline->peak_moment),
               counted(sheet, timeline->live_at_peak, "allocation"));
}

/* What was there before the recording started, and how much of the peak it is. */
static void baseline_row(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    const struct lives *lives = &report->device->lives;
    uint64_t at_peak = 0;
    for (uint32_t i = 0; i < lives->preexisting; i++)
        at_peak += lives->death[i] > timeline->peak_moment ? lives->size[i] : 0;
    row_begin(sheet, "Before recording");
    if (timeline->start_bytes == 0)
        sheet_cell(sheet, "nothing");
    else
        sheet_cell(sheet, "%s; %s of it in the peak (%s of the peak)",
                   exact_bytes(sheet, timeline->start_bytes), format_bytes(at_peak).text,
                   format_share(at_peak, timeline->peak_bytes).text);
}

static bool segments_known(const struct device_trace *device) {
    return device->n_segments != 0 || device->n_segment_events != 0;
}

static void summary_write(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    static const char *const headings[] = {"", "", NULL};
    sheet_heading(sheet, 3, "Summary");
    sheet_table(sheet, headings, "ll");
    events_row(sheet, report);
    allocations_row(sheet, report);
    peak_row(sheet, report);
    baseline_row(sheet, report);
    row_begin(sheet, "At the end");
    sheet_cell(sheet, "%s", exact_bytes(sheet, timeline->end_bytes));
    row_begin(sheet, "Reserved");
    if (segments_known(report->device))
        sheet_cell(sheet, "%s at most, %s", exact_bytes(sheet, timeline->reserved_peak),
                   moment_text(sheet, timeline, timeline->reserved_peak_moment));
    else
        sheet_cell(sheet, "unknown: the file holds no segments");
    sheet_table_end(sheet);
}

/* ---- call sites ---- */

static void groups_table(struct sheet *sheet, const struct trace *trace, const struct group *groups,
                         uint32_t count, uint64_t whole) {
    static const char *const headings[] = {"Bytes", "Share", "Count", "Call site", "Called from", NULL};
    sheet_table(sheet, headings, "rrrll");
    for (uint32_t i = 0; i < count; i++) {
        sheet_cell(sheet, "%s", format_bytes(groups[i].bytes).text);
        sheet_cell(sheet, "%s", format_share(groups[i].bytes, whole).text);
        sheet_cell(sheet, "%s", format_count(groups[i].count).text);
        sheet_cell(sheet, "%s", frame_name(sheet, trace, groups[i].site));
        sheet_cell(sheet, "%s", callers_name(sheet, trace, &groups[i]));
    }
    sheet_table_end(sheet);
}

static void peak_write(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    const char *thing = report->options->group == GROUP_BY_STACK ? "stack" : "call site";
    sheet_heading(sheet, 3, "At the peak");
    if (report->n_groups == 0) {
        sheet_say(sheet, "Nothing was allocated at any moment.");
        return;
    }
    sheet_say(sheet, "%s in %s of %s, %s.", format_bytes(timeline->peak_bytes).text,
              counted(sheet, timeline->live_at_peak, "allocation"), counted(sheet, report->n_groups, thing),
              moment_text(sheet, timeline, timeline->peak_moment));
    groups_table(sheet, report->trace, report->groups, report->n_shown, timeline->peak_bytes);
    uint64_t rest = 0;
    for (uint32_t i = report->n_shown; i < report->n_groups; i++)
        rest += report->groups[i].bytes;
    if (report->n_shown != report->n_groups)
        sheet_say(sheet, "Not listed: %s with %s (%s).",
                  counted(sheet, report->n_groups - report->n_shown, thing), format_bytes(rest).text,
                  format_share(rest, timeline->peak_bytes).text);
}

/* ---- holes: what is reserved and not in use, known for the end only ---- */

struct holes {
    uint64_t reserved, free, largest;
    uint32_t count, segments;
};

static void holes_of_segment(struct holes *holes, const struct device_trace *device,
                             const struct segment *segment) {
    holes->segments++;
    holes->reserved += segment->total_size;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct block *block = &device->blocks[segment->first_block + i];
        if (block->state != BLOCK_INACTIVE)
            continue;
        holes->count++;
        holes->free += block->size;
        holes->largest = block->size > holes->largest ? block->size : holes->largest;
    }
}

static struct holes holes_of_pool(const struct device_trace *device, uint32_t pool) {
    struct holes holes = {0};
    for (uint32_t i = 0; i < device->n_segments; i++)
        if (device->segments[i].pool == pool)
            holes_of_segment(&holes, device, &device->segments[i]);
    return holes;
}

/* ---- out of memory ---- */

/* What allocator_settings says of expandable segments. */
enum expandable { EXPANDABLE_UNKNOWN, EXPANDABLE_OFF, EXPANDABLE_ON };

static enum expandable expandable_of(const struct trace *trace) {
    uint32_t nbytes;
    const uint8_t *text = trace_string(trace, trace->settings, &nbytes);
    cJSON *settings = cJSON_ParseWithLength((const char *)text, nbytes);
    const cJSON *flag = cJSON_GetObjectItemCaseSensitive(settings, "expandable_segments");
    enum expandable expandable = cJSON_IsTrue(flag)    ? EXPANDABLE_ON
                                 : cJSON_IsFalse(flag) ? EXPANDABLE_OFF
                                                       : EXPANDABLE_UNKNOWN;
    cJSON_Delete(settings);
    return expandable;
}

static void fragmentation_advice(struct sheet *sheet, const struct trace *trace) {
    static const char *const advice[] = {
        [EXPANDABLE_UNKNOWN] = "If expandable segments are off (the file does not say), "
                               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True is the first thing to try.",
        [EXPANDABLE_OFF] = "Expandable segments are off: "
                           "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True is the first thing to try.",
        [EXPANDABLE_ON] =
            "Expandable segments are on already; what is left is memory that other streams or private "
            "pools keep, and rounding.",
    };
    sheet_point(sheet, "%s", advice[expandable_of(trace)]);
}

static void oom_advice(struct sheet *sheet, const struct report_device *report, const struct oom_event *oom,
                       uint64_t live, uint64_t reserved) {
    uint64_t unused = reserved > live ? reserved - live : 0;
    uint64_t there = unused + oom->device_free;
    if (unused >= oom->size) {
        sheet_point(
            sheet,
            "%s were reserved but not in use, more than was asked for, and no hole among them would do.",
            format_bytes(unused).text);
        fragmentation_advice(sheet, report->trace);
    } else if (there >= oom->size) {
        sheet_point(sheet,
                    "What was free on the device and what was reserved but not in use would have been enough "
                    "together (%s), but not in one piece.",
                    format_bytes(there).text);
        fragmentation_advice(sheet, report->trace);
    } else {
        sheet_point(
            sheet,
            "The memory was really in use: even if all that was free or reserved but not in use could serve, "
            "%s were lacking.",
            format_bytes(oom->size - there).text);
        if (unused > oom->size - there) /* then holes are the larger part of the trouble */
            fragmentation_advice(sheet, report->trace);
    }
}

static void bytes_row(struct sheet *sheet, const char *name, uint64_t bytes) {
    row_begin(sheet, name);
    sheet_cell(sheet, "%s", exact_bytes(sheet, bytes));
}

/* The holes are those of the final segments, so they are known only for an OOM that ends the recording. */
static void oom_holes_rows(struct sheet *sheet, const struct report_device *report,
                           const struct oom_event *oom) {
    const struct device_trace *device = report->device;
    if (oom->event + 1 != device->n_events || device->n_segments == 0)
        return;
    struct holes all = {0};
    for (uint32_t i = 0; i < device->n_segments; i++)
        holes_of_segment(&all, device, &device->segments[i]);
    row_begin(sheet, "Largest free hole");
    sheet_cell(sheet, "%s of %s in %s", exact_bytes(sheet, all.largest), format_bytes(all.free).text,
               counted(sheet, all.count, "hole"));
}

static void oom_write(struct sheet *sheet, const struct report_device *report, const struct oom_event *oom) {
    const struct timeline *timeline = &report->timeline;
    uint32_t moment = oom->event + 1;
    uint64_t live = timeline->live[moment], reserved = timeline_reserved_at(timeline, moment);
    struct group *groups;
    uint32_t n_groups;
    static const char *const headings[] = {"", "", NULL};
    sheet_say(sheet, "Out of memory %s:", moment_text(sheet, timeline, moment));
    sheet_table(sheet, headings, "ll");
    bytes_row(sheet, "Asked for", oom->size);
    bytes_row(sheet, "Free on the device", oom->device_free);
    bytes_row(sheet, "Reserved", reserved);
    bytes_row(sheet, "In use", live);
    bytes_row(sheet, "Reserved, not in use", reserved > live ? reserved - live : 0);
    oom_holes_rows(sheet, report, oom);
    sheet_table_end(sheet);
    if (!groups_at(timeline, moment, report->options->group, report->arena, &groups, &n_groups)) {
        sheet->out->failed = true;
        return;
    }
    sheet_say(sheet, "What held the memory:");
    groups_table(sheet, report->trace, groups, n_groups < OOM_GROUPS_SHOWN ? n_groups : OOM_GROUPS_SHOWN,
                 live);
    oom_advice(sheet, report, oom, live, reserved);
}

static void ooms_write(struct sheet *sheet, const struct report_device *report) {
    uint32_t count = report->device->n_ooms;
    if (count == 0)
        return;
    sheet_heading(sheet, 3, "OOM");
    for (uint32_t i = 0; i < count && i < OOMS_SHOWN; i++)
        oom_write(sheet, report, &report->device->ooms[i]);
    if (count > OOMS_SHOWN)
        sheet_say(sheet, "Not listed: %s; --json has them all.",
                  counted(sheet, count - OOMS_SHOWN, "more out-of-memory event"));
}

/* ---- reserved ---- */

static void reserved_row(struct sheet *sheet, const struct timeline *timeline, const char *name,
                         uint32_t moment) {
    uint64_t reserved = timeline_reserved_at(timeline, moment), live = timeline->live[moment];
    uint64_t unused = reserved > live ? reserved - live : 0;
    sheet_cell(sheet, "%s", name);
    sheet_cell(sheet, "%s", format_bytes(reserved).text);
    sheet_cell(sheet, "%s", format_bytes(live).text);
    sheet_cell(sheet, "%s", format_bytes(unused).text);
    sheet_cell(sheet, "%s", format_share(unused, reserved).text);
    sheet_cell(sheet, "%s", moment_text(sheet, timeline, moment));
}

static const char *pool_text(struct sheet *sheet, const struct device_trace *device, uint32_t pool) {
    const struct pool_id *id = &device->pools[pool];
    if (pool == POOL_UNKNOWN)
        return "unknown";
    if (id->first == 0 && id->second == 0)
        return "default";
    return sheet_format(sheet, "private (%" PRIu64 ", %" PRIu64 ")", id->first, id->second);
}

static void pools_table(struct sheet *sheet, const struct report_device *report) {
    static const char *const headings[] = {"Pool",  "Segments",     "Reserved", "Free in holes",
                                           "Holes", "Largest hole", NULL};
    sheet_say(sheet, "Holes at the end, by pool:");
    sheet_table(sheet, headings, "lrrrrr");
    for (uint32_t pool = 0; pool < report->device->n_pools; pool++) {
        struct holes holes = holes_of_pool(report->device, pool);
        if (holes.segments == 0)
            continue;
        sheet_cell(sheet, "%s", pool_text(sheet, report->device, pool));
        sheet_cell(sheet, "%s", format_count(holes.segments).text);
        sheet_cell(sheet, "%s", format_bytes(holes.reserved).text);
        sheet_cell(sheet, "%s", format_bytes(holes.free).text);
        sheet_cell(sheet, "%s", format_count(holes.count).text);
        sheet_cell(sheet, "%s", format_bytes(holes.largest).text);
    }
    sheet_table_end(sheet);
}

static void reserved_write(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    static const char *const headings[] = {"", "Reserved", "In use", "Not in use", "Share", "", NULL};
    sheet_heading(sheet, 3, "Reserved");
    if (!segments_known(report->device)) {
        sheet_say(sheet, "The file holds no segments: nothing is known of reserved memory.");
        return;
    }
    sheet_table(sheet, headings, "lrrrrl");
    reserved_row(sheet, timeline, "Most reserved", timeline->reserved_peak_moment);
    reserved_row(sheet, timeline, "Most in use", timeline->peak_moment);
    reserved_row(sheet, timeline, "At the end", timeline->n_moments - 1);
    sheet_table_end(sheet);
    if (report->device->n_segments != 0)
        pools_table(sheet, report);
}

/* ---- trust ---- */

static void diagnostics_write(struct sheet *sheet, const struct trace *trace, int32_t device) {
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        if (trace->diagnostics[i].device != device)
            continue;
        uint32_t nbytes;
        const uint8_t *message = trace_string(trace, trace->diagnostics[i].message, &nbytes);
        sheet_point(sheet, "%s", sheet_quote(sheet, message, nbytes));
    }
}

/* The events and the final blocks are two accounts of one state. */
static void reconciliation_write(struct sheet *sheet, const struct report_device *report) {
    const struct device_trace *device = report->device;
    uint64_t requested = 0, end = report->timeline.end_bytes;
    if (device->n_segments == 0)
        return;
    for (uint32_t i = 0; i < device->n_blocks; i++)
        requested += device->blocks[i].state != BLOCK_INACTIVE ? device->blocks[i].requested_size : 0;
    if (requested == end)
        sheet_point(sheet, "The events lead to %s bytes at the end, and the final blocks hold as many.",
                    format_count(end).text);
    else
        sheet_point(
            sheet,
            "The events lead to %s bytes at the end, the final blocks hold %s: they differ by %s, so the "
            "curve may be wrong by that much.",
            format_count(end).text, format_count(requested).text,
            format_bytes(end > requested ? end - requested : requested - end).text);
}

static void reserved_shift_write(struct sheet *sheet, const struct report_device *report) {
    if (report->timeline.reserved_shift != 0)
        sheet_point(
            sheet,
            "The segment events do not fit the final segments: reserved bytes are raised by %s throughout "
            "and are a bound, not exact.",
            format_bytes(report->timeline.reserved_shift).text);
}

static void rounding_write(struct sheet *sheet, const struct device_trace *device) {
    uint64_t rounded = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        rounded += device->segments[i].allocated_size;
    if (device->n_segments != 0)
        sheet_point(
            sheet,
            "All figures are requested bytes; rounded up by the allocator, %s were allocated at the end "
            "(what memory_allocated() answers).",
            format_bytes(rounded).text);
}

static void trust_write(struct sheet *sheet, const struct report_device *report) {
    sheet_heading(sheet, 3, "Trust");
    diagnostics_write(sheet, report->trace, -1);
    diagnostics_write(sheet, report->trace, report->device->ordinal);
    reconciliation_write(sheet, report);
    reserved_shift_write(sheet, report);
    rounding_write(sheet, report->device);
    if (report->device->n_segments == 0)
        sheet_point(sheet,
                    "The file holds no final segments that the events could be checked against; all figures "
                    "are requested bytes.");
}

/* ---- the whole ---- */

static bool device_write(struct buffer *out, const struct report_device *report, uint32_t nth) {
    (void)nth;
    struct sheet sheet = {.out = out,
                          .arena = report->arena,
                          .markdown = report->options->format == REPORT_MARKDOWN,
                          .last = SHEET_PARAGRAPH};
    sheet_heading(&sheet, 2, sheet_format(&sheet, "Device %" PRId32, report->device->ordinal));
    summary_write(&sheet, report);
    peak_write(&sheet, report);
    ooms_write(&sheet, report);
    reserved_write(&sheet, report);
    trust_write(&sheet, report);
    return !out->failed;
}

bool report_text(struct buffer *out, const struct trace *trace, const struct report_options *options,
                 struct arena *scratch) {
    struct sheet sheet = {.out = out, .arena = scratch, .markdown = options->format == REPORT_MARKDOWN};
    const char *name = sheet_name(&sheet, options->file, strlen(options->file));
    sheet_heading(&sheet, 1, sheet_format(&sheet, "Memory of %s", name));
    sheet_say(&sheet, "SHA-256 %s", options->sha256);
    if (trace->n_devices == 0) {
        sheet_say(&sheet, "The file shows no device with events, blocks or segments: nothing was recorded.");
        diagnostics_write(&sheet, trace, -1);
    }
    return report_each_device(out, trace, options, scratch, device_write) && !out->failed;
}
