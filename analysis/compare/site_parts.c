#include "analysis/compare/site_parts.h"

#include "base/sort.h"

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

/* Splits allocations by part: a counting sort. */
static void parts_split(struct site_parts *parts, const struct verdicts *verdicts,
                        const uint32_t *allocations, uint32_t n_allocations) {
    const bool sites = trace_has_call_sites(verdicts->timeline->trace);
    uint32_t next[GROUP_PARTS];
    for (uint32_t i = 0; i < n_allocations; i++)
        parts->start[site_part_of_allocation(verdicts, sites, allocations[i]) + 1]++;
    for (uint32_t part = 0; part < GROUP_PARTS; part++) {
        parts->start[part + 1] += parts->start[part];
        next[part] = parts->start[part];
    }
    for (uint32_t i = 0; i < n_allocations; i++)
        parts->allocations[next[site_part_of_allocation(verdicts, sites, allocations[i])]++] = allocations[i];
}

/* Appends the groups of one part. False: no memory. */
static bool part_add(struct site_parts *parts, const struct timeline *timeline, uint32_t part,
                     uint32_t *capacity, struct arena *arena) {
    struct group *own;
    uint32_t n_own;
    if (!groups_of(timeline, parts->allocations + parts->start[part],
                   parts->start[part + 1] - parts->start[part], GROUP_BY_SITE, arena, &own, &n_own) ||
        !ARENA_GROW(arena, parts->groups, *capacity, (uint64_t)parts->n_groups + n_own + 1))
        return false;
    for (uint32_t i = 0; i < n_own; i++) {
        parts->groups[parts->n_groups] = own[i];
        parts->groups[parts->n_groups++].part = (uint8_t)part;
    }
    return true;
}

/* As struct site_parts orders them. */
static uint64_t group_key(const void *record, uint32_t nth) {
    const struct group *group = record;
    return nth == 0 ? ~group->bytes : (uint64_t)group->site << 8 | group->part;
}

bool site_parts_of(struct site_parts *parts, const struct timeline *timeline, const struct verdicts *verdicts,
                   const uint32_t *allocations, uint32_t n_allocations, struct arena *arena) {
    uint32_t capacity = 0;
    *parts =
        (struct site_parts){.allocations = arena_column(arena, n_allocations, sizeof *parts->allocations)};
    if (parts->allocations == NULL)
        return false;
    parts_split(parts, verdicts, allocations, n_allocations);
    for (uint32_t part = 0; part < GROUP_PARTS; part++)
        if (!part_add(parts, timeline, part, &capacity, arena))
            return false;
    return sort_records(parts->groups, parts->n_groups, sizeof *parts->groups, group_key, 2, arena);
}

bool site_parts_at(struct site_parts *parts, const struct timeline *timeline, const struct verdicts *verdicts,
                   uint32_t moment, struct arena *arena) {
    uint32_t n_alive, *alive = timeline_alive(timeline, moment, arena, &n_alive);
    return alive != NULL && site_parts_of(parts, timeline, verdicts, alive, n_alive, arena);
}
