#include "layout/also_shown.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "layout/filter.h"

struct looker {
    const struct timeline *timeline;
    const struct allocations *allocations;
    const uint64_t *keep;
    uint32_t first, end;          /* moments */
    uint64_t *area;               /* [frames] of each site */
    struct sort_row *row, *spare; /* [allocations] */
    uint32_t *born;               /* [allocations] */
};

static uint32_t site_of(const struct looker *looker, uint32_t allocation) {
    return looker->timeline->site[looker->allocations->stack[allocation]];
}

static bool is_shown(const struct looker *looker, uint32_t allocation) {
    return looker->allocations->birth[allocation] < looker->end &&
           looker->allocations->death[allocation] > looker->first && filter_keeps(looker->keep, allocation);
}

/* KiB times moments of the window, as far as 64 bits hold it. */
static uint64_t area_of(const struct looker *looker, uint32_t allocation) {
    const struct allocations *allocations = looker->allocations;
    uint32_t from =
        allocations->birth[allocation] > looker->first ? allocations->birth[allocation] : looker->first;
    uint32_t to = allocations->death[allocation] < looker->end ? allocations->death[allocation] : looker->end;
    uint64_t kib = allocations->size[allocation] >> 10, moments = to - from;
    return kib > UINT64_MAX / moments ? UINT64_MAX : kib * moments;
}

static uint64_t sum_of(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Fills the areas; returns their sum. */
static uint64_t areas_fill(struct looker *looker) {
    uint64_t whole = 0;
    bytes_zero(looker->area, looker->timeline->trace->frames.count * sizeof *looker->area);
    for (uint32_t i = 0; i < looker->allocations->count; i++) {
        if (!is_shown(looker, i))
            continue;
        uint64_t own = area_of(looker, i), *site = &looker->area[site_of(looker, i)];
        *site = sum_of(*site, own);
        whole = sum_of(whole, own);
    }
    return whole;
}

/* Sites that have their part of what is alive are listed already. `alive` is room for a number per site. */
static void areas_drop_listed(struct looker *looker, uint32_t moment, uint64_t *alive) {
    const struct allocations *allocations = looker->allocations;
    const uint32_t n_sites = looker->timeline->trace->frames.count;
    uint64_t whole = 0;
    bytes_zero(alive, n_sites * sizeof *alive);
    for (uint32_t i = 0; i < allocations->count && allocations->birth[i] <= moment; i++) {
        if (allocations->death[i] <= moment || !filter_keeps(looker->keep, i))
            continue;
        alive[site_of(looker, i)] += allocations->size[i];
        whole += allocations->size[i];
    }
    for (uint32_t site = 0; site < n_sites; site++)
        if (alive[site] != 0 && alive[site] >= whole / 1000)
            looker->area[site] = 0;
}

/* The most bytes at once of allocations in order of their births; `row` has the same ones in order of their deaths. */
static uint64_t highest_of(const struct looker *looker, uint32_t n) {
    const struct allocations *allocations = looker->allocations;
    uint64_t bytes = 0, highest = 0;
    for (uint32_t i = 0, dead = 0; i < n; i++) {
        uint32_t birth = allocations->birth[looker->born[i]];
        for (birth = birth < looker->first ? looker->first : birth; looker->row[dead].key <= birth; dead++)
            bytes -= allocations->size[looker->row[dead].value];
        bytes += allocations->size[looker->born[i]];
        highest = bytes > highest ? bytes : highest;
    }
    return highest;
}

static void site_measure(struct looker *looker, struct also_shown *also) {
    const struct allocations *allocations = looker->allocations;
    uint32_t n = 0;
    also->of_free = true;
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (site_of(looker, i) != also->site || !is_shown(looker, i))
            continue;
        also->of_free = also->of_free && (allocations->flags[i] & ALLOCATION_STACK_OF_FREE) != 0;
        looker->born[n] = i;
        looker->row[n++] = (struct sort_row){allocations->death[i], i};
    }
    sort_rows(looker->row, looker->spare, n);
    also->bytes = highest_of(looker, n);
}

static uint32_t sites_choose(struct looker *looker, uint64_t least, struct also_shown also[ALSO_SHOWN_MAX]) {
    const uint32_t n_sites = looker->timeline->trace->frames.count;
    uint32_t count = 0;
    for (; count < ALSO_SHOWN_MAX; count++) {
        uint32_t best = 0;
        for (uint32_t site = 1; site < n_sites; site++)
            best = looker->area[site] > looker->area[best] ? site : best;
        if (looker->area[best] == 0 || looker->area[best] < least)
            break;
        also[count] = (struct also_shown){.site = best};
        site_measure(looker, &also[count]);
        looker->area[best] = 0;
    }
    return count;
}

bool also_shown_find(const struct timeline *timeline, const uint64_t *keep, uint32_t first, uint32_t end,
                     uint32_t moment, struct arena *arena, struct also_shown also[ALSO_SHOWN_MAX],
                     uint32_t *count) {
    const struct allocations *allocations = &timeline->device->allocations;
    const uint32_t n_sites = timeline->trace->frames.count;
    struct looker looker = {
        .timeline = timeline, .allocations = allocations, .keep = keep, .first = first, .end = end};
    looker.area = arena_column(arena, n_sites, sizeof *looker.area);
    looker.row = arena_column(arena, allocations->count, sizeof *looker.row);
    looker.spare = arena_column(arena, allocations->count, sizeof *looker.spare);
    looker.born = arena_column(arena, allocations->count, sizeof *looker.born);
    uint64_t *alive = arena_column(arena, n_sites, sizeof *alive);
    bool done = looker.area && looker.row && looker.spare && looker.born && alive;
    *count = 0;
    if (done) {
        uint64_t least = areas_fill(&looker) / 100;
        areas_drop_listed(&looker, moment, alive);
        *count = sites_choose(&looker, least, also);
    }
    ARENA_DROP(arena, alive);
    ARENA_DROP(arena, looker.born);
    ARENA_DROP(arena, looker.spare);
    ARENA_DROP(arena, looker.row);
    ARENA_DROP(arena, looker.area);
    return done;
}
