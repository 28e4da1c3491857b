#include "parser/json/kineto_internal.h"

#include "base/numbers.h"
#include "base/sort.h"
#include "parser/ledger.h"

#include <string.h>

/* ---- one device ---- */

struct device_reader {
    struct kineto *kineto;
    struct recorder recorder;
    struct ledger unknown; /* bytes in the totals that no event explains */
    uint32_t *order;       /* the device's samples in order of time */
    uint32_t count;
    uint32_t *open;    /* samples whose allocations may be alive, latest last */
    uint32_t *orphans; /* samples that free memory from before the trace, latest last */
    uint32_t n_open, n_orphans;
    bool has_totals, has_addresses, has_reserved;
    int64_t baseline; /* the total before the first event */
    int64_t orphan_bytes;
    int64_t total;    /* the file's total after the previous sample */
    int64_t live;     /* of all allocations now, except unknown ones */
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
    return json_scan_fail_memory(reader->kineto->scan);
}

/* Orders events of the same time so that each total follows from the one before. */
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

/* For files without totals: sums up the changes so far. The sums may start negative, as may those of the CPU, which
 * the profiler counts itself; so all are raised until none is negative. */
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
    reader->baseline = INT64_MAX; /* no totals: every free without an allocation frees older memory */
}

/* Finds frees without an allocation: they free memory from before the trace, as far as the total before the first
 * event has room. */
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

/* Pairs frees with allocations by going through the samples of each address in turn. */
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

/* Ends the allocation made by sample `index`, if it is still alive. */
static void allocation_end(struct device_reader *reader, uint32_t index) {
    struct sample *sample = index == NO_PARTNER ? NULL : sample_at(reader, index);
    if (sample == NULL || !(sample->flags & SAMPLE_OPEN))
        return;
    sample->flags &= (uint8_t)~SAMPLE_OPEN;
    reader->live -= sample->bytes;
}

/* The recorder's action for a sample. Updates the known allocations. */
static enum action action_of(struct device_reader *reader, struct sample *sample) {
    if (sample->flags & SAMPLE_OOM)
        return ACTION_OOM;
    if (!(sample->flags & SAMPLE_HAS_ADDRESS))
        return ACTION_IGNORED;
    if (sample->bytes >= 0) {
        allocation_end(reader, sample->partner);
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
    allocation_end(reader, sample->partner);
    return ACTION_FREE_COMPLETED;
}

static bool sample_record(struct device_reader *reader, struct sample *sample) {
    struct event event = {.action = action_of(reader, sample),
                          .has_time = true,
                          .time_us = us_of(reader->kineto, sample->ts_ns),
                          .stack = sample->stack,
                          .address = sample->address,
                          .size = magnitude_of(sample->bytes)};
    if (event.action == ACTION_OOM) { /* the most that the driver can have had left */
        uint64_t reserved = sample->flags & SAMPLE_HAS_RESERVED ? (uint64_t)sample->reserved : 0;
        event.address = reader->capacity_bytes > reserved ? reader->capacity_bytes - reserved : 0;
    }
    return recorder_event(&reader->recorder, &event) || device_failed(reader);
}

/* Gives up one sample as wrong: its allocation has been freed already, or the block that it will free has. */
static bool allocation_give_up(struct device_reader *reader, struct sample *sample, int64_t *excess) {
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

/* Frees were lost, so too much seems to be alive. Gives up the latest allocations first, then those from before the
 * trace that are freed last. Sample `now` is being recorded. */
static bool allocations_give_up(struct device_reader *reader, uint32_t now, int64_t excess) {
    while (excess > 0 && reader->n_open != 0) {
        struct sample *sample = sample_at(reader, reader->open[--reader->n_open]);
        if ((sample->flags & SAMPLE_OPEN) && !allocation_give_up(reader, sample, &excess))
            return false;
    }
    while (excess > 0 && reader->n_orphans != 0 && reader->orphans[reader->n_orphans - 1] > now) {
        struct sample *orphan = sample_at(reader, reader->orphans[reader->n_orphans - 1]);
        if (orphan->address == sample_at(reader, now)->address)
            break; /* at this address is now what this event has just allocated */
        reader->n_orphans--;
        if (!allocation_give_up(reader, orphan, &excess))
            return false;
    }
    return excess >= 0 || ledger_grow(&reader->unknown, (uint64_t)-excess) || device_failed(reader);
}

static bool total_keep(struct device_reader *reader, uint32_t now) {
    const struct sample *sample = sample_at(reader, now);
    int64_t missing = sample->total - reader->live - (int64_t)reader->unknown.total;
    if (missing >= 0)
        return ledger_grow(&reader->unknown, (uint64_t)missing) || device_failed(reader);
    int64_t excess = -missing, known = (int64_t)reader->unknown.total;
    int64_t taken = excess < known ? excess : known;
    if (taken != 0 && !ledger_shrink(&reader->unknown, (uint64_t)taken))
        return device_failed(reader);
    return allocations_give_up(reader, now, excess - taken);
}

static bool reserved_keep(struct device_reader *reader, const struct sample *sample) {
    if (!(sample->flags & SAMPLE_HAS_RESERVED))
        return true;
    int64_t change = reader->has_reserved ? sample->reserved - reader->reserved : 0;
    reader->has_reserved = true;
    reader->reserved = sample->reserved;
    struct event event = {.action = change > 0 ? ACTION_SEGMENT_ALLOC : ACTION_SEGMENT_FREE,
                          .stack = sample->stack,
                          .size = magnitude_of(change)};
    return change == 0 || recorder_join(&reader->recorder, &event) || device_failed(reader);
}

static void loss_note(struct device_reader *reader, const struct sample *sample, bool first) {
    int64_t lost = sample->total - change_of(sample) - reader->total;
    reader->total = sample->total;
    if (first || lost == 0)
        return;
    reader->n_lost++;
    reader->lost_bytes += magnitude_of(lost);
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

/* ---- diagnostics ---- */

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

static bool ordinal_is_taken(const struct kineto *kineto, int32_t ordinal) {
    return trace_device(kineto->trace, ordinal) != NULL;
}

/* The ordinal of a device. If several kinds of devices have equal numbers, the later ones get free ones. */
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

/* Selects the samples of device `index`, in the order of `by_time`. */
static bool samples_select(struct device_reader *reader, uint16_t index, const struct order *by_time) {
    struct kineto *kineto = reader->kineto;
    struct arena *arena = &kineto->trace->arena;
    uint32_t n = 0;
    for (uint32_t i = 0; i < by_time->count; i++)
        n += kineto->samples.row[i].device == index;
    if (!ARENA_COLUMNS(arena, n, reader->order, reader->open, reader->orphans))
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
        return json_scan_fail_memory(kineto->scan);
    /* Blocks are aligned, so odd addresses are free for bytes without one. */
    reader.unknown = (struct ledger){.recorder = &reader.recorder, .next_address = 1, .stride = 2};
    properties_apply(&reader, device);
    bool done = samples_select(&reader, index, by_time) && device_record(&reader);
    ARENA_DROP(&kineto->trace->arena, reader.order, reader.open, reader.orphans, reader.unknown.piece);
    return done;
}

static void devices_sort(struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_devices;) {
        struct device_trace device = trace->devices[i];
        INSERT(trace->devices, i, trace->n_devices, device, other, other->ordinal > device.ordinal);
    }
}

bool kineto_devices_read(struct kineto *kineto, const struct order *by_time) {
    struct trace *trace = kineto->trace;
    trace->devices = arena_alloc(&trace->arena, ((size_t)kineto->devices.count + 1) * sizeof *trace->devices);
    if (trace->devices == NULL)
        return json_scan_fail_memory(kineto->scan);
    for (uint32_t i = 0; i < kineto->devices.count; i++)
        if (!device_read(kineto, (uint16_t)i, by_time))
            return false;
    devices_sort(trace);
    return true;
}
