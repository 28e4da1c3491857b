/* The settings of a recording: those in the file, and what its segments and blocks show of the others. */
#include "analysis/model/replay.h"
#include "base/numbers.h"

bool device_is_expandable(const struct device_trace *device) {
    for (uint32_t i = 0; i < device->n_segments; i++)
        if (device->segments[i].flags & SEGMENT_EXPANDABLE)
            return true;
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        if (device->segment_events[i].change >= SEGMENT_MAP)
            return true;
    return false;
}

/* Older versions make plain segments for private pools even if the others are expandable. */
static bool private_are_expandable(const struct device_trace *device) {
    bool plain = false;
    for (uint32_t i = 0; i < device->n_segments; i++) {
        if (device->segments[i].pool <= 1)
            continue;
        if (device->segments[i].flags & SEGMENT_EXPANDABLE)
            return true;
        plain = true;
    }
    return !plain;
}

/* Blocks without an unsplit rest show how requests are rounded. */
static bool blocks_fit(const struct device_trace *device, const struct allocator_settings *settings,
                       bool *any) {
    *any = false;
    for (uint32_t s = 0; s < device->n_segments; s++) {
        const struct segment *segment = &device->segments[s];
        if (!(segment->flags & (SEGMENT_SMALL | SEGMENT_EXPANDABLE)))
            continue;
        for (uint32_t b = 0; b < segment->block_count; b++) {
            const struct block *block = &device->blocks[segment->first_block + b];
            if (block->state == BLOCK_INACTIVE || block->requested_size == 0)
                continue;
            *any = true;
            if (block->size != allocator_round(settings, block->requested_size))
                return false;
        }
    }
    return true;
}

static bool is_ascend(const struct trace *trace, const struct device_trace *device,
                      struct allocator_settings settings) {
    bool any;
    if (blocks_fit(device, &settings, &any) && any)
        return false;
    settings.aligned = true;
    if (blocks_fit(device, &settings, &any) && any)
        return true;
    /* many in a row may share one long name, which is read once */
    const struct frame *frame = trace->frames.frame;
    for (uint32_t i = 1; !any && i < trace->frames.count; i++)
        if ((i == 1 || frame[i].file != frame[i - 1].file) &&
            text_contains(trace_text(trace, frame[i].file), "torch_npu"))
            return true;
    return false;
}

/* A request of 1 to 10 MiB that got a plain segment shows large_segment_size_mb, which no version records. */
static void large_segments_infer(struct allocator_settings *settings, const struct device_trace *device) {
    const struct allocations *allocations = &device->allocations;
    uint32_t allocation = allocations->preexisting;
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        while (allocation < allocations->count && allocations->birth[allocation] <= event->event)
            allocation++;
        if (event->change != SEGMENT_ALLOC || allocation == allocations->count ||
            allocations->birth[allocation] != event->event + 2)
            continue;
        uint64_t rounded = allocator_round(settings, allocations->size[allocation]);
        if (rounded <= MIB || rounded >= 10 * MIB)
            continue;
        if (event->size >= 20 * MIB && event->size % MIB == 0 && event->size <= 4096 * MIB)
            settings->large_segment_bytes = event->size;
        return;
    }
}

struct allocator_settings replay_settings(const struct trace *trace, const struct device_trace *device,
                                          bool *known) {
    struct allocator_settings settings;
    *known = allocator_settings_read(&settings, trace);
    if (!*known)
        settings.expandable = device_is_expandable(device);
    settings.expandable_private = !settings.expandable || private_are_expandable(device);
    settings.aligned = is_ascend(trace, device, settings);
    if (settings.large_segment_bytes == 20 * MIB)
        large_segments_infer(&settings, device);
    return settings;
}
