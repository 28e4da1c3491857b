#include "layout/also_shown.h"

#include "base/bytes.h"
#include "base/numbers.h"
#include "layout/filter.h"

static struct shown_site *site_of(const struct also_finding *finding, uint32_t allocation) {
    return &finding->site[finding->timeline->site[finding->allocations->stack[allocation]]];
}

static bool is_shown(const struct also_finding *finding, uint32_t allocation) {
    return finding->allocations->birth[allocation] < finding->end &&
           finding->allocations->death[allocation] > finding->first &&
           filter_keeps(finding->keep, allocation);
}

/* KiB times moments inside the window, saturating at 64 bits. */
static uint64_t area_of(const struct also_finding *finding, uint32_t allocation) {
    const struct allocations *allocations = finding->allocations;
    uint32_t from =
        allocations->birth[allocation] > finding->first ? allocations->birth[allocation] : finding->first;
    uint32_t to =
        allocations->death[allocation] < finding->end ? allocations->death[allocation] : finding->end;
    uint64_t kib = allocations->size[allocation] >> 10, moments = to - from;
    if (kib >> 32 == 0) /* nearly always; asking the product would take most of the time */
        return kib * moments;
    return kib > UINT64_MAX / moments ? UINT64_MAX : kib * moments;
}

static enum also_progress areas_begin(struct also_finding *finding) {
    const uint32_t n_sites = finding->timeline->trace->frames.count;
    finding->site = arena_zeros(finding->arena, n_sites, sizeof *finding->site);
    return finding->site == NULL ? ALSO_NO_MEMORY : ALSO_GOES_ON;
}

/* Adds the allocations [from, end) to the areas of their sites. */
static void areas_fill(struct also_finding *finding, uint32_t from, uint32_t end) {
    for (uint32_t i = from; i < end; i++) {
        if (!is_shown(finding, i))
            continue;
        struct shown_site *site = site_of(finding, i);
        uint64_t own = area_of(finding, i);
        site->area = sum_at_most(site->area, own);
        site->count++;
        finding->whole = sum_at_most(finding->whole, own);
    }
}

/* Adds those of [from, end) that are alive at the moment of the list. */
static void alive_fill(struct also_finding *finding, uint32_t from, uint32_t end) {
    const struct allocations *allocations = finding->allocations;
    for (uint32_t i = from; i < end && allocations->birth[i] <= finding->moment; i++) {
        if (allocations->death[i] <= finding->moment || !filter_keeps(finding->keep, i))
            continue;
        site_of(finding, i)->alive += allocations->size[i];
        finding->alive += allocations->size[i];
    }
}

/* Drops sites with a share of the live bytes: the list of what is alive has them already. */
static void areas_drop_listed(struct also_finding *finding) {
    const uint32_t n_sites = finding->timeline->trace->frames.count;
    for (uint32_t i = 0; i < n_sites; i++)
        if (finding->site[i].alive != 0 && finding->site[i].alive >= finding->alive / 1000)
            finding->site[i].area = 0;
}

/* Chooses the sites to list, the largest first. */
static enum also_progress sites_choose(struct also_finding *finding) {
    const uint32_t n_sites = finding->timeline->trace->frames.count;
    const uint64_t least = finding->whole / 100;
    areas_drop_listed(finding);
    for (; finding->count < ALSO_SHOWN_MAX; finding->count++) {
        uint32_t best = 0;
        for (uint32_t site = 1; site < n_sites; site++)
            best = finding->site[site].area > finding->site[best].area ? site : best;
        if (finding->site[best].area == 0 || finding->site[best].area < least)
            break;
        finding->also[finding->count] = (struct also_shown){.site = best, .of_free = true};
        finding->site[best].area = 0;
        finding->site[best].place = finding->count + 1;
    }
    return finding->count == 0 ? ALSO_FOUND : ALSO_GOES_ON;
}

/* Makes room for the allocations of the listed sites, site by site. */
static enum also_progress rows_begin(struct also_finding *finding) {
    uint32_t most = 0;
    uint64_t all = 0;
    for (uint32_t k = 0; k < finding->count; k++) {
        uint32_t count = finding->site[finding->also[k].site].count;
        finding->next_row[k] = (uint32_t)all;
        all += count;
        most = count > most ? count : most;
    }
    finding->row = arena_column(finding->arena, all, sizeof *finding->row);
    bool done = ARENA_COLUMNS(finding->arena, most, finding->spare, finding->born) && finding->row != NULL;
    return done ? ALSO_GOES_ON : ALSO_NO_MEMORY;
}

/* Collects those of [from, end), in the order of their births. */
static void rows_fill(struct also_finding *finding, uint32_t from, uint32_t end) {
    const struct allocations *allocations = finding->allocations;
    for (uint32_t i = from; i < end; i++) {
        uint32_t place = site_of(finding, i)->place;
        if (place == 0 || !is_shown(finding, i))
            continue;
        struct also_shown *site = &finding->also[place - 1];
        site->of_free = site->of_free && (allocations->flags[i] & ALLOCATION_STACK_OF_FREE) != 0;
        finding->row[finding->next_row[place - 1]++] = (struct sort_row){allocations->death[i], i};
    }
}

/* The most bytes alive at once of the `n` allocations that are born in order and whose rows are sorted by death. */
static uint64_t highest_of(const struct also_finding *finding, uint32_t n) {
    const struct allocations *allocations = finding->allocations;
    const struct sort_row *row = finding->sorting.rows;
    uint64_t bytes = 0, highest = 0;
    for (uint32_t i = 0, dead = 0; i < n; i++) {
        uint32_t birth = allocations->birth[finding->born[i]];
        for (birth = birth < finding->first ? finding->first : birth; row[dead].key <= birth; dead++)
            bytes -= allocations->size[row[dead].value];
        bytes += allocations->size[finding->born[i]];
        highest = bytes > highest ? bytes : highest;
    }
    return highest;
}

/* Sorts the rows of a site by death, step by step, then measures it and goes on to the next site. */
static enum also_progress site_measure(struct also_finding *finding) {
    struct also_shown *also = &finding->also[finding->measured];
    struct sorting *sorting = &finding->sorting;
    const uint32_t count = finding->site[also->site].count;
    struct sort_row *row = finding->row + finding->row_at;
    if (sorting->rows == NULL) {
        for (uint32_t i = 0; i < count; i++)
            finding->born[i] = row[i].value;
        sorting_begin(sorting, row, finding->spare, count, finding->at_once);
        return ALSO_GOES_ON;
    }
    if (sorting_step(sorting))
        return ALSO_GOES_ON;
    also->bytes = highest_of(finding, count);
    finding->row_at += count;
    sorting->rows = NULL;
    return ++finding->measured < finding->count ? ALSO_GOES_ON : ALSO_FOUND;
}

enum also_progress also_shown_step(struct also_finding *finding) {
    finding->allocations = &finding->timeline->device->allocations;
    const uint32_t count = finding->allocations->count, from = finding->next,
                   end = count - from > finding->at_once ? from + finding->at_once : count;
    switch (finding->step) {
    case 0: finding->step++; return areas_begin(finding);
    case 1: areas_fill(finding, from, end); break;
    case 2: alive_fill(finding, from, end); break;
    case 3: finding->step++; return sites_choose(finding);
    case 4: finding->step++; return rows_begin(finding);
    case 5: rows_fill(finding, from, end); break;
    default: return site_measure(finding);
    }
    finding->next = end < count ? end : 0;
    finding->step += end == count;
    return ALSO_GOES_ON;
}

bool also_shown_find(struct also_finding *finding) {
    enum also_progress progress;
    while ((progress = also_shown_step(finding)) == ALSO_GOES_ON) {
    }
    return progress == ALSO_FOUND;
}
