#include "parser/json/kineto_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAX_DEVICES = 1024 }; /* pairs of type and number; a process has some 16 */

/* ---- values ---- */

/* Microseconds with up to three decimals as nanoseconds, without a double, which cannot hold 19 digits. */
static bool ns_of(const cJSON *value, int64_t *ns) {
    if (!json_is_number(value))
        return false;
    const char *text = value->valuestring + 1, *point = strchr(text, '.');
    char whole[32];
    size_t n = point == NULL ? strlen(text) : (size_t)(point - text);
    if (n >= sizeof whole || strpbrk(text, "eE") != NULL)
        return false;
    memcpy(whole, text, n);
    whole[n] = '\0';
    int64_t us, fraction = 0, digit = 100;
    if (!json_integer_of_text(whole, &us, NULL) || __builtin_mul_overflow(us, 1000, ns))
        return false;
    for (const char *p = point == NULL ? "" : point + 1; *p >= '0' && *p <= '9' && digit != 0;
         p++, digit /= 10)
        fraction += (*p - '0') * digit;
    return !__builtin_add_overflow(*ns, *text == '-' ? -fraction : fraction, ns);
}

/* Process and thread as one key. Files write them as numbers or as text, or both. */
static uint64_t thread_part(const cJSON *value) {
    int64_t number;
    if (!cJSON_IsString(value))
        return 0;
    const char *text = value->valuestring + json_is_number(value);
    return json_integer_of_text(text, &number, NULL) ? (uint64_t)number : XXH3_64bits(text, strlen(text));
}

static uint64_t thread_of(const cJSON *event) {
    return thread_part(json_member(event, "pid")) * 0x9E3779B97F4A7C15u +
           thread_part(json_member(event, "tid"));
}

static int64_t integer_of(const cJSON *object, const char *key, int64_t otherwise) {
    int64_t value;
    return json_integer(json_member(object, key), &value, NULL) ? value : otherwise;
}

static const char *text_of(const cJSON *object, const char *key) {
    const cJSON *value = json_member(object, key);
    return json_is_text(value) ? value->valuestring : "";
}

static bool intern_text(struct kineto *kineto, const char *text, size_t nbytes, uint32_t *id) {
    return intern_string(&kineto->interner, text, nbytes, id) || json_scan_fail_memory(kineto->scan);
}

/* ---- frames ---- */

/* "dir/train.py(12): step" has a place; "aten::mm" is only a name. */
static bool place_find(const char *text, size_t nbytes, size_t *file_nbytes, uint32_t *line,
                       size_t *name_at) {
    for (size_t at = 0; at < nbytes; at++) {
        if (text[at] != '(')
            continue;
        uint32_t number = 0;
        size_t digits = 0;
        while (digits < 9 && at + 1 + digits < nbytes && text[at + 1 + digits] >= '0' &&
               text[at + 1 + digits] <= '9')
            number = number * 10 + (uint32_t)(text[at + 1 + digits++] - '0');
        size_t after = at + 1 + digits;
        if (at == 0 || digits == 0 || after + 3 >= nbytes || memcmp(text + after, "): ", 3) != 0)
            continue;
        *file_nbytes = at;
        *line = number;
        *name_at = after + 3;
        return true;
    }
    return false;
}

static bool frame_of(struct kineto *kineto, const char *text, size_t nbytes, uint32_t *id) {
    struct frame frame = {0};
    size_t file_nbytes = 0, name_at = 0;
    *id = 0;
    if (nbytes == 0)
        return true;
    (void)place_find(text, nbytes, &file_nbytes, &frame.line, &name_at);
    return intern_text(kineto, text, file_nbytes, &frame.file) &&
           intern_text(kineto, text + name_at, nbytes - name_at, &frame.name) &&
           (intern_frame(&kineto->interner, frame, id) || json_scan_fail_memory(kineto->scan));
}

/* "file(line): inner;file(line): outer": how profilers of 2021 wrote the Python stack of an operator. */
static bool calls_of(struct kineto *kineto, const char *text, uint32_t *stack) {
    uint32_t frames[256], n = 0;
    while (*text != '\0' && n < sizeof frames / sizeof frames[0]) {
        size_t nbytes = strcspn(text, ";");
        if (nbytes != 0 && !frame_of(kineto, text, nbytes, &frames[n++]))
            return false;
        text += nbytes + (text[nbytes] == ';');
    }
    return intern_stack(&kineto->interner, frames, n, stack) || json_scan_fail_memory(kineto->scan);
}

/* ---- events ---- */

static bool span_read(struct kineto *kineto, const cJSON *event) {
    static const char *const categories[] = {"python_function", "cpu_op", "Operator", "user_annotation"};
    const char *category = text_of(event, "cat"), *name = text_of(event, "name");
    unsigned i = 0;
    while (i < 4 && strcmp(category, categories[i]) != 0)
        i++;
    if (i == 4)
        return true;
    struct span span = {.thread = thread_of(event), .is_annotation = i == 3};
    int64_t duration_ns;
    if (!ns_of(json_member(event, "ts"), &span.start_ns) || !ns_of(json_member(event, "dur"), &duration_ns) ||
        duration_ns < 0 || __builtin_add_overflow(span.start_ns, duration_ns, &span.end_ns))
        return true; /* encloses nothing */
    if (!frame_of(kineto, name, strlen(name), &span.frame) ||
        !calls_of(kineto, text_of(json_member(event, "args"), "Call stack"), &span.calls) ||
        !rows_reserve(kineto, &kineto->spans, 1))
        return false;
    kineto->spans.row[kineto->spans.count++] = span;
    return true;
}

/* Index of the device of a sample; false: the error is set. */
static bool device_find(struct kineto *kineto, int32_t type, int32_t id, uint16_t *index) {
    uint32_t i = 0;
    while (i < kineto->devices.count &&
           (kineto->devices.row[i].type != type || kineto->devices.row[i].id != id))
        i++;
    *index = (uint16_t)i;
    if (i < kineto->devices.count)
        return true;
    if (i == MAX_DEVICES)
        return cursor_fail(kineto->scan->cursor, READ_LIMIT, cursor_offset(kineto->scan->cursor),
                           "the trace names more than 1,024 devices");
    if (!rows_reserve(kineto, &kineto->devices, 1))
        return false;
    kineto->devices.row[kineto->devices.count++] = (struct kineto_device){type, id};
    return true;
}

static int32_t to_int32(int64_t value) {
    return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

/* Sums of sane numbers stay below 2^63. */
static bool is_sane(int64_t bytes) {
    return bytes > -(INT64_C(1) << 56) && bytes < INT64_C(1) << 56;
}

static bool sample_read(struct kineto *kineto, const cJSON *event, bool oom) {
    const cJSON *args = json_member(event, "args");
    struct sample sample = {.thread = thread_of(event), .partner = NO_PARTNER, .flags = oom ? SAMPLE_OOM : 0};
    int64_t address;
    sample.bytes = integer_of(args, "Bytes", 0);
    sample.total = integer_of(args, "Total Allocated", -1);
    sample.reserved = integer_of(args, "Total Reserved", -1);
    if (!ns_of(json_member(event, "ts"), &sample.ts_ns) || !json_is_number(json_member(args, "Bytes")) ||
        !is_sane(sample.bytes) || !is_sane(sample.total) || !is_sane(sample.reserved)) {
        kineto->scan->n_bad++;
        return true;
    }
    if (json_integer(json_member(args, "Addr"), &address, NULL) && !oom) {
        sample.address = (uint64_t)address;
        sample.flags |= SAMPLE_HAS_ADDRESS;
    }
    sample.flags |= sample.total != -1 ? SAMPLE_HAS_TOTAL : 0;
    sample.flags |= sample.reserved > 0 ? SAMPLE_HAS_RESERVED : 0;
    if (!device_find(kineto, to_int32(integer_of(args, "Device Type", DEVICE_TYPE_CPU)),
                     to_int32(integer_of(args, "Device Id", -1)), &sample.device) ||
        !rows_reserve(kineto, &kineto->samples, 1))
        return false;
    kineto->samples.row[kineto->samples.count++] = sample;
    kineto->scan->cursor->n_events = kineto->samples.count;
    return true;
}

static bool event_read(struct kineto *kineto, const cJSON *event) {
    const char *phase = text_of(event, "ph"), *name = text_of(event, "name");
    if (strcmp(phase, "X") == 0)
        return span_read(kineto, event);
    if (strcmp(name, "[memory]") == 0)
        return sample_read(kineto, event, false);
    if (strcmp(name, "[OutOfMemory]") == 0)
        return sample_read(kineto, event, true);
    return true;
}

/* Most events of a trace are kernels or driver calls. Useful ones contain one of these words. */
static const char *const event_words[] = {"python_function", "cpu_op",        "Operator", "user_annotation",
                                          "[memory]",        "[OutOfMemory]", NULL};

static const char *const any_words[] = {"", NULL};

/* Reads the items; the scan is before the first. */
static bool items_read(struct kineto *kineto, const char *const *words,
                       bool (*read)(struct kineto *, const cJSON *)) {
    while (json_scan_item(kineto->scan)) {
        const cJSON *item;
        if (!json_scan_take_with(kineto->scan, words, &item))
            break;
        if (item != NULL && !read(kineto, item))
            return false;
    }
    return kineto->scan->cursor->error->code == READ_OK;
}

/* ---- the other members of the root ---- */

static bool property_read(struct kineto *kineto, const cJSON *json) {
    int64_t capacity = integer_of(json, "totalGlobalMem", 0);
    struct property property = {.id = to_int32(integer_of(json, "id", -1)),
                                .capacity_bytes = capacity > 0 ? (uint64_t)capacity : 0};
    const char *name = text_of(json, "name");
    if (!intern_text(kineto, name, strlen(name), &property.name) ||
        !rows_reserve(kineto, &kineto->properties, 1))
        return false;
    kineto->properties.row[kineto->properties.count++] = property;
    return true;
}

static bool number_read(struct kineto *kineto, int64_t *value) {
    const char *text;
    if (!json_scan_number(kineto->scan, &text))
        return kineto->scan->cursor->error->code == READ_OK;
    (void)json_integer_of_text(text, value, NULL);
    return true;
}

static bool distributed_read(struct kineto *kineto) {
    while (json_scan_member(kineto->scan)) {
        if (strcmp(kineto->scan->key, "rank") != 0) {
            if (!json_scan_skip(kineto->scan))
                break;
            continue;
        }
        int64_t rank = RANK_UNKNOWN;
        if (!number_read(kineto, &rank))
            return false;
        if (rank >= 0 && rank <= INT32_MAX)
            kineto->trace->rank = (int32_t)rank;
    }
    return kineto->scan->cursor->error->code == READ_OK;
}

static bool member_read(struct kineto *kineto) {
    struct json_scan *scan = kineto->scan;
    if (strcmp(scan->key, "traceEvents") == 0 && json_scan_enter(scan, '['))
        return items_read(kineto, event_words, event_read);
    if (strcmp(scan->key, "deviceProperties") == 0 && json_scan_enter(scan, '['))
        return items_read(kineto, any_words, property_read);
    if (strcmp(scan->key, "distributedInfo") == 0 && json_scan_enter(scan, '{'))
        return distributed_read(kineto);
    if (strcmp(scan->key, "baseTimeNanoseconds") == 0)
        return number_read(kineto, &kineto->base_ns);
    return json_scan_skip(scan) || scan->cursor->error->code == READ_OK;
}

static bool root_read(struct kineto *kineto) {
    do
        if (!member_read(kineto))
            return false;
    while (json_scan_member(kineto->scan));
    return kineto->scan->cursor->error->code == READ_OK;
}

/* ---- annotations ---- */

/* The moments of the user's annotations in order of time; at the same time, ends come first. The lowest bit of a key
 * tells a beginning from an end. */
static bool annotations_order(struct kineto *kineto, const struct order *spans, struct order *order) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < spans->count; i++)
        n += kineto->spans.row[i].is_annotation;
    if (!order_init(kineto, order, 2 * n))
        return false;
    order->count = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct span *span = &kineto->spans.row[spans->row[i].value];
        if (!span->is_annotation || span->frame == 0)
            continue;
        uint64_t begin = rising(us_of(kineto, span->start_ns)), end = rising(us_of(kineto, span->end_ns));
        order->row[order->count++] = (struct sort_row){begin << 1 | 1, spans->row[i].value};
        order->row[order->count++] = (struct sort_row){end << 1, spans->row[i].value};
    }
    order_sort(order);
    return true;
}

/* The profiler's annotations belong to the process: they are stored once. */
static bool annotations_build(struct kineto *kineto, const struct order *spans) {
    struct trace *trace = kineto->trace;
    struct order order = {0};
    bool done = annotations_order(kineto, spans, &order) &&
                (ARENA_COLUMNS(&trace->arena, order.count, trace->annotations) ||
                 json_scan_fail_memory(kineto->scan));
    for (uint32_t i = 0; i < order.count && done; i++) {
        const struct span *span = &kineto->spans.row[order.row[i].value];
        bool begins = (order.row[i].key & 1) != 0;
        trace->annotations[trace->n_annotations++] =
            (struct annotation){.time_us = us_of(kineto, begins ? span->start_ns : span->end_ns),
                                .name = trace->frames.frame[span->frame].name,
                                .stage = begins ? ANNOTATION_START : ANNOTATION_END};
    }
    order_release(kineto, &order);
    return done;
}

/* Annotations are shown by every device but the CPU; a single such device is named. */
static void annotations_place(struct trace *trace) {
    bool has_cpu = trace->n_devices != 0 && trace->devices[0].ordinal == ORDINAL_CPU;
    int32_t device = trace->n_devices == 1              ? trace->devices[0].ordinal
                     : trace->n_devices == 2 && has_cpu ? trace->devices[1].ordinal
                                                        : ORDINAL_NONE;
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        trace->annotations[i].device = device;
}

/* ---- entry ---- */

static bool trace_build(struct kineto *kineto) {
    struct order spans = {0}, samples = {0};
    bool done = order_init(kineto, &spans, kineto->spans.count);
    if (done) {
        order_spans(kineto, &spans);
        done = annotations_build(kineto, &spans) && order_init(kineto, &samples, kineto->samples.count);
    }
    if (done) {
        order_samples_by_time(kineto, &samples);
        done = kineto_stacks_build(kineto, &spans, &samples);
    }
    order_release(kineto, &spans);
    ARENA_DROP(&kineto->trace->arena, kineto->spans.row);
    if (done) {
        order_samples_by_time(kineto, &samples);
        done = kineto_devices_read(kineto, &samples);
        annotations_place(kineto->trace);
    }
    order_release(kineto, &samples);
    return done;
}

static bool kineto_finish(struct kineto *kineto) {
    if (!json_scan_finish(kineto->scan, kineto->trace, kineto->samples.count))
        return false;
    if (kineto->samples.count == 0)
        return cursor_fail(kineto->scan->cursor, READ_BAD_SHAPE, 0,
                           "this trace holds no [memory] events: record it with profile_memory=True");
    return trace_build(kineto);
}

bool kineto_read(struct json_scan *scan, struct trace *trace, bool is_list) {
    struct kineto kineto = {.scan = scan, .trace = trace};
    struct arena *arena = &trace->arena;
    trace->kind = TRACE_KINETO;
    interner_init(&kineto.interner, trace);
    bool done = (is_list ? items_read(&kineto, event_words, event_read) : root_read(&kineto)) &&
                kineto_finish(&kineto) &&
                (interner_finish(&kineto.interner) || json_scan_fail_memory(kineto.scan));
    ARENA_DROP(arena, kineto.spans.row, kineto.samples.row, kineto.devices.row, kineto.properties.row);
    interner_release(&kineto.interner);
    return done;
}

bool kineto_knows(const char *key) {
    static const char *const keys[] = {"traceEvents",         "deviceProperties", "distributedInfo",
                                       "baseTimeNanoseconds", "schemaVersion",    NULL};
    return json_is_one_of(key, keys);
}

bool kineto_knows_event(const char *key) {
    static const char *const keys[] = {"ph",  "cat",  "name", "pid", "tid", "ts",
                                       "dur", "args", "s",    "id",  NULL};
    return json_is_one_of(key, keys);
}
