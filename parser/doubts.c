#include "parser/doubts.h"

#include "base/numbers.h"
#include "base/sort.h"

/* ---- frees: a request, then its completion ---- */

static bool frees_diagnose(struct trace *trace, const struct device_trace *device,
                           const struct event_sums *sums) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {sums->requested, sums->completed, sums->unrequested};
    uint64_t n_pending = 0;
    for (uint32_t i = 0; i < device->n_blocks; i++)
        n_pending += device->blocks[i].state == BLOCK_PENDING_FREE;
    const char *key = NULL;
    if (sums->completed == 0 && sums->requested > n_pending && device->n_blocks != 0)
        key = "unequal_actions/no_completed";
    else if (sums->unrequested != 0)
        key = sums->requested == 0 ? "unequal_actions/no_requested" : "unequal_actions";
    return key == NULL || trace_diagnose(trace, key, device->ordinal, numbers);
}

/* ---- live bytes against reserved bytes ---- */

struct excess {
    uint64_t nbytes; /* the most by which live exceeds reserved; 0: never */
    uint32_t moment; /* the first moment with this excess */
};

/* Walks back from the end, where the segments are known. A curve that falls below zero is raised, as it is when
 * drawn. */
static struct excess excess_find(const struct device_trace *device, const uint64_t *live) {
    uint64_t reserved = device_reserved_end(device);
    int64_t most = 0, lowest = 0;
    struct excess excess = {0, 0};
    uint32_t at = device->n_segment_events;
    for (uint64_t moment = (uint64_t)device->n_events + 1; moment-- > 0;) {
        int64_t above = (int64_t)(live[moment] - reserved);
        if (above > 0 && above >= most) {
            most = above;
            excess.moment = (uint32_t)moment;
        }
        for (; at > 0 && (uint64_t)device->segment_events[at - 1].event + 1 == moment; at--)
            reserved -= segment_event_delta(&device->segment_events[at - 1]);
        lowest = (int64_t)reserved < lowest ? (int64_t)reserved : lowest;
    }
    excess.nbytes = most + lowest > 0 ? (uint64_t)(most + lowest) : 0;
    return excess;
}

static bool excess_diagnose(struct trace *trace, const struct device_trace *device, struct excess excess) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {excess.nbytes, excess.moment == 0 ? 0 : excess.moment - 1};
    return excess.nbytes == 0 ||
           trace_diagnose(trace, excess.moment == 0 ? "live_above_reserved/start" : "live_above_reserved",
                          device->ordinal, numbers);
}

/* The final segments by address, in a column for the caller to drop. NULL: no memory. */
static struct sort_row *segments_sort(struct arena *arena, const struct device_trace *device) {
    struct sort_row *rows = arena_column(arena, (uint64_t)device->n_segments * 2, sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < device->n_segments; i++)
        rows[i] = (struct sort_row){device->segments[i].address, i};
    if (rows != NULL)
        sort_rows(rows, rows + device->n_segments, device->n_segments);
    return rows;
}

static bool is_in_segment(const struct device_trace *device, const struct sort_row *rows, uint64_t address) {
    uint32_t at = sort_rows_seek(rows, device->n_segments, address);
    if (at == UINT32_MAX)
        return false;
    const struct segment *segment = &device->segments[rows[at].value];
    return address - segment->address < segment->total_size;
}

/* Allocations outside of the final segments were in segments that have been freed, so events of that are missing. */
static bool unsegmented_diagnose(struct trace *trace, const struct device_trace *device, bool is_above) {
    struct sort_row *rows = segments_sort(&trace->arena, device);
    uint64_t numbers[DIAGNOSTIC_NUMBERS] = {0, 0};
    if (rows == NULL)
        return false;
    for (uint32_t i = 0; i < device->allocations.count; i++) {
        if (is_in_segment(device, rows, device->allocations.address[i]))
            continue;
        numbers[0]++;
        numbers[1] += device->allocations.size[i];
    }
    ARENA_DROP(&trace->arena, rows);
    if (numbers[0] == 0 && !is_above)
        return true;
    return trace_diagnose(trace, numbers[0] == 0 ? "no_segment_events/above" : "no_segment_events",
                          device->ordinal, numbers);
}

/* Can live exceed reserved anywhere? The sums nearly always tell that it cannot, so no curve is needed. Sums that
 * wrap around are refused later on (trace_oversized_device). */
static bool excess_is_possible(const struct device_trace *device, const struct event_sums *sums) {
    /* the most by which live can exceed reserved */
    uint64_t above = (uint64_t)sums->rise - device_reserved_end(device);
    for (uint32_t i = 0; i < device->allocations.preexisting; i++)
        above += device->allocations.size[i];
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        above += segment_event_delta(&device->segment_events[i]);
    return (int64_t)above > 0;
}

static bool excess_look(struct trace *trace, const struct device_trace *device, const struct event_sums *sums,
                        struct excess *excess) {
    *excess = (struct excess){0, 0};
    if (!excess_is_possible(device, sums))
        return true;
    uint64_t *live = device_live(device, &trace->arena);
    if (live == NULL)
        return false;
    *excess = excess_find(device, live);
    ARENA_DROP(&trace->arena, live);
    return true;
}

static bool reserved_diagnose(struct trace *trace, const struct device_trace *device,
                              const struct event_sums *sums) {
    struct excess excess;
    if (device->n_segments == 0 || device->allocations.count == 0)
        return true;
    if (!excess_look(trace, device, sums, &excess))
        return false;
    return device->n_segment_events != 0 || device->n_events == 0
               ? excess_diagnose(trace, device, excess)
               : unsegmented_diagnose(trace, device, excess.nbytes != 0);
}

/* ---- older allocations that others overlap ---- */

/* Allocations older than the recording, by address, without overlaps, and a tree of latest deaths: `latest[count +
 * i]` is that of rows[i], and `latest[i]` the later one of latest[2 * i] and latest[2 * i + 1]. */
struct older {
    struct sort_row *rows;
    uint32_t *latest;
    uint32_t count;
};

/* Drops those that begin inside another one; returns how many. */
static uint32_t older_thin(struct older *older, const struct allocations *allocations) {
    uint64_t end = 0;
    uint32_t n_kept = 0, n_out = 0;
    for (uint32_t i = 0; i < older->count; i++) {
        struct sort_row row = older->rows[i];
        if (allocations->size[row.value] == 0)
            continue;
        if (row.key < end) {
            n_out++;
            continue;
        }
        end = sum_at_most(row.key, allocations->size[row.value]);
        older->rows[n_kept++] = row;
    }
    older->count = n_kept;
    return n_out;
}

static bool older_init(struct older *older, struct arena *arena, const struct allocations *allocations,
                       uint32_t *n_out) {
    uint32_t n = allocations->preexisting;
    *older = (struct older){.rows = arena_column(arena, (uint64_t)n * 2, sizeof *older->rows),
                            .latest = arena_column(arena, (uint64_t)n * 2, sizeof *older->latest),
                            .count = n};
    if (older->rows == NULL || older->latest == NULL)
        return false;
    SORT_BY(older->rows, older->rows + n, n, i, allocations->address[i]);
    *n_out = older_thin(older, allocations);
    for (uint32_t i = 0; i < older->count; i++)
        older->latest[older->count + i] = allocations->death[older->rows[i].value];
    for (uint32_t i = older->count; i-- > 1;) {
        uint32_t left = older->latest[2 * i], right = older->latest[2 * i + 1];
        older->latest[i] = left > right ? left : right;
    }
    return true;
}

/* The latest death of rows [from, to); 0: no rows. */
static uint32_t older_latest(const struct older *older, uint32_t from, uint32_t to) {
    uint64_t low = (uint64_t)older->count + from, high = (uint64_t)older->count + to;
    uint32_t latest = 0;
    for (; low < high; low /= 2, high /= 2) {
        if (low % 2 != 0 && older->latest[low++] > latest)
            latest = older->latest[low - 1];
        if (high % 2 != 0 && older->latest[--high] > latest)
            latest = older->latest[high];
    }
    return latest;
}

/* Was an older allocation still alive where this one was placed? */
static bool older_is_under(const struct older *older, const struct allocations *allocations,
                           uint32_t allocation) {
    uint64_t address = allocations->address[allocation],
             end = sum_at_most(address, allocations->size[allocation]);
    if (allocations->size[allocation] == 0 || end <= address)
        return false;
    uint32_t from = sort_rows_seek(older->rows, older->count, address);
    uint32_t last = sort_rows_seek(older->rows, older->count, end - 1);
    if (from == UINT32_MAX)
        from = 0;
    else if (sum_at_most(older->rows[from].key, allocations->size[older->rows[from].value]) <= address)
        from++;
    return last != UINT32_MAX && from <= last &&
           older_latest(older, from, last + 1) > allocations->birth[allocation];
}

static bool overlaps_diagnose(struct trace *trace, const struct device_trace *device) {
    const struct allocations *allocations = &device->allocations;
    struct older older;
    uint32_t n_out = 0;
    if (allocations->preexisting == 0)
        return true;
    if (!older_init(&older, &trace->arena, allocations, &n_out))
        return false;
    uint64_t numbers[DIAGNOSTIC_NUMBERS] = {n_out, 0};
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        numbers[1] += older_is_under(&older, allocations, i);
    ARENA_DROP(&trace->arena, older.rows, older.latest);
    return numbers[0] + numbers[1] == 0 ||
           trace_diagnose(trace, "overlapping_older", device->ordinal, numbers);
}

bool doubts_diagnose(struct trace *trace, const struct device_trace *device, const struct event_sums *sums) {
    return trace->kind != TRACE_SNAPSHOT ||
           (frees_diagnose(trace, device, sums) && reserved_diagnose(trace, device, sums) &&
            overlaps_diagnose(trace, device));
}
