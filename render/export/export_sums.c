/* Sums for flame graphs and pprof: bytes and counts by stack and category. */
#include "render/export/export_parts.h"

struct summing {
    struct export_sums *sums;
    const struct export_device *device;
    uint32_t *first; /* [stacks] the first sum of a stack, plus 1; 0: none */
};

/* Finds the sum that an allocation belongs to, or adds it. NULL: no memory. */
static struct export_sum *sum_of(struct summing *summing, uint32_t stack, uint8_t category, bool of_free) {
    struct export_sums *sums = summing->sums;
    for (uint32_t at = summing->first[stack]; at != 0; at = sums->sum[at - 1].next)
        if (sums->sum[at - 1].category == category && sums->sum[at - 1].of_free == of_free)
            return &sums->sum[at - 1];
    if (!ARENA_GROW(summing->device->arena, sums->sum, sums->capacity, (uint64_t)sums->count + 1))
        return NULL;
    sums->sum[sums->count] = (struct export_sum){
        .stack = stack, .next = summing->first[stack], .category = category, .of_free = of_free};
    summing->first[stack] = sums->count + 1;
    return &sums->sum[sums->count++];
}

static bool allocation_sum(struct summing *summing, uint32_t allocation, bool live, bool allocated) {
    const struct export_device *device = summing->device;
    const struct allocations *allocations = &device->device->allocations;
    uint64_t bytes = allocations->size[allocation], count = allocation_stands_for(allocations, allocation);
    struct export_sum *sum =
        sum_of(summing, allocations->stack[allocation], device->verdicts.category[allocation],
               (allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE) != 0);
    if (sum == NULL)
        return false;
    sum->live_bytes += live ? bytes : 0;
    sum->live_count += live ? count : 0;
    sum->allocated_bytes += allocated ? bytes : 0;
    sum->allocated_count += allocated ? count : 0;
    summing->sums->live_bytes += live ? bytes : 0;
    summing->sums->allocated_bytes += allocated ? bytes : 0;
    return true;
}

/* Is it allocated by an event of the range? If the range is a part of the recording, the event that leads to its first
 * moment does not count. */
static bool is_allocated(const struct export_range *range, uint32_t birth) {
    return birth != 0 && birth >= range->from + !range->whole && birth < range->until;
}

bool export_sums_find(struct export_sums *sums, const struct export_device *device) {
    const struct allocations *allocations = &device->device->allocations;
    struct summing summing = {sums, device, NULL};
    *sums = (struct export_sums){0};
    summing.first = arena_zeros(device->arena, device->trace->stacks.count, sizeof *summing.first);
    if (summing.first == NULL)
        return false;
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint32_t at = device->range.at;
        bool live = allocations->birth[i] <= at && allocations->death[i] > at;
        bool allocated = is_allocated(&device->range, allocations->birth[i]);
        if ((live || allocated) && filter_keeps(device->selection.keep, i) &&
            !allocation_sum(&summing, i, live, allocated))
            return false;
    }
    return true;
}
