#include "layout/also_shown.h"

#include "base/bytes.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "layout/filter.h"

/* A site's figures in the window. */
struct shown_site {
    uint64_t area, alive; /* alive: at the moment of the list */
    uint32_t count;       /* allocations */
    uint32_t place;       /* 1: in also[0], and so on; 0: not listed */
};

struct looker {
    const struct timeline *timeline;
    const struct allocations *allocations;
    const uint64_t *keep;
    uint32_t first, end;     /* moments */
    struct shown_site *site; /* [frames] */
    /* deaths of the listed allocations, site by site; spare: for the site with the most of them */
    struct sort_row *row, *spare;
    uint32_t *born; /* allocations of one site */
};

static struct shown_site *site_of(const struct looker *looker, uint32_t allocation) {
    return &looker->site[looker->timeline->site[looker->allocations->stack[allocation]]];
}

static bool is_shown(const struct looker *looker, uint32_t allocation) {
    return looker->allocations->birth[allocation] < looker->end &&
           looker->allocations->death[allocation] > looker->first && filter_keeps(looker->keep, allocation);
}

/* KiB times moments inside the window, saturating at 64 bits. */
static uint64_t area_of(const struct looker *looker, uint32_t allocation) {
    const struct allocations *allocations = looker->allocations;
    uint32_t from =
        allocations->birth[allocation] > looker->first ? allocations->birth[allocation] : looker->first;
    uint32_t to = allocations->death[allocation] < looker->end ? allocations->death[allocation] : looker->end;
    uint64_t kib = allocations->size[allocation] >> 10, moments = to - from;
    if (kib >> 32 == 0) /* nearly always; asking the product would take most of the time */
        return kib * moments;
    return kib > UINT64_MAX / moments ? UINT64_MAX : kib * moments;
}

/* Fills the areas of all sites; returns their sum. */
static uint64_t areas_fill(struct looker *looker) {
    uint64_t whole = 0;
    for (uint32_t i = 0; i < looker->allocations->count; i++) {
        if (!is_shown(looker, i))
            continue;
        struct shown_site *site = site_of(looker, i);
        uint64_t own = area_of(looker, i);
        site->area = sum_at_most(site->area, own);
        site->count++;
        whole = sum_at_most(whole, own);
    }
    return whole;
}

/* Drops sites with a share of the live bytes: the list of what is alive has them already. */
static void areas_drop_listed(struct looker *looker, uint32_t moment) {
    const struct allocations *allocations = looker->allocations;
    const uint32_t n_sites = looker->timeline->trace->frames.count;
    uint64_t whole = 0;
    for (uint32_t i = 0; i < allocations->count && allocations->birth[i] <= moment; i++) {
        if (allocations->death[i] <= moment || !filter_keeps(looker->keep, i))
            continue;
        site_of(looker, i)->alive += allocations->size[i];
        whole += allocations->size[i];
    }
    for (uint32_t i = 0; i < n_sites; i++)
        if (looker->site[i].alive != 0 && looker->site[i].alive >= whole / 1000)
            looker->site[i].area = 0;
}

/* Chooses the sites to list, the largest first. */
static uint32_t sites_choose(struct looker *looker, uint64_t least, struct also_shown also[ALSO_SHOWN_MAX]) {
    const uint32_t n_sites = looker->timeline->trace->frames.count;
    uint32_t count = 0;
    for (; count < ALSO_SHOWN_MAX; count++) {
        uint32_t best = 0;
        for (uint32_t site = 1; site < n_sites; site++)
            best = looker->site[site].area > looker->site[best].area ? site : best;
        if (looker->site[best].area == 0 || looker->site[best].area < least)
            break;
        also[count] = (struct also_shown){.site = best, .of_free = true};
        looker->site[best].area = 0;
        looker->site[best].place = count + 1;
    }
    return count;
}

static bool rows_take(struct looker *looker, const struct also_shown *also, uint32_t n_also,
                      struct arena *arena) {
    uint64_t all = 0;
    uint32_t most = 0;
    for (uint32_t k = 0; k < n_also; k++) {
        uint32_t count = looker->site[also[k].site].count;
        all += count;
        most = count > most ? count : most;
    }
    looker->row = arena_column(arena, all, sizeof *looker->row);
    return ARENA_COLUMNS(arena, most, looker->spare, looker->born) && looker->row != NULL;
}

/* Collects the allocations of the listed sites, site by site, each in order of birth. */
static void rows_fill(struct looker *looker, struct also_shown also[ALSO_SHOWN_MAX], uint32_t n_also) {
    const struct allocations *allocations = looker->allocations;
    uint32_t next[ALSO_SHOWN_MAX] = {0};
    for (uint32_t k = 1; k < n_also; k++)
        next[k] = next[k - 1] + looker->site[also[k - 1].site].count;
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint32_t place = site_of(looker, i)->place;
        if (place == 0 || !is_shown(looker, i))
            continue;
        struct also_shown *site = &also[place - 1];
        site->of_free = site->of_free && (allocations->flags[i] & ALLOCATION_STACK_OF_FREE) != 0;
        looker->row[next[place - 1]++] = (struct sort_row){allocations->death[i], i};
    }
}

/* The most bytes alive at once of `n` allocations whose rows are in order of birth. */
static uint64_t highest_of(const struct looker *looker, struct sort_row *row, uint32_t n) {
    const struct allocations *allocations = looker->allocations;
    uint64_t bytes = 0, highest = 0;
    for (uint32_t i = 0; i < n; i++)
        looker->born[i] = row[i].value;
    sort_rows(row, looker->spare, n);
    for (uint32_t i = 0, dead = 0; i < n; i++) {
        uint32_t birth = allocations->birth[looker->born[i]];
        for (birth = birth < looker->first ? looker->first : birth; row[dead].key <= birth; dead++)
            bytes -= allocations->size[row[dead].value];
        bytes += allocations->size[looker->born[i]];
        highest = bytes > highest ? bytes : highest;
    }
    return highest;
}

static bool sites_measure(struct looker *looker, struct also_shown also[ALSO_SHOWN_MAX], uint32_t n_also,
                          struct arena *arena) {
    struct sort_row *row;
    if (!rows_take(looker, also, n_also, arena))
        return false;
    rows_fill(looker, also, n_also);
    row = looker->row;
    for (uint32_t k = 0; k < n_also; k++) {
        uint32_t count = looker->site[also[k].site].count;
        also[k].bytes = highest_of(looker, row, count);
        row += count;
    }
    return true;
}

bool also_shown_find(const struct timeline *timeline, const uint64_t *keep, uint32_t first, uint32_t end,
                     uint32_t moment, struct arena *arena, struct also_shown also[ALSO_SHOWN_MAX],
                     uint32_t *count) {
    const uint32_t n_sites = timeline->trace->frames.count;
    struct looker looker = {.timeline = timeline,
                            .allocations = &timeline->device->allocations,
                            .keep = keep,
                            .first = first,
                            .end = end,
                            .site = arena_column(arena, n_sites, sizeof *looker.site)};
    bool done = looker.site != NULL;
    *count = 0;
    if (done) {
        bytes_zero(looker.site, n_sites * sizeof *looker.site);
        uint64_t least = areas_fill(&looker) / 100;
        areas_drop_listed(&looker, moment);
        *count = sites_choose(&looker, least, also);
        done = sites_measure(&looker, also, *count, arena);
    }
    ARENA_DROP(arena, looker.born, looker.spare, looker.row, looker.site);
    return done;
}
