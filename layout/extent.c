#include "layout/extent.h"

#include "base/search.h"
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

/* An extent as allocations [from, to), whose births are in order, and of these the ones that die in the moments
 * [least_death, most_death]. */
struct meant {
    uint32_t from, to, least_death, most_death;
};

/* The first allocation born at a moment or later. */
static uint32_t born_from(const struct timeline *timeline, uint32_t moment) {
    const struct allocations *allocations = &timeline->device->allocations;
    return SEARCH(0, allocations->count, i, allocations->birth[i] < moment);
}

/* Moment 0 is the state before the first event, so nothing is born at it. */
static struct meant meant_by(const struct timeline *timeline, struct extent extent) {
    uint32_t first = born_from(timeline, extent.first == 0 ? 1 : extent.first),
             end = born_from(timeline, extent.end);
    switch (extent.what) {
    case EXTENT_ALLOCATED: return (struct meant){first, end, 0, UINT32_MAX};
    case EXTENT_FREED: return (struct meant){0, end, extent.first, extent.end - 1};
    case EXTENT_KEPT: return (struct meant){first, end, extent.end, UINT32_MAX};
    case EXTENT_LASTING: return (struct meant){first, end, timeline->n_moments, UINT32_MAX};
    case EXTENT_THROUGH: return (struct meant){0, first, extent.end, UINT32_MAX};
    case EXTENT_AT:
    case EXTENT_PEAK: break;
    }
    return (struct meant){0, 0, 0, 0};
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
    *n_allocations = 0;
    if (extent.what == EXTENT_AT || extent.what == EXTENT_PEAK)
        return moment_allocations(timeline, extent_moment(timeline, extent), keep, arena, allocations,
                                  n_allocations);
    const struct meant meant = meant_by(timeline, clamped(timeline, extent));
    const uint32_t *death = timeline->device->allocations.death, span = meant.most_death - meant.least_death;
    uint32_t count = 0;
    for (uint32_t i = meant.from; i < meant.to; i++)
        count += death[i] - meant.least_death <= span && filter_keeps(keep, i);
    *allocations = arena_column(arena, count, sizeof **allocations);
    if (*allocations == NULL)
        return false;
    for (uint32_t i = meant.from; i < meant.to; i++)
        if (death[i] - meant.least_death <= span && filter_keeps(keep, i))
            (*allocations)[(*n_allocations)++] = i;
    return true;
}
