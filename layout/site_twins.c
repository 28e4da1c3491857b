#include "layout/site_twins.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "layout/site.h"

/* What a call site has. */
struct extent_of_site {
    uint64_t at_peak; /* bytes */
    uint64_t area;    /* KiB times moments, as far as 64 bits hold it */
};

static uint64_t area_of(const struct allocations *allocations, uint32_t allocation) {
    uint64_t kib = (allocations->size[allocation] >> 10) + 1,
             moments = allocations->death[allocation] - allocations->birth[allocation];
    return moments != 0 && kib > UINT64_MAX / moments ? UINT64_MAX : kib * moments;
}

static void extents_sum(const struct timeline *timeline, struct extent_of_site *extent) {
    const struct allocations *allocations = &timeline->device->allocations;
    for (uint32_t i = 0; i < allocations->count; i++) {
        struct extent_of_site *own = &extent[timeline->site[allocations->stack[i]]];
        uint64_t area = area_of(allocations, i), peak = timeline->peak_moment;
        own->area = own->area > UINT64_MAX - area ? UINT64_MAX : own->area + area;
        if (allocations->birth[i] <= peak && allocations->death[i] > peak)
            own->at_peak += allocations->size[i];
    }
}

/* The sites that have anything, the largest first; returns their number. */
static uint32_t sites_rank(const struct extent_of_site *extent, uint32_t n_frames, struct sort_row *row,
                           struct sort_row *spare) {
    uint32_t count = 0;
    for (uint32_t site = 1; site < n_frames; site++)
        if (extent[site].area != 0)
            row[count++] = (struct sort_row){UINT64_MAX - extent[site].area, site};
    sort_rows(row, spare, count);
    for (uint32_t i = 0; i < count; i++)
        row[i].key = UINT64_MAX - extent[row[i].value].at_peak;
    sort_rows(row, spare, count);
    return count;
}

static void twins_number(struct timeline *timeline, const struct sort_row *row, uint32_t count) {
    uint32_t seen[SITE_COLORS] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t site = row[i].value, before = seen[site_color_index(timeline->trace, site)]++;
        timeline->twin[site] = (uint8_t)(before == 0 ? 0 : 1 + (before - 1) % SITE_TEXTURES);
    }
}

bool site_twins_find(struct timeline *timeline, struct arena *arena) {
    uint32_t n_frames = timeline->trace->frames.count;
    timeline->twin = arena_column(arena, n_frames, sizeof *timeline->twin);
    struct extent_of_site *extent = arena_column(arena, n_frames, sizeof *extent);
    struct sort_row *row = arena_column(arena, n_frames, sizeof *row),
                    *spare = arena_column(arena, n_frames, sizeof *spare);
    bool done = timeline->twin && extent && row && spare;
    if (done) {
        bytes_zero(timeline->twin, n_frames * sizeof *timeline->twin);
        bytes_zero(extent, n_frames * sizeof *extent);
        extents_sum(timeline, extent);
        twins_number(timeline, row, sites_rank(extent, n_frames, row, spare));
    }
    ARENA_DROP(arena, spare);
    ARENA_DROP(arena, row);
    ARENA_DROP(arena, extent);
    return done;
}
