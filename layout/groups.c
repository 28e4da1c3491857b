#include "layout/groups.h"

#include "base/sort.h"

/* By falling bytes, then by rising key. */
static uint64_t group_key(const void *record, uint32_t nth) {
    const struct group *group = record;
    return nth == 0 ? ~group->bytes : group->key;
}

bool groups_sum(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
                const uint32_t *key, uint32_t n_keys, struct arena *arena, struct group **groups,
                uint32_t *n_groups) {
    const struct allocations *all = &timeline->device->allocations;
    uint32_t *group_of = arena_zeros(arena, n_keys, sizeof *group_of);
    uint64_t *largest;
    *n_groups = 0;
    bool done = ARENA_COLUMNS(arena, n_allocations < n_keys ? n_allocations : n_keys, largest, *groups) &&
                group_of != NULL;
    for (uint32_t i = 0; done && i < n_allocations; i++) {
        uint64_t size = all->size[allocations[i]];
        bool first = group_of[key[i]] == 0;
        if (first)
            (*groups)[(group_of[key[i]] = ++*n_groups) - 1] = (struct group){.key = key[i]};
        uint32_t at = group_of[key[i]] - 1;
        struct group *group = &(*groups)[at];
        group->bytes += size;
        group->count += allocation_stands_for(all, allocations[i]);
        if (!first && size <= largest[at])
            continue;
        largest[at] = size;
        group->stack = all->stack[allocations[i]];
        group->site = timeline->site[group->stack];
        group->of_free = (all->flags[allocations[i]] & ALLOCATION_STACK_OF_FREE) != 0;
    }
    done = done && sort_records(*groups, *n_groups, sizeof **groups, group_key, 2, arena);
    ARENA_DROP(arena, largest, group_of);
    return done;
}

bool groups_of(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
               const uint8_t *part, enum group_by by, struct arena *arena, struct group **groups,
               uint32_t *n_groups) {
    const struct trace *trace = timeline->trace;
    const uint32_t n_parts = part != NULL ? GROUP_PARTS : 1;
    uint32_t n_ids = by == GROUP_BY_STACK ? trace->stacks.count : trace->frames.count;
    uint32_t *key = arena_column(arena, n_allocations, sizeof *key);
    for (uint32_t i = 0; key != NULL && i < n_allocations; i++) {
        uint32_t stack = timeline->device->allocations.stack[allocations[i]];
        key[i] =
            n_parts * (by == GROUP_BY_STACK ? stack : timeline->site[stack]) + (part != NULL ? part[i] : 0);
    }
    bool done = key != NULL && groups_sum(timeline, allocations, n_allocations, key, n_parts * n_ids, arena,
                                          groups, n_groups);
    for (uint32_t i = 0; done && i < *n_groups; i++) {
        (*groups)[i].part = (uint8_t)((*groups)[i].key % n_parts);
        (*groups)[i].key /= n_parts;
    }
    ARENA_DROP(arena, key);
    return done;
}

bool groups_at(const struct timeline *timeline, uint32_t moment, enum group_by by, struct arena *arena,
               struct group **groups, uint32_t *n_groups) {
    uint32_t n_alive, *alive = timeline_alive(timeline, moment, arena, &n_alive);
    bool done = alive != NULL && groups_of(timeline, alive, n_alive, NULL, by, arena, groups, n_groups);
    ARENA_DROP(arena, alive);
    return done;
}
