#include "layout/merge.h"

#include "base/bytes.h"

enum {
    SLICES = 4096,      /* more than there are pixels in a row of most screens */
    AREA_LEVELS = 2048, /* 32 per doubling of the area */
    AREA_FRACTION_BITS = 5
};

/* One device on its way. */
struct merging {
    struct merge *merge;
    const struct device_trace *device;
    unsigned large; /* areas from this level on are large */
    uint32_t n_slices;
    uint32_t *moment;   /* [n_events + 2] the kept moment at or after; at first, nonzero where one is kept */
    struct lives lives; /* what becomes of them */
    uint32_t *slot;     /* hash table of bands: row + 1; 0: empty */
    uint32_t mask;
};

/* ---- which moments are kept ---- */

/* The logarithm of bytes times moments, in steps of 1/32; 0 for nothing. Below AREA_LEVELS: 2^63 is the most. */
static unsigned area_level(const struct lives *lives, uint32_t life) {
    uint64_t lifetime = lives->death[life] - lives->birth[life], size = lives->size[life];
    if (lifetime == 0 || size == 0)
        return 0;
    uint64_t area = size > (UINT64_MAX >> 1) / lifetime ? UINT64_MAX >> 1 : size * lifetime;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(area);
    uint64_t fraction = exponent >= AREA_FRACTION_BITS ? area >> (exponent - AREA_FRACTION_BITS)
                                                       : area << (AREA_FRACTION_BITS - exponent);
    return (exponent << AREA_FRACTION_BITS) + (unsigned)(fraction & ((1u << AREA_FRACTION_BITS) - 1)) + 1;
}

static bool is_large(const struct merging *merging, uint32_t life) {
    return area_level(&merging->device->lives, life) >= merging->large;
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
    for (uint32_t i = 0; i < device->lives.count; i++) {
        if (!is_large(merging, i))
            continue;
        keep(merging, device->lives.birth[i]);
        keep(merging, device->lives.request[i]);
        keep(merging, device->lives.death[i]);
    }
}

/* Bytes alive at every moment. */
static uint64_t *curve_of(struct merge *merge, const struct device_trace *device) {
    uint64_t *live = arena_column(&merge->arena, (uint64_t)device->n_events + 2, sizeof *live);
    if (live == NULL)
        return NULL;
    bytes_zero(live, ((size_t)device->n_events + 2) * sizeof *live);
    for (uint32_t i = 0; i < device->lives.count; i++) {
        live[device->lives.birth[i]] += device->lives.size[i];
        live[device->lives.death[i]] -= device->lives.size[i];
    }
    for (uint32_t m = 1; m <= device->n_events; m++)
        live[m] += live[m - 1];
    return live;
}

/* The outline of the picture, and with it the peak. */
static bool keep_extremes(struct merging *merging) {
    uint64_t n_moments = (uint64_t)merging->device->n_events + 1;
    uint64_t *live = curve_of(merging->merge, merging->device);
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
    merging->moment = arena_column(&merging->merge->arena, (uint64_t)end + 1, sizeof *merging->moment);
    if (merging->moment == NULL)
        return false;
    bytes_zero(merging->moment, ((size_t)end + 1) * sizeof *merging->moment);
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

/* ---- lives ---- */

static bool lives_alloc(struct merge *merge, struct lives *lives, uint32_t count) {
    *lives = (struct lives){
        .birth = arena_column(&merge->arena, count, sizeof *lives->birth),
        .death = arena_column(&merge->arena, count, sizeof *lives->death),
        .request = arena_column(&merge->arena, count, sizeof *lives->request),
        .size = arena_column(&merge->arena, count, sizeof *lives->size),
        .address = arena_column(&merge->arena, count, sizeof *lives->address),
        .stack = arena_column(&merge->arena, count, sizeof *lives->stack),
        .context = arena_column(&merge->arena, count, sizeof *lives->context),
        .stream = arena_column(&merge->arena, count, sizeof *lives->stream),
        .pool = arena_column(&merge->arena, count, sizeof *lives->pool),
        .flags = arena_column(&merge->arena, count, sizeof *lives->flags),
        .merged = arena_column(&merge->arena, count, sizeof *lives->merged),
    };
    return lives->birth != NULL && lives->death != NULL && lives->request != NULL && lives->size != NULL &&
           lives->address != NULL && lives->stack != NULL && lives->context != NULL &&
           lives->stream != NULL && lives->pool != NULL && lives->flags != NULL && lives->merged != NULL;
}

/* Row `to` of the new lives becomes life `from`, at kept moments. */
static void life_copy(struct merging *merging, uint32_t to, uint32_t from) {
    const struct lives *old = &merging->device->lives;
    struct lives *lives = &merging->lives;
    lives->birth[to] = merging->moment[old->birth[from]];
    lives->death[to] = merging->moment[old->death[from]];
    lives->request[to] = merging->moment[old->request[from]];
    lives->size[to] = old->size[from];
    lives->address[to] = old->address[from];
    lives->stack[to] = old->stack[from];
    lives->context[to] = old->context[from];
    lives->stream[to] = old->stream[from];
    lives->pool[to] = old->pool[from];
    lives->flags[to] = old->flags[from];
    lives->merged[to] = 1;
}

/* Everything but size and address: what allocations in one band have in common. */
static bool band_equal(const struct lives *lives, uint32_t a, uint32_t b) {
    return lives->stack[a] == lives->stack[b] && lives->birth[a] == lives->birth[b] &&
           lives->death[a] == lives->death[b] && lives->request[a] == lives->request[b] &&
           lives->context[a] == lives->context[b] && lives->stream[a] == lives->stream[b] &&
           lives->pool[a] == lives->pool[b] && lives->flags[a] == lives->flags[b];
}

static uint32_t band_hash(const struct lives *lives, uint32_t life) {
    uint64_t hash = (uint64_t)lives->stack[life] << 32 | lives->birth[life];
    hash = (hash ^ hash >> 29) * 0x9E3779B97F4A7C15u;
    hash ^= (uint64_t)lives->death[life] << 32 | lives->request[life];
    hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u;
    return (uint32_t)(hash >> 32);
}

/* The last row, of a small allocation, joins the band that there is for it, or becomes one. */
static void band_join(struct merging *merging) {
    struct lives *lives = &merging->lives;
    uint32_t last = lives->count - 1, at = band_hash(lives, last) & merging->mask;
    for (; merging->slot[at] != 0; at = (at + 1) & merging->mask) {
        uint32_t band = merging->slot[at] - 1;
        if (!band_equal(lives, band, last))
            continue;
        lives->size[band] += lives->size[last];
        lives->address[band] = 0;
        lives->merged[band]++;
        lives->count--;
        return;
    }
    merging->slot[at] = last + 1;
}

static bool slots_alloc(struct merging *merging, uint32_t count) {
    uint64_t n_slots = 16;
    while (n_slots < (uint64_t)count * 2)
        n_slots *= 2;
    merging->slot = arena_column(&merging->merge->arena, n_slots, sizeof *merging->slot);
    if (merging->slot == NULL)
        return false;
    bytes_zero(merging->slot, (size_t)n_slots * sizeof *merging->slot);
    merging->mask = (uint32_t)(n_slots - 1);
    return true;
}

/* Moving to a later kept moment keeps the order of the rows: by falling death, then by rising birth. */
static bool lives_merge(struct merging *merging) {
    const struct lives *old = &merging->device->lives;
    struct lives *lives = &merging->lives;
    if (!lives_alloc(merging->merge, lives, old->count) || !slots_alloc(merging, old->count))
        return false;
    for (uint32_t i = 0; i < old->count; i++) {
        if (merging->moment[old->birth[i]] == merging->moment[old->death[i]]) {
            merging->merge->n_hidden++;
            continue;
        }
        life_copy(merging, lives->count++, i);
        if (!is_large(merging, i))
            band_join(merging);
        if (i < old->preexisting)
            lives->preexisting = lives->count;
    }
    for (uint32_t i = 0; i < lives->count; i++) {
        merging->merge->n_bands += lives->merged[i] > 1;
        merging->merge->n_merged += lives->merged[i] > 1 ? lives->merged[i] : 0;
    }
    ARENA_DROP(&merging->merge->arena, merging->slot);
    return true;
}

/* ---- times ---- */

/* Between two kept moments, events are spread evenly: their own times would cost more than everything else. */
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
    if (!moments_choose(&merging) || !lives_merge(&merging) || !times_spread(&merging, to))
        return false;
    to->lives = merging.lives;
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
        merge->n_lives += trace->devices[i].lives.count;
        if (!device_merge(merge, &trace->devices[i], level, &merge->trace.devices[i]))
            return false;
    }
    return true;
}

void merge_release(struct merge *merge) {
    arena_release(&merge->arena);
}
