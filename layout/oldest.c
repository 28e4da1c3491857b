#include "layout/oldest.h"

#include "base/sort.h"

/* A call site's allocations from before the recording. */
struct old_site {
    uint64_t bytes;
    uint32_t first; /* the first of them; UINT32_MAX: there is none */
};

static uint32_t site_of(const struct timeline *timeline, uint32_t allocation) {
    return timeline->site[timeline->device->allocations.stack[allocation]];
}

static void sites_sum(const struct timeline *timeline, struct old_site *site) {
    const struct allocations *allocations = &timeline->device->allocations;
    for (uint32_t i = 0; i < timeline->trace->frames.count; i++)
        site[i] = (struct old_site){.first = UINT32_MAX};
    for (uint32_t i = 0; i < allocations->preexisting; i++) {
        struct old_site *own = &site[site_of(timeline, i)];
        own->bytes += allocations->size[i];
        own->first = own->first == UINT32_MAX ? i : own->first;
    }
}

/* Puts all allocations of a site together, in their own order, then orders the sites by falling bytes. */
static void order_fill(struct timeline *timeline, const struct old_site *site, struct sort_row *row,
                       struct sort_row *spare) {
    uint32_t count = timeline->device->allocations.preexisting;
    for (uint32_t i = 0; i < count; i++)
        row[i] = (struct sort_row){site[site_of(timeline, i)].first, i};
    sort_rows(row, spare, count);
    for (uint32_t i = 0; i < count; i++)
        row[i].key = UINT64_MAX - site[site_of(timeline, row[i].value)].bytes;
    sort_rows(row, spare, count);
    for (uint32_t i = 0; i < count; i++) {
        timeline->oldest[i] = row[i].value;
        timeline->oldest_place[row[i].value] = i;
    }
}

bool oldest_order(struct timeline *timeline, struct arena *arena) {
    uint32_t count = timeline->device->allocations.preexisting;
    if (count == 0)
        return true;
    struct old_site *site = arena_column(arena, timeline->trace->frames.count, sizeof *site);
    struct sort_row *row, *spare;
    bool done =
        ARENA_COLUMNS(arena, count, timeline->oldest, timeline->oldest_place, row, spare) && site != NULL;
    if (done) {
        sites_sum(timeline, site);
        order_fill(timeline, site, row, spare);
    }
    ARENA_DROP(arena, spare, row, site);
    return done;
}
