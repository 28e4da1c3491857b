/*
 * An incomplete history: the recording's buffer was full, or nothing was recorded.
 *
 * history_full: figure [0] max_entries. no_history: figure [0] bytes, [1] of these with stacks; variant 1: most
 * have them.
 */
#include "analysis/findings/finder.h"

void finding_history_full_find(struct finder *finder) {
    uint64_t most = device_history_full(finder->timeline->device);
    struct finding finding = {.kind = FINDING_HISTORY_FULL,
                              .severity = SEVERITY_INFO,
                              .confidence = CONFIDENCE_LIKELY,
                              .to_moment = finder->timeline->n_moments - 1,
                              .figure = {most}};
    finding.at_moment = finder->timeline->peak_moment;
    if (most != 0)
        finder_add(finder, &finding);
}

void finding_history_full_title(struct telling *telling) {
    TELL(telling,
         "The recording holds exactly %n events and begins in the middle: its buffer was full, and what came "
         "before is lost",
         telling->finding->figure[0]);
}

void finding_history_full_detail(struct telling *telling) {
    tell(telling, "The recording frees memory that was made before its first event, and its number of events "
                  "is a usual max_entries. A full recorder drops the oldest event for each new one.");
}

void finding_no_history_find(struct finder *finder) {
    const struct timeline *timeline = finder->timeline;
    const struct allocations *allocations = finder->allocations;
    struct finding finding = {.kind = FINDING_NO_HISTORY,
                              .severity = SEVERITY_INFO,
                              .confidence = CONFIDENCE_CERTAIN,
                              .at_moment = timeline->peak_moment};
    uint32_t n_blocks = 0;
    if (!trace_has_segments(timeline->trace) || timeline->device->n_events > 1)
        return;
    for (uint32_t i = 0; i < allocations->count; i++) {
        n_blocks += (allocations->flags[i] & ALLOCATION_FROM_BLOCK) != 0;
        finding.figure[0] += allocations->size[i];
        finding.figure[1] += allocations->stack[i] != 0 ? allocations->size[i] : 0;
    }
    finding.variant = is_percent(finding.figure[1], finding.figure[0], 50);
    if (n_blocks >= 2)
        finder_add(finder, &finding);
}

void finding_no_history_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         finding->variant == 1
             ? "Only what is alive at the end is known (%b with stacks): no events were recorded"
             : "Only what is alive at the end is known (%b), without stacks: history was not switched on",
         finding->figure[finding->variant]);
}

void finding_no_history_detail(struct telling *telling) {
    tell(telling,
         telling->finding->variant == 1
             ? "The blocks have stacks, so recording was switched on, but the file has no history of events."
             : "The file has the allocator's state, but not the events that led to it.");
}
