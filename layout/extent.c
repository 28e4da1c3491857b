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
static bool is_meant(const struct timeline *timeline, uint32_t life, struct extent extent) {
    const struct lives *lives = &timeline->device->lives;
    uint32_t birth = lives->birth[life], death = lives->death[life];
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

static uint32_t kept(uint32_t *lives, uint32_t count, const uint64_t *keep) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (filter_keeps(keep, lives[i]))
            lives[n++] = lives[i];
    return n;
}

static bool moment_lives(const struct timeline *timeline, uint32_t moment, const uint64_t *keep,
                         struct arena *arena, uint32_t **lives, uint32_t *n_lives) {
    uint32_t count = timeline_alive_at(timeline, moment, NULL, 0);
    *lives = arena_column(arena, count, sizeof **lives);
    if (*lives == NULL)
        return false;
    timeline_alive_at(timeline, moment, *lives, count);
    *n_lives = kept(*lives, count, keep);
    return true;
}

bool extent_lives(const struct timeline *timeline, struct extent extent, const uint64_t *keep,
                  struct arena *arena, uint32_t **lives, uint32_t *n_lives) {
    const struct lives *all = &timeline->device->lives;
    *n_lives = 0;
    if (extent.what == EXTENT_AT || extent.what == EXTENT_PEAK)
        return moment_lives(timeline, extent_moment(timeline, extent), keep, arena, lives, n_lives);
    extent = clamped(timeline, extent);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++)
        count += is_meant(timeline, i, extent) && filter_keeps(keep, i);
    *lives = arena_column(arena, count, sizeof **lives);
    if (*lives == NULL)
        return false;
    for (uint32_t i = 0; i < all->count; i++)
        if (is_meant(timeline, i, extent) && filter_keeps(keep, i))
            (*lives)[(*n_lives)++] = i;
    return true;
}
