#include "layout/timeline_sites.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "layout/site.h"

/* ---- the order of older memory ---- */

/* A call site's allocations from before the recording. */
struct old_site {
    uint64_t bytes;
    uint32_t first; /* the first of them; UINT32_MAX: there is none */
};

static uint32_t older_site(const struct timeline *timeline, uint32_t allocation) {
    return timeline->site[timeline->device->allocations.stack[allocation]];
}

static void older_sum(const struct timeline *timeline, struct old_site *site) {
    const struct allocations *allocations = &timeline->device->allocations;
    for (uint32_t i = 0; i < timeline->trace->frames.count; i++)
        site[i] = (struct old_site){.first = UINT32_MAX};
    for (uint32_t i = 0; i < allocations->preexisting; i++) {
        struct old_site *own = &site[older_site(timeline, i)];
        own->bytes += allocations->size[i];
        own->first = own->first == UINT32_MAX ? i : own->first;
    }
}

/* Puts all allocations of a site together, in their own order, then orders the sites by falling bytes. */
static void older_sort(struct timeline *timeline, const struct old_site *site, struct sort_row *row,
                       struct sort_row *spare) {
    uint32_t count = timeline->device->allocations.preexisting;
    SORT_BY(row, spare, count, i, site[older_site(timeline, i)].first);
    SORT_AGAIN(row, spare, count, own, UINT64_MAX - site[older_site(timeline, own)].bytes);
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
        older_sum(timeline, site);
        older_sort(timeline, site, row, spare);
    }
    ARENA_DROP(arena, spare, row, site);
    return done;
}

/* ---- colours ---- */

/* A call site's bytes now, and the most so far. */
struct site_bytes {
    uint64_t now, most;
};

/* Only so many moments have lists of the allocations that end at them: lists for all would take half the memory of a
 * curve. */
enum { STRETCH = 1 << 14 };

/* A walk over the recording. Lists of ends hold allocations + 1; 0 ends a list. */
struct site_walk {
    const struct allocations *allocations;
    const uint32_t *site;         /* [stacks] of the timeline */
    struct site_bytes *bytes;     /* [frames] */
    struct sort_row *row, *spare; /* [frames] */
    uint32_t *later;              /* [moments / STRETCH + 1] the ends in each stretch that has not begun */
    uint32_t *ended;              /* [STRETCH] the ends at each moment of the stretch that has begun */
    uint32_t *next;               /* [allocations.count] */
    uint32_t born;                /* the first allocation that is not born yet */
    uint32_t moment;              /* where the walk is */
};

static void walk_make(struct site_walk *walk, uint32_t allocation) {
    struct site_bytes *own = &walk->bytes[walk->site[walk->allocations->stack[allocation]]];
    own->now += walk->allocations->size[allocation];
    if (own->now > own->most)
        own->most = own->now;
}

static void walk_end(struct site_walk *walk, uint32_t moment) {
    for (uint32_t i = walk->ended[moment % STRETCH]; i != 0; i = walk->next[i - 1])
        walk->bytes[walk->site[walk->allocations->stack[i - 1]]].now -= walk->allocations->size[i - 1];
    walk->ended[moment % STRETCH] = 0;
}

/* Puts an allocation in front of a list. */
static void walk_list(struct site_walk *walk, uint32_t *list, uint32_t allocation) {
    walk->next[allocation] = *list;
    *list = allocation + 1;
}

/* Walks over the moments [from, to) of a stretch. A function of its own, because a browser starts with slow code and
 * switches to fast code when a function is called again. */
static __attribute__((noinline)) void stretch_walk(struct site_walk *walk, uint32_t from, uint32_t to) {
    const struct allocations *allocations = walk->allocations;
    for (uint32_t i = walk->later[from / STRETCH], next; i != 0; i = next) {
        next = walk->next[i - 1];
        walk_list(walk, &walk->ended[allocations->death[i - 1] % STRETCH], i - 1);
    }
    for (uint32_t moment = from; moment < to; moment++) {
        walk_end(walk, moment);
        for (; walk->born < allocations->count && allocations->birth[walk->born] <= moment; walk->born++)
            walk_make(walk, walk->born);
    }
}

static void walk_list_ends(struct site_walk *walk, uint32_t n_moments) {
    const struct allocations *allocations = walk->allocations;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (allocations->death[i] < n_moments)
            walk_list(walk, &walk->later[allocations->death[i] / STRETCH], i);
}

/* Walks the stretches that begin before `until`. Allocations are in order of birth, so a walk meets all. */
static void walk_on(struct site_walk *walk, uint32_t until, uint32_t n_moments) {
    for (uint32_t from; (from = walk->moment) < until;) {
        walk->moment = n_moments - from < STRETCH ? n_moments : from + STRETCH;
        stretch_walk(walk, from, walk->moment);
    }
}

/* Ranks the sites that have any bytes, the largest first; returns their number. */
static uint32_t sites_rank(const struct site_bytes *bytes, uint32_t n_frames, struct sort_row *row,
                           struct sort_row *spare) {
    uint32_t count = 0;
    for (uint32_t site = 1; site < n_frames; site++)
        if (bytes[site].most != 0)
            row[count++] = (struct sort_row){UINT64_MAX - bytes[site].most, site};
    sort_rows(row, spare, count);
    return count;
}

static void slots_give(struct timeline *timeline, const struct sort_row *row, uint32_t count) {
    bool taken[2][SITE_COLORS] = {{false}};
    bytes_fill(timeline->slot, SITE_REST, timeline->trace->frames.count);
    for (uint32_t i = 0; i < count && i < 2 * SITE_COLORS; i++) {
        uint32_t site = row[i].value, round = i / SITE_COLORS;
        uint32_t slot = site_color_index(timeline->trace, site, SITE_COLORS);
        while (taken[round][slot])
            slot = (slot + 1) % SITE_COLORS;
        taken[round][slot] = true;
        timeline->slot[site] = (uint8_t)slot;
        timeline->twin[site] = (uint8_t)round;
    }
}

static bool walk_begin(struct timeline *timeline, struct arena *arena) {
    struct site_walk *walk = timeline->walk = arena_alloc(arena, sizeof *walk);
    uint32_t n_frames = timeline->trace->frames.count;
    if (walk == NULL)
        return false;
    walk->allocations = &timeline->device->allocations;
    walk->site = timeline->site;
    walk->next = arena_column(arena, walk->allocations->count, sizeof *walk->next);
    if (walk->next == NULL || !ARENA_ZEROS(arena, n_frames, timeline->twin, walk->bytes) ||
        !ARENA_ZEROS(arena, timeline->n_moments / STRETCH + 1, walk->later) ||
        !ARENA_ZEROS(arena, STRETCH, walk->ended) ||
        !ARENA_COLUMNS(arena, n_frames, timeline->slot, walk->row, walk->spare))
        return false;
    walk_list_ends(walk, timeline->n_moments);
    return true;
}

static void walk_end_all(struct timeline *timeline, struct arena *arena) {
    struct site_walk *walk = timeline->walk;
    uint32_t n_frames = timeline->trace->frames.count;
    walk_on(walk, timeline->n_moments, timeline->n_moments);
    slots_give(timeline, walk->row, sites_rank(walk->bytes, n_frames, walk->row, walk->spare));
    ARENA_DROP(arena, walk->spare, walk->row, walk->bytes, walk->ended, walk->later, walk->next);
    timeline->walk = NULL;
}

bool site_slots_step(struct timeline *timeline, uint32_t step, struct arena *arena) {
    if (step == 0)
        return walk_begin(timeline, arena);
    if (step + 1 < SITE_SLOTS_STEPS)
        walk_on(timeline->walk, timeline->n_moments / 2, timeline->n_moments);
    else
        walk_end_all(timeline, arena);
    return true;
}
