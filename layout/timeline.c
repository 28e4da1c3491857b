#include "layout/timeline.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/search.h"
#include "layout/filter.h"
#include "layout/site.h"
#include "layout/timeline_sites.h"

enum { PEAK_BLOCK = 64 };

/* Microseconds stay below this (two years), so that positions in 1/65536 us fit 64 bits. */
static const int64_t MAX_US = INT64_C(1) << 46;

/* What the allocations [from, to) change at each moment. */
static void live_change(struct timeline *timeline, const uint64_t *keep, uint32_t from, uint32_t to) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint64_t *live = timeline->live;
    for (uint32_t i = from; i < to; i++) {
        if (allocations->birth[i] >= timeline->n_moments || !filter_keeps(keep, i))
            continue;
        live[allocations->birth[i]] += allocations->size[i];
        if (allocations->death[i] < timeline->n_moments)
            live[allocations->death[i]] -= allocations->size[i];
    }
}

static uint32_t peak_scan(const uint64_t *live, uint32_t from, uint32_t to) {
    uint32_t peak = from;
    for (uint32_t m = from + 1; m < to; m++)
        if (live[m] > live[peak])
            peak = m;
    return peak;
}

/* The least number in [from, to). Four runs, since a comparison waits for the one before it. */
static uint64_t least_scan(const uint64_t *bytes, uint32_t from, uint32_t to) {
    uint64_t least[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (; to - from >= 4; from += 4)
        for (uint32_t k = 0; k < 4; k++)
            least[k] = bytes[from + k] < least[k] ? bytes[from + k] : least[k];
    for (; from < to; from++)
        least[0] = bytes[from] < least[0] ? bytes[from] : least[0];
    for (uint32_t k = 1; k < 4; k++)
        least[0] = least[k] < least[0] ? least[k] : least[0];
    return least[0];
}

/* Sums up the changes of a block, and notes its peak. A function of its own, because a browser starts with slow code and
 * switches to fast code when a function is called again. */
__attribute__((noinline)) static void block_build(struct timeline *timeline, uint32_t block) {
    uint64_t *live = timeline->live;
    uint32_t from = block * PEAK_BLOCK, peak = from;
    uint32_t to = timeline->n_moments - from > PEAK_BLOCK ? from + PEAK_BLOCK : timeline->n_moments;
    uint64_t now = live[from] += from != 0 ? live[from - 1] : 0, most = now, least = now;
    for (uint32_t m = from + 1; m < to; m++) {
        live[m] = now += live[m];
        peak = now > most ? m : peak;
        most = now > most ? now : most;
        least = now < least ? now : least;
    }
    timeline->block_peak[block] = peak;
    timeline->block_bytes[block] = most;
    timeline->block_least[block] = least;
}

static void peak_find(struct timeline *timeline, const uint64_t *keep) {
    timeline->start_bytes = timeline->live[0];
    timeline->end_bytes = timeline->live[timeline->n_moments - 1];
    timeline->peak_moment = timeline_peak_in(timeline, 0, timeline->n_moments);
    timeline->peak_bytes = timeline->live[timeline->peak_moment];
    const struct allocations *allocations = &timeline->device->allocations;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (allocations->birth[i] <= timeline->peak_moment && timeline->peak_moment < allocations->death[i] &&
            filter_keeps(keep, i))
            timeline->live_at_peak += allocation_stands_for(allocations, i);
}

/* The first item of a part, if so many are looked at in `parts` steps. */
static uint32_t part_begin(uint32_t count, uint32_t part, uint32_t parts) {
    return (uint32_t)((uint64_t)count * part / parts);
}

/* Clears the array part by part, then notes what changes at each moment, and sums it up, and finds the highest peak.
 * Clearing takes longest, because it touches the memory for the first time. */
static __attribute__((noinline)) bool live_step(struct timeline *timeline, const uint64_t *keep,
                                                uint32_t step, struct arena *arena) {
    enum { CLEARED = 4, CHANGED = 2, SUMMED = TIMELINE_LIVE_STEPS - CLEARED - CHANGED };
    const uint32_t n = timeline->n_moments, n_blocks = (n - 1) / PEAK_BLOCK + 1,
                   count = timeline->device->allocations.count;
    if (step == 0 && (!ARENA_COLUMNS(arena, n_blocks, timeline->block_peak, timeline->block_bytes,
                                     timeline->block_least) ||
                      !ARENA_COLUMNS(arena, n, timeline->live)))
        return false;
    if (step < CLEARED) {
        uint32_t from = part_begin(n, step, CLEARED), to = part_begin(n, step + 1, CLEARED);
        bytes_zero(timeline->live + from, (to - from) * sizeof *timeline->live);
    } else if (step < CLEARED + CHANGED) {
        uint32_t part = step - CLEARED;
        live_change(timeline, keep, part_begin(count, part, CHANGED), part_begin(count, part + 1, CHANGED));
    } else {
        uint32_t part = step - CLEARED - CHANGED, to = part_begin(n_blocks, part + 1, SUMMED);
        for (uint32_t block = part_begin(n_blocks, part, SUMMED); block < to; block++)
            block_build(timeline, block);
        if (to == n_blocks)
            peak_find(timeline, keep);
    }
    return true;
}

uint32_t timeline_peak_in(const struct timeline *timeline, uint32_t from, uint32_t to) {
    assert(from < to && to <= timeline->n_moments);
    const uint64_t *live = timeline->live;
    uint32_t first = from / PEAK_BLOCK + 1, last = to / PEAK_BLOCK; /* whole blocks: [first, last) */
    if (first >= last)
        return peak_scan(live, from, to);
    uint32_t peak = peak_scan(live, from, first * PEAK_BLOCK);
    uint32_t highest = peak_scan(timeline->block_bytes, first, last);
    if (timeline->block_bytes[highest] > live[peak])
        peak = timeline->block_peak[highest];
    if (last * PEAK_BLOCK < to) {
        uint32_t tail = peak_scan(live, last * PEAK_BLOCK, to);
        if (live[tail] > live[peak])
            peak = tail;
    }
    return peak;
}

uint64_t timeline_reserved_before(const struct device_trace *device) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        bytes += device->segments[i].total_size;
    for (uint32_t i = device->n_segment_events; i-- > 0;)
        bytes -= segment_event_delta(&device->segment_events[i]);
    int64_t lowest = (int64_t)bytes, now = lowest;
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        now = (int64_t)((uint64_t)now + segment_event_delta(&device->segment_events[i]));
        lowest = now < lowest ? now : lowest;
    }
    return lowest < 0 ? bytes - (uint64_t)lowest : bytes;
}

/* The most by which live bytes exceed the reserved curve. */
static uint64_t reserved_lacking(const struct timeline *timeline) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < timeline->n_reserved; i++) {
        uint32_t from = timeline->reserved_moment[i];
        uint32_t to = i + 1 < timeline->n_reserved ? timeline->reserved_moment[i + 1] : timeline->n_moments;
        uint64_t live = timeline->live[timeline_peak_in(timeline, from, to)],
                 bytes = timeline->reserved_bytes[i];
        most = live > bytes && live - bytes > most ? live - bytes : most;
    }
    return most;
}

/* Live bytes are reserved too, so a lower bound is raised to them. */
static void reserved_raise(struct timeline *timeline) {
    if (!timeline_reserved_is_bound(timeline->device))
        return;
    uint64_t lacking = reserved_lacking(timeline); /* both sums are below 2^63 (TRACE_BYTES_MAX) */
    for (uint32_t i = 0; i < timeline->n_reserved; i++)
        timeline->reserved_bytes[i] += lacking;
    timeline->reserved_start += lacking;
    timeline->reserved_peak += lacking;
    timeline->reserved_shift += lacking;
}

/* The allocation made by the event after `moment`, if it makes one; otherwise allocations.count. */
static uint32_t allocation_behind(const struct timeline *timeline, uint32_t moment) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t low = SEARCH(allocations->preexisting, allocations->count, i, allocations->birth[i] <= moment);
    return low < allocations->count && allocations->birth[low] == moment + 1 ? low : allocations->count;
}

uint32_t timeline_reserved_settled(const struct timeline *timeline, uint32_t moment) {
    const struct device_trace *device = timeline->device;
    uint32_t low = SEARCH(0, device->n_segment_events, i, device->segment_events[i].event < moment);
    bool changes_again = low < device->n_segment_events && device->segment_events[low].event == moment;
    if (low == 0 || device->segment_events[low - 1].event + 1 != moment || changes_again)
        return moment;
    const struct segment_event *event = &device->segment_events[low - 1];
    uint32_t allocation = allocation_behind(timeline, moment);
    if ((event->change != SEGMENT_ALLOC && event->change != SEGMENT_MAP) || event->address == 0 ||
        allocation == device->allocations.count)
        return moment;
    uint64_t address = device->allocations.address[allocation], nbytes = device->allocations.size[allocation];
    bool in_it = address >= event->address
                     ? address - event->address < event->size
                     : event->address - address < nbytes; /* it begins before what was mapped */
    return in_it ? moment + 1 : moment;
}

static bool reserved_build(struct timeline *timeline, struct arena *arena) {
    const struct device_trace *device = timeline->device;
    uint64_t n = (uint64_t)device->n_segment_events + 1;
    if (!ARENA_COLUMNS(arena, n, timeline->reserved_moment, timeline->reserved_bytes))
        return false;
    for (uint32_t i = 0; i < device->n_segments; i++)
        timeline->reserved_end += device->segments[i].total_size;
    uint64_t bytes = timeline_reserved_before(device);
    timeline->reserved_moment[0] = 0;
    timeline->reserved_bytes[0] = timeline->reserved_start = timeline->reserved_peak = bytes;
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        bytes += segment_event_delta(&device->segment_events[i]);
        timeline->reserved_moment[i + 1] = device->segment_events[i].event + 1;
        timeline->reserved_bytes[i + 1] = bytes;
        if (bytes > timeline->reserved_peak) {
            timeline->reserved_peak = bytes;
            timeline->reserved_peak_moment = device->segment_events[i].event + 1;
        }
    }
    timeline->reserved_peak_moment = timeline_reserved_settled(timeline, timeline->reserved_peak_moment);
    timeline->n_reserved = (uint32_t)n;
    timeline->reserved_shift = bytes - timeline->reserved_end;
    reserved_raise(timeline);
    return true;
}

uint64_t timeline_reserved_at(const struct timeline *timeline, uint32_t moment) {
    /* first step after the moment */
    uint32_t low = SEARCH(0, timeline->n_reserved, i, timeline->reserved_moment[i] <= moment);
    return timeline->reserved_bytes[low - 1];
}

/* The fewest bytes alive at a moment in [from, to). */
static uint64_t live_least(const struct timeline *timeline, uint32_t from, uint32_t to) {
    /* whole blocks: [first, last) */
    uint32_t first = from / PEAK_BLOCK + (from % PEAK_BLOCK != 0), last = to / PEAK_BLOCK;
    if (first >= last)
        return least_scan(timeline->live, from, to);
    uint64_t head = least_scan(timeline->live, from, first * PEAK_BLOCK);
    uint64_t whole = least_scan(timeline->block_least, first, last);
    uint64_t tail = least_scan(timeline->live, last * PEAK_BLOCK, to);
    head = whole < head ? whole : head;
    return tail < head ? tail : head;
}

uint64_t timeline_unused_in(const struct timeline *timeline, uint32_t from, uint32_t to) {
    uint64_t most = 0;
    /* first step after the moment */
    uint32_t low = SEARCH(0, timeline->n_reserved, i, timeline->reserved_moment[i] <= from);
    for (uint32_t moment = from, end; moment < to; moment = end, low++) {
        bool changes = low < timeline->n_reserved && timeline->reserved_moment[low] < to;
        end = changes ? timeline->reserved_moment[low] : to;
        uint64_t reserved = timeline->reserved_bytes[low - 1], least = live_least(timeline, moment, end);
        most = reserved > least && reserved - least > most ? reserved - least : most;
    }
    return most;
}

static int64_t us_since(int64_t us, int64_t first) {
    if (us <= first)
        return 0;
    uint64_t since = (uint64_t)us - (uint64_t)first;
    return since > (uint64_t)MAX_US ? MAX_US : (int64_t)since;
}

/* Do times never fall, and stay in the range that can be drawn? */
static bool times_rise(const struct device_trace *device) {
    const int64_t *us = device->time_us;
    bool rise = (uint64_t)us[device->n_events - 1] - (uint64_t)us[0] <= (uint64_t)MAX_US;
    for (uint32_t i = 1; !device->times_rise && i < device->n_events; i++)
        rise &= us[i] >= us[i - 1];
    return rise;
}

/* Times of real files never fall. Where one does, its moment begins together with the one before it. NULL: no
 * memory. */
static const int64_t *times_raise(const struct device_trace *device, struct arena *arena) {
    int64_t *clock = arena_column(arena, device->n_events, sizeof *clock), last = 0;
    for (uint32_t i = 0; clock != NULL && i < device->n_events; i++) {
        int64_t us = us_since(device->time_us[i], device->time_us[0]);
        last = us > last ? us : last;
        clock[i] = last;
    }
    return clock;
}

static int64_t times_latest(const struct device_trace *device) {
    int64_t latest = device->time_us[device->times_rise ? device->n_events - 1 : 0];
    for (uint32_t i = 0; !device->times_rise && i < device->n_events; i++)
        latest = device->time_us[i] > latest ? device->time_us[i] : latest;
    return latest;
}

static struct run_us run_us_until(const struct device_trace *device, int64_t latest) {
    int64_t first = device->time_us[0], last = us_since(latest, first);
    int64_t margin = last / 100 > 0 ? last / 100 : 1;
    return (struct run_us){first, -margin, last + margin};
}

struct run_us run_us_of(const struct device_trace *device) {
    return device->time_us == NULL || device->n_events == 0 ? (struct run_us){0}
                                                            : run_us_until(device, times_latest(device));
}

static bool times_build(struct timeline *timeline, struct arena *arena) {
    const struct device_trace *device = timeline->device;
    if (device->time_us == NULL || device->n_events == 0)
        return true;
    bool rise = times_rise(device);
    struct run_us run =
        run_us_until(device, rise ? device->time_us[device->n_events - 1] : times_latest(device));
    timeline->first_us = run.first;
    timeline->before_us = run.from;
    timeline->end_us = run.to;
    timeline->clock = rise ? device->time_us : times_raise(device, arena);
    timeline->clock_from = rise ? timeline->first_us : 0;
    return timeline->clock != NULL;
}

uint32_t timeline_moment_at(const struct timeline *timeline, int64_t us) {
    /* first moment that begins later */
    uint32_t low = SEARCH(0, timeline->n_moments, i, timeline_start_us(timeline, i) <= us);
    return low == 0 ? 0 : low - 1;
}

static unsigned bucket_of(const struct allocations *allocations, uint32_t allocation) {
    uint32_t lifetime = allocations->death[allocation] - allocations->birth[allocation];
    return lifetime == 0 ? 0 : 31u - (unsigned)__builtin_clz(lifetime);
}

/* A counting sort: allocations are in order of birth and stay so within a bucket. */
static bool buckets_build(struct timeline *timeline, const uint64_t *keep, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    timeline->by_lifetime = arena_column(arena, allocations->count, sizeof *timeline->by_lifetime);
    if (timeline->by_lifetime == NULL)
        return false;
    uint32_t next[LIFETIME_BUCKETS + 1] = {0};
    for (uint32_t i = 0; i < allocations->count; i++)
        next[bucket_of(allocations, i) + 1] += filter_keeps(keep, i);
    for (unsigned b = 0; b < LIFETIME_BUCKETS; b++)
        next[b + 1] += next[b];
    for (unsigned b = 0; b <= LIFETIME_BUCKETS; b++)
        timeline->bucket_start[b] = next[b];
    for (uint32_t i = 0; i < allocations->count; i++)
        if (filter_keeps(keep, i))
            timeline->by_lifetime[next[bucket_of(allocations, i)]++] = i;
    return true;
}

static bool sites_build(struct timeline *timeline, struct arena *arena) {
    const struct trace *trace = timeline->trace;
    timeline->frame_rank = arena_column(arena, trace->frames.count, sizeof *timeline->frame_rank);
    timeline->site = arena_column(arena, trace->stacks.count, sizeof *timeline->site);
    if (timeline->frame_rank == NULL || timeline->site == NULL ||
        !frames_rank(trace, timeline->frame_rank, arena))
        return false;
    sites_of_stacks(trace, timeline->frame_rank, timeline->site);
    return true;
}

bool timeline_frame_is_user(const struct timeline *timeline, uint32_t frame) {
    return frame_kind_of_rank(timeline->frame_rank[frame]) == FRAME_USER;
}

static void timeline_begin(struct timeline *timeline, const struct trace *trace, uint32_t index) {
    *timeline = (struct timeline){.trace = trace, .device = &trace->devices[index]};
    timeline->n_moments = timeline->device->n_events + 1;
}

/* Builds all that needs call sites. */
static bool stacking_build(struct timeline *timeline, bool drawn, struct arena *arena) {
    bool done = sites_build(timeline, arena) && oldest_order(timeline, arena);
    for (uint32_t step = 0; done && drawn && step < SITE_SLOTS_STEPS; step++)
        done = site_slots_step(timeline, step, arena);
    return done;
}

bool timeline_init_step(struct timeline *timeline, const struct trace *trace, uint32_t index, uint32_t step,
                        struct arena *arena) {
    if (step == 0)
        timeline_begin(timeline, trace, index);
    if (step < TIMELINE_LIVE_STEPS)
        return live_step(timeline, NULL, step, arena);
    switch (step - TIMELINE_LIVE_STEPS) {
    case 0: return reserved_build(timeline, arena);
    case 1: return times_build(timeline, arena);
    case 2: return buckets_build(timeline, NULL, arena);
    case 3: return stacking_build(timeline, false, arena);
    default: return site_slots_step(timeline, step - TIMELINE_LIVE_STEPS - 4, arena);
    }
}

static bool timeline_build(struct timeline *timeline, const struct trace *trace, uint32_t index, bool drawn,
                           struct arena *arena) {
    for (uint32_t step = 0, end = drawn ? TIMELINE_STEPS : TIMELINE_STEPS - SITE_SLOTS_STEPS; step < end;
         step++)
        if (!timeline_init_step(timeline, trace, index, step, arena))
            return false;
    return true;
}

bool timeline_init(struct timeline *timeline, const struct trace *trace, uint32_t index,
                   struct arena *arena) {
    return timeline_build(timeline, trace, index, true, arena);
}

static bool curves_build(struct timeline *timeline, struct arena *arena) {
    for (uint32_t step = 0; step < TIMELINE_LIVE_STEPS; step++)
        if (!live_step(timeline, NULL, step, arena))
            return false;
    return reserved_build(timeline, arena);
}

/* The half of the work that does not need the curves. */
struct side {
    struct timeline *timeline;
    struct arena *arena;
    bool drawn, done;
};

static void side_build(void *context) {
    struct side *side = context;
    side->done = times_build(side->timeline, side->arena) &&
                 buckets_build(side->timeline, NULL, side->arena) &&
                 stacking_build(side->timeline, side->drawn, side->arena);
}

bool timeline_init_beside(struct timeline *timeline, const struct trace *trace, uint32_t index,
                          const struct beside_hooks *beside, bool drawn, struct arena *side_arena,
                          struct arena *arena) {
    const struct device_trace *device = &trace->devices[index];
    struct side side = {timeline, side_arena, drawn, false};
    if (beside == NULL || device->n_events < BESIDE_EVENTS_LEAST)
        return timeline_build(timeline, trace, index, drawn, arena);
    timeline_begin(timeline, trace, index);
    if (!beside->begin(beside->context, beside_ample_nbytes(device->n_events, device->allocations.count),
                       side_build, &side))
        return timeline_build(timeline, trace, index, drawn, arena);
    bool done = curves_build(timeline, arena);
    beside->end(beside->context);
    return done && side.done;
}

static void timeline_begin_like(struct timeline *timeline, const struct timeline *whole,
                                const struct trace *trace) {
    timeline_begin(timeline, trace, 0);
    timeline->clock = whole->clock;
    timeline->clock_from = whole->clock_from;
    timeline->before_us = whole->before_us;
    timeline->first_us = whole->first_us;
    timeline->end_us = whole->end_us;
    timeline->frame_rank = whole->frame_rank;
    timeline->site = whole->site;
    timeline->slot = whole->slot;
    timeline->twin = whole->twin;
}

bool timeline_like_step(struct timeline *timeline, const struct timeline *whole, const struct trace *trace,
                        uint32_t step, struct arena *arena) {
    if (step == 0)
        timeline_begin_like(timeline, whole, trace);
    if (step < TIMELINE_LIVE_STEPS)
        return live_step(timeline, NULL, step, arena);
    return reserved_build(timeline, arena) && buckets_build(timeline, NULL, arena) &&
           oldest_order(timeline, arena);
}

bool timeline_some_step(struct timeline *timeline, const struct timeline *whole, const uint64_t *keep,
                        uint32_t step, struct arena *arena) {
    if (step == 0) {
        *timeline = *whole;
        timeline->live_at_peak = 0;
    }
    if (step < TIMELINE_LIVE_STEPS)
        return live_step(timeline, keep, step, arena);
    return buckets_build(timeline, keep, arena);
}

/* The first place in by_lifetime, within a bucket, whose allocation was made at or after `birth`. O(log n). */
static uint32_t bucket_seek(const struct timeline *timeline, unsigned bucket, uint64_t birth) {
    return SEARCH(timeline->bucket_start[bucket], timeline->bucket_start[bucket + 1], i,
                  timeline->device->allocations.birth[timeline->by_lifetime[i]] < birth);
}

bool alive_walk_next(const struct timeline *timeline, struct alive_walk *walk) {
    const struct allocations *allocations = &timeline->device->allocations;
    for (;;) {
        while (walk->at < walk->end) {
            walk->allocation = timeline->by_lifetime[walk->at++];
            if (allocations->birth[walk->allocation] > walk->moment)
                break;
            walk->visited++;
            if (allocations->death[walk->allocation] >= walk->least_death)
                return true;
        }
        if (walk->bucket == LIFETIME_BUCKETS)
            return false;
        /* Of bucket k, only allocations made in the last 2^(k+1) - 1 moments can be alive or have just died. */
        uint64_t reach = (UINT64_C(2) << walk->bucket) - 1;
        walk->at = bucket_seek(timeline, walk->bucket, walk->moment > reach ? walk->moment - reach : 0);
        walk->end = timeline->bucket_start[++walk->bucket];
    }
}

uint32_t timeline_alive_count(const struct timeline *timeline, uint32_t moment) {
    struct alive_walk walk = {.moment = moment, .least_death = moment + 1};
    uint32_t count = 0;
    while (alive_walk_next(timeline, &walk))
        count++;
    return count;
}

/* Marks the places of the allocations in a bitmap, which is then read in order. */
uint32_t *timeline_alive(const struct timeline *timeline, uint32_t moment, struct arena *arena,
                         uint32_t *n_alive) {
    struct alive_walk walk = {.moment = moment, .least_death = moment + 1};
    uint64_t *places = arena_bits(arena, timeline->device->allocations.count);
    uint32_t n = 0;
    for (; places != NULL && alive_walk_next(timeline, &walk); n++)
        bits_add(places, timeline_place_of(timeline, walk.allocation));
    uint32_t *alive = places != NULL ? arena_column(arena, n, sizeof *alive) : NULL;
    *n_alive = 0;
    for (uint32_t word = 0; alive != NULL && *n_alive < n; word++)
        for (uint64_t bits = places[word]; bits != 0; bits &= bits - 1)
            alive[(*n_alive)++] =
                timeline_allocation_at(timeline, word * 64 + (uint32_t)__builtin_ctzll(bits));
    ARENA_DROP(arena, places);
    return alive;
}
