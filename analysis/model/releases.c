#include "analysis/model/releases.h"

#include "analysis/model/allocator_settings.h"
#include "base/search.h"

/* torch.cuda.empty_cache, and c10::cuda::CUDACachingAllocator::emptyCache with its variants. */
static bool empties_cache(const struct trace *trace, uint32_t name) {
    struct text text = trace_text(trace, name);
    return text_contains(text, "empty_cache") || text_contains(text, "emptyCache");
}

/* For each stack: is empty_cache among its frames? A stack has its parent's frames and one more. */
static bool *stacks_judge(const struct trace *trace, struct arena *arena) {
    bool *frame = arena_alloc(arena, trace->frames.count), *stack = arena_alloc(arena, trace->stacks.count);
    if (frame == NULL || stack == NULL)
        return NULL;
    for (uint32_t i = 1; i < trace->frames.count; i++)
        frame[i] = empties_cache(trace, trace->frames.frame[i].name);
    for (uint32_t i = 1; i < trace->stacks.count; i++)
        stack[i] = stack[stack_parent(&trace->stacks, i)] || frame[trace->stacks.frame[i]];
    return stack;
}

static const struct oom_event *oom_at(const struct device_trace *device, uint32_t event) {
    uint32_t low = SEARCH(0, device->n_ooms, i, device->ooms[i].event < event);
    return low < device->n_ooms && device->ooms[low].event == event ? &device->ooms[low] : NULL;
}

static uint32_t group_end(const struct device_trace *device, uint32_t first) {
    const struct segment_event *events = device->segment_events;
    uint32_t end = first + 1;
    while (end < device->n_segment_events && segment_event_gives_back(&events[end]) &&
           events[end].event <= events[end - 1].event + 1)
        end++;
    return end;
}

/* Bytes taken from the driver from event `event` on, without another event in between. */
static uint64_t taken_after(const struct device_trace *device, uint32_t at, uint32_t event) {
    const struct segment_event *events = device->segment_events;
    uint64_t bytes = 0;
    for (;
         at < device->n_segment_events && events[at].event == event && !segment_event_gives_back(&events[at]);
         at++, event++)
        bytes += events[at].size;
    return bytes;
}

/* The stack of the event after a group, if that event requests memory. */
static bool request_behind(const struct device_trace *device, const struct release_group *group,
                           uint32_t *stack) {
    uint32_t at = group->first + group->count;
    uint32_t event = device->segment_events[at - 1].event + 1;
    const struct oom_event *oom = oom_at(device, event);
    if (oom != NULL) {
        *stack = oom->stack;
        return true;
    }
    if (at == device->n_segment_events || device->segment_events[at].event != event)
        return false;
    *stack = device->segment_events[at].stack;
    return true;
}

static enum release_cause cause_of(const struct device_trace *device, const struct release_group *group,
                                   const bool *empties, bool collects) {
    uint32_t stack;
    if (empties[group->stack] || !request_behind(device, group, &stack))
        return RELEASE_EXPLICIT;
    if (stack == 0 && group->stack == 0)
        return RELEASE_UNKNOWN;
    if (stack != group->stack)
        return RELEASE_EXPLICIT;
    return collects ? RELEASE_COLLECTED : RELEASE_RETRY;
}

static struct release_group group_of(const struct device_trace *device, uint32_t first) {
    const struct segment_event *events = device->segment_events;
    uint32_t end = group_end(device, first), behind = events[end - 1].event + 1;
    struct release_group group = {.first = first,
                                  .count = end - first,
                                  .event = events[first].event,
                                  .stack = events[first].stack,
                                  .taken_bytes = taken_after(device, end, behind),
                                  .out_of_memory = oom_at(device, behind) != NULL};
    for (uint32_t i = first; i < end; i++)
        group.bytes += events[i].size;
    return group;
}

static uint32_t groups_count(const struct device_trace *device) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < device->n_segment_events; count++) {
        while (i < device->n_segment_events && !segment_event_gives_back(&device->segment_events[i]))
            i++;
        if (i == device->n_segment_events)
            break;
        i = group_end(device, i);
    }
    return count;
}

bool releases_find(struct releases *releases, const struct trace *trace, const struct device_trace *device,
                   struct arena *arena) {
    uint32_t count = groups_count(device);
    struct allocator_settings settings;
    *releases = (struct releases){0};
    if (count == 0)
        return true;
    releases->group = arena_alloc(arena, count * sizeof *releases->group);
    const bool *empties = stacks_judge(trace, arena);
    if (releases->group == NULL || empties == NULL)
        return false;
    (void)allocator_settings_read(&settings, trace);
    for (uint32_t i = 0; i < device->n_segment_events;) {
        if (!segment_event_gives_back(&device->segment_events[i])) {
            i++;
            continue;
        }
        struct release_group group = group_of(device, i);
        group.cause = (uint8_t)cause_of(device, &group, empties, settings.collect_ppm != 0);
        releases->n_of_cause[group.cause]++;
        releases->bytes_of_cause[group.cause] += group.bytes;
        releases->group[releases->count++] = group;
        i += group.count;
    }
    return true;
}
