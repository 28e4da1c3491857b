/*
 * Offloading: in one step, pinned host memory of the same size was made while a GPU's allocation was in use, and it
 * stays when that allocation is freed. Memory pinned by a data loader is copied the other way.
 *
 * offloaded: `site` is the GPU's; figure [0] frame of the host's, [1] how many pairs, [2] their bytes.
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"
#include "base/search.h"

enum { LOOKED_BACK = 256 }; /* how many allocations of one size before a moment are examined */

struct pairing {
    struct finder *finder;
    const struct device_trace *host;
    struct sort_row *order; /* the GPU's recorded allocations by size, then by birth */
    uint32_t n;
    uint64_t *paired; /* bitmap of these */
    struct sort_row *pair;
    uint32_t n_pairs; /* by the call sites of both sides; value: the GPU's allocation */
};

static int64_t us_at(const struct device_trace *device, uint32_t moment) {
    return moment <= device->n_events ? device->time_us[moment - 1] : INT64_MAX;
}

static int64_t birth_us(const struct device_trace *device, uint32_t allocation) {
    return us_at(device, device->allocations.birth[allocation]);
}

static int64_t death_us(const struct device_trace *device, uint32_t allocation) {
    return us_at(device, device->allocations.death[allocation]);
}

/* Without known steps the whole recording counts as one. */
static bool is_of_step(const struct finder *finder, uint32_t allocation, int64_t us) {
    const struct turns *turns = &finder->verdicts->turns;
    uint32_t turn = turns->count != 0 ? finder_turn(finder, allocation) : 0;
    return turns->count == 0 ||
           (turn < turns->count && us < us_at(finder->timeline->device, turns->turn[turn].end_moment));
}

/* The latest GPU allocation that this host allocation can be a copy of; UINT32_MAX: none. */
static uint32_t original_of(const struct pairing *pairing, uint32_t copy) {
    const struct device_trace *device = pairing->finder->timeline->device;
    const struct sort_row *order = pairing->order;
    uint64_t size = pairing->host->allocations.size[copy];
    int64_t made_us = birth_us(pairing->host, copy), freed_us = death_us(pairing->host, copy);
    uint32_t low =
        SEARCH(0, pairing->n, i,
               order[i].key < size || (order[i].key == size && birth_us(device, order[i].value) <= made_us));
    for (uint32_t back = 0; low > 0 && back < LOOKED_BACK && order[low - 1].key == size; back++, low--) {
        uint32_t allocation = order[low - 1].value;
        int64_t given_back_us = death_us(device, allocation);
        if (given_back_us > made_us && given_back_us < freed_us &&
            (pairing->paired[allocation / 64] >> allocation % 64 & 1) == 0 &&
            is_of_step(pairing->finder, allocation, made_us))
            return allocation;
    }
    return UINT32_MAX;
}

static void pairs_fill(struct pairing *pairing) {
    const struct finder *finder = pairing->finder;
    const struct allocations *copies = &pairing->host->allocations;
    for (uint32_t i = copies->preexisting; i < copies->count; i++) {
        bool loaded = (finder->verdicts->runs.stack_bits[copies->stack[i]] & BIT_DATA) != 0;
        uint32_t original = loaded ? UINT32_MAX : original_of(pairing, i);
        if (original == UINT32_MAX)
            continue;
        pairing->paired[original / 64] |= UINT64_C(1) << original % 64;
        uint64_t sites =
            (uint64_t)finder_site(finder, original) << 32 | finder->timeline->site[copies->stack[i]];
        pairing->pair[pairing->n_pairs++] = (struct sort_row){sites, original};
    }
}

/* Reports pairs of one call site of the GPU and one of the host. */
static void pairs_report(struct finder *finder, const struct sort_row *pair, uint32_t n) {
    const struct allocations *allocations = finder->allocations;
    bool steps = finder->verdicts->turns.count != 0;
    struct finding finding = {.kind = FINDING_OFFLOADED,
                              .severity = SEVERITY_INFO,
                              .confidence = n > 2 ? CONFIDENCE_LIKELY : CONFIDENCE_POSSIBLE,
                              .unit = (uint8_t)(steps ? finder_unit(finder) : UNIT_NONE),
                              .site = (uint32_t)(pair->key >> 32),
                              .stack = allocations->stack[pair->value],
                              .n_sites = 1,
                              .from_moment = allocations->birth[pair->value],
                              .figure = {pair->key & UINT32_MAX, n}};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t birth = allocations->birth[pair[i].value];
        finding.figure[2] += allocations->size[pair[i].value];
        finding.at_moment = birth > finding.at_moment ? birth : finding.at_moment;
    }
    finding.to_moment = finding.at_moment;
    for (uint32_t i = 0; i < n; i++)
        finder_count(finder, &finding, pair[i].value);
    if (n > 1 || finding.figure[2] >= MIB) /* a single small pair is chance */
        finder_add(finder, &finding);
}

static void pairing_run(struct pairing *pairing) {
    struct finder *finder = pairing->finder;
    const struct allocations *allocations = finder->allocations;
    uint32_t first = allocations->preexisting, told = 0;
    for (uint32_t i = 0; i < pairing->n; i++)
        pairing->order[i] = (struct sort_row){allocations->size[first + i], first + i};
    sort_rows(pairing->order, pairing->order + pairing->n, pairing->n); /* stable: births rise */
    pairs_fill(pairing);
    struct sort_row *pair = pairing->pair;
    sort_rows(pair, pair + pairing->n, pairing->n_pairs);
    for (uint32_t i = 0, next; i < pairing->n_pairs && told < FINDINGS_OF_KIND; i = next, told++) {
        next = sort_rows_end(pair, pairing->n_pairs, i);
        pairs_report(finder, pair + i, next - i);
    }
}

void finding_offloaded_find(struct finder *finder) {
    const struct device_trace *device = finder->timeline->device;
    struct pairing pairing = {.finder = finder,
                              .host = trace_device(finder->timeline->trace, ORDINAL_HOST),
                              .n = finder->allocations->count - finder->allocations->preexisting};
    if (pairing.host == NULL || device->ordinal < 0 || device->time_us == NULL ||
        pairing.host->time_us == NULL)
        return;
    pairing.paired = arena_bits(finder->arena, finder->allocations->count);
    finder->failed |= !ARENA_COLUMNS(finder->arena, (uint64_t)pairing.n * 2, pairing.order, pairing.pair) ||
                      pairing.paired == NULL;
    if (!finder->failed)
        pairing_run(&pairing);
}

void finding_offloaded_title(struct telling *telling) {
    const uint64_t *figure = telling->finding->figure;
    TELL(telling,
         "%n allocation%s (%b) of %S %(is|are) offloaded: pinned host memory of the same size is made by ",
         figure[1], figure[2]);
    tell_frame(telling, (uint32_t)figure[0]);
}

void finding_offloaded_detail(struct telling *telling) {
    tell(telling, "Each was freed while its copy in pinned host memory stayed. The copy was made ");
    if (telling->finding->unit != UNIT_NONE)
        tell(telling, "within the same %U, ");
    tell(telling,
         "while the allocation was in use. Pairs are matched by size and time: the copying itself is not "
         "recorded.");
}
