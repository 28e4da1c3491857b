/*
 * The 16-bit copies of weights that autocast keeps until its region ends. variant 1: a backward was recorded, and needs
 * them.
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"

/* Allocations of an operator, within which it is done with a copy. */
enum { BEHIND = 4 };

/* Without a backward each copy is needed until its operator is done. */
static void copies_remove(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint32_t next = UINT32_MAX;
    for (uint32_t i = allocations->count; i-- > allocations->preexisting;) {
        if (finder->verdicts->category[i] != CATEGORY_WEIGHT_COPY)
            continue;
        uint32_t behind = i + BEHIND < allocations->count ? i + BEHIND : UINT32_MAX,
                 at = next < behind ? next : behind;
        if (at != UINT32_MAX)
            finder_remove(finder, i, allocations->birth[at], allocations->death[i]);
        next = i;
    }
}

void finding_autocast_copies_find(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint64_t peak = finder->timeline->peak_bytes;
    struct finding finding = {.kind = FINDING_AUTOCAST_COPIES,
                              .confidence = CONFIDENCE_LIKELY,
                              .from_moment = UINT32_MAX,
                              .at_moment = finder->timeline->peak_moment,
                              .variant = phase_runs_has(&finder->verdicts->runs, SIDE_BACKWARD)};
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        if (finder->verdicts->category[i] != CATEGORY_WEIGHT_COPY ||
            (finder->verdicts->runs.stack_bits[allocations->stack[i]] & BIT_GATHER))
            continue;
        finder_count(finder, &finding, i);
        finding.from_moment = finding.from_moment == UINT32_MAX ? allocations->birth[i] : finding.from_moment;
        finding.to_moment = allocations->birth[i];
    }
    if (!is_percent(finding.bytes, peak, 1))
        return;
    if (finding.variant == 0) {
        copies_remove(finder);
        finder_saves(finder, &finding);
        finding.severity = is_percent(finding.saves, peak, 3) ? SEVERITY_MEDIUM : SEVERITY_LOW;
    }
    finder_add(finder, &finding);
}

void finding_autocast_copies_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "%b at the peak are 16-bit copies of the weights that autocast made", finding->bytes);
    if (finding->saves_known)
        TELL(telling, "; without them it would be %b", telling_peak_left(telling));
}

void finding_autocast_copies_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         "%n %(copy of a weight in 16 bits is|copies of weights in 16 bits are) alive at the peak: autocast "
         "keeps them until its region ends, unless cache_enabled=False.",
         finding->count);
    if (finding->variant == 1)
        tell(telling, " The backward pass needs them: they are the price of autocast over 32-bit weights.");
    tell_saving(telling, "Without them:");
}
