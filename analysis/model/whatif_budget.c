/* The device memory that the process had, as far as the recording shows it. */
#include "analysis/model/whatif.h"

#include "layout/timeline.h"

struct budget_walk {
    const struct program *program;
    struct whatif_budget *budget;
    const struct allocator_settings *settings;
    uint64_t reserved_bytes;
    uint32_t group, oom;
};

/* To a lower bound of the reserved bytes nothing may be added. */
static void at_most(struct budget_walk *walk, uint64_t nbytes) {
    struct whatif_budget *budget = walk->budget;
    bool bound = timeline_reserved_is_bound(walk->program->device);
    if (!bound && (budget->at_most_bytes == 0 || nbytes < budget->at_most_bytes))
        budget->at_most_bytes = nbytes;
}

/* A retry shows that the budget was less than the reserved bytes plus the segment that was requested. */
static void retry_bounds(struct budget_walk *walk, const struct release_group *group) {
    const struct device_trace *device = walk->program->device;
    uint32_t behind = group->first + group->count;
    bool plain = behind < device->n_segment_events && device->segment_events[behind].change == SEGMENT_ALLOC;
    if (group->cause == RELEASE_RETRY && group->taken_bytes != 0 && plain)
        at_most(walk, walk->reserved_bytes + group->taken_bytes - 1);
}

/* At most what a request would have reserved if it had not failed. Expandable segments map whole granules. */
static uint64_t refused_bytes(const struct budget_walk *walk, uint64_t asked) {
    if (!trace_has_segments(walk->program->trace))
        return UINT64_MAX; /* of a log: whether the allocator asked for a segment is not known */
    uint64_t granule = walk->settings->large_segment_bytes;
    uint64_t mapped = asked < UINT64_MAX - granule ? (asked + granule - 1) / granule * granule : asked;
    return walk->settings->expandable ? mapped : allocator_segment_bytes(walk->settings, asked);
}

/* A failed request could have what the device had free. If that was enough, a limit of the process or the driver
 * refused it: the process could not even have had the segment for it, and had only what was reserved. */
static void ooms_before(struct budget_walk *walk, uint32_t event) {
    const struct device_trace *device = walk->program->device;
    for (; walk->oom < device->n_ooms && device->ooms[walk->oom].event < event; walk->oom++) {
        const struct oom_event *oom = &device->ooms[walk->oom];
        uint64_t refused = refused_bytes(walk, oom->size);
        bool plausible = oom->device_free < UINT64_C(1) << 50, limited = oom->device_free >= refused;
        if (walk->oom == 0)
            walk->budget->bytes = walk->reserved_bytes + (plausible && !limited ? oom->device_free : 0);
        if (plausible)
            at_most(walk, walk->reserved_bytes + (limited ? refused - 1 : oom->device_free));
    }
}

static void event_walk(struct budget_walk *walk, uint32_t index) {
    const struct segment_event *event = &walk->program->device->segment_events[index];
    const struct releases *releases = &walk->program->releases;
    ooms_before(walk, event->event);
    if (walk->group < releases->count && releases->group[walk->group].first == index)
        retry_bounds(walk, &releases->group[walk->group++]);
    walk->reserved_bytes += segment_event_delta(event);
    if (walk->reserved_bytes > walk->budget->at_least_bytes)
        walk->budget->at_least_bytes = walk->reserved_bytes;
}

struct whatif_budget whatif_budget_find(const struct program *program,
                                        const struct allocator_settings *recorded) {
    struct whatif_budget budget = {0};
    struct budget_walk walk = {.program = program,
                               .budget = &budget,
                               .settings = recorded,
                               .reserved_bytes = timeline_reserved_before(program->device)};
    budget.at_least_bytes = walk.reserved_bytes;
    for (uint32_t i = 0; i < program->device->n_segment_events; i++)
        event_walk(&walk, i);
    ooms_before(&walk, UINT32_MAX);
    if (program->device->n_ooms == 0 && program->releases.n_of_cause[RELEASE_RETRY] != 0)
        budget.bytes = budget.at_least_bytes;
    if (budget.at_most_bytes < budget.at_least_bytes)
        budget.at_most_bytes = 0; /* others' use of the device has changed meanwhile */
    return budget;
}
