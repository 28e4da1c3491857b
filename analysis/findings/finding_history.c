/*
 * An incomplete history: the recording's buffer was full, or nothing was recorded.
 * The variant of no_history is 1 if most bytes have stacks.
 */
#include "analysis/findings/finder.h"

static void history_full_find(struct finder *finder) {
    uint64_t most = device_history_full(finder->timeline->device);
    struct finding finding = {.kind = FINDING_HISTORY_FULL,
                              .severity = SEVERITY_INFO,
                              .confidence = CONFIDENCE_LIKELY,
                              .to_moment = finder->timeline->n_moments - 1,
                              .max_entries = most};
    finding.at_moment = finder->timeline->peak_moment;
    if (most != 0)
        finder_add(finder, &finding);
}

static void history_full_title(struct telling *telling) {
    TELL(telling,
         "The recording holds exactly %n events and begins in the middle: its buffer was full, and what came "
         "before is lost",
         telling->finding->max_entries);
}

static void history_full_detail(struct telling *telling) {
    tell(telling, "The recording frees memory that was made before its first event, and its number of events "
                  "is a usual max_entries. A full recorder drops the oldest event for each new one.");
}

static struct advice history_full_advise(const struct telling *telling) {
    return (struct advice){
        "Call torch.cuda.memory._record_memory_history(max_entries=%d), or record fewer steps.",
        "torch.cuda.memory._record_memory_history(max_entries=%d)", telling->finding->max_entries * 10};
}

const struct kind kind_history_full = {KIND(history_full), "Recording was full", .flags = KIND_NO_BYTES,
                                       .advise = history_full_advise};

static void no_history_find(struct finder *finder) {
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
        finding.blocks.bytes += allocations->size[i];
        finding.blocks.with_stacks += allocations->stack[i] != 0 ? allocations->size[i] : 0;
    }
    finding.variant = is_percent(finding.blocks.with_stacks, finding.blocks.bytes, 50);
    if (n_blocks >= 2)
        finder_add(finder, &finding);
}

static void no_history_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         finding->variant == 1
             ? "Only what is alive at the end is known (%b with stacks): no allocation or free was recorded"
             : "Only what is alive at the end is known (%b), without stacks: history was not switched on",
         finding->variant == 1 ? finding->blocks.with_stacks : finding->blocks.bytes);
}

static void no_history_detail(struct telling *telling) {
    tell(telling,
         telling->finding->variant == 1
             ? "The blocks have stacks, so recording was switched on, but the file has no history of events."
             : "The file has the allocator's state, but not the events that led to it.");
}

static struct advice no_history_advise(const struct telling *telling) {
    return (struct advice){
        .action = telling->finding->variant == 1
                      ? "Start it with torch.cuda.memory._record_memory_history(max_entries=1000000); "
                        "_record_memory_history(True) is the old form, which keeps no events."
                      : "Call torch.cuda.memory._record_memory_history(max_entries=1000000) before the model "
                        "is made.",
        "torch.cuda.memory._record_memory_history(max_entries=1000000)"};
}

const struct kind kind_no_history = {KIND(no_history), "No events recorded", .flags = KIND_NO_BYTES,
                                     .advise = no_history_advise};
