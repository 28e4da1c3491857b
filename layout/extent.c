#include "layout/extent.h"

#include "layout/filter.h"

static struct extent clamped(const struct timeline *timeline, struct extent extent) {
    uint32_t n = timeline->n_moments;
    extent.first = extent.first < n ? extent.first : n - 1;
    extent.end = extent.end > n ? n : extent.end;
    if (extent.end <= extent.first)
        extent.end = extent.first + 1;
    return extent;
}

uint32_t extent_moment(const struct timeline *timeline, struct extent extent) {
    extent = clamped(timeline, extent);
    if (extent.what == EXTENT_AT)
        return extent.first;
    return extent.what == EXTENT_PEAK ? timeline_peak_in(timeline, extent.first, extent.end) : extent.end - 1;
}

/* Moment 0 is the state before the first event: nothing is made there. */
static bool is_meant(const struct timeline *timeline, uint32_t allocation, struct extent extent) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t birth = allocations->birth[allocation], death = allocations->death[allocation];
    bool made = birth != 0 && birth >= extent.first && birth < extent.end;
    switch (extent.what) {
    case EXTENT_ALLOCATED: return made;
    case EXTENT_FREED: return death >= extent.first && death < extent.end;
    case EXTENT_KEPT: return made && death >= extent.end;
    case EXTENT_LASTING: return made && death >= timeline->n_moments;
    case EXTENT_THROUGH: return (birth == 0 || birth < extent.first) && death >= extent.end;
    case EXTENT_AT:
    case EXTENT_PEAK: break;
    }
    return false;
}

static uint32_t kept(uint32_t *allocations, uint32_t count, const uint64_t *keep) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (filter_keeps(keep, allocations[i]))
            allocations[n++] = allocations[i];
    return n;
}

static bool moment_allocations(const struct timeline *timeline, uint32_t moment, const uint64_t *keep,
                               struct arena *arena, uint32_t **allocations, uint32_t *n_allocations) {
    uint32_t count;
    *allocations = timeline_alive(timeline, moment, arena, &count);
    if (*allocations == NULL)
        return false;
    *n_allocations = kept(*allocations, count, keep);
    return true;
}

bool extent_allocations(const struct timeline *timeline, struct extent extent, const uint64_t *keep,
                        struct arena *arena, uint32_t **allocations, uint32_t *n_allocations) {
    const struct allocations *all = &timeline->device->allocations;
    *n_allocations = 0;
    if (extent.what == EXTENT_AT || extent.what == EXTENT_PEAK)
        return moment_allocations(timeline, extent_moment(timeline, extent), keep, arena, allocations,
                                  n_allocations);
    extent = clamped(timeline, extent);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++)
        count += is_meant(timeline, i, extent) && filter_keeps(keep, i);
    *allocations = arena_column(arena, count, sizeof **allocations);
    if (*allocations == NULL)
        return false;
    for (uint32_t i = 0; i < all->count; i++)
        if (is_meant(timeline, i, extent) && filter_keeps(keep, i))
            (*allocations)[(*n_allocations)++] = i;
    return true;
}
