/*
 * Writes schema 3, as docs/report-reference.md describes it, piece by piece, so that a report of every stack needs only
 * the memory of one row. Integers are integers: a double would lose the last digits of large numbers of bytes.
 */
#include "render/report/report_json.h"
#include "analysis/findings/levels.h"
#include "base/json_writer.h"
#include "layout/site.h"
#include "render/report/report_sites.h"
#include "render/words/device.h"

static void add_trace_string(struct json_writer *json, const char *name, const struct trace *trace,
                             uint32_t id) {
    struct text bytes = trace_text(trace, id);
    json_string(json, name, bytes.at, bytes.nbytes);
}

void report_site_json(struct json_writer *json, const char *name, const struct trace *trace, uint32_t site,
                      bool known) {
    char none[1];
    struct buffer text = {.host = json->out->host};
    if (!known) {
        json_null(json, name);
        return;
    }
    uint32_t length = site_text(trace, site, none, sizeof none);
    char *bytes = (char *)buffer_extend(&text, (size_t)length + 1);
    if (bytes != NULL) {
        site_text(trace, site, bytes, length + 1);
        json_string(json, name, bytes, length);
    }
    json->out->failed |= text.failed;
    buffer_release(&text);
}

/* A real stack has some 20 KB of text, and a recording some thousand stacks. A hostile stack names a long string a
 * thousand times, or is one of very many that each continue the one before. */
enum {
    MAX_STACK_TEXT_NBYTES = 1 << 20,
    MAX_STACKS_TEXT_NBYTES = 1 << 28,
    MIN_STACK_TEXT_NBYTES = 1 << 9,
    FRAME_NOTATION_NBYTES = 40 /* bytes of quotes, names of members and line */
};

/* Adds every frame, innermost first, up to `most_nbytes` of text; then one that stands for the outer ones. Returns the
 * text's bytes. */
static uint64_t add_stack(struct json_writer *json, const struct trace *trace, uint32_t stack,
                          uint64_t most_nbytes) {
    uint64_t nbytes = 0;
    json_array(json, "stack", JSON_COMPACT);
    for (; stack != 0 && nbytes <= most_nbytes; stack = stack_parent(&trace->stacks, stack)) {
        const struct frame *frame = &trace->frames.frame[trace->stacks.frame[stack]];
        struct text file = trace_text(trace, frame->file), name = trace_text(trace, frame->name);
        nbytes += (uint64_t)file.nbytes + name.nbytes + FRAME_NOTATION_NBYTES;
        bool fits = nbytes <= most_nbytes;
        json_object(json, NULL, JSON_COMPACT);
        json_string(json, "file", file.at, fits ? file.nbytes : 0);
        json_u64(json, "line", fits ? frame->line : 0);
        if (fits)
            json_string(json, "name", name.at, name.nbytes);
        else
            json_text(json, "name", "(more frames, too long to be shown)");
        json_end(json);
    }
    json_end(json);
    return nbytes;
}

/* Callers of the listed groups, and their bytes and counts by category. */
struct listed {
    struct report_callers callers;
    uint64_t (*bytes)[CATEGORY_COUNT]; /* [n_shown] */
    uint64_t (*count)[CATEGORY_COUNT];
    uint64_t *of_free;      /* [n_shown] bytes whose stack is known only from the free */
    uint64_t stacks_nbytes; /* bytes of text of the stacks that were written */
};

/* Finds the listed group of each key, plus 1: `group_of[key]`; keys are below `*n`. */
static uint32_t *listed_keys(const struct report_device *report, uint32_t *n) {
    *n = 0;
    for (uint32_t i = 0; i < report->n_shown; i++)
        *n = report->groups[i].key >= *n ? report->groups[i].key + 1 : *n;
    uint32_t *group_of = arena_zeros(report->arena, *n, sizeof *group_of);
    if (group_of == NULL)
        return NULL;
    for (uint32_t i = 0; i < report->n_shown; i++)
        group_of[report->groups[i].key] = i + 1;
    return group_of;
}

/* Sums up the listed groups. False: no memory. */
static bool listed_sum(struct listed *listed, const struct report_device *report) {
    const struct allocations *allocations = &report->device->allocations;
    uint32_t n, *group_of = listed_keys(report, &n);
    uint32_t *key = compare_keys(&report->timeline, report->alive, report->n_alive, report->options->group,
                                 report->column, report->arena);
    for (uint32_t i = 0; group_of != NULL && key != NULL && i < report->n_alive; i++) {
        uint32_t allocation = report->alive[i], category = report->verdicts.category[allocation];
        uint32_t group = key[i] < n ? group_of[key[i]] : 0;
        if (group == 0)
            continue;
        listed->bytes[group - 1][category] += allocations->size[allocation];
        listed->count[group - 1][category] += allocation_stands_for(allocations, allocation);
        if (allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE)
            listed->of_free[group - 1] += allocations->size[allocation];
    }
    return group_of != NULL && key != NULL;
}

/* Finds what is listed beside the groups. False: no memory. */
static bool listed_find(struct listed *listed, const struct report_device *report) {
    *listed = (struct listed){.bytes = arena_zeros(report->arena, report->n_shown, sizeof *listed->bytes),
                              .count = arena_zeros(report->arena, report->n_shown, sizeof *listed->count),
                              .of_free = arena_zeros(report->arena, report->n_shown, sizeof(uint64_t))};
    return listed->bytes != NULL && listed->count != NULL && listed->of_free != NULL &&
           listed_sum(listed, report) &&
           report_callers_find(&listed->callers, report, report->alive, report->n_alive);
}

/* Adds the categories that occur, by falling bytes. */
static void add_group_categories(struct json_writer *json, const struct listed *listed, uint32_t index) {
    bool said[CATEGORY_COUNT] = {false};
    json_array(json, "categories", JSON_COMPACT);
    for (uint32_t n = 0; n < CATEGORY_COUNT; n++) {
        uint32_t best = CATEGORY_COUNT;
        for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
            if (!said[i] && listed->count[index][i] != 0 &&
                (best == CATEGORY_COUNT || listed->bytes[index][i] > listed->bytes[index][best]))
                best = i;
        if (best == CATEGORY_COUNT)
            break;
        said[best] = true;
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "category", category_label[best].name);
        json_u64(json, "bytes", listed->bytes[index][best]);
        json_u64(json, "count", listed->count[index][best]);
        json_end(json);
    }
    json_end(json);
}

static void add_group(struct json_writer *json, const struct report_device *report, struct listed *listed,
                      uint32_t index) {
    const struct group *group = &report->groups[index];
    json_object(json, NULL, JSON_COMPACT);
    json_u64(json, "bytes", group->bytes);
    json_u64(json, "count", group->count);
    json_share(json, "share", group->bytes, report->timeline.peak_bytes);
    if (report->options->group > COMPARE_BY_STACK)
        json_text(json, "group", report_group_name(report, group).text);
    report_site_json(json, "site", report->trace, group->site, true);
    if (group->of_free)
        json_text(json, "stack_is", "free");
    if (listed->of_free[index] != 0)
        json_u64(json, "of_free_bytes", listed->of_free[index]);
    add_group_categories(json, listed, index);
    if (report->options->group == COMPARE_BY_SITE)
        report_callers_json(json, &listed->callers, report->trace, group->site);
    bool many = listed->stacks_nbytes >= MAX_STACKS_TEXT_NBYTES;
    listed->stacks_nbytes +=
        add_stack(json, report->trace, group->stack, many ? MIN_STACK_TEXT_NBYTES : MAX_STACK_TEXT_NBYTES);
    json_end(json);
}

static void add_advice(struct json_writer *json, const struct report_device *report,
                       const struct report_oom *oom) {
    struct report_advice advice[REPORT_ADVICE_MAX];
    uint32_t n = report_oom_advice(report, oom, advice);
    json_array(json, "advice", JSON_COMPACT);
    for (uint32_t i = 0; i < n; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "code", advice[i].code);
        json_text(json, "text", advice[i].text);
        json_end(json);
    }
    json_end(json);
}

static void add_free_blocks_members(struct json_writer *json, const struct free_blocks *free_blocks) {
    json_u64(json, "segments", free_blocks->n_segments);
    json_u64(json, "reserved_bytes", free_blocks->reserved_bytes);
    json_u64(json, "used_bytes", free_blocks->used_bytes);
    json_u64(json, "pending_bytes", free_blocks->pending_bytes);
    json_u64(json, "rounding_bytes", free_blocks_rounding(free_blocks));
    json_u64(json, "hole_bytes", free_blocks->free_bytes);
    json_u64(json, "holes", free_blocks->n_free_blocks);
    json_u64(json, "largest_hole_bytes", free_blocks->largest_bytes);
    json_u64(json, "empty_segments", free_blocks->n_empty);
    json_u64(json, "empty_segment_bytes", free_blocks->empty_bytes);
}

static void add_free_blocks(struct json_writer *json, const char *name,
                            const struct free_blocks *free_blocks) {
    json_object(json, name, JSON_COMPACT);
    add_free_blocks_members(json, free_blocks);
    json_end(json);
}

static void add_free_blocks_groups(struct json_writer *json, const struct report_device *report,
                                   const struct free_blocks_summary *free_blocks) {
    json_array(json, "groups", JSON_LINES);
    for (uint32_t i = 0; i < free_blocks->n_groups; i++) {
        const struct free_blocks_group *group = &free_blocks->groups[i];
        const struct pool_id *id = &report->device->pools[group->pool];
        json_object(json, NULL, JSON_COMPACT);
        add_free_blocks_members(json, &group->free_blocks);
        if (group->pool == POOL_UNKNOWN)
            json_null(json, "pool");
        else {
            json_array(json, "pool", JSON_COMPACT);
            json_u64(json, NULL, id->first);
            json_u64(json, NULL, id->second);
            json_end(json);
        }
        json_u64(json, "stream", group->stream);
        json_bool(json, "small", group->small);
        json_end(json);
    }
    json_end(json);
}

/* Adds the state at an event. False: no memory. */
static bool add_oom_detail(struct json_writer *json, const struct report_device *report,
                           const struct oom_event *event) {
    struct report_oom oom;
    if (!report_oom_of(&oom, report, event))
        return false;
    json_object(json, NULL, JSON_COMPACT);
    json_u64(json, "event", event->event);
    json_u64(json, "requested_bytes", event->size);
    json_u64(json, "device_free_bytes", event->device_free);
    json_u64(json, "reserved_bytes", oom.state.reserved_bytes);
    json_u64(json, "live_bytes", oom.state.live_bytes);
    json_u64(json, "pending_bytes", oom.pending_bytes);
    report_site_json(json, "site", report->trace, report->timeline.site[event->stack], true);
    if (oom.state.at_end) {
        json_u64(json, "largest_hole_bytes", oom.state.free_blocks.all.largest_bytes);
        json_u64(json, "hole_bytes", oom.state.free_blocks.all.free_bytes);
        json_u64(json, "rounding_bytes", free_blocks_rounding(&oom.state.free_blocks.all));
    }
    if (oom.state.free_blocks_known) {
        json_object(json, "holes", JSON_COMPACT);
        json_bool(json, "exact", oom.state.at_end);
        add_free_blocks(json, "all", &oom.state.free_blocks.all);
        add_free_blocks_groups(json, report, &oom.state.free_blocks);
        json_end(json);
    }
    add_advice(json, report, &oom);
    json_end(json);
    return true;
}

/* A log has levels of some of them: null is what it does not tell. */
static void add_figures(struct json_writer *json, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    const struct allocations *allocations = &report->device->allocations;
    bool log = !trace_has_allocations(report->trace);
    struct levels levels;
    const struct level_track *used = &levels.track[LEVEL_ALLOCATED], *held = &levels.track[LEVEL_RESERVED];
    levels_find(&levels, report->device);
    bool has_peak = !log || used->count != 0, has_reserved = !log || held->count != 0;
    json_i64(json, "device", report->device->ordinal);
    json_text(json, "name", report->device->ordinal < 0 ? device_words(report->device->ordinal).text : NULL);
    json_u64(json, "events", report->device->n_events);
    json_known_u64(json, "allocations", !log, allocations->count);
    json_known_u64(json, "preexisting", !log, allocations->preexisting);
    json_known_u64(json, "start_bytes", !log, timeline->start_bytes);
    json_known_u64(json, "peak_bytes", has_peak, log ? used->peak : timeline->peak_bytes);
    json_known_i64(json, "peak_event", has_peak,
                   log ? used->peak_event : report_event(timeline->peak_moment));
    json_known_u64(json, "end_bytes", has_peak && !(log && used->peaks),
                   log ? used->last : timeline->end_bytes);
    json_known_u64(json, "live_at_peak", !log, timeline->live_at_peak);
    json_known_u64(json, "reserved_start_bytes", !log, timeline->reserved_start);
    json_known_u64(json, "reserved_peak_bytes", has_reserved, log ? held->peak : timeline->reserved_peak);
    json_known_u64(json, "reserved_end_bytes", has_reserved && !(log && held->peaks),
                   log ? held->last : timeline->reserved_end);
    json_known_u64(json, "reserved_shift_bytes", !log, timeline->reserved_shift);
}

/* Adds the figures of the filtered allocations; all other figures count everything. */
static void add_filtered(struct json_writer *json, const struct report_device *report) {
    const struct timeline *shown = report_shown(report);
    if (report->options->filter == NULL)
        return;
    json_text(json, "filter", report->options->filter->text);
    json_u64(json, "filtered_allocations", report->selection.allocations);
    json_u64(json, "filtered_peak_bytes", shown->peak_bytes);
    json_i64(json, "filtered_peak_event", report_event(shown->peak_moment));
}

/* Adds the groups. False: no memory. */
static bool add_top(struct json_writer *json, const struct report_device *report) {
    struct listed listed;
    if (!listed_find(&listed, report))
        return false;
    json_array(json, "top_at_peak", JSON_LINES);
    for (uint32_t i = 0; i < report->n_shown && !json->out->failed; i++)
        add_group(json, report, &listed, i);
    json_end(json);
    return true;
}

void report_replay_json(struct json_writer *json, const struct replay *replay) {
    json_object(json, "replay", JSON_LINES);
    json_u64(json, "allocations", replay->allocations);
    json_u64(json, "allocations_exact", replay->allocations_exact);
    json_u64(json, "driver_events", replay->driver_events);
    json_u64(json, "driver_events_exact", replay->driver_events_exact);
    json_u64(json, "releases", replay->releases);
    json_u64(json, "releases_exact", replay->releases_exact);
    json_u64(json, "blocks", replay->blocks);
    json_u64(json, "blocks_exact", replay->blocks_exact);
    json_u64(json, "reserved_max_error_bytes", replay->reserved_max_error_bytes);
    json_text(json, "grade", replay_grade_text[replay->grade]);
    json_text(json, "reason", replay->reason);
    json_end(json);
}

static void add_fragmentation(struct json_writer *json, const struct report_device *report) {
    const struct free_blocks_summary *free_blocks = &report->free_blocks;
    json_object(json, "fragmentation", JSON_LINES);
    add_free_blocks(json, "all", &free_blocks->all);
    add_free_blocks_groups(json, report, free_blocks);
    json_array(json, "hole_sizes", JSON_LINES);
    for (uint32_t i = 0; i < FREE_BLOCK_SIZES; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_u64(json, "from_bytes", i == 0 ? 0 : free_block_size_limit[i - 1]);
        json_u64(json, "holes", free_blocks->count_of_size[i]);
        json_u64(json, "bytes", free_blocks->bytes_of_size[i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static bool add_device(void *context, const struct report_device *report) {
    static const char *const unknown[] = {"fragmentation", "fragmentation_at", "replay"};
    struct json_writer *json = context;
    const struct device_trace *device = report->device;
    bool log = !trace_has_allocations(report->trace), done = true;
    json_object(json, NULL, JSON_LINES);
    add_figures(json, report);
    if (log) {
        json_array(json, "top_at_peak", JSON_LINES);
        json_end(json);
    } else {
        report_series_json(json, report);
        add_filtered(json, report);
        if (!add_top(json, report))
            return false;
    }
    json_array(json, "oom", JSON_LINES);
    for (const struct oom_event *oom = device->ooms; oom < device->ooms + device->n_ooms; oom++) {
        json_object(json, NULL, JSON_COMPACT);
        json_u64(json, "event", oom->event);
        json_known_u64(json, "requested_bytes", oom->size != OOM_UNKNOWN, oom->size);
        json_known_u64(json, "device_free_bytes", oom->device_free != OOM_UNKNOWN, oom->device_free);
        json_end(json);
    }
    json_end(json);
    if (log)
        report_log_json(json, report);
    else {
        json_array(json, "oom_details", JSON_LINES);
        for (uint32_t i = 0; i < device->n_ooms && done; i++)
            done = add_oom_detail(json, report, &device->ooms[i]);
        json_end(json);
    }
    report_json_verdicts(json, report);
    if (!log) {
        report_json_categories(json, report);
        add_fragmentation(json, report);
        report_gap_json(json, report);
        if (report->replayed)
            report_replay_json(json, &report->replay);
    }
    for (uint32_t i = log ? 0 : report->replayed ? 3 : 2; i < 3; i++)
        json_null(json, unknown[i]);
    json_end(json);
    return done && !json->out->failed;
}

static void add_diagnostics(struct json_writer *json, const struct trace *trace, int32_t device) {
    json_array(json, "diagnostics", JSON_LINES);
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        const struct diagnostic *diagnostic = &trace->diagnostics[i];
        if (device != REPORT_ALL_DEVICES && !diagnostic_concerns(diagnostic, device))
            continue;
        json_object(json, NULL, JSON_COMPACT);
        add_trace_string(json, "code", trace, diagnostic->code);
        add_trace_string(json, "message", trace, diagnostic->message);
        if (diagnostic->device != ORDINAL_NONE)
            json_i64(json, "device", diagnostic->device);
        json_end(json);
    }
    json_end(json);
}

bool report_json(struct buffer *out, const struct trace *trace, const struct report_options *options,
                 struct arena *scratch) {
    struct json_writer json = json_document(out, 3);
    json_text(&json, "file", options->file);
    json_text(&json, "fingerprint", options->fingerprint);
    json_text(&json, "recording_id", options->recording_id);
    json_text(&json, "kind", options->kind);
    if (options->filter != NULL)
        json_text(&json, "filter", options->filter->text);
    json_array(&json, "devices", JSON_LINES);
    if (!report_each_device(trace, options, scratch, add_device, &json))
        return false;
    json_end(&json);
    add_diagnostics(&json, trace, options->device);
    if (options->more != NULL && !options->more->add(&json, options->more->context))
        return false;
    return json_document_end(&json);
}
