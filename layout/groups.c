#include "layout/groups.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "trace/id_slots.h"

/* Sums by stack and part; `group_of[GROUP_PARTS * slot + part]` becomes a group's index + 1. Returns the number of
 * groups. */
static uint32_t stacks_sum(const struct timeline *timeline, const uint32_t *alive, uint32_t n_alive,
                           const uint8_t *parts, const struct id_slots *slots, uint32_t *group_of,
                           struct group *groups) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t n_groups = 0;
    for (uint32_t i = 0; i < n_alive; i++) {
        uint32_t stack = allocations->stack[alive[i]];
        uint8_t part = parts != NULL ? parts[i] : GROUP_WHOLE;
        uint32_t *group = &group_of[GROUP_PARTS * id_slot(slots, stack) + part];
        if (*group == 0) {
            groups[n_groups++] =
                (struct group){.site = timeline->site[stack],
                               .stack = stack,
                               .part = part,
                               .of_free = (allocations->flags[alive[i]] & ALLOCATION_STACK_OF_FREE) != 0};
            *group = n_groups;
        }
        groups[*group - 1].bytes += allocations->size[alive[i]];
        groups[*group - 1].count += allocation_stands_for(allocations, alive[i]);
    }
    return n_groups;
}

/* Folds groups of stacks into groups of sites, in place; a site keeps its stack with the most bytes. */
static uint32_t sites_fold(struct group *groups, uint32_t n_stacks, uint32_t *group_of, uint64_t *best) {
    uint32_t n_groups = 0;
    for (uint32_t i = 0; i < n_stacks; i++) {
        struct group stack = groups[i];
        uint32_t *group = &group_of[GROUP_PARTS * stack.site + stack.part];
        if (*group == 0) {
            best[n_groups] = stack.bytes;
            groups[n_groups] = stack;
            groups[n_groups].bytes = groups[n_groups].count = 0;
            *group = ++n_groups;
        }
        uint32_t at = *group - 1;
        groups[at].bytes += stack.bytes;
        groups[at].count += stack.count;
        if (stack.bytes > best[at] || (stack.bytes == best[at] && stack.stack < groups[at].stack)) {
            best[at] = stack.bytes;
            groups[at].stack = stack.stack;
            groups[at].of_free = stack.of_free;
        }
    }
    return n_groups;
}

/* By falling bytes, then by rising site, part and stack. */
static uint64_t group_key(const void *record, uint32_t nth) {
    const struct group *group = record;
    return nth == 0 ? ~group->bytes : nth == 1 ? (uint64_t)group->site << 8 | group->part : group->stack;
}

/* Numbers the stacks of some allocations. False: no memory. */
static bool slots_find(struct id_slots *slots, const struct timeline *timeline, const uint32_t *allocations,
                       uint32_t n_allocations, struct arena *arena) {
    if (!id_slots_begin(slots, timeline->trace->stacks.count, arena))
        return false;
    for (uint32_t i = 0; i < n_allocations; i++)
        id_slots_use(slots, timeline->device->allocations.stack[allocations[i]]);
    id_slots_number(slots);
    return true;
}

bool groups_of(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
               const uint8_t *part, enum group_by by, struct arena *arena, struct group **groups,
               uint32_t *n_groups) {
    const struct trace *trace = timeline->trace;
    struct id_slots slots;
    *n_groups = 0;
    *groups = NULL;
    if (!slots_find(&slots, timeline, allocations, n_allocations, arena))
        return false;
    uint32_t n_ids = slots.count > trace->frames.count ? slots.count : trace->frames.count;
    uint64_t most = part != NULL ? GROUP_PARTS * (uint64_t)slots.count : slots.count;
    uint32_t *group_of = arena_zeros(arena, GROUP_PARTS * (uint64_t)n_ids, sizeof *group_of);
    uint64_t *best;
    bool done = ARENA_COLUMNS(arena, most, best, *groups) && group_of != NULL;
    if (done) {
        *n_groups = stacks_sum(timeline, allocations, n_allocations, part, &slots, group_of, *groups);
        if (by == GROUP_BY_SITE) {
            bytes_zero(group_of, GROUP_PARTS * (size_t)n_ids * sizeof *group_of);
            *n_groups = sites_fold(*groups, *n_groups, group_of, best);
        }
        done = sort_records(*groups, *n_groups, sizeof **groups, group_key, 3, arena);
    }
    ARENA_DROP(arena, group_of, best);
    id_slots_drop(&slots, arena);
    if (!done)
        ARENA_DROP(arena, *groups);
    return done;
}

bool groups_at(const struct timeline *timeline, uint32_t moment, enum group_by by, struct arena *arena,
               struct group **groups, uint32_t *n_groups) {
    uint32_t n_alive, *alive = timeline_alive(timeline, moment, arena, &n_alive);
    *n_groups = 0;
    if (alive == NULL)
        return false;
    bool done = groups_of(timeline, alive, n_alive, NULL, by, arena, groups, n_groups);
    ARENA_DROP(arena, alive);
    return done;
}
