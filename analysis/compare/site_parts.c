#include "analysis/compare/site_parts.h"

/* `sites`: does the trace have call sites? Without them the sites are the categories themselves. */
static enum group_part site_part_of_allocation(const struct verdicts *verdicts, bool sites,
                                               uint32_t allocation) {
    if (verdicts->timeline->device->allocations.flags[allocation] & ALLOCATION_STACK_OF_FREE)
        return GROUP_OF_FREE;
    if (!sites)
        return GROUP_WHOLE;
    if (verdicts->category[allocation] == CATEGORY_OPTIMIZER_STATE)
        return GROUP_OPTIMIZER_STATE;
    return verdicts->category[allocation] == CATEGORY_TEMPORARY &&
                   verdicts->runs.letter[allocation] == PHASE_OPTIMIZER
               ? GROUP_OPTIMIZER_TEMPORARY
               : GROUP_WHOLE;
}

const char *group_part_suffix(const struct group *group) {
    static const char *const suffixes[GROUP_PARTS] = {[GROUP_WHOLE] = "",
                                                      [GROUP_OPTIMIZER_STATE] = " (optimizer state)",
                                                      [GROUP_OPTIMIZER_TEMPORARY] =
                                                          " (optimizer temporaries)",
                                                      [GROUP_OF_FREE] = " (where it was freed)"};
    return suffixes[group->of_free ? GROUP_OF_FREE : group->part];
}

const char *group_part_mark(const struct group *group) {
    static const char *const marks[GROUP_PARTS] = {[GROUP_WHOLE] = "",
                                                   [GROUP_OPTIMIZER_STATE] = " (state)",
                                                   [GROUP_OPTIMIZER_TEMPORARY] = " (temporary)",
                                                   [GROUP_OF_FREE] = " (freed here)"};
    return marks[group->of_free ? GROUP_OF_FREE : group->part];
}

bool site_parts_of(struct site_parts *parts, const struct timeline *timeline, const struct verdicts *verdicts,
                   const uint32_t *allocations, uint32_t n_allocations, struct arena *arena) {
    const bool sites = trace_has_call_sites(verdicts->timeline->trace);
    uint32_t next[GROUP_PARTS];
    uint8_t *part;
    *parts = (struct site_parts){0};
    if (!ARENA_COLUMNS(arena, n_allocations, part, parts->allocations))
        return false;
    for (uint32_t i = 0; i < n_allocations; i++)
        parts->start[site_part_of_allocation(verdicts, sites, allocations[i]) + 1]++;
    for (uint32_t i = 0; i < GROUP_PARTS; i++) {
        parts->start[i + 1] += parts->start[i];
        next[i] = parts->start[i];
    }
    for (uint32_t i = 0; i < n_allocations; i++) {
        enum group_part own = site_part_of_allocation(verdicts, sites, allocations[i]);
        part[next[own]] = (uint8_t)own;
        parts->allocations[next[own]++] = allocations[i];
    }
    return groups_of(timeline, parts->allocations, n_allocations, part, GROUP_BY_SITE, arena, &parts->groups,
                     &parts->n_groups);
}

bool site_parts_at(struct site_parts *parts, const struct timeline *timeline, const struct verdicts *verdicts,
                   uint32_t moment, struct arena *arena) {
    uint32_t n_alive, *alive = timeline_alive(timeline, moment, arena, &n_alive);
    return alive != NULL && site_parts_of(parts, timeline, verdicts, alive, n_alive, arena);
}
