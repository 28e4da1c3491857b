#include "parser/json/json.h"

#include "parser/ledger.h"

#include <stdio.h>
#include <string.h>

enum { N_CATEGORIES = 8, UNKNOWN = 7 };

/* In the order of the numbers in the file. */
static const char *const category_names[N_CATEGORIES] = {"parameter",       "optimizer_state", "input",
                                                         "temporary",       "activation",      "gradient",
                                                         "autograd_detail", "unknown"};

/* A line of a raw timeline. */
struct change {
    int64_t t, action, nbytes;
    uint32_t category;
};

struct reader {
    struct json_scan *scan;
    struct trace *trace;
    struct interner interner;
    struct recorder recorder;
    struct ledger category[N_CATEGORIES];
    uint64_t debt[N_CATEGORIES]; /* how far a category would be below zero */
    uint64_t n_below_zero;
    struct change waiting; /* a change that may be the first half of a pair */
    bool has_waiting;
    int64_t last_us;
    int64_t *time_us; /* for a coalesced timeline */
    uint32_t n_times, time_capacity;
};

/* Makes every category a call site of its own, so that lists and legends name it. */
static bool category_init(struct reader *reader, uint32_t i) {
    const char *name = category_names[i];
    struct context context = {0};
    struct frame frame = {0};
    struct ledger *ledger = &reader->category[i];
    uint32_t id;
    *ledger = (struct ledger){.recorder = &reader->recorder, .next_address = i + 1, .stride = N_CATEGORIES};
    if (!intern_string(&reader->interner, name, strlen(name), &frame.name))
        return json_scan_fail_memory(reader->scan);
    context.category = frame.name;
    return (intern_frame(&reader->interner, frame, &id) &&
            intern_stack(&reader->interner, &id, 1, &ledger->stack) &&
            intern_context(&reader->interner, context, &ledger->context)) ||
           json_scan_fail_memory(reader->scan);
}

/* ---- changes ---- */

static bool moment_begin(struct reader *reader, int64_t us) {
    struct event event = {.action = ACTION_IGNORED, .has_time = true, .time_us = us};
    reader->last_us = us;
    reader->scan->cursor->n_events = (uint64_t)reader->recorder.device.n_events + 1;
    return recorder_event(&reader->recorder, &event) || json_scan_fail_memory(reader->scan);
}

/* A sum below zero becomes a debt: the next bytes of the category pay it back, and until then the category shows
 * nothing. */
static bool category_shrink(struct reader *reader, uint32_t category, uint64_t nbytes) {
    struct ledger *ledger = &reader->category[category];
    uint64_t taken = nbytes < ledger->total ? nbytes : ledger->total;
    reader->debt[category] += nbytes - taken;
    reader->n_below_zero += nbytes > taken;
    return taken == 0 || ledger_shrink(ledger, taken) || json_scan_fail_memory(reader->scan);
}

static uint64_t debt_pay(struct reader *reader, uint32_t category, uint64_t nbytes) {
    uint64_t paid = nbytes < reader->debt[category] ? nbytes : reader->debt[category];
    reader->debt[category] -= paid;
    return nbytes - paid;
}

static bool category_change(struct reader *reader, uint32_t category, int64_t nbytes) {
    if (nbytes < 0)
        return category_shrink(reader, category, (uint64_t)-nbytes);
    return ledger_grow(&reader->category[category], debt_pay(reader, category, (uint64_t)nbytes)) ||
           json_scan_fail_memory(reader->scan);
}

static bool category_begin(struct reader *reader, uint32_t category, int64_t nbytes) {
    if (nbytes < 0) {
        reader->debt[category] += (uint64_t)-nbytes;
        reader->n_below_zero++;
        return true;
    }
    return ledger_begin(&reader->category[category], debt_pay(reader, category, (uint64_t)nbytes)) ||
           json_scan_fail_memory(reader->scan);
}

/* ---- raw ---- */

/* Sums of sane numbers stay below 2^63. */
static bool is_sane(int64_t nbytes) {
    return nbytes > -(INT64_C(1) << 52) && nbytes < INT64_C(1) << 52;
}

static struct change change_of(const int64_t number[4]) {
    bool known = number[3] >= 0 && number[3] < UNKNOWN;
    return (struct change){number[0], number[1], number[2], known ? (uint32_t)number[3] : UNKNOWN};
}

static bool change_parse(const cJSON *json, struct change *change) {
    int64_t number[4];
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) != 4)
        return false;
    const cJSON *item = json->child;
    for (unsigned i = 0; i < 4; i++, item = item->next)
        if (!json_integer(item, &number[i], NULL)) {
            if (i != 3)
                return false;
            number[i] = UNKNOWN; /* null, for Python's None */
        }
    *change = change_of(number);
    return is_sane(change->nbytes);
}

static bool change_apply(struct reader *reader, const struct change *change) {
    if (change->nbytes == 0)
        return true;
    if (change->t < 0 && reader->recorder.device.n_events == 0)
        return category_begin(reader, change->category, change->nbytes);
    return moment_begin(reader, change->t < 0 ? reader->last_us : change->t / 1000) &&
           category_change(reader, change->category, change->nbytes);
}

static bool waiting_apply(struct reader *reader) {
    bool has_waiting = reader->has_waiting;
    reader->has_waiting = false;
    return !has_waiting || change_apply(reader, &reader->waiting);
}

/* A new version of a tensor is written as a pair: minus the bytes in the old category and plus them in the new one.
 * Nothing else has one time, one action and both signs, so the numbers of the actions, which differ between
 * backends, are not needed. */
static bool is_pair(const struct change *first, const struct change *second) {
    return first->t == second->t && first->action == second->action && first->nbytes < 0 &&
           first->nbytes == -second->nbytes;
}

static bool change_add(struct reader *reader, const struct change *change) {
    if (reader->has_waiting && is_pair(&reader->waiting, change)) {
        reader->has_waiting = false;
        if (reader->waiting.category == change->category)
            return true; /* nothing changes */
        return change_apply(reader, &reader->waiting) &&
               (change->t < 0 ? category_begin(reader, change->category, change->nbytes)
                              : category_change(reader, change->category, change->nbytes));
    }
    if (!waiting_apply(reader))
        return false;
    reader->waiting = *change;
    reader->has_waiting = true;
    return true;
}

static bool change_take(struct reader *reader, const cJSON *json) {
    struct change change;
    if (json == NULL)
        return true;
    if (!change_parse(json, &change)) {
        reader->scan->n_bad++;
        return true;
    }
    return change_add(reader, &change);
}

/* Reads the items, beginning with the current one. */
static bool raw_read(struct reader *reader) {
    do {
        const cJSON *json;
        if (!json_scan_take(reader->scan, &json))
            break;
        if (!change_take(reader, json))
            return false;
    } while (json_scan_item(reader->scan));
    return reader->scan->cursor->error->code == READ_OK && waiting_apply(reader);
}

/* ---- coalesced ---- */

static bool row_parse(const cJSON *json, int64_t bytes[N_CATEGORIES]) {
    int n = cJSON_IsArray(json) ? cJSON_GetArraySize(json) : 0;
    if (n != N_CATEGORIES && n != N_CATEGORIES + 1)
        return false;
    const cJSON *item =
        n == N_CATEGORIES ? json->child : json->child->next; /* the first of nine numbers is always 0 */
    for (uint32_t i = 0; i < N_CATEGORIES; i++, item = item->next)
        if (!json_integer(item, &bytes[i], NULL) || !is_sane(bytes[i]))
            return false;
    return true;
}

/* Frees come first, so that no moment in between is higher than both ends. */
static bool row_apply(struct reader *reader, const int64_t *before, const int64_t *after) {
    for (uint32_t i = 0; i < N_CATEGORIES; i++)
        if (after[i] < before[i] && !category_change(reader, i, after[i] - before[i]))
            return false;
    for (uint32_t i = 0; i < N_CATEGORIES; i++)
        if (after[i] > before[i] && !category_change(reader, i, after[i] - before[i]))
            return false;
    return true;
}

/* Bytes older than the first event have a row of their own, at the time of the first event. */
static bool row_is_baseline(const struct reader *reader, uint32_t index) {
    return index == 0 && reader->n_times > 1 && reader->time_us[0] == reader->time_us[1];
}

static bool row_add(struct reader *reader, uint32_t index, const int64_t *before, const int64_t *after) {
    if (row_is_baseline(reader, index)) {
        for (uint32_t i = 0; i < N_CATEGORIES; i++)
            if (!category_begin(reader, i, after[i]))
                return false;
        return true;
    }
    if (memcmp(before, after, N_CATEGORIES * sizeof *before) == 0)
        return true;
    int64_t us = index < reader->n_times ? reader->time_us[index] : reader->last_us;
    return moment_begin(reader, us) && row_apply(reader, before, after);
}

/* Reads the rows; the scan is before the first. */
static bool rows_read(struct reader *reader) {
    int64_t before[N_CATEGORIES] = {0}, after[N_CATEGORIES];
    for (uint32_t index = 0; json_scan_item(reader->scan); index++) {
        const cJSON *json;
        if (!json_scan_take(reader->scan, &json))
            break;
        bool parsed = json != NULL && row_parse(json, after);
        reader->scan->n_bad += json != NULL && !parsed;
        if (!parsed)
            continue;
        if (!row_add(reader, index, before, after))
            return false;
        memcpy(before, after, sizeof before);
    }
    return reader->scan->cursor->error->code == READ_OK;
}

/* Reads the numbers of the first item: the times of a coalesced timeline, or one change of a raw one. */
static bool times_read(struct reader *reader) {
    while (json_scan_item(reader->scan)) {
        const char *text;
        int64_t number = 0;
        if (!json_scan_number(reader->scan, &text))
            break;
        (void)json_integer_of_text(text, &number, NULL);
        if (!ARENA_GROW(&reader->trace->arena, reader->time_us, reader->time_capacity,
                        (uint64_t)reader->n_times + 1))
            return json_scan_fail_memory(reader->scan);
        reader->time_us[reader->n_times++] = number;
    }
    return reader->scan->cursor->error->code == READ_OK;
}

/* ---- telling the two apart ---- */

/* The scan is at the second item. True: it begins with a row, as only in a coalesced timeline, or the file ends
 * here and the first item does not fit a raw timeline. */
static bool rows_follow(struct reader *reader) {
    struct cursor *cursor = reader->scan->cursor;
    if (*cursor->p != '[')
        return false;
    (void)cursor_fill(cursor, 64);
    const uint8_t *p = cursor->p + 1;
    while (p < cursor->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    if (p < cursor->end && *p == '[')
        return true;
    return (p == cursor->end || *p == ']') && reader->n_times != 4;
}

static bool first_change_add(struct reader *reader) {
    struct change change = change_of(reader->time_us);
    if (is_sane(change.nbytes))
        return change_add(reader, &change);
    reader->scan->n_bad++;
    return true;
}

/* Skips to the end of the document, to notice if it is missing. */
static bool rest_skip(struct reader *reader) {
    while (json_scan_is_sound(reader->scan) && json_scan_item(reader->scan))
        if (!json_scan_skip(reader->scan))
            break;
    return reader->scan->cursor->error->code == READ_OK;
}

static bool items_read(struct reader *reader) {
    struct json_scan *scan = reader->scan;
    if (!json_scan_enter(scan, '[') || !times_read(reader))
        return scan->cursor->error->code == READ_OK;
    bool more = json_scan_is_sound(scan) && json_scan_item(scan);
    if (more && rows_follow(reader))
        return json_scan_enter(scan, '[') && rows_read(reader) && rest_skip(reader);
    if (scan->cursor->error->code != READ_OK || (reader->n_times != 4 && json_scan_is_sound(scan)))
        return cursor_fail(
            scan->cursor, READ_BAD_SHAPE, 0,
            "this list of lists is not a memory timeline: its items are not (time, action, bytes, category)");
    if (reader->n_times != 4)
        return true; /* cut off; the end of the reading says so */
    return first_change_add(reader) && (more ? raw_read(reader) : waiting_apply(reader));
}

/* ---- entry ---- */

static bool timeline_diagnose(struct reader *reader) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {reader->n_below_zero};
    int32_t ordinal = reader->recorder.device.ordinal;
    return (trace_diagnose(reader->trace, "category_totals", ordinal, NULL) &&
            (numbers[0] == 0 || trace_diagnose(reader->trace, "below_zero", ordinal, numbers))) ||
           json_scan_fail_memory(reader->scan);
}

static bool timeline_finish(struct reader *reader) {
    struct trace *trace = reader->trace;
    if (!json_scan_finish(reader->scan, trace, reader->recorder.device.n_events))
        return false;
    trace->devices = arena_alloc(&trace->arena, sizeof *trace->devices);
    if (trace->devices == NULL)
        return json_scan_fail_memory(reader->scan);
    if (!timeline_diagnose(reader))
        return false;
    if (!recorder_finish(&reader->recorder, trace->devices))
        return json_scan_fail_memory(reader->scan);
    trace->n_devices = 1;
    return true;
}

static bool timeline_read(struct reader *reader) {
    if (!recorder_init(&reader->recorder, &reader->interner, 0))
        return json_scan_fail_memory(reader->scan);
    for (uint32_t i = 0; i < N_CATEGORIES; i++)
        if (!category_init(reader, i))
            return false;
    return json_scan_item(reader->scan) && items_read(reader) && timeline_finish(reader);
}

bool memory_timeline_read(struct json_scan *scan, struct trace *trace) {
    struct reader reader = {.scan = scan, .trace = trace};
    trace->kind = TRACE_MEMORY_TIMELINE;
    interner_init(&reader.interner, trace);
    bool done =
        timeline_read(&reader) && (interner_finish(&reader.interner) || json_scan_fail_memory(reader.scan));
    for (uint32_t i = 0; i < N_CATEGORIES; i++)
        ARENA_DROP(&trace->arena, reader.category[i].piece);
    ARENA_DROP(&trace->arena, reader.time_us);
    interner_release(&reader.interner);
    return done;
}
