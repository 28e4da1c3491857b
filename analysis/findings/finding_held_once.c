/*
 * Held over in one pass: memory from before the recording that is freed while the forward runs, before any
 * backward. It is the result of the previous pass, with its graph if there was one.
 *
 *     the pass before    |---- result and graph ------|
 *     this one                    F F F F F F F F F F F F
 *                                 ^ begins            ^ let go
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"

enum { GRAPH_LEAST = 8, FORWARDS_MANY = 64 };

/* The stretch in which frees count: after half of the forward's allocations, or 64 of them, and before any
 * backward. */
struct stretch {
    uint32_t begin, from, to; /* moments; begin: of the first forward */
};

static bool stretch_find(const struct finder *finder, struct stretch *stretch) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    const struct allocations *allocations = finder->allocations;
    uint32_t n = 0, behind = 0;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        n += runs->letter[i] == PHASE_FORWARD;
    uint32_t wanted = (n + 1) / 2 < FORWARDS_MANY ? (n + 1) / 2 : FORWARDS_MANY;
    *stretch = (struct stretch){finder_first_forward(finder), UINT32_MAX, finder->timeline->n_moments};
    for (uint32_t i = allocations->preexisting; n > 0 && i < allocations->count && behind < wanted; i++)
        if (runs->letter[i] == PHASE_FORWARD && ++behind == wanted)
            stretch->from = allocations->birth[i];
    for (uint32_t r = runs->count; r-- > 0;)
        if (runs->run[r].side == SIDE_BACKWARD)
            stretch->to = allocations->birth[runs->first_allocation + runs->run[r].first];
    return n > 0;
}

static bool is_held(const struct finder *finder, const struct stretch *stretch, uint32_t allocation) {
    static const uint32_t others = BIT_ZERO_GRAD | BIT_BACKWARD | BIT_OPTIMIZER | BIT_FORWARD;
    const struct allocations *allocations = finder->allocations;
    uint32_t let_go = allocations->request[allocation];
    uint8_t category = finder->verdicts->category[allocation];
    bool of_free = (allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE) != 0;
    if (let_go >= finder->timeline->n_moments || let_go <= stretch->from || let_go >= stretch->to ||
        category == CATEGORY_PARAMETER || category == CATEGORY_GRADIENT ||
        category == CATEGORY_OPTIMIZER_STATE || category == CATEGORY_WORKSPACE ||
        (finder->verdicts->older.exits && let_go > finder->made) ||
        (of_free && (finder->verdicts->runs.stack_bits[allocations->stack[allocation]] & others)))
        return false;
    uint32_t behind = recorded_from(&finder->verdicts->runs, finder->timeline, let_go);
    return finder_side(finder, allocations->preexisting + behind - 1) == SIDE_FORWARD;
}

void finder_held_once(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint64_t largest = 0, peak = finder->timeline->peak_bytes;
    struct stretch stretch;
    if (finder->verdicts->turns.count >= 2 || !stretch_find(finder, &stretch))
        return;
    struct finding finding = {.kind = FINDING_HELD_OVER,
                              .variant = HELD_ONCE,
                              .from_moment = stretch.begin,
                              .to_moment = stretch.begin,
                              .at_moment = stretch.begin};
    for (uint32_t i = 0; i < allocations->preexisting; i++) {
        if (!is_held(finder, &stretch, i))
            continue;
        finder_remove(finder, i, stretch.begin, allocations->death[i]);
        finder_count(finder, &finding, i);
        finding.to_moment =
            allocations->request[i] > finding.to_moment ? allocations->request[i] : finding.to_moment;
        if (allocations->size[i] <= largest)
            continue;
        largest = allocations->size[i];
        finding.site = finder_site(finder, i);
        finding.stack = allocations->stack[i];
        finding.n_sites = finding.site != 0;
    }
    finder_saves(finder, &finding);
    bool graph = finding.n_sites + finding.count > 0 && finding.count > GRAPH_LEAST;
    finding.severity = (uint8_t)severity_of_saving(finding.saves, peak);
    finding.confidence = graph ? CONFIDENCE_LIKELY : CONFIDENCE_POSSIBLE;
    if (!graph)
        finding.severity = SEVERITY_LOW;
    if (!is_percent(finding.saves, peak, 1))
        return;
    finder->graph_held = graph;
    finding.figure[0] = graph;
    finder_add(finder, &finding);
}

void tell_held_once(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         finding->figure[0]
             ? "The previous result and its graph (%b) are still held while the next forward runs"
             : "A result of the previous pass (%b) is still held while the next forward runs",
         finding->bytes);
    if (finding->site != 0)
        tell(telling, " until %S");
    TELL(telling, "; freed earlier, the peak would be %b", telling_peak_left(telling));
}

void tell_held_once_more(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         "%n allocation%s %(is|are) older than the recording. %(It is|They are) freed before any backward, "
         "but "
         "only after half of this forward or 64 of its allocations.",
         finding->count);
    if (!finding->figure[0])
        tell(telling, " A state that is passed on to the next pass looks the same.");
    tell_saving(telling, "Dropped before the forward:");
}
