/* Bounds that no setting can change: the least that any allocator needs for the live memory, the least that a
 * packing of it needs, and the device memory of the process as the recording shows it. */
#include "analysis/model/whatif.h"

#include "base/numbers.h"
#include "base/sort.h"
#include "layout/timeline.h"

/* A run ends at the first request that failed in the recording. */
static uint32_t last_moment(const struct device_trace *device) {
    return device->n_ooms != 0 ? device->ooms[0].event + 1 : device->n_events + 1;
}

struct sums {
    uint64_t requested, rounded, small;
};

static void sums_add(struct sums *sums, uint64_t nbytes, uint64_t sign) {
    uint64_t rounded = segments_round(nbytes);
    sums->requested += nbytes * sign;
    sums->rounded += rounded * sign;
    sums->small += rounded <= MIB ? rounded * sign : 0;
}

static void sums_raise(struct sums *peak, const struct sums *now) {
    peak->requested = now->requested > peak->requested ? now->requested : peak->requested;
    peak->rounded = now->rounded > peak->rounded ? now->rounded : peak->rounded;
    peak->small = now->small > peak->small ? now->small : peak->small;
}

/* The highest sums of live memory, the failed request included. */
static struct sums sums_peak(const struct program *program) {
    const struct device_trace *device = program->device;
    const struct allocations *allocations = &device->allocations;
    struct sums now = {0}, peak;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        sums_add(&now, allocations->size[i], 1);
    peak = now;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        uint32_t index = program_index(program->op[i]);
        enum program_kind kind = program_kind(program->op[i]);
        if (kind == PROGRAM_FREE)
            sums_add(&now, allocations->size[index], UINT64_MAX); /* times -1 */
        if (kind == PROGRAM_ALLOCATE)
            sums_add(&now, allocations->size[index], 1);
        if (kind == PROGRAM_OOM)
            sums_add(&now, device->ooms[index].size, 1);
        sums_raise(&peak, &now);
        if (kind == PROGRAM_OOM)
            break;
    }
    return peak;
}

/* One allocation to be packed: it takes its bytes from birth to death. */
struct packed {
    uint64_t size, address;
    uint32_t birth, death;
};

struct packing {
    struct packed *placed; /* by address */
    uint32_t count;
    uint64_t top;
    bool lowest; /* take gaps from the bottom, not by their size */
};

/* An address for the item among those that live at the same time: in the smallest gap that is large enough, or in the
 * lowest one; above them all if there is none. */
static uint64_t gap_find(const struct packing *packing, const struct packed *item) {
    uint64_t reach = 0, best = UINT64_MAX, best_room = UINT64_MAX;
    for (uint32_t i = 0; i < packing->count; i++) {
        const struct packed *other = &packing->placed[i];
        if (other->death <= item->birth || item->death <= other->birth)
            continue;
        uint64_t room = other->address > reach ? other->address - reach : 0;
        if (room >= item->size && packing->lowest)
            return reach;
        if (room >= item->size && room < best_room) {
            best = reach;
            best_room = room;
        }
        uint64_t end = other->address + other->size;
        reach = end > reach ? end : reach;
    }
    return best != UINT64_MAX ? best : reach;
}

static void packing_place(struct packing *packing, struct packed item) {
    item.address =
        gap_find(packing, &item); /* among those already placed: this one's row is not written yet */
    INSERT(packing->placed, packing->count, UINT32_MAX, item, other, other->address > item.address);
    if (item.address + item.size > packing->top)
        packing->top = item.address + item.size;
}

enum packing_order { BY_SIZE, BY_AREA, BY_LIFETIME, PACKING_ORDERS };

/* A key that sorts the largest first: what is left to the maximum. */
static uint64_t packing_key(const struct packed *item, enum packing_order order) {
    uint64_t lifetime = item->death - item->birth;
    if (order == BY_SIZE)
        return UINT64_MAX - item->size;
    if (order == BY_LIFETIME)
        return UINT64_MAX - lifetime;
    uint64_t size = item->size >> 9; /* in 512 bytes, so that the product fits */
    return UINT64_MAX - (size < UINT32_MAX ? size : UINT32_MAX) * lifetime;
}

/* All above 1 MiB; also those alive at the failed request. */
static uint32_t packed_collect(const struct program *program, struct packed *items) {
    const struct device_trace *device = program->device;
    const struct allocations *allocations = &device->allocations;
    uint32_t count = 0, last = last_moment(device);
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint64_t size = segments_round(allocations->size[i]);
        if (size <= MIB || allocations->birth[i] > last || allocations->birth[i] >= allocations->death[i])
            continue;
        if (items != NULL && count < WHATIF_PACKED_MAX)
            items[count] = (struct packed){size, 0, allocations->birth[i], allocations->death[i]};
        count++;
    }
    if (device->n_ooms != 0 && device->ooms[0].size > MIB) {
        if (items != NULL && count < WHATIF_PACKED_MAX)
            items[count] = (struct packed){segments_round(device->ooms[0].size), 0, last, last + 1};
        count++;
    }
    return count;
}

static uint64_t packed_top(struct packing *packing, const struct packed *items, uint32_t count,
                           struct sort_row *rows, enum packing_order order) {
    packing->count = 0;
    packing->top = 0;
    SORT_BY(rows, rows + count, count, i, packing_key(&items[i], order));
    for (uint32_t i = 0; i < count; i++)
        packing_place(packing, items[rows[i].value]);
    return packing->top;
}

static bool pack(const struct program *program, uint64_t small_bytes, uint64_t *packed_bytes,
                 struct arena *arena) {
    uint32_t count = packed_collect(program, NULL);
    *packed_bytes = 0;
    if (count >= WHATIF_PACKED_MAX)
        return true;
    struct packed *items;
    struct packing packing = {0};
    struct sort_row *rows = arena_column(arena, (uint64_t)count * 2, sizeof *rows);
    bool done = ARENA_COLUMNS(arena, count, items, packing.placed) && rows != NULL;
    uint64_t least = UINT64_MAX;
    if (done)
        (void)packed_collect(program, items);
    for (int try = 0; done && try < 2 * PACKING_ORDERS; try++) {
        packing.lowest = try >= PACKING_ORDERS;
        uint64_t top = packed_top(&packing, items, count, rows, (enum packing_order)(try % PACKING_ORDERS));
        least = top < least ? top : least;
    }
    *packed_bytes = least + (small_bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    ARENA_DROP(arena, items, packing.placed, rows);
    return done;
}

bool whatif_bounds_find(struct whatif_bounds *bounds, const struct program *program, bool packed,
                        struct arena *arena) {
    struct sums peak = sums_peak(program);
    *bounds =
        (struct whatif_bounds){.requested_peak_bytes = peak.requested, .rounded_peak_bytes = peak.rounded};
    return !packed || pack(program, peak.small, &bounds->packed_bytes, arena);
}

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
 * refused it: the process could not even have had the segment for it. */
static void ooms_before(struct budget_walk *walk, uint32_t event) {
    const struct device_trace *device = walk->program->device;
    for (; walk->oom < device->n_ooms && device->ooms[walk->oom].event < event; walk->oom++) {
        const struct oom_event *oom = &device->ooms[walk->oom];
        uint64_t refused = refused_bytes(walk, oom->size);
        if (oom->device_free < UINT64_C(1) << 50)
            at_most(walk,
                    walk->reserved_bytes + (oom->device_free < refused ? oom->device_free : refused - 1));
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
    if (budget.at_most_bytes < budget.at_least_bytes)
        budget.at_most_bytes = 0; /* others' use of the device has changed meanwhile */
    return budget;
}
