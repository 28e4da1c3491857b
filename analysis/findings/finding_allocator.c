/* Trouble of the allocator: it gave memory back to serve a request, was told to do so again and again, or holds
 * memory that no request can use. */
#include "analysis/findings/finder.h"

#include "analysis/model/free_blocks.h"
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

/* ---- retry_flush ---- */

enum { RETRIES_SEEN, RETRIES_COUNTED };

/* A log's line only counts retries. */
static void counted_find(struct finder *finder) {
    struct finding finding = {.kind = FINDING_RETRY_FLUSH,
                              .severity = SEVERITY_MEDIUM,
                              .confidence = CONFIDENCE_CERTAIN,
                              .variant = RETRIES_COUNTED};
    finding.releases.n = finder_counted(finder, NOTE_RETRIES, &finding);
    if (finding.releases.n != 0)
        finder_add(finder, &finding);
}

static void retry_flush_find(struct finder *finder) {
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
        finding.releases.n++;
        finding.releases.bytes += group->bytes;
        finding.releases.n_ooms += group->out_of_memory;
        finding.from_moment = finding.from_moment == UINT32_MAX ? group->event + 1 : finding.from_moment;
        finding.to_moment = group->event + group->count;
        if (group->bytes < finding.releases.largest)
            continue;
        finding.releases.largest = group->bytes;
        finding.at_moment = group->event + group->count;
        finding.site = finder->timeline->site[group->stack];
        finding.stack = group->stack;
    }
    finding.severity = finding.releases.n_ooms != 0 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    finding.bytes = finding.releases.bytes;
    finding.count = (uint32_t)finding.releases.n;
    if (finding.releases.n != 0)
        finder_add(finder, &finding);
}

static void retry_flush_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == RETRIES_COUNTED)
        TELL(telling, "near miss: %n allocation %(retry|retries), by the log", finding->releases.n);
    else if (finding->releases.n > 1)
        TELL(telling, "the cache was emptied %n times: %b given back", finding->releases.n,
             finding->releases.bytes);
    else
        TELL(telling, "one request emptied the cache: %b given back", finding->releases.largest);
}

static void retry_flush_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == RETRIES_COUNTED) {
        tell(telling, "The driver refused requests, so PyTorch gave its cache back and tried again; "
                      "each time it waits for the GPU. How much that was is not printed.");
        return;
    }
    tell(telling, "The driver refused a request, so PyTorch gave its cache back");
    if (finding->releases.n > 1)
        TELL(telling, ", %n times (%b in all), and waited for the GPU each time.", finding->releases.n,
             finding->releases.bytes);
    else
        tell(telling, " and waited for the GPU.");
    if (finding->releases.n_ooms != 0 && finding->releases.n_ooms < finding->releases.n)
        TELL(telling, " %n of these %(was|were) not enough: an out-of-memory error follows.",
             finding->releases.n_ooms);
    else
        tell(telling, finding->releases.n_ooms != 0 ? " It was not enough: an out-of-memory error follows."
                                                    : " If that is not enough, the run fails.");
    if (finding->site != 0)
        tell(telling, finding->releases.n > 1 ? " The largest was for %S." : " It was for %S.");
}

static struct advice retry_flush_advise(const struct telling *telling) {
    return (struct advice){.action = telling->finding->variant == RETRIES_COUNTED
                                         ? "Record a snapshot to see what made the requests."
                                         : "Lower the peak: strata plan says which changes are enough."};
}

const struct kind kind_retry_flush = {KIND(retry_flush), "Near miss", .flags = KIND_OF_LEVELS | KIND_OF_CACHE,
                                      .advise = retry_flush_advise};

/* ---- cache_churn ---- */

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

static void cache_churn_find(struct finder *finder) {
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
        finding.releases.n++;
        finding.releases.bytes += group->bytes;
        finding.releases.again += taken_again(device, group, end);
        finding.from_moment = finding.from_moment == UINT32_MAX ? group->event + 1 : finding.from_moment;
        finding.to_moment = finding.at_moment = group->event + group->count;
        finding.site = finder->timeline->site[group->stack];
        finding.stack = group->stack;
    }
    if (finding.releases.n < 3 || finding.releases.again < finding.releases.bytes / 2)
        return;
    finding.severity = finding.releases.n >= 5 ? SEVERITY_MEDIUM : SEVERITY_LOW;
    finding.bytes = finding.releases.bytes;
    finding.count = (uint32_t)finding.releases.n;
    finder_add(finder, &finding);
}

static void cache_churn_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "the cache is emptied %n time%s, and %p of it is requested again", finding->releases.n,
         finding->releases.again, finding->releases.bytes);
}

static void cache_churn_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         "%b were given back to the driver and %b taken again. Each time waits for the GPU and takes time; "
         "live memory is the same without it.",
         finding->releases.bytes, finding->releases.again);
    if (finding->site != 0)
        tell(telling, " The last is from %S.");
}

const struct kind kind_cache_churn = {
    KIND(cache_churn), "Cache emptied and refilled", .flags = KIND_OF_CACHE,
    .advice.action = "Take torch.cuda.empty_cache() out of the loop; if nothing calls it, lower the peak."};

/* ---- fragmentation: at the largest gap; variant 1: at an out-of-memory event ---- */

/* Is the sum of the free blocks of a moment, or of their upper bound, enough for the request? If not, rounding and
 * unsplit remainders take the rest, and no other placement of blocks would have helped. */
static bool blocks_are_enough(struct finder *finder, uint32_t moment, uint64_t asked) {
    const struct device_trace *device = finder->timeline->device;
    struct free_blocks_summary blocks = {0};
    bool exact;
    if (device->n_blocks == 0)
        return true;
    finder->failed |= !free_blocks_at(&blocks, &exact, device, moment, finder->arena);
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
        if (!blocks_are_enough(finder, moment, device->ooms[i].size))
            continue;
        finding->variant = 1;
        finding->severity = SEVERITY_HIGH;
        finding->from_moment = finding->to_moment = finding->at_moment = moment;
        finding->fragmentation.unused = reserved - live;
        finding->fragmentation.reserved = reserved;
        finding->fragmentation.requested = device->ooms[i].size;
        return true;
    }
    return false;
}

static void fragmentation_find(struct finder *finder) {
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
        finding.fragmentation.unused = reserved > live ? reserved - live : 0;
        finding.fragmentation.reserved = reserved;
        /* If more was live at another moment, the cache holds memory that was once in use. */
        uint64_t beyond = reserved > timeline->peak_bytes ? reserved - timeline->peak_bytes : 0;
        if (!is_percent(beyond, reserved, 25) || beyond < 1024 * MIB)
            return;
        /* 89 % of fragment.pickle; 54 % of a sampling whose unused graph is the cause, 48 % of a profile whose cache does no
         * harm. What was reserved before the first event may have been in use then, as in recordings of few steps (95 %). */
        if (moment != 0 && is_percent(beyond, reserved, 75))
            finding.severity = SEVERITY_HIGH;
    }
    finding.bytes = finding.fragmentation.unused;
    finder_add(finder, &finding);
}

static void fragmentation_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (telling->finding->variant == 1)
        TELL(telling, "%b are reserved and not in use, yet %b could not be allocated",
             finding->fragmentation.unused, finding->fragmentation.requested);
    else
        TELL(telling, "%b were reserved and not in use", finding->fragmentation.unused);
}

static void fragmentation_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == 1) {
        TELL(telling,
             "When the request failed, %b were reserved, enough for it in total, but no free block of its "
             "pool, stream and size class was large enough.",
             finding->fragmentation.reserved);
    } else {
        TELL(telling,
             finding->at_moment == 0
                 ? "Already before the first event %b were reserved while %b were in use; "
                   "never more than %b was."
                 : "Reserved rose to %b while %b were in use; never more than %b was.",
             finding->fragmentation.reserved, finding->fragmentation.reserved - finding->fragmentation.unused,
             telling->verdicts->timeline->peak_bytes);
    }
}

const struct kind kind_fragmentation = {KIND(fragmentation), "Fragmentation", .flags = KIND_OF_CACHE,
                                        .advice.action =
                                            "Run strata plan: it says what other allocator settings "
                                            "would have reserved, such as expandable_segments."};
