/* Writes the full report for people. One pass writes text and Markdown; the sheet knows which. */
#include "base/format.h"
#include "render/report/report_sites.h"
#include "render/words/device.h"

#include <inttypes.h>
#include <string.h>

enum { BASELINE_SHOWN = 5 };

/* ---- summary ---- */

static const char *events_text(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    uint32_t n_events = report->device->n_events;
    if (n_events < 2)
        return n_events == 1 ? "1" : "none: only the state at the end was recorded";
    if (!timeline_timed(timeline))
        return sheet_format(sheet, "%s, without times", format_count(n_events).text);
    return sheet_format(sheet, "%s in %s", format_count(n_events).text,
                        format_duration(timeline_start_us(timeline, n_events)).text);
}

static const char *allocations_text(struct sheet *sheet, const struct allocations *allocations) {
    if (allocations->preexisting == 0)
        return sheet_format(sheet, "%s, all made while recording", format_count(allocations->count).text);
    return sheet_format(sheet, "%s, of these %s older than the recording",
                        format_count(allocations->count).text, format_count(allocations->preexisting).text);
}

/* The memory from before the recording, and its part of the peak. */
static const char *baseline_text(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    const struct allocations *allocations = &report->device->allocations;
    uint64_t at_peak = 0;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        at_peak += allocations->death[i] > timeline->peak_moment ? allocations->size[i] : 0;
    if (timeline->start_bytes == 0)
        return "nothing";
    if (at_peak == timeline->peak_bytes)
        return sheet_format(sheet, "%s, which is the whole peak", words_bytes(sheet, timeline->start_bytes));
    return sheet_format(sheet, "%s, %s of it in the peak (%s of the peak)",
                        words_bytes(sheet, timeline->start_bytes),
                        at_peak == timeline->start_bytes ? "all" : format_bytes(at_peak).text,
                        format_share(at_peak, timeline->peak_bytes).text);
}

/* Writes the filter's figures; the other rows count everything. */
static void filter_row(struct sheet *sheet, const struct report_device *report) {
    const struct filter_query *filter = report->options->filter;
    const struct timeline *shown = report_shown(report);
    if (filter == NULL)
        return;
    sheet_cell(sheet, "Filter");
    sheet_cell(sheet, "%s leaves %s, at most %s %s", sheet_name(sheet, filter->text, strlen(filter->text)),
               words_counted(sheet, report->selection.allocations, "allocation"),
               format_bytes(shown->peak_bytes).text, words_moment(sheet, shown, shown->peak_moment));
}

static void summary_write(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    static const char *const headings[] = {"", "", NULL};
    sheet_heading(sheet, 3, "Summary");
    sheet_table(sheet, headings, "ll");
    SHEET_CELLS(sheet, "Events", events_text(sheet, report), "Allocations",
                allocations_text(sheet, &report->device->allocations));
    sheet_cell(sheet, "Peak");
    sheet_strong(sheet);
    sheet_cell(sheet, "%s %s, in %s", words_bytes(sheet, timeline->peak_bytes),
               words_moment(sheet, timeline, timeline->peak_moment),
               words_counted(sheet, timeline->live_at_peak, "allocation"));
    SHEET_CELLS(sheet, "Before recording", baseline_text(sheet, report));
    filter_row(sheet, report);
    SHEET_CELLS(sheet, "At the end", words_bytes(sheet, timeline->end_bytes), "Reserved");
    if (report_reserved_known(report->device))
        sheet_cell(sheet, report->device->n_segments != 0 ? "%s at most, %s" : "%s at least, %s",
                   words_bytes(sheet, timeline->reserved_peak),
                   words_moment(sheet, timeline, timeline->reserved_peak_moment));
    else
        sheet_cell(sheet, "unknown: the file holds no segments");
    sheet_table_end(sheet);
}

/* ---- call sites ---- */

static void groups_write(struct sheet *sheet, const struct report_device *report, const char *thing) {
    uint64_t peak = report->timeline.peak_bytes;
    enum compare_by by = report->options->group;
    if (by == COMPARE_BY_SITE) {
        report_sites_table(sheet, report, report->timeline.peak_moment, report->options->top, peak);
        return;
    }
    report_groups_table(sheet, report);
    words_rest(sheet, report->groups, report->n_shown, report->n_groups, thing, peak);
}

static void peak_write(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    /* A memory timeline has categories instead of call sites, so one table is enough. */
    bool categories = !trace_has_call_sites(report->trace);
    enum compare_by by = report->options->group;
    const char *thing = categories && by <= COMPARE_BY_STACK ? "category" : compare_by_thing[by];
    sheet_heading(sheet, 3, "At the peak");
    if (report->n_groups == 0) {
        sheet_say(sheet, report->timeline.peak_bytes != 0
                             ? "Nothing that passes the filter is alive at the peak."
                             : "Nothing was allocated at any moment.");
        return;
    }
    if (report->options->filter == NULL)
        sheet_say(sheet, "%s in %s of %s, %s.", format_bytes(timeline->peak_bytes).text,
                  words_counted(sheet, timeline->live_at_peak, "allocation"),
                  words_counted(sheet, report->n_groups, thing),
                  words_moment(sheet, timeline, timeline->peak_moment));
    else
        sheet_say(sheet, "Of the peak's %s, the filter leaves %s in %s, %s.",
                  format_bytes(timeline->peak_bytes).text,
                  format_bytes(report_shown(report)->live[timeline->peak_moment]).text,
                  words_counted(sheet, report->n_groups, thing),
                  words_moment(sheet, timeline, timeline->peak_moment));
    groups_write(sheet, report, thing);
    if (!categories && by != COMPARE_BY_CATEGORY)
        report_categories(sheet, report);
}

/* ---- before the recording ---- */

static bool any_has_a_stack(const struct allocations *allocations) {
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        if (allocations->stack[i] != 0)
            return true;
    return false;
}

static void baseline_write(struct sheet *sheet, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    const struct allocations *allocations = &report->device->allocations;
    uint64_t block_bytes = 0, free_bytes = 0; /* known from a final block; known from their free */
    uint32_t n_blocks = 0, n_frees = 0;
    for (uint32_t i = 0; i < allocations->preexisting; i++) {
        bool block = allocations->death[i] == report->device->n_events + 1;
        *(block ? &block_bytes : &free_bytes) += allocations->size[i];
        *(block ? &n_blocks : &n_frees) += 1;
    }
    if (timeline->start_bytes == 0)
        return;
    sheet_heading(sheet, 3, "Before recording");
    bool total = report->trace->kind == TRACE_KINETO; /* a running total has no number of allocations */
    if (total)
        sheet_say(sheet, "%s were there before the first event.", words_bytes(sheet, timeline->start_bytes));
    else
        sheet_say(sheet, "%s in %s were there before the first event.",
                  words_bytes(sheet, timeline->start_bytes),
                  words_counted(sheet, allocations->preexisting, "allocation"));
    if (n_blocks != 0 && !total)
        sheet_point(sheet, "%s in %s were never freed. They are known from what was there at the end.",
                    format_bytes(block_bytes).text, words_counted(sheet, n_blocks, "allocation"));
    if (n_frees != 0)
        sheet_point(
            sheet,
            "%s in %s are known from %s. The size is exact, and the stack shown is the one of the free.",
            format_bytes(free_bytes).text, words_counted(sheet, n_frees, "allocation"),
            n_frees == 1 ? "its free" : "their frees");
    if (!any_has_a_stack(allocations)) {
        sheet_say(sheet, "No stack was recorded for them.");
        return;
    }
    report_sites_table(sheet, report, 0, BASELINE_SHOWN, timeline->start_bytes);
}

/* ---- trust ---- */

/* Writes all diagnostics of a device or of the file, except those with code `but`; NULL: all. */
static void diagnostics_write(struct sheet *sheet, const struct trace *trace, int32_t device,
                              const char *but) {
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        const struct diagnostic *diagnostic = &trace->diagnostics[i];
        struct text message = trace_text(trace, diagnostic->message);
        if (diagnostic->device == device &&
            (but == NULL || !text_is(trace_text(trace, diagnostic->code), but)))
            sheet_point(sheet, "%s", sheet_quote(sheet, message.at, message.nbytes));
    }
}

/* Bytes in the final blocks. */
static uint64_t blocks_requested(const struct device_trace *device) {
    uint64_t requested = 0;
    for (uint32_t i = 0; i < device->n_blocks; i++)
        requested += device->blocks[i].state != BLOCK_INACTIVE ? device->blocks[i].requested_size : 0;
    return requested;
}

/* Bytes alive after the last event and in no final block; a diagnostic reports them. */
static uint64_t unmatched_bytes(const struct allocations *allocations) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        bytes += (allocations->flags[i] & ALLOCATION_UNMATCHED_END) != 0 ? allocations->size[i] : 0;
    return bytes;
}

/* Compares the sum of the events with the final blocks, which describe the same state. Writes nothing if a diagnostic
 * explains the difference already. */
static void reconciliation_write(struct sheet *sheet, const struct report_device *report) {
    const struct device_trace *device = report->device;
    uint64_t requested = blocks_requested(device), end = report->timeline.end_bytes;
    if (device->n_blocks == 0 ||
        (end > requested && end - requested == unmatched_bytes(&device->allocations)))
        return;
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

static void rounding_write(struct sheet *sheet, const struct device_trace *device) {
    uint64_t rounded = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        rounded += device->segments[i].allocated_size;
    if (device->n_blocks != 0)
        sheet_point(
            sheet,
            "All figures are requested bytes; rounded up by the allocator, %s were allocated at the end "
            "(what memory_allocated() returns).",
            format_bytes(rounded).text);
}

static const char *device_text(struct sheet *sheet, const struct device_trace *device) {
    const char *events = words_counted(sheet, device->n_events, "event");
    const char *oom = device->n_ooms != 0 ? ", ran out of memory" : "";
    return sheet_format(sheet, "%s (%s%s)", device_words(device->ordinal).text, events, oom);
}

const char *words_devices(struct sheet *sheet, const struct trace *trace, const struct device_trace *but) {
    enum { SHOWN = 8 };
    const char *text = "";
    uint32_t n = 0;
    for (int out_of_memory = 1; out_of_memory >= 0; out_of_memory--)
        for (uint32_t i = 0; i < trace->n_devices; i++) {
            const struct device_trace *device = &trace->devices[i];
            if (device != but && (device->n_ooms != 0) == (out_of_memory != 0) && n++ < SHOWN)
                text = sheet_format(sheet, "%s%s%s", text, n == 1 ? "" : ", ", device_text(sheet, device));
        }
    return n > SHOWN ? sheet_format(sheet, "%s and %s more", text, format_count(n - SHOWN).text) : text;
}

static void trust_write(struct sheet *sheet, const struct report_device *report) {
    sheet_heading(sheet, 3, "Trust");
    if (report->options->device != REPORT_ALL_DEVICES && report->trace->n_devices > 1)
        sheet_point(sheet, "Left out, because -d names another device: %s.",
                    words_devices(sheet, report->trace, report->device));
    bool differs =
        report->device->n_blocks != 0 && blocks_requested(report->device) != report->timeline.end_bytes;
    diagnostics_write(sheet, report->trace, ORDINAL_NONE, NULL);
    diagnostics_write(sheet, report->trace, report->device->ordinal, differs ? "live_end_differs" : NULL);
    if (!trace_has_allocations(report->trace))
        return;
    reconciliation_write(sheet, report);
    /* without final segments a diagnostic says already that the reserved curve is a lower bound */
    if (report->timeline.reserved_shift != 0 && report->device->n_segments != 0)
        sheet_point(sheet,
                    "The segment events do not fit the final segments. All reserved figures are raised by "
                    "%s, so they are a bound, not exact.",
                    format_bytes(report->timeline.reserved_shift).text);
    rounding_write(sheet, report->device);
    if (trace_has_segments(report->trace) && report->replayed)
        sheet_point(sheet, "%s", SHEET_SAID(sheet, replay_tell, &report->replay));
    else if (trace_has_segments(report->trace))
        sheet_point(sheet, "Replay check: left out of a recording of %s; strata plan does it.",
                    words_counted(sheet, report->device->n_events, "event"));
    if (trace_has_dumps(report->trace))
        sheet_point(sheet, "Replay check: left out of a series.");
    else if (!trace_has_segments(report->trace))
        sheet_point(
            sheet,
            "All figures are rounded up by the allocator, because a profiler counts what it handed out.");
    else if (report->device->n_blocks == 0)
        sheet_point(sheet, "The file holds no final segments, so the events cannot be checked against them. "
                           "All figures are requested bytes.");
}

/* ---- the whole ---- */

static bool full_write(struct buffer *out, const struct report_device *report) {
    struct sheet sheet = words_sheet(out, report->arena, report->options->format, report->options->look);
    sheet.last = SHEET_PARAGRAPH;
    words_device_heading(&sheet, report->trace->kind, report->device->ordinal);
    if (report->plan.of_setting)
        report_plan_said(&sheet, report);
    report_peak_made(&sheet, report);
    report_layers(&sheet, report);
    report_findings(&sheet, report);
    if (report->device->n_ooms == 0 && !report->plan.of_setting)
        report_plan_said(&sheet, report);
    if (trace_has_allocations(report->trace)) {
        summary_write(&sheet, report);
        report_series_text(&sheet, report);
        peak_write(&sheet, report);
        baseline_write(&sheet, report);
        report_ooms(&sheet, report);
        report_steps(&sheet, report);
        report_fragmentation(&sheet, report);
    } else {
        report_log_text(&sheet, report);
        report_steps(&sheet, report);
    }
    trust_write(&sheet, report);
    return !out->failed;
}

bool report_still(const struct report_page *page, const struct report_device *report) {
    struct sheet sheet = {.out = page->still, .arena = report->arena, .elements = true};
    sheet_heading(&sheet, 1, "Memory of %s", sheet_name(&sheet, page->file, strlen(page->file)));
    words_device_heading(&sheet, report->trace->kind, report->device->ordinal);
    if (page->picture != NULL &&
        !page->picture(page->still, &report->verdicts, page->picture_context, report->arena))
        return false;
    report_peak_made(&sheet, report);
    report_findings(&sheet, report);
    if (trace_has_allocations(report->trace)) {
        summary_write(&sheet, report);
        peak_write(&sheet, report);
        report_ooms(&sheet, report);
    } else {
        report_log_text(&sheet, report);
    }
    sheet_close(&sheet);
    return !sheet.out->failed;
}

/* The beginning of the full text. */
static void file_write(struct buffer *out, const struct trace *trace, const struct report_options *options,
                       struct arena *scratch) {
    struct sheet sheet = words_sheet(out, scratch, options->format, options->look);
    sheet_heading(&sheet, 1, "Memory of %s", sheet_name(&sheet, options->file, strlen(options->file)));
    sheet_say(&sheet, "Fingerprint %s", options->fingerprint);
    if (trace->n_devices == 0) {
        sheet_say(&sheet, "%s", no_device_sentence);
        diagnostics_write(&sheet, trace, ORDINAL_NONE, NULL);
    }
    /* The devices are listed first, so that one that failed is found without reading about the others. */
    if (trace->n_devices > 1 && options->device == REPORT_ALL_DEVICES && trace_has_allocations(trace))
        sheet_say(&sheet, "%s devices: %s.", format_count(trace->n_devices).text,
                  words_devices(&sheet, trace, NULL));
}

struct text_writing {
    struct buffer *out;
    const struct trace *trace; /* the whole */
    bool screen;               /* the screen comes next, about the next device */
};

static bool device_write(void *context, const struct report_device *report) {
    struct text_writing *writing = context;
    struct buffer *out = writing->out;
    const struct report_options *options = report->options;
    if (writing->screen) {
        writing->screen = false;
        if (!report_screen_device(out, report) || options->format == REPORT_TEXT)
            return !out->failed;
        buffer_add_text(out, "\n<details><summary>The full report</summary>\n\n");
        file_write(out, writing->trace, options, report->arena);
    }
    return full_write(out, report);
}

/* The places in which devices are written: the first, those that ran out of memory, the others. */
enum { PLACE_FIRST, PLACE_OOM, PLACE_OTHER, PLACES };

static unsigned place_of(const struct device_trace *device, const struct report_options *options) {
    return device->ordinal == options->first ? PLACE_FIRST : device->n_ooms != 0 ? PLACE_OOM : PLACE_OTHER;
}

bool report_text(struct buffer *out, const struct trace *trace, const struct report_options *options,
                 struct arena *scratch) {
    struct text_writing writing = {out, trace, options->format != REPORT_FULL && trace->n_devices != 0};
    bool all = options->device == REPORT_ALL_DEVICES && options->format != REPORT_TEXT;
    bool done = true;
    if (!writing.screen)
        file_write(out, trace, options, scratch);
    for (unsigned place = PLACE_FIRST; place < (all ? PLACES : PLACE_OOM); place++)
        for (uint32_t i = 0; done && i < trace->n_devices; i++)
            if (place_of(&trace->devices[i], options) == place)
                done = report_one_device(trace, i, options, scratch, device_write, &writing);
    if (options->format == REPORT_MARKDOWN && trace->n_devices != 0)
        buffer_add_text(out, "\n</details>\n");
    return done && !out->failed;
}
