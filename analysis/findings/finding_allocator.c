/* Trouble of the allocator: it gave memory back to serve a request, was told to do so again and again, or holds
 * memory that no request can use. */
#include "analysis/findings/finder.h"

#include "analysis/model/free_blocks.h"
#include "analysis/model/pool_use.h"
#include "analysis/model/releases.h"
#include "base/numbers.h"

static bool releases_of(struct finder *finder, struct releases *releases) {
    const struct timeline *timeline = finder->timeline;
    if (!releases_find(releases, timeline->trace, timeline->device, finder->arena))
        finder->failed = true;
    return !finder->failed;
}

/* Did a request make the allocator give its cache back? With Python frames only, backward has no stack, but a program
 * that empties the cache has one. */
static bool is_retry(const struct finder *finder, const struct release_group *group) {
    bool backward = finder->verdicts->runs.stacks == STACKS_PYTHON && group->stack == 0 &&
                    (group->taken_bytes != 0 || group->out_of_memory);
    return group->cause == RELEASE_RETRY || (backward && group->cause != RELEASE_COLLECTED);
}

/* ---- retry_flush: figure [0] flushes, [1] bytes given back in all, [2] bytes of the largest, [3] out-of-memory
 * events after one ---- */

enum { RETRIES_SEEN, RETRIES_COUNTED };

/* A log's line only counts retries. */
static void counted_find(struct finder *finder) {
    const struct device_trace *device = finder->timeline->device;
    struct finding finding = {.kind = FINDING_RETRY_FLUSH,
                              .severity = SEVERITY_MEDIUM,
                              .confidence = CONFIDENCE_CERTAIN,
                              .variant = RETRIES_COUNTED};
    for (uint32_t i = 0; i < device->n_notes; i++)
        if (device->notes[i].what == NOTE_RETRIES && device->notes[i].number > finding.figure[0]) {
            finding.figure[0] = device->notes[i].number;
            finding.at_moment = device->notes[i].event + 1;
        }
    finding.from_moment = finding.to_moment = finding.at_moment;
    if (finding.figure[0] != 0)
        finder_add(finder, &finding);
}

void finding_retry_flush_find(struct finder *finder) {
    struct releases releases;
    struct finding finding = {
        .kind = FINDING_RETRY_FLUSH, .confidence = CONFIDENCE_CERTAIN, .from_moment = UINT32_MAX};
    if (!trace_has_allocations(finder->timeline->trace)) {
        counted_find(finder);
        return;
    }
    if (!releases_of(finder, &releases))
        return;
    /* without stacks in backward, a retry's flush looks like one of the program */
    if (finder->verdicts->runs.stacks != STACKS_PYTHON || releases.count == 0)
        finder->looked[FINDING_RETRY_FLUSH] = finder->timeline->device->n_segment_events;
    for (uint32_t i = 0; i < releases.count; i++) {
        const struct release_group *group = &releases.group[i];
        if (!is_retry(finder, group))
            continue;
        finding.figure[0]++;
        finding.figure[1] += group->bytes;
        finding.figure[3] += group->out_of_memory;
        finding.from_moment = finding.from_moment == UINT32_MAX ? group->event + 1 : finding.from_moment;
        finding.to_moment = group->event + group->count;
        if (group->bytes < finding.figure[2])
            continue;
        finding.figure[2] = group->bytes;
        finding.at_moment = group->event + group->count;
        finding.site = finder->timeline->site[group->stack];
        finding.stack = group->stack;
    }
    finding.severity = finding.figure[3] != 0 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    finding.bytes = finding.figure[1];
    finding.count = (uint32_t)finding.figure[0];
    if (finding.figure[0] != 0)
        finder_add(finder, &finding);
}

void finding_retry_flush_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == RETRIES_COUNTED)
        TELL(telling, "near miss: %n allocation %(retry|retries), by the log", finding->figure[0]);
    else
        TELL(telling, "one request emptied the cache: %b given back", finding->figure[2]);
}

void finding_retry_flush_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == RETRIES_COUNTED) {
        tell(telling, "The driver refused requests, so PyTorch gave its cache back and tried again; "
                      "each time it waits for the GPU. How much that was is not printed.");
        return;
    }
    tell(telling, "The driver refused a request, so PyTorch gave its cache back");
    if (finding->figure[0] > 1)
        TELL(telling, ", %n times (%b in all), and waited for the GPU each time.", finding->figure[0],
             finding->figure[1]);
    else
        tell(telling, " and waited for the GPU.");
    if (finding->figure[3] != 0 && finding->figure[3] < finding->figure[0])
        TELL(telling, " %n of these %(was|were) not enough: an out-of-memory error follows.",
             finding->figure[3]);
    else
        tell(telling, finding->figure[3] != 0 ? " It was not enough: an out-of-memory error follows."
                                              : " If that is not enough, the run fails.");
    if (finding->site != 0)
        tell(telling, finding->figure[0] > 1 ? " The largest was for %S." : " It was for %S.");
}

/* ---- cache_churn: figure [0] groups, [1] bytes given back, [2] bytes asked for again ---- */

/* The bytes that a group gave back and that are requested from the driver again before the next group. */
static uint64_t taken_again(const struct device_trace *device, const struct release_group *group,
                            uint32_t end) {
    uint64_t bytes = 0;
    for (uint32_t i = group->first + group->count; i < end; i++) {
        uint8_t change = device->segment_events[i].change;
        bytes += change == SEGMENT_ALLOC || change == SEGMENT_MAP ? device->segment_events[i].size : 0;
    }
    return bytes < group->bytes ? bytes : group->bytes;
}

void finding_cache_churn_find(struct finder *finder) {
    const struct device_trace *device = finder->timeline->device;
    struct releases releases;
    struct finding finding = {
        .kind = FINDING_CACHE_CHURN, .confidence = CONFIDENCE_CERTAIN, .from_moment = UINT32_MAX};
    if (!releases_of(finder, &releases))
        return;
    for (uint32_t i = 0; i < releases.count; i++) {
        const struct release_group *group = &releases.group[i];
        uint32_t end = i + 1 < releases.count ? releases.group[i + 1].first : device->n_segment_events;
        if (group->cause != RELEASE_EXPLICIT || is_retry(finder, group))
            continue;
        finding.figure[0]++;
        finding.figure[1] += group->bytes;
        finding.figure[2] += taken_again(device, group, end);
        finding.from_moment = finding.from_moment == UINT32_MAX ? group->event + 1 : finding.from_moment;
        finding.to_moment = finding.at_moment = group->event + group->count;
        finding.site = finder->timeline->site[group->stack];
        finding.stack = group->stack;
    }
    if (finding.figure[0] < 3 || finding.figure[2] < finding.figure[1] / 2)
        return;
    finding.severity = finding.figure[0] >= 5 ? SEVERITY_MEDIUM : SEVERITY_LOW;
    finding.bytes = finding.figure[1];
    finding.count = (uint32_t)finding.figure[0];
    finder_add(finder, &finding);
}

void finding_cache_churn_title(struct telling *telling) {
    const uint64_t *figure = telling->finding->figure;
    TELL(telling, "the cache is emptied %n time%s, and %p of it is requested again", figure[0], figure[2],
         figure[1]);
}

void finding_cache_churn_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         "%b were given back to the driver and %b taken again. Each time waits for the GPU and takes time; "
         "live memory is the same without it.",
         finding->figure[1], finding->figure[2]);
    if (finding->site != 0)
        tell(telling, " The last is from %S.");
}

/* ---- private_pool_held: figure [0] free bytes in private pools, [1] bytes reserved by them, [2] pools, [3] bytes
 * reserved in all, at the end ---- */

void finding_private_pool_held_find(struct finder *finder) {
    const struct device_trace *device = finder->timeline->device;
    struct free_blocks_summary free_blocks;
    struct finding finding = {.kind = FINDING_PRIVATE_POOL_HELD,
                              .severity = SEVERITY_LOW,
                              .confidence = CONFIDENCE_CERTAIN,
                              .at_moment = finder->timeline->n_moments - 1,
                              .to_moment = finder->timeline->n_moments - 1};
    if (!free_blocks_find(&free_blocks, device, finder->arena)) {
        finder->failed = true;
        return;
    }
    uint16_t last = POOL_UNKNOWN;
    for (uint32_t i = 0; i < free_blocks.n_groups; i++) {
        const struct free_blocks_group *group = &free_blocks.groups[i];
        if (!pool_is_private(device, group->pool))
            continue;
        finding.figure[0] += group->free_blocks.free_bytes;
        finding.figure[1] += group->free_blocks.reserved_bytes;
        finding.figure[2] += group->pool != last;
        finding.count += group->free_blocks.n_free_blocks;
        last = group->pool;
    }
    finding.figure[3] = free_blocks.all.reserved_bytes;
    finding.bytes = finding.figure[0];
    /* a single pool has none to share with */
    if (finding.figure[2] > 1 && finding.figure[0] >= 64 * MIB &&
        is_percent(finding.figure[0], free_blocks.all.reserved_bytes, 5))
        finder_add(finder, &finding);
}

void finding_private_pool_held_title(struct telling *telling) {
    TELL(telling, "%b are unused in private pools, which nothing else can use", telling->finding->figure[0]);
}

void finding_private_pool_held_detail(struct telling *telling) {
    const uint64_t *figure = telling->finding->figure;
    TELL(telling,
         "%n private pools (CUDA graphs, MemPools) hold %b of the %b that are reserved at the end; %b of "
         "that are not "
         "in use.",
         figure[2], figure[1], figure[3], figure[0]);
}

/* ---- fragmentation: variant 1: at an out-of-memory event; figure [0] unused, [1] reserved, [2] requested, [5] the
 * largest free block, if it is large enough but serves other requests; at the largest gap: [3] holes, [4] tails of
 * expandable segments; 0: unknown ---- */

/* Is the sum of the free blocks of a moment, or of their upper bound, enough for the request? If not, rounding and
 * unsplit remainders take the rest, and no other placement of blocks would have helped. */
static bool blocks_are_enough(struct finder *finder, uint32_t moment, uint64_t asked, uint64_t *larger) {
    const struct device_trace *device = finder->timeline->device;
    struct free_blocks_summary blocks = {0};
    bool exact;
    if (device->n_blocks == 0)
        return true;
    finder->failed |= !free_blocks_at(&blocks, &exact, device, moment, finder->arena);
    *larger = blocks.all.largest_bytes >= asked ? blocks.all.largest_bytes : 0;
    return !finder->failed && blocks.all.free_bytes >= asked;
}

/* The last out-of-memory event at which all free blocks together would have been enough. Only the last few events
 * are examined, because each takes a pass over all allocations. */
enum { FAILURES_LOOKED_AT = 4 };

static bool fragmented_failure(struct finder *finder, struct finding *finding) {
    const struct timeline *timeline = finder->timeline;
    const struct device_trace *device = timeline->device;
    uint32_t looked = 0;
    for (uint32_t i = device->n_ooms; i-- > 0 && looked < FAILURES_LOOKED_AT;) {
        uint32_t moment = device->ooms[i].event + 1;
        uint64_t reserved = timeline_reserved_at(timeline, moment), live = timeline->live[moment];
        if (reserved < live || reserved - live < device->ooms[i].size)
            continue;
        looked++;
        if (!blocks_are_enough(finder, moment, device->ooms[i].size, &finding->figure[5]))
            continue;
        finding->variant = 1;
        finding->severity = SEVERITY_HIGH;
        finding->from_moment = finding->to_moment = finding->at_moment = moment;
        finding->figure[0] = reserved - live;
        finding->figure[1] = reserved;
        finding->figure[2] = device->ooms[i].size;
        return true;
    }
    return false;
}

void finding_fragmentation_find(struct finder *finder) {
    const struct timeline *timeline = finder->timeline;
    const struct device_trace *device = timeline->device;
    struct finding finding = {
        .kind = FINDING_FRAGMENTATION, .severity = SEVERITY_LOW, .confidence = CONFIDENCE_CERTAIN};
    if (device->n_segments == 0 || timeline->reserved_shift != 0)
        return;
    /* Reserved bytes below the bytes in use are not known completely. */
    finder->looked[FINDING_FRAGMENTATION] =
        timeline->reserved_peak != 0 && timeline->reserved_peak >= timeline->peak_bytes;
    if (!fragmented_failure(finder, &finding)) {
        uint32_t moment = timeline->reserved_peak_moment;
        uint64_t reserved = timeline->reserved_peak, live = timeline->live[moment];
        finding.from_moment = finding.to_moment = finding.at_moment = moment;
        finding.figure[0] = reserved > live ? reserved - live : 0;
        finding.figure[1] = reserved;
        /* If more was live at another moment, the cache holds memory that was once in use. */
        uint64_t beyond = reserved > timeline->peak_bytes ? reserved - timeline->peak_bytes : 0;
        if (!is_percent(beyond, reserved, 25) || beyond < 1024 * MIB)
            return;
        /* Half of it: 89 % of fragment.pickle, 48 % of a profile whose cache does no harm. What was reserved before the
         * first event may have been in use then, as in recordings of few steps (95 %). */
        if (moment != 0 && is_percent(beyond, reserved, 50))
            finding.severity = SEVERITY_HIGH;
    }
    finding.bytes = finding.figure[0];
    finder_add(finder, &finding);
}

void finding_fragmentation_title(struct telling *telling) {
    const uint64_t *figure = telling->finding->figure;
    if (telling->finding->variant == 1)
        TELL(telling, "%b are reserved and not in use, yet %b could not be allocated", figure[0], figure[2]);
    else
        TELL(telling, "%b were reserved and not in use", figure[0]);
}

void finding_fragmentation_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    const uint64_t *figure = finding->figure;
    if (finding->variant == 1) {
        TELL(telling, "When the request failed, %b were reserved, enough for it in total, but no free block ",
             figure[1]);
        tell(telling,
             figure[5] == 0 ? "was large enough." : "of its pool, stream and size class was large enough.");
    } else {
        TELL(telling,
             finding->at_moment == 0
                 ? "Already before the first event %b were reserved while %b were in use; "
                   "never were more than %b."
                 : "Reserved rose to %b while %b were in use; never were more than %b.",
             figure[1], figure[1] - figure[0], telling->verdicts->timeline->peak_bytes);
    }
}
