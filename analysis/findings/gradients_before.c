/* Gradients of the step before the recording that are alive while its forward runs: zero_grad came too late, or not
 * at all. */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"

enum { BEHIND = 8 };

/* The first moment of a backward after a moment; the end if there is none. */
static uint32_t backward_after(const struct finder *finder, uint32_t moment) {
    const struct allocations *allocations = finder->allocations;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        if (allocations->birth[i] > moment && finder_side(finder, i) == SIDE_BACKWARD)
            return allocations->birth[i];
    return finder->timeline->n_moments;
}

static enum finding_confidence confidence_of(const struct finder *finder, bool zeroed) {
    bool stepped = phase_runs_has(&finder->verdicts->runs, SIDE_OPTIMIZER) &&
                   phase_runs_has(&finder->verdicts->runs, SIDE_BACKWARD);
    return zeroed ? CONFIDENCE_CERTAIN : stepped ? CONFIDENCE_LIKELY : CONFIDENCE_POSSIBLE;
}

void finder_gradients_before(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint32_t forward = finder_first_forward(finder);
    uint64_t peak = finder->timeline->peak_bytes;
    bool zeroed = false;
    if (forward == UINT32_MAX)
        return;
    uint32_t first = allocations->preexisting + recorded_from(&finder->verdicts->runs, forward),
             backward = backward_after(finder, forward);
    if (allocations->count - first <= BEHIND)
        return;
    struct finding finding = {.kind = FINDING_GRADIENTS_KEPT,
                              .variant = KEPT_BEFORE,
                              .from_moment = forward,
                              .to_moment = forward,
                              .at_moment = forward};
    for (uint32_t i = 0; i < allocations->preexisting; i++) {
        uint32_t let_go = allocations->request[i];
        if (finder->verdicts->category[i] != CATEGORY_GRADIENT ||
            let_go <= allocations->birth[first + BEHIND])
            continue;
        bool of_free = (allocations->flags[i] & ALLOCATION_STACK_OF_FREE) != 0;
        uint32_t bits = of_free ? finder->verdicts->runs.stack_bits[allocations->stack[i]] : 0;
        zeroed |= (bits & BIT_ZERO_GRAD) && let_go < backward;
        finder_count(finder, &finding, i);
        finder_remove(finder, i, forward,
                      allocations->death[i] < backward ? allocations->death[i] : backward);
        finding.to_moment = let_go > finding.to_moment ? let_go : finding.to_moment;
    }
    finder_saves(finder, &finding);
    if (finding.to_moment >= finder->timeline->n_moments)
        finding.to_moment = finder->timeline->n_moments - 1;
    finding.confidence = (uint8_t)confidence_of(finder, zeroed);
    finding.severity = finding.confidence == CONFIDENCE_POSSIBLE
                           ? SEVERITY_LOW
                           : (uint8_t)severity_of_saving(finding.saves, peak);
    if (finding.bytes != 0 && finding.bytes >= peak / 1000)
        finder_add(finder, &finding);
}
