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
struct walk {
    const struct allocations *allocations;
    const uint32_t *site; /* [stacks] of the timeline */
    struct site_bytes *bytes;
    uint32_t *later; /* [moments / STRETCH + 1] the ends in each stretch that has not begun */
    uint32_t *ended; /* [STRETCH] the ends at each moment of the stretch that has begun */
    uint32_t *next;  /* [allocations.count] */
    uint32_t born;   /* the first allocation that is not born yet */
};

static void walk_make(struct walk *walk, uint32_t allocation) {
    struct site_bytes *own = &walk->bytes[walk->site[walk->allocations->stack[allocation]]];
    own->now += walk->allocations->size[allocation];
    if (own->now > own->most)
        own->most = own->now;
}

static void walk_end(struct walk *walk, uint32_t moment) {
    for (uint32_t i = walk->ended[moment % STRETCH]; i != 0; i = walk->next[i - 1])
        walk->bytes[walk->site[walk->allocations->stack[i - 1]]].now -= walk->allocations->size[i - 1];
    walk->ended[moment % STRETCH] = 0;
}

/* Puts an allocation in front of a list. */
static void walk_list(struct walk *walk, uint32_t *list, uint32_t allocation) {
    walk->next[allocation] = *list;
    *list = allocation + 1;
}

/* Walks over the moments [from, to) of a stretch. A function of its own, because a browser starts with slow code and
 * switches to fast code when a function is called again. */
static __attribute__((noinline)) void stretch_walk(struct walk *walk, uint32_t from, uint32_t to) {
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

/* Allocations are in order of birth, so one walk over the moments meets all. */
static void walk_run(struct walk *walk, uint32_t n_moments) {
    const struct allocations *allocations = walk->allocations;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (allocations->death[i] < n_moments)
            walk_list(walk, &walk->later[allocations->death[i] / STRETCH], i);
    for (uint32_t from = 0; from < n_moments; from += STRETCH)
        stretch_walk(walk, from, n_moments - from < STRETCH ? n_moments : from + STRETCH);
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

bool site_slots_find(struct timeline *timeline, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t n_frames = timeline->trace->frames.count, n_stretches = timeline->n_moments / STRETCH + 1;
    struct site_bytes *bytes = NULL;
    struct sort_row *row = NULL, *spare = NULL;
    uint32_t *later = arena_zeros(arena, n_stretches, sizeof *later),
             *ended = arena_zeros(arena, STRETCH, sizeof *ended),
             *next = arena_column(arena, allocations->count, sizeof *next);
    bool done = ARENA_ZEROS(arena, n_frames, timeline->twin, bytes) &&
                ARENA_COLUMNS(arena, n_frames, timeline->slot, row, spare) && later && ended && next;
    if (done) {
        struct walk walk = {allocations, timeline->site, bytes, later, ended, next, 0};
        walk_run(&walk, timeline->n_moments);
        slots_give(timeline, row, sites_rank(bytes, n_frames, row, spare));
    }
    ARENA_DROP(arena, next, ended, later, spare, row, bytes);
    return done;
}
