#include "layout/merge.h"

#include "base/assert.h"
#include "base/hashed.h"
#include "trace/trace_check.h"

enum {
    SLICES = 4096,      /* more than most screens have pixels in a row */
    AREA_LEVELS = 2048, /* 32 per doubling of the area */
    AREA_FRACTION_BITS = 5
};

/* One device while it is being merged. */
struct merging {
    struct merge *merge;
    const struct device_trace *device;
    unsigned large; /* areas of this level and above are large */
    uint32_t n_slices;
    /* [n_events + 2] the first kept moment at or after each one; while choosing, nonzero for kept ones */
    uint32_t *moment;
    struct allocations allocations; /* the result */
    struct row_table bands;         /* row + 1 */
};

/* ---- choosing moments ---- */

/* The logarithm of bytes times moments, in steps of 1/32; 0 for nothing. Below AREA_LEVELS, since the most is
 * 2^63. */
static unsigned area_level(const struct allocations *allocations, uint32_t allocation) {
    uint64_t lifetime = allocations->death[allocation] - allocations->birth[allocation],
             size = allocations->size[allocation];
    if (lifetime == 0 || size == 0)
        return 0;
    uint64_t area = size > (UINT64_MAX >> 1) / lifetime ? UINT64_MAX >> 1 : size * lifetime;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(area);
    uint64_t fraction = exponent >= AREA_FRACTION_BITS ? area >> (exponent - AREA_FRACTION_BITS)
                                                       : area << (AREA_FRACTION_BITS - exponent);
    return (exponent << AREA_FRACTION_BITS) + (unsigned)(fraction & ((1u << AREA_FRACTION_BITS) - 1)) + 1;
}

static bool is_large(const struct merging *merging, uint32_t allocation) {
    return area_level(&merging->device->allocations, allocation) >= merging->large;
}

static void keep(struct merging *merging, uint32_t moment) {
    if (moment <= merging->device->n_events)
        merging->moment[moment] = 1;
}

static void keep_what_happened(struct merging *merging) {
    const struct device_trace *device = merging->device;
    keep(merging, 0);
    keep(merging, device->n_events);
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        keep(merging, device->segment_events[i].event + 1);
    for (uint32_t i = 0; i < device->n_ooms; i++)
        keep(merging, device->ooms[i].event + 1);
    for (uint32_t i = 0; i < device->n_snapshots; i++)
        keep(merging, device->snapshots[i].event + 1);
    for (uint32_t i = 0; i < device->n_notes; i++)
        keep(merging, device->notes[i].event + 1);
    for (uint32_t i = 0; i < device->allocations.count; i++) {
        if (!is_large(merging, i))
            continue;
        keep(merging, device->allocations.birth[i]);
        keep(merging, device->allocations.request[i]);
        keep(merging, device->allocations.death[i]);
    }
}

/* Keeps the outline of the picture, and so its peak. */
static bool keep_extremes(struct merging *merging) {
    uint64_t n_moments = (uint64_t)merging->device->n_events + 1;
    uint64_t *live = device_live(merging->device, &merging->merge->arena);
    if (live == NULL)
        return false;
    for (uint32_t slice = 0; slice < merging->n_slices; slice++) {
        uint32_t from = (uint32_t)(n_moments * slice / merging->n_slices);
        uint32_t to = (uint32_t)(n_moments * (slice + 1) / merging->n_slices);
        uint32_t highest = from, lowest = from;
        for (uint32_t m = from; m < to; m++) {
            highest = live[m] > live[highest] ? m : highest;
            lowest = live[m] < live[lowest] ? m : lowest;
        }
        if (from < to) {
            keep(merging, highest);
            keep(merging, lowest);
        }
    }
    ARENA_DROP(&merging->merge->arena, live);
    return true;
}

static bool moments_choose(struct merging *merging) {
    uint32_t end = merging->device->n_events + 1;
    merging->moment = arena_zeros(&merging->merge->arena, (uint64_t)end + 1, sizeof *merging->moment);
    if (merging->moment == NULL)
        return false;
    keep_what_happened(merging);
    if (!keep_extremes(merging))
        return false;
    merging->moment[end] = end;
    for (uint32_t m = end; m-- > 0;) {
        merging->merge->n_kept += merging->moment[m];
        merging->moment[m] = merging->moment[m] != 0 ? m : merging->moment[m + 1];
    }
    return true;
}

/* ---- allocations ---- */

/* Copies allocation `from` to row `to` of the new allocations, at kept moments. */
static void allocation_copy(struct merging *merging, uint32_t to, uint32_t from) {
    const struct allocations *old = &merging->device->allocations;
    struct allocations *allocations = &merging->allocations;
    allocations->birth[to] = merging->moment[old->birth[from]];
    allocations->death[to] = merging->moment[old->death[from]];
    allocations->request[to] = merging->moment[old->request[from]];
    allocations->size[to] = old->size[from];
    allocations->address[to] = old->address[from];
    allocations->stack[to] = old->stack[from];
    allocations->context[to] = old->context[from];
    allocations->stream[to] = old->stream[from];
    allocations->pool[to] = old->pool[from];
    allocations->flags[to] = old->flags[from];
    allocations->merged[to] = 1;
}

/* Do two allocations agree in all but size and address, so that one band can hold both? */
static bool band_equal(const struct allocations *allocations, uint32_t a, uint32_t b) {
    return allocations->stack[a] == allocations->stack[b] && allocations->birth[a] == allocations->birth[b] &&
           allocations->death[a] == allocations->death[b] &&
           allocations->request[a] == allocations->request[b] &&
           allocations->context[a] == allocations->context[b] &&
           allocations->stream[a] == allocations->stream[b] && allocations->pool[a] == allocations->pool[b] &&
           allocations->flags[a] == allocations->flags[b];
}

/* The hash of a row of the table of bands. */
static uint32_t band_hash(const void *context, uint32_t row) {
    const struct allocations *allocations = context;
    return hash_of_pair(hash_of_pair(allocations->stack[row - 1], allocations->birth[row - 1]),
                        hash_of_pair(allocations->death[row - 1], allocations->request[row - 1]));
}

/* Joins the last row, a small allocation, to its band, or starts a new band with it. False: no memory. */
static bool band_join(struct merging *merging) {
    struct allocations *allocations = &merging->allocations;
    uint32_t last = allocations->count - 1;
    if (!row_table_reserve(&merging->bands, &merging->merge->arena, band_hash, allocations))
        return false;
    uint32_t *slot =
        ROW_SEEK(&merging->bands, band_hash(allocations, last + 1), i, band_equal(allocations, i - 1, last));
    if (*slot == 0) {
        *slot = last + 1;
        merging->bands.count++;
        return true;
    }
    allocations->size[*slot - 1] += allocations->size[last];
    allocations->address[*slot - 1] = 0;
    allocations->merged[*slot - 1]++;
    allocations->count--;
    return true;
}

/* Moving to a later kept moment keeps the order of the rows: by falling death, then by rising birth. */
static bool allocations_merge(struct merging *merging) {
    const struct allocations *old = &merging->device->allocations;
    struct allocations *allocations = &merging->allocations;
    struct arena *arena = &merging->merge->arena;
    allocations->merged = arena_column(arena, old->count, sizeof *allocations->merged);
    if (!allocations_alloc(allocations, old->count, arena) || allocations->merged == NULL)
        return false;
    for (uint32_t i = 0; i < old->count; i++) {
        if (merging->moment[old->birth[i]] == merging->moment[old->death[i]]) {
            merging->merge->n_hidden++;
            continue;
        }
        allocation_copy(merging, allocations->count++, i);
        if (!is_large(merging, i) && !band_join(merging))
            return false;
        if (i < old->preexisting)
            allocations->preexisting = allocations->count;
    }
    for (uint32_t i = 0; i < allocations->count; i++) {
        merging->merge->n_bands += allocations->merged[i] > 1;
        merging->merge->n_merged += allocations->merged[i] > 1 ? allocations->merged[i] : 0;
    }
    ARENA_DROP(arena, merging->bands.slot);
    return true;
}

/* ---- times ---- */

/* Spreads events evenly between two kept moments: their own times would take more bytes than everything else. */
static bool times_spread(struct merging *merging, struct device_trace *to) {
    const struct device_trace *device = merging->device;
    if (device->time_us == NULL || device->n_events == 0)
        return true;
    int64_t *time_us = arena_column(&merging->merge->arena, device->n_events, sizeof *time_us);
    if (time_us == NULL)
        return false;
    time_us[0] = device->time_us[0];
    for (uint32_t e = 1; e < device->n_events;) {
        uint32_t kept = merging->moment[e + 1] - 1; /* moment e + 1 begins with event e */
        uint64_t span = (uint64_t)device->time_us[kept] - (uint64_t)time_us[e - 1];
        uint64_t step = (int64_t)span > 0 ? span / (kept - e + 1) : 0;
        for (; e < kept; e++)
            time_us[e] = (int64_t)((uint64_t)time_us[e - 1] + step);
        time_us[e++] = device->time_us[kept];
    }
    to->time_us = time_us;
    return true;
}

/* ---- all together ---- */

static bool device_merge(struct merge *merge, const struct device_trace *device, unsigned level,
                         struct device_trace *to) {
    unsigned coarser = level > AREA_LEVELS ? level - AREA_LEVELS : 0;
    struct merging merging = {
        .merge = merge, .device = device, .large = level, .n_slices = (uint32_t)SLICES >> coarser};
    *to = *device;
    if (!moments_choose(&merging) || !allocations_merge(&merging) || !times_spread(&merging, to))
        return false;
    to->allocations = merging.allocations;
    ARENA_DROP(&merge->arena, merging.moment);
    return true;
}

bool merge_init(struct merge *merge, struct trace *trace, unsigned level) {
    *merge = (struct merge){.trace = *trace};
    arena_init(&merge->arena, arena_share(&trace->arena), SIZE_MAX);
    merge->trace.devices = arena_column(&merge->arena, trace->n_devices, sizeof *trace->devices);
    if (merge->trace.devices == NULL)
        return false;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        merge->n_allocations += trace->devices[i].allocations.count;
        if (!device_merge(merge, &trace->devices[i], level, &merge->trace.devices[i]))
            return false;
    }
    assert(trace_check(&merge->trace) == NULL);
    return true;
}

void merge_release(struct merge *merge) {
    arena_release(&merge->arena);
}
