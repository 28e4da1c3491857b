/*
 * Schema 1, as docs/report.md describes it. The frame of the document is written as it goes and only its
 * leaves are cJSON objects, so that a report of every stack needs the memory of one. Integers are printed as
 * text: a double would lose the last digits of an address space's worth of bytes.
 */
#include "base/utf8.h"
#include "layout/site.h"
#include "render/report/report_parts.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints `item` and deletes it; NULL: it could not be made. */
static void add_item(struct buffer *out, cJSON *item) {
    char *text = item != NULL ? cJSON_PrintUnformatted(item) : NULL;
    if (text != NULL)
        buffer_add_text(out, text);
    else
        out->failed = true;
    cJSON_free(text);
    cJSON_Delete(item);
}

/* A string that keeps to UTF-8 and to C: wrong bytes and NUL become U+FFFD. NULL: no memory. */
static cJSON *string_item(const void *bytes, size_t nbytes) {
    const char *from = bytes;
    char *text = malloc(nbytes * 3 + 1); /* U+FFFD takes three bytes */
    size_t used = 0;
    if (text == NULL)
        return NULL;
    for (size_t at = 0; at < nbytes;) {
        uint32_t code = utf8_next(from, nbytes, &at);
        used += utf8_put(code != 0 ? code : UTF8_REPLACEMENT, text + used);
    }
    text[used] = '\0';
    cJSON *item = cJSON_CreateString(text);
    free(text);
    return item;
}

static cJSON *trace_string_item(const struct trace *trace, uint32_t id) {
    uint32_t nbytes;
    const uint8_t *bytes = trace_string(trace, id, &nbytes);
    return string_item(bytes, nbytes);
}

static cJSON *integer_item(uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return cJSON_CreateRaw(text);
}

static cJSON *site_item(const struct trace *trace, uint32_t site) {
    char none[1];
    if (site == GROUP_INTERNAL)
        return cJSON_CreateString("internal");
    uint32_t length = site_text(trace, site, none, sizeof none);
    char *text = malloc((size_t)length + 1);
    if (text == NULL)
        return NULL;
    site_text(trace, site, text, length + 1);
    cJSON *item = string_item(text, length);
    free(text);
    return item;
}

/* Adds a member; takes over `item`. False: no memory. */
static bool member_add(cJSON *object, const char *name, cJSON *item) {
    if (item != NULL && cJSON_AddItemToObject(object, name, item))
        return true;
    cJSON_Delete(item);
    return false;
}

static cJSON *frame_item(const struct trace *trace, uint32_t id) {
    const struct frame *frame = &trace->frames.frame[id];
    cJSON *object = cJSON_CreateObject();
    if (member_add(object, "file", trace_string_item(trace, frame->file)) &&
        member_add(object, "line", integer_item(frame->line)) &&
        member_add(object, "name", trace_string_item(trace, frame->name)))
        return object;
    cJSON_Delete(object);
    return NULL;
}

/* A real stack has some 20 KB of text. A hostile one names a long string a thousand times over. */
enum { MAX_STACK_TEXT_NBYTES = 1 << 20 };

static uint64_t frame_text_nbytes(const struct trace *trace, uint32_t id) {
    const struct frame *frame = &trace->frames.frame[id];
    uint32_t n_file, n_name;
    trace_string(trace, frame->file, &n_file);
    trace_string(trace, frame->name, &n_name);
    return (uint64_t)n_file + n_name + 1; /* a frame without text takes room too */
}

/* Stands for the outer frames of a stack that is too long to be shown. */
static cJSON *more_frames_item(void) {
    cJSON *object = cJSON_CreateObject();
    if (member_add(object, "file", cJSON_CreateString("")) && member_add(object, "line", integer_item(0)) &&
        member_add(object, "name", cJSON_CreateString("(more frames, too long to be shown)")))
        return object;
    cJSON_Delete(object);
    return NULL;
}

/* Every frame, innermost first. */
static cJSON *stack_item(const struct trace *trace, uint32_t stack) {
    cJSON *array = cJSON_CreateArray();
    uint64_t nbytes = 0;
    for (; stack != 0 && nbytes <= MAX_STACK_TEXT_NBYTES; stack = trace->stacks.stack[stack].parent) {
        nbytes += frame_text_nbytes(trace, trace->stacks.stack[stack].frame);
        cJSON *frame = nbytes <= MAX_STACK_TEXT_NBYTES ? frame_item(trace, trace->stacks.stack[stack].frame)
                                                       : more_frames_item();
        if (frame == NULL || !cJSON_AddItemToArray(array, frame)) {
            cJSON_Delete(frame);
            cJSON_Delete(array);
            return NULL;
        }
    }
    return array;
}

static cJSON *group_item(const struct report_device *report, const struct group *group) {
    uint64_t peak = report->timeline.peak_bytes;
    char share[32];
    snprintf(share, sizeof share, "%.6f", peak != 0 ? (double)group->bytes / (double)peak : 0.0);
    cJSON *object = cJSON_CreateObject();
    if (member_add(object, "bytes", integer_item(group->bytes)) &&
        member_add(object, "count", integer_item(group->count)) &&
        member_add(object, "share", cJSON_CreateRaw(share)) &&
        member_add(object, "site", site_item(report->trace, group->site)) &&
        member_add(object, "stack", stack_item(report->trace, group->stack)))
        return object;
    cJSON_Delete(object);
    return NULL;
}

static cJSON *oom_item(const struct oom_event *oom) {
    cJSON *object = cJSON_CreateObject();
    if (member_add(object, "event", integer_item(oom->event)) &&
        member_add(object, "requested_bytes", integer_item(oom->size)) &&
        member_add(object, "device_free_bytes", integer_item(oom->device_free)))
        return object;
    cJSON_Delete(object);
    return NULL;
}

/* ---- what is only in JSON's own words: flat objects of integers ---- */

struct field {
    const char *name;
    uint64_t number;
};

static cJSON *fields_item(const struct field *fields, size_t count) {
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < count; i++)
        if (!member_add(object, fields[i].name, integer_item(fields[i].number))) {
            cJSON_Delete(object);
            return NULL;
        }
    return object;
}

#define FIELDS_ITEM(fields) fields_item(fields, sizeof(fields) / sizeof *(fields))

/* Adds a member to an object that may not have been made; both are deleted where it fails. */
static cJSON *with_member(cJSON *object, const char *name, cJSON *item) {
    if (object != NULL && member_add(object, name, item))
        return object;
    if (object == NULL)
        cJSON_Delete(item);
    cJSON_Delete(object);
    return NULL;
}

static cJSON *advice_item(const struct report_device *report, const struct report_oom *oom) {
    struct report_advice advice[REPORT_ADVICE_MAX];
    uint32_t n = report_oom_advice(report, oom, advice);
    cJSON *array = cJSON_CreateArray();
    for (uint32_t i = 0; i < n; i++) {
        cJSON *item = with_member(cJSON_CreateObject(), "code", cJSON_CreateString(advice[i].code));
        item = with_member(item, "text", cJSON_CreateString(advice[i].text));
        if (item == NULL || !cJSON_AddItemToArray(array, item)) {
            cJSON_Delete(item);
            cJSON_Delete(array);
            return NULL;
        }
    }
    return array;
}

static cJSON *category_item(const struct report_device *report, enum category category) {
    const struct category_sum *sum = &report->category_at_peak[category];
    const struct field fields[] = {{"bytes", sum->bytes}, {"count", sum->count}};
    return with_member(FIELDS_ITEM(fields), "category", cJSON_CreateString(category_name(category)));
}

static cJSON *holes_item(const struct holes *holes) {
    const struct field fields[] = {{"segments", holes->n_segments},
                                   {"reserved_bytes", holes->reserved_bytes},
                                   {"used_bytes", holes->used_bytes},
                                   {"pending_bytes", holes->pending_bytes},
                                   {"rounding_bytes", holes_rounding(holes)},
                                   {"hole_bytes", holes->free_bytes},
                                   {"holes", holes->n_holes},
                                   {"largest_hole_bytes", holes->largest_bytes},
                                   {"empty_segments", holes->n_empty},
                                   {"empty_segment_bytes", holes->empty_bytes}};
    return FIELDS_ITEM(fields);
}

static cJSON *holes_group_item(const struct report_device *report, const struct holes_group *group) {
    const struct pool_id *id = &report->device->pools[group->pool];
    cJSON *pool = cJSON_CreateNull();
    if (group->pool != POOL_UNKNOWN) {
        cJSON_Delete(pool);
        pool = cJSON_CreateArray();
        cJSON *first = integer_item(id->first), *second = integer_item(id->second);
        cJSON_AddItemToArray(pool, first);
        cJSON_AddItemToArray(pool, second);
    }
    cJSON *object = with_member(holes_item(&group->holes), "pool", pool);
    object = with_member(object, "stream", integer_item(group->stream));
    return with_member(object, "small", cJSON_CreateBool(group->small));
}

/* The holes at an event, by group. */
static cJSON *oom_holes_item(const struct report_device *report, const struct report_oom *oom) {
    cJSON *groups = cJSON_CreateArray();
    for (uint32_t i = 0; i < oom->holes.n_groups; i++) {
        cJSON *item = holes_group_item(report, &oom->holes.groups[i]);
        if (item == NULL || !cJSON_AddItemToArray(groups, item)) {
            cJSON_Delete(item);
            cJSON_Delete(groups);
            return NULL;
        }
    }
    cJSON *object = with_member(cJSON_CreateObject(), "exact", cJSON_CreateBool(oom->at_end));
    object = with_member(object, "all", holes_item(&oom->holes.all));
    return with_member(object, "groups", groups);
}

static cJSON *oom_detail_item(const struct report_device *report, const struct oom_event *event) {
    struct report_oom oom;
    if (!report_oom_of(&oom, report, event))
        return NULL;
    const struct holes *all = &oom.holes.all;
    const struct field fields[] = {{"event", event->event},
                                   {"requested_bytes", event->size},
                                   {"device_free_bytes", event->device_free},
                                   {"reserved_bytes", oom.reserved_bytes},
                                   {"live_bytes", oom.live_bytes},
                                   {"pending_bytes", oom.pending_bytes}};
    const struct field holes[] = {{"largest_hole_bytes", all->largest_bytes},
                                  {"hole_bytes", all->free_bytes},
                                  {"rounding_bytes", holes_rounding(all)}};
    cJSON *object = with_member(FIELDS_ITEM(fields), "site",
                                site_item(report->trace, report->timeline.site[event->stack]));
    for (size_t i = 0; oom.at_end && i < sizeof holes / sizeof *holes; i++)
        object = with_member(object, holes[i].name, integer_item(holes[i].number));
    if (oom.holes_known)
        object = with_member(object, "holes", oom_holes_item(report, &oom));
    return with_member(object, "advice", advice_item(report, &oom));
}

static cJSON *hole_size_item(const struct holes_summary *holes, uint32_t class) {
    const struct field fields[] = {{"from_bytes", class == 0 ? 0 : holes_size_limit[class - 1]},
                                   {"holes", holes->count_of_size[class]},
                                   {"bytes", holes->bytes_of_size[class]}};
    return FIELDS_ITEM(fields);
}

static cJSON *step_item(const struct growth_step *step, int64_t number) {
    const struct field fields[] = {{"peak_bytes", step->peak_bytes}, {"carried_bytes", step->carried_bytes}};
    cJSON *object = with_member(FIELDS_ITEM(fields), "peak_event",
                                cJSON_CreateNumber((double)report_event(step->peak_moment)));
    object = with_member(object, "number", cJSON_CreateNumber((double)number));
    return with_member(object, "warm_up", cJSON_CreateBool(step->warm_up));
}

static cJSON *growth_site_item(const struct report_device *report, const struct growth_site *site) {
    static const char *const kinds[] = {
        [GROWTH_RISES] = "rises", [GROWTH_ROSE] = "rose", [GROWTH_KEPT] = "kept"};
    const struct field fields[] = {{"slope_bytes", site->slope_bytes},
                                   {"bytes", site->risen_bytes},
                                   {"count", site->count},
                                   {"first_step", site->first_step},
                                   {"steps", site->n_steps}};
    cJSON *object = with_member(FIELDS_ITEM(fields), "kind", cJSON_CreateString(kinds[site->kind]));
    object = with_member(object, "optimizer", cJSON_CreateBool(site->optimizer));
    object = with_member(object, "replaced", cJSON_CreateBool(site->replaced));
    object = with_member(object, "site", site_item(report->trace, site->site));
    return with_member(object, "stack", stack_item(report->trace, site->stack));
}

static cJSON *diagnostic_item(const struct trace *trace, const struct diagnostic *diagnostic) {
    cJSON *object = cJSON_CreateObject();
    bool done = member_add(object, "code", trace_string_item(trace, diagnostic->code)) &&
                member_add(object, "message", trace_string_item(trace, diagnostic->message));
    if (done && diagnostic->device != ORDINAL_NONE)
        done = member_add(object, "device", cJSON_CreateNumber(diagnostic->device));
    if (done)
        return object;
    cJSON_Delete(object);
    return NULL;
}

/* ---- the frame of the document: two blanks per level, one element of an array per line ---- */

static void element_begin(struct buffer *out, int indent, uint32_t nth) {
    buffer_printf(out, "%s\n%*s", nth != 0 ? "," : "", indent, "");
}

static void array_end(struct buffer *out, int indent, uint32_t count) {
    if (count != 0)
        buffer_printf(out, "\n%*s", indent, "");
    buffer_add_text(out, "]");
}

static void add_integer(struct buffer *out, const char *name, int64_t number) {
    buffer_printf(out, "      \"%s\": %" PRId64 ",\n", name, number);
}

static void add_bytes(struct buffer *out, const char *name, uint64_t number) {
    buffer_printf(out, "      \"%s\": %" PRIu64 ",\n", name, number);
}

static void add_figures(struct buffer *out, const struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    const struct lives *lives = &report->device->lives;
    add_integer(out, "device", report->device->ordinal);
    add_integer(out, "events", report->device->n_events);
    add_integer(out, "allocations", lives->count);
    add_integer(out, "preexisting", lives->preexisting);
    add_bytes(out, "start_bytes", timeline->start_bytes);
    add_bytes(out, "peak_bytes", timeline->peak_bytes);
    add_integer(out, "peak_event", report_event(timeline->peak_moment));
    add_bytes(out, "end_bytes", timeline->end_bytes);
    add_integer(out, "live_at_peak", timeline->live_at_peak);
    add_bytes(out, "reserved_start_bytes", timeline->reserved_start);
    add_bytes(out, "reserved_peak_bytes", timeline->reserved_peak);
    add_bytes(out, "reserved_end_bytes", timeline->reserved_end);
    add_bytes(out, "reserved_shift_bytes", timeline->reserved_shift);
}

static void add_oom_details(struct buffer *out, const struct report_device *report) {
    buffer_add_text(out, ",\n      \"oom_details\": [");
    for (uint32_t i = 0; i < report->device->n_ooms; i++) {
        element_begin(out, 8, i);
        add_item(out, oom_detail_item(report, &report->device->ooms[i]));
    }
    array_end(out, 6, report->device->n_ooms);
}

static void add_categories(struct buffer *out, const struct report_device *report) {
    uint32_t count = 0;
    buffer_printf(out, ",\n      \"categories_inferred\": %s,\n      \"categories_at_peak\": [",
                  report->categories_inferred ? "true" : "false");
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++) {
        if (report->category_at_peak[i].count == 0)
            continue;
        element_begin(out, 8, count++);
        add_item(out, category_item(report, (enum category)i));
    }
    array_end(out, 6, count);
}

static void add_fragmentation(struct buffer *out, const struct report_device *report) {
    const struct holes_summary *holes = &report->holes;
    buffer_add_text(out, ",\n      \"fragmentation\": {\n        \"all\": ");
    add_item(out, holes_item(&holes->all));
    buffer_add_text(out, ",\n        \"groups\": [");
    for (uint32_t i = 0; i < holes->n_groups; i++) {
        element_begin(out, 10, i);
        add_item(out, holes_group_item(report, &holes->groups[i]));
    }
    array_end(out, 8, holes->n_groups);
    buffer_add_text(out, ",\n        \"hole_sizes\": [");
    for (uint32_t i = 0; i < HOLE_SIZES; i++) {
        element_begin(out, 10, i);
        add_item(out, hole_size_item(holes, i));
    }
    array_end(out, 8, HOLE_SIZES);
    buffer_add_text(out, "\n      }");
}

static void add_growth(struct buffer *out, const struct report_device *report) {
    static const char *const sources[] = {[STEPS_NONE] = "none",
                                          [STEPS_PROFILER_STEP] = "profiler_step",
                                          [STEPS_OPTIMIZER] = "optimizer_step",
                                          [STEPS_PERIOD] = "period"};
    const struct growth *growth = &report->growth;
    buffer_printf(out,
                  ",\n      \"growth\": {\n        \"steps_from\": \"%s\",\n        \"similar\": %u.%03u,\n",
                  sources[growth->steps.source], (unsigned)(growth->steps.similar_permil / 1000),
                  (unsigned)(growth->steps.similar_permil % 1000));
    buffer_printf(out,
                  "        \"judged\": %s,\n        \"carried_in_bytes\": %" PRIu64 ",\n        \"steps\": [",
                  growth->judged ? "true" : "false", growth->carried_in);
    for (uint32_t i = 0; i < growth->steps.count; i++) {
        element_begin(out, 10, i);
        add_item(out, step_item(&growth->step[i], growth->steps.first_number + i));
    }
    array_end(out, 8, growth->steps.count);
    buffer_add_text(out, ",\n        \"sites\": [");
    for (uint32_t i = 0; i < growth->n_sites; i++) {
        element_begin(out, 10, i);
        add_item(out, growth_site_item(report, &growth->sites[i]));
    }
    array_end(out, 8, growth->n_sites);
    buffer_add_text(out, "\n      }");
}

static bool add_device(struct buffer *out, const struct report_device *report, uint32_t nth) {
    element_begin(out, 4, nth);
    buffer_add_text(out, "{\n");
    add_figures(out, report);
    buffer_add_text(out, "      \"top_at_peak\": [");
    for (uint32_t i = 0; i < report->n_shown && !out->failed; i++) {
        element_begin(out, 8, i);
        add_item(out, group_item(report, &report->groups[i]));
    }
    array_end(out, 6, report->n_shown);
    buffer_add_text(out, ",\n      \"oom\": [");
    for (uint32_t i = 0; i < report->device->n_ooms; i++) {
        element_begin(out, 8, i);
        add_item(out, oom_item(&report->device->ooms[i]));
    }
    array_end(out, 6, report->device->n_ooms);
    add_oom_details(out, report);
    add_categories(out, report);
    add_fragmentation(out, report);
    add_growth(out, report);
    buffer_add_text(out, "\n    }");
    return !out->failed;
}

static void add_text_member(struct buffer *out, const char *name, const char *text) {
    buffer_printf(out, "  \"%s\": ", name);
    add_item(out, string_item(text, strlen(text)));
    buffer_add_text(out, ",\n");
}

static void add_diagnostics(struct buffer *out, const struct trace *trace, int32_t device) {
    uint32_t count = 0;
    buffer_add_text(out, "  \"diagnostics\": [");
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        if (device != REPORT_ALL_DEVICES && !diagnostic_concerns(&trace->diagnostics[i], device))
            continue;
        element_begin(out, 4, count++);
        add_item(out, diagnostic_item(trace, &trace->diagnostics[i]));
    }
    array_end(out, 2, count);
}

bool report_json(struct buffer *out, const struct trace *trace, const struct report_options *options,
                 struct arena *scratch) {
    buffer_add_text(out, "{\n  \"schema\": 1,\n");
    add_text_member(out, "file", options->file);
    add_text_member(out, "sha256", options->sha256);
    add_text_member(out, "kind", options->kind);
    buffer_add_text(out, "  \"devices\": [");
    size_t before = out->nbytes;
    if (!report_each_device(out, trace, options, scratch, add_device))
        return false;
    array_end(out, 2, out->nbytes != before);
    buffer_add_text(out, ",\n");
    add_diagnostics(out, trace, options->device);
    buffer_add_text(out, "\n}\n");
    return !out->failed;
}
