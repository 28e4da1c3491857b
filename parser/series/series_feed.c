/* Hands a device's events to a recorder again, rebuilt from its allocations, segments and marks. */
#include "parser/series/series_internal.h"

static uint32_t stack_of(const struct ids *ids, uint32_t stack) {
    return ids != NULL ? ids->stack[stack] : stack;
}

struct event series_allocation_event(const struct feeder *feeder, uint32_t allocation, enum action action) {
    const struct allocations *allocations = &feeder->device->allocations;
    const struct ids *ids = feeder->ids;
    uint32_t context = allocations->context[allocation];
    bool own = action == ACTION_ALLOC || (allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE) != 0;
    struct event event = {.action = action,
                          .address = allocations->address[allocation],
                          .size = allocations->size[allocation],
                          .stream = feeder->device->streams[allocations->stream[allocation]],
                          .context = ids != NULL ? ids->context[context] : context,
                          .stack = own ? stack_of(ids, allocations->stack[allocation]) : 0,
                          .has_pool = allocations->pool[allocation] != POOL_UNKNOWN,
                          .pool = feeder->device->pools[allocations->pool[allocation]]};
    return event;
}

bool series_allocation_join(struct feeder *feeder, uint32_t allocation, enum action action) {
    struct event event = series_allocation_event(feeder, allocation, action);
    return recorder_join(feeder->recorder, &event);
}

static bool feeder_init(struct feeder *feeder, struct arena *arena) {
    const struct allocations *allocations = &feeder->device->allocations;
    uint32_t n_events = feeder->device->n_events;
    if (!ARENA_COLUMNS(arena, (uint64_t)allocations->count * 2, feeder->deaths, feeder->requests))
        return false;
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (allocations->death[i] <= n_events && (allocations->flags[i] & ALLOCATION_REOPENED) == 0)
            feeder->deaths[feeder->n_deaths++] = (struct sort_row){allocations->death[i], i};
        if (allocations->request[i] > 0 && allocations->request[i] < allocations->death[i] &&
            allocations->request[i] <= n_events)
            feeder->requests[feeder->n_requests++] = (struct sort_row){allocations->request[i], i};
    }
    sort_rows(feeder->deaths, feeder->deaths + allocations->count, feeder->n_deaths);
    sort_rows(feeder->requests, feeder->requests + allocations->count, feeder->n_requests);
    feeder->next_birth = allocations->preexisting;
    return true;
}

static bool deaths_feed(struct feeder *feeder, uint32_t moment, bool told) {
    const struct allocations *allocations = &feeder->device->allocations;
    for (; feeder->next_death < feeder->n_deaths && feeder->deaths[feeder->next_death].key <= moment;
         feeder->next_death++) {
        uint32_t allocation = feeder->deaths[feeder->next_death].value;
        bool requested = allocations->request[allocation] < allocations->death[allocation];
        if (told && ((!requested && !series_allocation_join(feeder, allocation, ACTION_FREE_REQUESTED)) ||
                     !series_allocation_join(feeder, allocation, ACTION_FREE_COMPLETED)))
            return false;
    }
    for (; feeder->next_request < feeder->n_requests && feeder->requests[feeder->next_request].key <= moment;
         feeder->next_request++)
        if (told && !series_allocation_join(feeder, feeder->requests[feeder->next_request].value,
                                            ACTION_FREE_REQUESTED))
            return false;
    return true;
}

static bool births_feed(struct feeder *feeder, uint32_t moment, bool told) {
    const struct allocations *allocations = &feeder->device->allocations;
    for (; feeder->next_birth < allocations->count && allocations->birth[feeder->next_birth] <= moment;
         feeder->next_birth++)
        if (told && !series_allocation_join(feeder, feeder->next_birth, ACTION_ALLOC))
            return false;
    return true;
}

static bool segments_feed(struct feeder *feeder, uint32_t event, bool told) {
    static const enum action actions[] = {[SEGMENT_ALLOC] = ACTION_SEGMENT_ALLOC,
                                          [SEGMENT_FREE] = ACTION_SEGMENT_FREE,
                                          [SEGMENT_MAP] = ACTION_SEGMENT_MAP,
                                          [SEGMENT_UNMAP] = ACTION_SEGMENT_UNMAP};
    const struct device_trace *device = feeder->device;
    for (; feeder->next_segment < device->n_segment_events &&
           device->segment_events[feeder->next_segment].event <= event;
         feeder->next_segment++) {
        const struct segment_event *row = &device->segment_events[feeder->next_segment];
        struct event change = {.action = actions[row->change],
                               .address = row->address,
                               .size = row->size,
                               .stream = device->streams[row->stream],
                               .stack = stack_of(feeder->ids, row->stack)};
        if (told && !recorder_join(feeder->recorder, &change))
            return false;
    }
    return true;
}

static bool marks_feed(struct feeder *feeder, uint32_t event, bool told) {
    const struct device_trace *device = feeder->device;
    for (; feeder->next_oom < device->n_ooms && device->ooms[feeder->next_oom].event <= event;
         feeder->next_oom++) {
        const struct oom_event *row = &device->ooms[feeder->next_oom];
        struct event oom = {.action = ACTION_OOM,
                            .size = row->size,
                            .address = row->device_free,
                            .stack = stack_of(feeder->ids, row->stack)};
        if (told && !recorder_join(feeder->recorder, &oom))
            return false;
    }
    for (; feeder->next_snapshot < device->n_snapshots &&
           device->snapshots[feeder->next_snapshot].event <= event;
         feeder->next_snapshot++) {
        struct event mark = {.action = ACTION_SNAPSHOT,
                             .size = device->snapshots[feeder->next_snapshot].size};
        if (told && !recorder_join(feeder->recorder, &mark))
            return false;
    }
    return true;
}

/* Feeds the frees first, because the allocator may give an address out again at once. */
static bool event_feed(struct feeder *feeder, uint32_t e, bool told) {
    const struct device_trace *device = feeder->device;
    struct event event = {.action = ACTION_IGNORED,
                          .has_time = device->time_us != NULL,
                          .time_us = device->time_us != NULL ? device->time_us[e] : 0};
    return (!told || recorder_event(feeder->recorder, &event)) && segments_feed(feeder, e, told) &&
           deaths_feed(feeder, e + 1, told) && births_feed(feeder, e + 1, told) &&
           marks_feed(feeder, e, told);
}

bool series_feed(struct recorder *recorder, const struct device_trace *device, const struct ids *ids,
                 uint32_t from, struct arena *arena) {
    struct feeder feeder = {.recorder = recorder, .device = device, .ids = ids};
    bool done = feeder_init(&feeder, arena);
    for (uint32_t e = 0; e < device->n_events && done; e++)
        done = event_feed(&feeder, e, e >= from);
    ARENA_DROP(arena, feeder.requests, feeder.deaths);
    return done;
}

bool series_feed_finals(struct recorder *recorder, const struct device_trace *device, const struct ids *ids) {
    for (uint32_t s = 0; s < device->n_segments; s++) {
        struct segment segment = device->segments[s];
        segment.stack = stack_of(ids, segment.stack);
        if (!recorder_segment(recorder, &segment, device->streams[device->segments[s].stream],
                              device->pools[device->segments[s].pool]))
            return false;
        for (uint32_t b = 0; b < device->segments[s].block_count; b++) {
            struct block block = device->blocks[device->segments[s].first_block + b];
            block.stack = stack_of(ids, block.stack);
            if (!recorder_block(recorder, &block))
                return false;
        }
    }
    return true;
}
