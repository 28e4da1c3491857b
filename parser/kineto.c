#include "parser/kineto.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/sort.h"
#include "parser/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    MAX_DEVICES = 1024,     /* pairs of type and number; a process sees some 16 */
    MAX_STACK_FRAMES = 2048 /* further out ones are left out; Python itself stops at 1000 calls */
};

enum { DEVICE_TYPE_CPU = 0 };

/* Something that encloses others in time: a call, an operator, a user's annotation. */
struct span {
    int64_t start_ns, end_ns;
    uint64_t thread;
    uint32_t frame;
    uint32_t calls; /* stack that older profilers wrote with the operator */
    bool is_annotation;
};

enum sample_flag {
    SAMPLE_HAS_ADDRESS = 1,
    SAMPLE_HAS_TOTAL = 2,
    SAMPLE_HAS_RESERVED = 4,
    SAMPLE_OOM = 8,
    SAMPLE_ORPHAN = 16, /* frees what was there before the first event */
    SAMPLE_OPEN = 32    /* its allocation is alive at the event that is being recorded */
};

enum { NO_PARTNER = UINT32_MAX };

/* A [memory] or [OutOfMemory] event. */
struct sample {
    int64_t ts_ns;
    uint64_t thread, address;
    int64_t bytes, total, reserved;
    uint32_t stack;
    uint32_t partner; /* of a free: its allocation; of an allocation: the one that its address still held */
    uint16_t device;
    uint8_t flags;
};

struct kineto_device {
    int32_t type, id;
};

struct property {
    int32_t id;
    uint32_t name;
    uint64_t capacity_bytes;
};

#define ROWS(type)                \
    struct {                      \
        type *row;                \
        uint32_t count, capacity; \
    }

struct kineto {
    struct json_scan *scan;
    struct trace *trace;
    struct interner interner;
    ROWS(struct span) spans;
    ROWS(struct sample) samples;
    ROWS(struct kineto_device) devices;
    ROWS(struct property) properties;
    ROWS(struct annotation) annotations;
    int64_t base_ns; /* since the Unix epoch, of timestamp 0 */
};

static bool fail_memory(struct kineto *kineto) {
    return cursor_fail_memory(kineto->scan->cursor, cursor_offset(kineto->scan->cursor));
}

#define rows_reserve(kineto, rows, n)                                                                     \
    (ARENA_GROW(&(kineto)->trace->arena, (rows)->row, (rows)->capacity, (uint64_t)(rows)->count + (n)) || \
     fail_memory(kineto))

/* ---- values ---- */

/* Microseconds with up to three decimals as nanoseconds, without a double: 19 digits do not fit one. */
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

/* Process and thread as one key. Numbers come as numbers or as text, also in one file. */
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
    return intern_string(&kineto->interner, text, nbytes, id) || fail_memory(kineto);
}

/* ---- frames ---- */

/* "dir/train.py(12): step" has a place; "aten::mm" is all name. */
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
           (intern_frame(&kineto->interner, frame, id) || fail_memory(kineto));
}

/* "file(line): inner;file(line): outer", as profilers of 2021 wrote the Python stack of an operator. */
static bool calls_of(struct kineto *kineto, const char *text, uint32_t *stack) {
    uint32_t frames[256], n = 0;
    while (*text != '\0' && n < sizeof frames / sizeof frames[0]) {
        size_t nbytes = strcspn(text, ";");
        if (nbytes != 0 && !frame_of(kineto, text, nbytes, &frames[n++]))
            return false;
        text += nbytes + (text[nbytes] == ';');
    }
    return intern_stack(&kineto->interner, frames, n, stack) || fail_memory(kineto);
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

/* Sums of sane numbers stay numbers. */
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

/* Most events of a trace are of other things: kernels, calls of the driver. Those of use hold one of these. */
static const char *const event_words[] = {"python_function", "cpu_op",        "Operator", "user_annotation",
                                          "[memory]",        "[OutOfMemory]", NULL};
static const char *const any_words[] = {"", NULL};

/* The scan is in front of the first item. */
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

/* ---- sorting ---- */

/* Signed numbers in the order of unsigned ones. */
static uint64_t rising(int64_t value) {
    return (uint64_t)value ^ UINT64_C(1) << 63;
}

struct order {
    struct sort_row *row, *spare;
    uint32_t count, row_capacity, spare_capacity;
};

static bool order_init(struct kineto *kineto, struct order *order, uint32_t count) {
    struct arena *arena = &kineto->trace->arena;
    *order = (struct order){.count = count};
    if (!ARENA_GROW(arena, order->row, order->row_capacity, (uint64_t)count + 1) ||
        !ARENA_GROW(arena, order->spare, order->spare_capacity, (uint64_t)count + 1))
        return fail_memory(kineto);
    for (uint32_t i = 0; i < count; i++)
        order->row[i].value = i;
    return true;
}

static void order_release(struct kineto *kineto, struct order *order) {
    ARENA_DROP(&kineto->trace->arena, order->row);
    ARENA_DROP(&kineto->trace->arena, order->spare);
}

static void order_sort(struct order *order) {
    sort_rows(order->row, order->spare, order->count);
}

/* Those of one time in the order of the file. */
static void order_samples_by_time(const struct kineto *kineto, struct order *order) {
    for (uint32_t i = 0; i < order->count; i++)
        order->row[i] = (struct sort_row){rising(kineto->samples.row[i].ts_ns), i};
    order_sort(order);
}

/* By thread, then by start, of those the longer ones first: parents before their children. */
static void order_spans(const struct kineto *kineto, struct order *order) {
    const struct span *spans = kineto->spans.row;
    for (uint32_t i = 0; i < order->count; i++)
        order->row[i].key = ~rising(spans[order->row[i].value].end_ns);
    order_sort(order);
    for (uint32_t i = 0; i < order->count; i++)
        order->row[i].key = rising(spans[order->row[i].value].start_ns);
    order_sort(order);
}

static void order_spans_by_thread(const struct kineto *kineto, struct order *order) {
    for (uint32_t i = 0; i < order->count; i++)
        order->row[i].key = kineto->spans.row[order->row[i].value].thread;
    order_sort(order);
}

/* ---- stacks ---- */

/* A sweep over the spans of one thread. */
struct sweep {
    const struct order *spans;
    uint32_t next; /* into spans */
    uint32_t *open;
    uint32_t n_open, capacity;
    uint32_t *frames; /* [MAX_STACK_FRAMES] */
};

static bool sweep_to(struct kineto *kineto, struct sweep *sweep, uint64_t thread, int64_t ts_ns) {
    const struct span *spans = kineto->spans.row;
    for (; sweep->next < sweep->spans->count; sweep->next++) {
        uint32_t id = sweep->spans->row[sweep->next].value;
        const struct span *span = &spans[id];
        if (span->thread > thread || (span->thread == thread && span->start_ns > ts_ns))
            break;
        while (sweep->n_open != 0 && (spans[sweep->open[sweep->n_open - 1]].thread != span->thread ||
                                      spans[sweep->open[sweep->n_open - 1]].end_ns <= span->start_ns))
            sweep->n_open--;
        if (!ARENA_GROW(&kineto->trace->arena, sweep->open, sweep->capacity, (uint64_t)sweep->n_open + 1))
            return fail_memory(kineto);
        sweep->open[sweep->n_open++] = id;
    }
    while (sweep->n_open != 0 && (spans[sweep->open[sweep->n_open - 1]].thread != thread ||
                                  spans[sweep->open[sweep->n_open - 1]].end_ns <= ts_ns))
        sweep->n_open--;
    return true;
}

/* The open spans as a stack, and the Python calls that the innermost operator with some brings along. Clocks being what
 * they are, a span may end before one that began in it: such a one is below others and left out. */
static bool sweep_stack(struct kineto *kineto, struct sweep *sweep, int64_t ts_ns, uint32_t *stack) {
    uint32_t n = 0, calls = 0;
    for (uint32_t i = sweep->n_open; i-- > 0 && n < MAX_STACK_FRAMES;) {
        const struct span *span = &kineto->spans.row[sweep->open[i]];
        if (span->end_ns <= ts_ns)
            continue;
        if (span->frame != 0)
            sweep->frames[n++] = span->frame;
        calls = calls == 0 ? span->calls : calls;
    }
    for (; calls != 0 && n < MAX_STACK_FRAMES; calls = kineto->trace->stacks.stack[calls].parent)
        sweep->frames[n++] = kineto->trace->stacks.stack[calls].frame;
    return intern_stack(&kineto->interner, sweep->frames, n, stack) || fail_memory(kineto);
}

static bool stacks_sweep(struct kineto *kineto, const struct order *spans, const struct order *samples) {
    struct sweep sweep = {.spans = spans};
    uint32_t frames_capacity = 0;
    bool done = ARENA_GROW(&kineto->trace->arena, sweep.frames, frames_capacity, MAX_STACK_FRAMES) ||
                fail_memory(kineto);
    for (uint32_t i = 0; done && i < samples->count; i++) {
        struct sample *sample = &kineto->samples.row[samples->row[i].value];
        done = sweep_to(kineto, &sweep, sample->thread, sample->ts_ns) &&
               sweep_stack(kineto, &sweep, sample->ts_ns, &sample->stack);
    }
    ARENA_DROP(&kineto->trace->arena, sweep.open);
    ARENA_DROP(&kineto->trace->arena, sweep.frames);
    return done;
}

static bool stacks_build(struct kineto *kineto, struct order *spans, struct order *samples) {
    order_spans_by_thread(kineto, spans);
    for (uint32_t i = 0; i < samples->count; i++)
        samples->row[i].key = kineto->samples.row[samples->row[i].value].thread;
    order_sort(samples);
    return stacks_sweep(kineto, spans, samples);
}

/* ---- one device ---- */

struct device_reader {
    struct kineto *kineto;
    struct recorder recorder;
    struct ledger unknown; /* bytes that the totals know of and no event explains */
    uint32_t *order;       /* the device's samples in time */
    uint32_t count;
    uint32_t *open;    /* samples whose allocations may be alive, latest last */
    uint32_t *orphans; /* samples that free what was there before, latest last */
    uint32_t n_open, n_orphans;
    bool has_totals, has_addresses, has_reserved;
    int64_t baseline; /* total before the first event */
    int64_t orphan_bytes;
    int64_t total;    /* after the sample before, as the file says it */
    int64_t live;     /* of all lives now, the unknown ones apart */
    int64_t reserved; /* now */
    uint64_t n_lost, lost_bytes, capacity_bytes;
};

static struct sample *sample_at(struct device_reader *reader, uint32_t i) {
    return &reader->kineto->samples.row[reader->order[i]];
}

static int64_t change_of(const struct sample *sample) {
    return sample->flags & SAMPLE_OOM ? 0 : sample->bytes;
}

static bool device_failed(struct device_reader *reader) {
    return fail_memory(reader->kineto);
}

/* Where several events have one time, the order in which each total follows from the one before is the true one. */
static void ties_order(struct device_reader *reader) {
    enum { MOST = 64 };
    for (uint32_t i = 1; i < reader->count; i++) {
        const struct sample *before = sample_at(reader, i - 1), *here = sample_at(reader, i);
        for (uint32_t k = i; k < reader->count && k < i + MOST; k++) {
            const struct sample *other = sample_at(reader, k);
            if (other->ts_ns != here->ts_ns)
                break;
            if (before->total + change_of(other) != other->total)
                continue;
            uint32_t chosen = reader->order[k];
            memmove(reader->order + i + 1, reader->order + i, (k - i) * sizeof *reader->order);
            reader->order[i] = chosen;
            break;
        }
    }
}

/* Totals that are a sum of the changes seen so far, for files that have none. They may begin below zero, as may the
 * CPU's, which the profiler counts itself: all are raised until none is. */
static void totals_complete(struct device_reader *reader) {
    int64_t sum = 0, lowest = 0;
    for (uint32_t i = 0; i < reader->count; i++) {
        struct sample *sample = sample_at(reader, i);
        sum += change_of(sample);
        if (!reader->has_totals && !reader->has_addresses) {
            sample->total = sum;
            sample->flags |= SAMPLE_HAS_TOTAL;
        }
        if (!(sample->flags & SAMPLE_HAS_TOTAL))
            continue;
        if (i == 0)
            lowest = sample->total - change_of(sample) < 0 ? sample->total - change_of(sample) : 0;
        lowest = sample->total < lowest ? sample->total : lowest;
    }
    for (uint32_t i = 0; lowest < 0 && i < reader->count; i++)
        sample_at(reader, i)->total -= lowest;
}

static void baseline_find(struct device_reader *reader) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < reader->count; i++) {
        const struct sample *sample = sample_at(reader, i);
        sum += change_of(sample);
        if (sample->flags & SAMPLE_HAS_TOTAL) {
            reader->baseline = sample->total > sum ? sample->total - sum : 0;
            return;
        }
    }
    reader->baseline = INT64_MAX; /* no total anywhere: what is freed was there */
}

/* Frees without an allocation: what they free was there before, as far as the total before the first event has room. */
static void orphans_find(struct device_reader *reader) {
    for (uint32_t i = 0; i < reader->count; i++) {
        struct sample *sample = sample_at(reader, i);
        if (!(sample->flags & SAMPLE_HAS_ADDRESS) || sample->bytes >= 0 || sample->partner != NO_PARTNER ||
            -sample->bytes > reader->baseline - reader->orphan_bytes)
            continue;
        sample->flags |= SAMPLE_ORPHAN;
        reader->orphan_bytes -= sample->bytes;
        reader->orphans[reader->n_orphans++] = i;
    }
}

/* Frees find their allocations by going through the samples of each address in turn. */
static bool pairs_find(struct device_reader *reader) {
    struct order by_address;
    if (!order_init(reader->kineto, &by_address, reader->count))
        return false;
    for (uint32_t i = 0; i < reader->count; i++)
        by_address.row[i].key = sample_at(reader, i)->address;
    order_sort(&by_address);
    uint32_t holder = NO_PARTNER;
    for (uint32_t i = 0; i < reader->count; i++) {
        struct sample *sample = sample_at(reader, by_address.row[i].value);
        if (i == 0 || by_address.row[i].key != by_address.row[i - 1].key)
            holder = NO_PARTNER;
        if (!(sample->flags & SAMPLE_HAS_ADDRESS))
            continue;
        sample->partner = holder;
        holder = sample->bytes >= 0 ? by_address.row[i].value : NO_PARTNER;
    }
    order_release(reader->kineto, &by_address);
    return true;
}

/* Ends the life of the allocation made by sample `index` if it is still there. */
static void life_end(struct device_reader *reader, uint32_t index) {
    struct sample *sample = index == NO_PARTNER ? NULL : sample_at(reader, index);
    if (sample == NULL || !(sample->flags & SAMPLE_OPEN))
        return;
    sample->flags &= (uint8_t)~SAMPLE_OPEN;
    reader->live -= sample->bytes;
}

/* What the recorder is told of a sample, and what that does to the lives that are known. */
static enum action action_of(struct device_reader *reader, struct sample *sample) {
    if (sample->flags & SAMPLE_OOM)
        return ACTION_OOM;
    if (!(sample->flags & SAMPLE_HAS_ADDRESS))
        return ACTION_IGNORED;
    if (sample->bytes >= 0) {
        life_end(reader, sample->partner);
        sample->flags |= SAMPLE_OPEN;
        reader->live += sample->bytes;
        return ACTION_ALLOC;
    }
    if (sample->flags & SAMPLE_ORPHAN) {
        reader->live += sample->bytes;
        return ACTION_FREE_COMPLETED;
    }
    if (sample->partner == NO_PARTNER || !(sample_at(reader, sample->partner)->flags & SAMPLE_OPEN))
        return ACTION_IGNORED;
    life_end(reader, sample->partner);
    return ACTION_FREE_COMPLETED;
}

static bool sample_record(struct device_reader *reader, struct sample *sample) {
    struct event event = {.action = action_of(reader, sample), .has_time = true, .stack = sample->stack};
    int64_t ns;
    if (__builtin_add_overflow(sample->ts_ns, reader->kineto->base_ns, &ns))
        ns = sample->ts_ns;
    event.time_us = ns / 1000;
    event.address = sample->address;
    event.size = (uint64_t)(sample->bytes < 0 ? -sample->bytes : sample->bytes);
    if (event.action == ACTION_OOM) { /* the most that the driver can have had left */
        uint64_t reserved = sample->flags & SAMPLE_HAS_RESERVED ? (uint64_t)sample->reserved : 0;
        event.address = reader->capacity_bytes > reserved ? reader->capacity_bytes - reserved : 0;
    }
    return recorder_event(&reader->recorder, &event) || device_failed(reader);
}

/* Takes one sample to be wrong: what it allocates is gone, or what it will free is. */
static bool life_give_up(struct device_reader *reader, struct sample *sample, int64_t *excess) {
    int64_t nbytes = sample->bytes < 0 ? -sample->bytes : sample->bytes;
    struct event event = {.action = ACTION_FREE_COMPLETED,
                          .stack = sample->stack,
                          .address = sample->address,
                          .size = (uint64_t)nbytes};
    sample->flags &= (uint8_t) ~(SAMPLE_OPEN | SAMPLE_ORPHAN);
    reader->live -= nbytes;
    *excess -= nbytes;
    return recorder_join(&reader->recorder, &event) || device_failed(reader);
}

/* Frees were lost and too much seems to be alive: the latest allocations are taken to be gone, then what is freed last
 * of what was there before. Sample `now` is being recorded. */
static bool lives_give_up(struct device_reader *reader, uint32_t now, int64_t excess) {
    while (excess > 0 && reader->n_open != 0) {
        struct sample *sample = sample_at(reader, reader->open[--reader->n_open]);
        if ((sample->flags & SAMPLE_OPEN) && !life_give_up(reader, sample, &excess))
            return false;
    }
    while (excess > 0 && reader->n_orphans != 0 && reader->orphans[reader->n_orphans - 1] > now)
        if (!life_give_up(reader, sample_at(reader, reader->orphans[--reader->n_orphans]), &excess))
            return false;
    return excess >= 0 || ledger_grow(&reader->unknown, (uint64_t)-excess) || device_failed(reader);
}

/* Makes the lives add up to the total that the file states. */
static bool total_keep(struct device_reader *reader, uint32_t now) {
    const struct sample *sample = sample_at(reader, now);
    int64_t missing = sample->total - reader->live - (int64_t)reader->unknown.total;
    if (missing >= 0)
        return ledger_grow(&reader->unknown, (uint64_t)missing) || device_failed(reader);
    int64_t excess = -missing, known = (int64_t)reader->unknown.total;
    int64_t taken = excess < known ? excess : known;
    if (taken != 0 && !ledger_shrink(&reader->unknown, (uint64_t)taken))
        return device_failed(reader);
    return lives_give_up(reader, now, excess - taken);
}

static bool reserved_keep(struct device_reader *reader, const struct sample *sample) {
    if (!(sample->flags & SAMPLE_HAS_RESERVED))
        return true;
    int64_t change = reader->has_reserved ? sample->reserved - reader->reserved : 0;
    reader->has_reserved = true;
    reader->reserved = sample->reserved;
    struct event event = {.action = change > 0 ? ACTION_SEGMENT_ALLOC : ACTION_SEGMENT_FREE,
                          .stack = sample->stack,
                          .size = (uint64_t)(change < 0 ? -change : change)};
    return change == 0 || recorder_join(&reader->recorder, &event) || device_failed(reader);
}

static void loss_note(struct device_reader *reader, const struct sample *sample, bool first) {
    int64_t lost = sample->total - change_of(sample) - reader->total;
    reader->total = sample->total;
    if (first || lost == 0)
        return;
    reader->n_lost++;
    reader->lost_bytes += (uint64_t)(lost < 0 ? -lost : lost);
}

static bool samples_record(struct device_reader *reader) {
    bool first = true;
    for (uint32_t i = 0; i < reader->count; i++) {
        struct sample *sample = sample_at(reader, i);
        if (!sample_record(reader, sample))
            return false;
        if (sample->flags & SAMPLE_HAS_TOTAL) {
            if (!total_keep(reader, i))
                return false;
            loss_note(reader, sample, first);
            first = false;
        }
        if (!reserved_keep(reader, sample))
            return false;
        if (sample->flags & SAMPLE_OPEN)
            reader->open[reader->n_open++] = i;
    }
    return true;
}

/* ---- what the reader of the picture should know ---- */

static bool diagnose(struct device_reader *reader, const char *key, uint64_t first, uint64_t second) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {first, second};
    return trace_diagnose(reader->kineto->trace, key, reader->recorder.device.ordinal, numbers) ||
           device_failed(reader);
}

static bool device_diagnose(struct device_reader *reader, int64_t unexplained) {
    return (reader->has_addresses || diagnose(reader, "no_addresses", 0, 0)) &&
           (reader->n_lost == 0 || diagnose(reader, "lost_events", reader->n_lost, reader->lost_bytes)) &&
           (unexplained <= 0 || diagnose(reader, "baseline_total", (uint64_t)unexplained, 0)) &&
           (reader->recorder.device.n_ooms == 0 || diagnose(reader, "oom_free_bound", 0, 0));
}

/* ---- devices ---- */

static bool ordinal_is_taken(const struct kineto *kineto, int32_t ordinal) {
    for (uint32_t i = 0; i < kineto->trace->n_devices; i++)
        if (kineto->trace->devices[i].ordinal == ordinal)
            return true;
    return false;
}

/* The number of the device; of several kinds of devices with equal numbers the later ones get free ones. */
static int32_t ordinal_of(const struct kineto *kineto, const struct kineto_device *device) {
    if (device->type == DEVICE_TYPE_CPU && !ordinal_is_taken(kineto, ORDINAL_CPU))
        return ORDINAL_CPU;
    int32_t ordinal = device->id < 0 || device->id > INT32_MAX / 2 ? 0 : device->id;
    while (ordinal_is_taken(kineto, ordinal))
        ordinal += 1000;
    return ordinal;
}

static void properties_apply(struct device_reader *reader, const struct kineto_device *device) {
    const struct kineto *kineto = reader->kineto;
    for (uint32_t i = 0; device->type != DEVICE_TYPE_CPU && i < kineto->properties.count; i++) {
        if (kineto->properties.row[i].id != device->id)
            continue;
        reader->recorder.device.name = kineto->properties.row[i].name;
        reader->recorder.device.capacity_bytes = kineto->properties.row[i].capacity_bytes;
        reader->capacity_bytes = kineto->properties.row[i].capacity_bytes;
    }
}

/* The samples of device `index`, in the order of `by_time`. */
static bool samples_select(struct device_reader *reader, uint16_t index, const struct order *by_time) {
    struct kineto *kineto = reader->kineto;
    struct arena *arena = &kineto->trace->arena;
    uint32_t order_capacity = 0, open_capacity = 0, orphans_capacity = 0, n = 0;
    for (uint32_t i = 0; i < by_time->count; i++)
        n += kineto->samples.row[i].device == index;
    if (!ARENA_GROW(arena, reader->order, order_capacity, n) ||
        !ARENA_GROW(arena, reader->open, open_capacity, n) ||
        !ARENA_GROW(arena, reader->orphans, orphans_capacity, n))
        return device_failed(reader);
    for (uint32_t i = 0; i < by_time->count; i++) {
        const struct sample *sample = &kineto->samples.row[by_time->row[i].value];
        if (sample->device != index)
            continue;
        reader->order[reader->count++] = by_time->row[i].value;
        reader->has_totals = reader->has_totals || (sample->flags & SAMPLE_HAS_TOTAL);
        reader->has_addresses = reader->has_addresses || (sample->flags & SAMPLE_HAS_ADDRESS);
    }
    return true;
}

static bool device_finish(struct device_reader *reader, int64_t unexplained) {
    struct segment all = {.total_size = (uint64_t)reader->reserved};
    struct trace *trace = reader->kineto->trace;
    if (reader->has_reserved && !recorder_segment(&reader->recorder, &all, 0, (struct pool_id){0, 0}))
        return device_failed(reader);
    if (!device_diagnose(reader, unexplained))
        return false;
    if (!recorder_finish(&reader->recorder, &trace->devices[trace->n_devices]))
        return device_failed(reader);
    trace->n_devices++;
    return true;
}

static bool device_record(struct device_reader *reader) {
    if (reader->has_totals)
        ties_order(reader);
    totals_complete(reader);
    baseline_find(reader);
    if (!pairs_find(reader))
        return false;
    orphans_find(reader);
    int64_t unexplained = reader->baseline == INT64_MAX ? 0 : reader->baseline - reader->orphan_bytes;
    reader->live = reader->orphan_bytes;
    return (ledger_begin(&reader->unknown, (uint64_t)unexplained) || device_failed(reader)) &&
           samples_record(reader) && device_finish(reader, unexplained);
}

static bool device_read(struct kineto *kineto, uint16_t index, const struct order *by_time) {
    const struct kineto_device *device = &kineto->devices.row[index];
    struct device_reader reader = {.kineto = kineto};
    if (!recorder_init(&reader.recorder, &kineto->interner, ordinal_of(kineto, device)))
        return fail_memory(kineto);
    /* Blocks are aligned, so odd addresses are free for what has none. */
    reader.unknown = (struct ledger){.recorder = &reader.recorder, .next_address = 1, .stride = 2};
    properties_apply(&reader, device);
    bool done = samples_select(&reader, index, by_time) && device_record(&reader);
    ARENA_DROP(&kineto->trace->arena, reader.order);
    ARENA_DROP(&kineto->trace->arena, reader.open);
    ARENA_DROP(&kineto->trace->arena, reader.orphans);
    ARENA_DROP(&kineto->trace->arena, reader.unknown.piece);
    return done;
}

static void devices_sort(struct trace *trace) {
    for (uint32_t i = 1; i < trace->n_devices; i++) {
        struct device_trace device = trace->devices[i];
        uint32_t at = i;
        for (; at > 0 && trace->devices[at - 1].ordinal > device.ordinal; at--)
            trace->devices[at] = trace->devices[at - 1];
        trace->devices[at] = device;
    }
}

static bool devices_read(struct kineto *kineto, const struct order *by_time) {
    struct trace *trace = kineto->trace;
    trace->devices = arena_alloc(&trace->arena, ((size_t)kineto->devices.count + 1) * sizeof *trace->devices);
    if (trace->devices == NULL)
        return fail_memory(kineto);
    for (uint32_t i = 0; i < kineto->devices.count; i++)
        if (!device_read(kineto, (uint16_t)i, by_time))
            return false;
    devices_sort(trace);
    return true;
}

/* ---- annotations ---- */

static int64_t us_of(const struct kineto *kineto, int64_t ts_ns) {
    int64_t ns;
    return (__builtin_add_overflow(ts_ns, kineto->base_ns, &ns) ? ts_ns : ns) / 1000;
}

/* Begins and ends of the user's annotations, in the order of time; at one time what ends comes first. */
static bool annotations_list(struct kineto *kineto, const struct order *spans) {
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct span *span = &kineto->spans.row[spans->row[i].value];
        if (!span->is_annotation || span->frame == 0)
            continue;
        if (!rows_reserve(kineto, &kineto->annotations, 2))
            return false;
        struct annotation begin = {.time_us = us_of(kineto, span->start_ns),
                                   .name = kineto->trace->frames.frame[span->frame].name,
                                   .stage = ANNOTATION_START};
        struct annotation end = begin;
        end.time_us = us_of(kineto, span->end_ns);
        end.stage = ANNOTATION_END;
        kineto->annotations.row[kineto->annotations.count++] = begin;
        kineto->annotations.row[kineto->annotations.count++] = end;
    }
    return true;
}

/* The profiler's annotations belong to the process: every device but the CPU shows them. */
static bool annotations_copy(struct kineto *kineto, const struct order *order) {
    struct trace *trace = kineto->trace;
    uint32_t n_shown = 0;
    for (uint32_t d = 0; d < trace->n_devices; d++)
        n_shown += trace->n_devices == 1 || trace->devices[d].ordinal != ORDINAL_CPU;
    trace->annotations =
        arena_alloc(&trace->arena, ((size_t)n_shown * order->count + 1) * sizeof *trace->annotations);
    if (trace->annotations == NULL)
        return fail_memory(kineto);
    for (uint32_t d = 0; d < trace->n_devices; d++) {
        if (trace->n_devices > 1 && trace->devices[d].ordinal == ORDINAL_CPU)
            continue;
        for (uint32_t i = 0; i < order->count; i++) {
            struct annotation *annotation = &trace->annotations[trace->n_annotations++];
            *annotation = kineto->annotations.row[order->row[i].value];
            annotation->device = trace->devices[d].ordinal;
        }
    }
    return true;
}

static bool annotations_build(struct kineto *kineto) {
    struct order order = {0};
    if (!order_init(kineto, &order, kineto->annotations.count))
        return false;
    for (uint32_t i = 0; i < order.count; i++) {
        const struct annotation *annotation = &kineto->annotations.row[i];
        order.row[i].key = rising(annotation->time_us) << 1 | (annotation->stage == ANNOTATION_START);
    }
    order_sort(&order);
    bool done = annotations_copy(kineto, &order);
    order_release(kineto, &order);
    return done;
}

/* ---- entry ---- */

static bool trace_build(struct kineto *kineto) {
    struct order spans = {0}, samples = {0};
    bool done = order_init(kineto, &spans, kineto->spans.count) &&
                order_init(kineto, &samples, kineto->samples.count);
    if (done) {
        order_spans(kineto, &spans);
        order_samples_by_time(kineto, &samples);
        done = annotations_list(kineto, &spans) && stacks_build(kineto, &spans, &samples);
    }
    order_release(kineto, &spans);
    ARENA_DROP(&kineto->trace->arena, kineto->spans.row);
    if (done) {
        order_samples_by_time(kineto, &samples);
        done = devices_read(kineto, &samples) && annotations_build(kineto);
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
                kineto_finish(&kineto);
    ARENA_DROP(arena, kineto.spans.row);
    ARENA_DROP(arena, kineto.samples.row);
    ARENA_DROP(arena, kineto.devices.row);
    ARENA_DROP(arena, kineto.properties.row);
    ARENA_DROP(arena, kineto.annotations.row);
    interner_release(&kineto.interner);
    return done;
}

static bool is_one_of(const char *key, const char *const *keys) {
    for (; *keys != NULL; keys++)
        if (strcmp(key, *keys) == 0)
            return true;
    return false;
}

bool kineto_knows(const char *key) {
    static const char *const keys[] = {"traceEvents",         "deviceProperties", "distributedInfo",
                                       "baseTimeNanoseconds", "schemaVersion",    NULL};
    return is_one_of(key, keys);
}

bool kineto_knows_event(const char *key) {
    static const char *const keys[] = {"ph",  "cat",  "name", "pid", "tid", "ts",
                                       "dur", "args", "s",    "id",  NULL};
    return is_one_of(key, keys);
}
