/* Two dumps with missing events between them: an allocation that is live at the end of the first and at the beginning
 * of the second has stayed; the others were freed or made in the gap. */
#include "parser/series/series_internal.h"

/* An event in a gap, at the time of the event that follows it. */
static bool gap_event(struct chain *chain, const struct device_trace *after) {
    bool timed = after->time_us != NULL && after->n_events != 0;
    struct event event = {
        .action = ACTION_IGNORED, .has_time = timed, .time_us = timed ? after->time_us[0] : 0};
    return recorder_event(&chain->recorder, &event);
}

/* One side of the gap: a device, and its live allocations there. */
struct side {
    const struct device_trace *device;
    struct sort_row *rows; /* live allocations by address */
    uint32_t n;
    uint8_t *stayed; /* [allocations] live on both sides */
};

/* False: no memory. */
static bool side_init(struct side *side, struct arena *arena, const struct device_trace *device,
                      bool at_end) {
    const struct allocations *allocations = &device->allocations;
    *side = (struct side){.device = device, .stayed = arena_zeros(arena, allocations->count, 1)};
    if (!ARENA_COLUMNS(arena, (uint64_t)allocations->count * 2, side->rows) || side->stayed == NULL)
        return false;
    for (uint32_t i = 0; i < (at_end ? allocations->count : allocations->preexisting); i++)
        if (!at_end || allocations->death[i] == device->n_events + 1)
            side->rows[side->n++] = (struct sort_row){allocations->address[i], i};
    sort_rows(side->rows, side->rows + allocations->count, side->n);
    return true;
}

/* Marks in both sides the allocations that stayed: same address and size. */
static void stayed_mark(struct side *a, struct side *b) {
    for (uint32_t i = 0, k = 0; i < a->n && k < b->n;) {
        uint64_t here = a->rows[i].key, there = b->rows[k].key;
        uint32_t one = a->rows[i].value, other = b->rows[k].value;
        if (here == there)
            a->stayed[one] = b->stayed[other] =
                a->device->allocations.size[one] == b->device->allocations.size[other];
        i += here <= there;
        k += there <= here;
    }
}

/* Reserved bytes before the first event. */
static uint64_t reserved_start(const struct device_trace *device) {
    uint64_t nbytes = device_reserved_end(device);
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        nbytes -= segment_event_delta(&device->segment_events[i]);
    return nbytes;
}

/* Frees what is missing on the later side, then allocates what is new there. */
static bool gap_join(struct chain *chain, const struct side *a, const struct side *b) {
    const struct allocations *old = &a->device->allocations;
    struct feeder before = {.recorder = &chain->recorder, .device = a->device};
    struct feeder after = {.recorder = &chain->recorder, .device = b->device};
    uint64_t had = device_reserved_end(a->device), has = reserved_start(b->device);
    struct event less = {.action = ACTION_SEGMENT_FREE, .size = had - has};
    struct event more = {.action = ACTION_SEGMENT_ALLOC, .size = has - had};
    bool done = gap_event(chain, b->device) && (had <= has || recorder_join(&chain->recorder, &less));
    for (uint32_t i = 0; i < old->count && done; i++)
        if (old->death[i] == a->device->n_events + 1 && a->stayed[i] == 0)
            done = (old->request[i] < old->death[i] ||
                    series_allocation_join(&before, i, ACTION_FREE_REQUESTED)) &&
                   series_allocation_join(&before, i, ACTION_FREE_COMPLETED);
    done = done && gap_event(chain, b->device) && (has <= had || recorder_join(&chain->recorder, &more));
    for (uint32_t i = 0; i < b->device->allocations.preexisting && done; i++)
        if (b->stayed[i] == 0)
            done = series_allocation_join(&after, i, ACTION_ALLOC);
    return done;
}

bool series_gap_feed(struct chain *chain, const struct device_trace *a, const struct device_trace *b) {
    struct arena *arena = series_arena(chain->series);
    struct side before, after = {0};
    bool done = side_init(&before, arena, a, true) && side_init(&after, arena, b, false);
    if (done) {
        stayed_mark(&before, &after);
        done = gap_join(chain, &before, &after);
    }
    ARENA_DROP(arena, after.stayed, after.rows, before.stayed, before.rows);
    return done;
}
