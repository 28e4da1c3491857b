/* Two dumps with missing events between them: what is in the last state of the first and in the first state of the
 * second has stayed, and the rest went or came in the gap. */
#include "parser/series/series_internal.h"

/* An event in a gap, at the time of the event that follows it. */
static bool gap_event(struct chain *chain, const struct device_trace *after) {
    bool timed = after->time_us != NULL && after->n_events != 0;
    struct event event = {
        .action = ACTION_IGNORED, .has_time = timed, .time_us = timed ? after->time_us[0] : 0};
    return recorder_event(&chain->recorder, &event);
}

/* Rows of allocations that are alive at the end, or at the beginning, by address. */
static uint32_t alive_rows(const struct device_trace *device, bool at_end, struct sort_row *rows) {
    const struct allocations *allocations = &device->allocations;
    uint32_t n = 0;
    for (uint32_t i = 0; i < (at_end ? allocations->count : allocations->preexisting); i++)
        if (!at_end || allocations->death[i] == device->n_events + 1)
            rows[n++] = (struct sort_row){allocations->address[i], i};
    sort_rows(rows, rows + allocations->count, n);
    return n;
}

/* Marks in both the allocations that stayed: same address and size. */
static void stayed_mark(const struct device_trace *a, const struct sort_row *rows_a, uint32_t n_a,
                        uint8_t *stayed_a, const struct device_trace *b, const struct sort_row *rows_b,
                        uint32_t n_b, uint8_t *stayed_b) {
    for (uint32_t i = 0, k = 0; i < n_a && k < n_b;) {
        if (rows_a[i].key < rows_b[k].key) {
            i++;
            continue;
        }
        if (rows_a[i].key > rows_b[k].key) {
            k++;
            continue;
        }
        bool same = a->allocations.size[rows_a[i].value] == b->allocations.size[rows_b[k].value];
        stayed_a[rows_a[i].value] = stayed_b[rows_b[k].value] = same;
        i++;
        k++;
    }
}

/* Reserved bytes at the end and before the first event. */
static uint64_t reserved_end(const struct device_trace *device) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        nbytes += device->segments[i].total_size;
    return nbytes;
}

static uint64_t reserved_start(const struct device_trace *device) {
    uint64_t nbytes = reserved_end(device);
    for (uint32_t i = device->n_segment_events; i-- > 0;) {
        const struct segment_event *event = &device->segment_events[i];
        bool more = event->change == SEGMENT_ALLOC || event->change == SEGMENT_MAP;
        nbytes += more ? 0 - event->size : event->size;
    }
    return nbytes;
}

/* Compares two states: frees what is missing in the later one, then allocates what is new. */
static bool gap_join(struct chain *chain, const struct device_trace *a, const uint8_t *stayed_a,
                     const struct device_trace *b, const uint8_t *stayed_b) {
    struct feeder before = {.recorder = &chain->recorder, .device = a};
    struct feeder after = {.recorder = &chain->recorder, .device = b};
    uint64_t had = reserved_end(a), has = reserved_start(b);
    struct event less = {.action = ACTION_SEGMENT_FREE, .size = had - has};
    struct event more = {.action = ACTION_SEGMENT_ALLOC, .size = has - had};
    bool done = gap_event(chain, b) && (had <= has || recorder_join(&chain->recorder, &less));
    for (uint32_t i = 0; i < a->allocations.count && done; i++)
        if (a->allocations.death[i] == a->n_events + 1 && stayed_a[i] == 0)
            done = (a->allocations.request[i] < a->allocations.death[i] ||
                    series_allocation_join(&before, i, ACTION_FREE_REQUESTED)) &&
                   series_allocation_join(&before, i, ACTION_FREE_COMPLETED);
    done = done && gap_event(chain, b) && (has <= had || recorder_join(&chain->recorder, &more));
    for (uint32_t i = 0; i < b->allocations.preexisting && done; i++)
        if (stayed_b[i] == 0)
            done = series_allocation_join(&after, i, ACTION_ALLOC);
    return done;
}

bool series_gap_feed(struct chain *chain, const struct device_trace *a, const struct device_trace *b) {
    struct arena *arena = series_arena(chain->series);
    struct sort_row *rows_a = arena_column(arena, (uint64_t)a->allocations.count * 2, sizeof *rows_a);
    struct sort_row *rows_b = arena_column(arena, (uint64_t)b->allocations.count * 2, sizeof *rows_b);
    uint8_t *stayed_a = arena_zeros(arena, a->allocations.count, 1),
            *stayed_b = arena_zeros(arena, b->allocations.count, 1);
    bool done = rows_a != NULL && rows_b != NULL && stayed_a != NULL && stayed_b != NULL;
    if (done) {
        uint32_t n_a = alive_rows(a, true, rows_a), n_b = alive_rows(b, false, rows_b);
        stayed_mark(a, rows_a, n_a, stayed_a, b, rows_b, n_b, stayed_b);
        done = gap_join(chain, a, stayed_a, b, stayed_b);
    }
    ARENA_DROP(arena, stayed_b, stayed_a, rows_b, rows_a);
    return done;
}
