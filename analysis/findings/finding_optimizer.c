/*
 * The temporaries of an optimizer's step, if they make the peak.
 * The variant of optimizer_temporaries is an enum finding_way.
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"

static bool peak_is_optimizers(const struct finder *finder) {
    const struct timeline *timeline = finder->timeline;
    uint32_t behind = recorded_from(&finder->verdicts->runs, timeline->peak_moment + 1);
    return behind > 0 && finder_side(finder, finder->allocations->preexisting + behind - 1) == SIDE_OPTIMIZER;
}

static enum finding_way way_of(const struct finder *finder, uint32_t allocation) {
    uint32_t bits = finder->verdicts->runs.stack_bits[finder->allocations->stack[allocation]];
    return bits & BIT_FOREACH ? WAY_FOREACH : bits & BIT_SINGLE ? WAY_SINGLE : WAY_OWN;
}

/* Takes temporaries out of the curve, and counts those at the peak by how the optimizer goes over the parameters. */
static void temporaries_remove(struct finder *finder, struct finding *finding, uint64_t of_way[WAYS]) {
    const struct allocations *allocations = finder->allocations;
    uint64_t largest = 0;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        uint64_t before = finding->bytes;
        if (finder_side(finder, i) != SIDE_OPTIMIZER || finder->verdicts->category[i] != CATEGORY_TEMPORARY)
            continue;
        finder_remove(finder, i, allocations->birth[i], allocations->death[i]);
        finder_count(finder, finding, i);
        if (finding->bytes == before)
            continue;
        of_way[way_of(finder, i)] += allocations->size[i];
        if (allocations->size[i] <= largest)
            continue;
        largest = allocations->size[i];
        finding->site = finder_site(finder, i);
        finding->stack = allocations->stack[i];
    }
}

static void optimizer_temporaries_find(struct finder *finder) {
    uint32_t peak_moment = finder->timeline->peak_moment;
    uint64_t of_way[WAYS] = {0}, peak = finder->timeline->peak_bytes;
    struct finding finding = {.kind = FINDING_OPTIMIZER_TEMPORARIES,
                              .confidence = CONFIDENCE_CERTAIN,
                              .severity = SEVERITY_MEDIUM,
                              .from_moment = peak_moment,
                              .to_moment = peak_moment,
                              .at_moment = peak_moment};
    if (!peak_is_optimizers(finder))
        return;
    temporaries_remove(finder, &finding, of_way);
    finder_saves(finder, &finding);
    for (uint32_t way = 1; way < WAYS; way++)
        finding.variant = of_way[way] > of_way[finding.variant] ? (uint8_t)way : finding.variant;
    if (is_percent(finding.saves, peak, 3)) /* PyTorch's default, so never high */
        finder_add(finder, &finding);
}

static void optimizer_temporaries_title(struct telling *telling) {
    TELL(telling, "The optimizer's temporaries (%b) make the peak; without them it would be %b",
         telling->finding->bytes, telling_peak_left(telling));
}

static void optimizer_temporaries_detail(struct telling *telling) {
    TELL(telling,
         "%n allocation%s of the optimizer's step, which %(is gone when it ends, is|are gone when it ends, "
         "are) "
         "alive at the peak.",
         telling->finding->count);
    tell_saving(telling, "Without them:");
}

static struct advice optimizer_temporaries_advise(const struct telling *telling) {
    static const struct advice of_way[WAYS] = {
        [WAY_FOREACH] = {"Make the optimizer with fused=True, or with foreach=False (slower): foreach makes "
                         "temporaries for all parameters at once.",
                         "fused=True  # an argument of the optimizer", 0},
        [WAY_SINGLE] = {"Make the optimizer with fused=True.", "fused=True  # an argument of the optimizer",
                        0},
        [WAY_OWN] = {
            "Write the step in place (add_, addcdiv_, mul_) and free each parameter's temporaries before "
            "the next.",
            NULL, 0}};
    return of_way[telling->finding->variant];
}

const struct kind kind_optimizer_temporaries = {KIND(optimizer_temporaries), "Optimizer's temporaries",
                                                .flags = KIND_OF_SET, .advise = optimizer_temporaries_advise};

const char *const finding_way_name[] = {
    [WAY_FOREACH] = "foreach", [WAY_SINGLE] = "single", [WAY_OWN] = "own"};
