/*
 * Findings about the recording itself: it ran out of memory, it stops at its highest moment, it began late.
 */
#include "analysis/findings/finder.h"
#include "analysis/findings/log_oom.h"
#include "layout/site.h"

enum { OOM_OBSERVED, OOM_COUNTED, OOM_POSSIBLE, OOM_SURVIVED };

/* ---- out_of_memory ---- */

/* A summary in a log only counts errors. */
static void counted_find(struct finder *finder) {
    struct finding finding = {.kind = FINDING_OUT_OF_MEMORY,
                              .severity = SEVERITY_HIGH,
                              .confidence = CONFIDENCE_CERTAIN,
                              .variant = OOM_COUNTED};
    finding.oom.n_events = finder_counted(finder, NOTE_OOM_COUNT, &finding);
    if (finding.oom.n_events != 0)
        finder_add(finder, &finding);
}

/* Does a log show that the run went on: does a line after the event name a step, or was the message a warning before
 * another try? A kill whose reason is not known is one of several possibilities. */
static void judge_logged(struct finding *finding, const struct device_trace *device, uint32_t event) {
    bool possible = false, went_on = false;
    for (uint32_t i = 0; i < device->n_notes; i++) {
        const struct note *note = &device->notes[i];
        possible |= note->event == event && note->what == NOTE_POSSIBLE;
        went_on |= (note->event == event && note->what == NOTE_RETRIED) ||
                   (note->event > event && note->what == NOTE_STEP);
    }
    if (possible) {
        finding->variant = OOM_POSSIBLE;
        finding->confidence = CONFIDENCE_POSSIBLE;
        finding->severity = SEVERITY_MEDIUM;
    } else if (went_on) {
        finding->variant = OOM_SURVIVED;
        finding->severity = SEVERITY_LOW;
    }
}

static void out_of_memory_find(struct finder *finder) {
    const struct timeline *timeline = finder->timeline;
    const struct device_trace *device = timeline->device;
    if (device->n_ooms == 0) {
        counted_find(finder);
        return;
    }
    const struct oom_event *last = &device->ooms[device->n_ooms - 1];
    uint32_t moment = last->event + 1;
    struct finding finding = {
        .kind = FINDING_OUT_OF_MEMORY,
        .severity = SEVERITY_HIGH,
        .confidence = CONFIDENCE_CERTAIN,
        .site = timeline->site[last->stack],
        .stack = last->stack,
        .n_sites = last->stack != 0,
        .from_moment = device->ooms[0].event + 1,
        .to_moment = moment,
        .at_moment = moment,
        .oom = {last->size, last->device_free, timeline_reserved_at(timeline, moment), device->n_ooms}};
    finding.bytes = timeline->live[moment];
    finding.count = timeline_alive_count(timeline, moment);
    if (!trace_has_allocations(timeline->trace))
        judge_logged(&finding, device, last->event);
    finder_add(finder, &finding);
}

static void out_of_memory_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == OOM_COUNTED) {
        TELL(telling, "%n out-of-memory error%s, by a summary in the log", finding->oom.n_events);
        return;
    }
    if (finding->variant == OOM_POSSIBLE) {
        tell(telling, "possibly out of memory, by the log");
        return;
    }
    if (finding->oom.requested == OOM_UNKNOWN) {
        tell(telling, "out of memory, by the log");
        return;
    }
    tell(telling,
         finding->variant == OOM_SURVIVED ? "out of memory, and the run went on: " : "out of memory: ");
    if (finding->oom.device_free == OOM_UNKNOWN) {
        TELL(telling, "%b requested", finding->oom.requested);
        return;
    }
    if (finding->oom.device_free == 0)
        TELL(telling, "%b requested, nothing", finding->oom.requested);
    else
        log_oom_tell_both(telling->words, finding->oom.requested, " requested, ", finding->oom.device_free);
    tell(telling, " free on the ");
    tell(telling, device_noun(telling->verdicts->timeline->trace, telling->verdicts->timeline->device));
}

static void tell_last_of(struct telling *telling) {
    if (telling->finding->oom.n_events > 1)
        TELL(telling, " It is the last of %n such events.", telling->finding->oom.n_events);
}

/* Writes the facts of a log's message. */
static void tell_logged(struct telling *telling) {
    const struct timeline *timeline = telling->verdicts->timeline;
    struct log_oom_facts facts;
    char site[512] = "";
    uint32_t length = 0;
    log_oom_facts_of(&facts, timeline->device, telling->finding->at_moment - 1);
    if (telling->finding->site != 0)
        length = site_text(timeline->trace, telling->finding->site, site, sizeof site);
    length = length < sizeof site ? length : (uint32_t)sizeof site - 1;
    log_oom_tell(telling->words, timeline->trace, &facts, device_noun(timeline->trace, timeline->device),
                 (struct text){(const uint8_t *)site, length},
                 log_oom_site_is_own(timeline->trace, telling->finding->site));
}

static void out_of_memory_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == OOM_COUNTED) {
        tell(telling, "Counted since the process began; requested and free bytes are not printed.");
        return;
    }
    if (!trace_has_allocations(telling->verdicts->timeline->trace)) {
        tell_logged(telling);
        tell_last_of(telling);
        return;
    }
    if (finding->site != 0)
        tell(telling, "Requested by %S. ");
    TELL(telling, finding->bytes == 0 ? "Nothing was in use" : "%b were in use", finding->bytes);
    if (finding->oom.reserved >= finding->bytes && finding->oom.reserved != 0)
        TELL(telling, ", %b reserved", finding->oom.reserved);
    tell(telling, ".");
    tell_last_of(telling);
}

const struct kind kind_out_of_memory = {KIND(out_of_memory), "Out of memory", .flags = KIND_OF_LEVELS};

/* ---- stops_at_peak: variant: what ended the recording ---- */

enum { ENDED_SOMEHOW, ENDED_BY_OOM, ENDED_BY_OTHERS_OOM };

/* What ended the recording? It usually ends on all devices when one runs out of memory. */
static uint8_t ended_by(const struct timeline *timeline) {
    const struct trace *trace = timeline->trace;
    if (timeline->device->n_ooms != 0)
        return ENDED_BY_OOM;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].n_ooms != 0)
            return ENDED_BY_OTHERS_OOM;
    return ENDED_SOMEHOW;
}

enum { EVENTS_LEAST = 50 };

static void stops_at_peak_find(struct finder *finder) {
    const struct timeline *timeline = finder->timeline;
    uint64_t start = timeline->start_bytes, peak = timeline->peak_bytes;
    if (timeline->device->n_events < EVENTS_LEAST || peak - start <= start / 100)
        return;
    for (uint32_t m = timeline->peak_moment; m < timeline->n_moments; m++)
        if (peak - timeline->live[m] > peak / 100)
            return;
    struct finding finding = {.kind = FINDING_STOPS_AT_PEAK,
                              .severity = SEVERITY_INFO,
                              .confidence = CONFIDENCE_CERTAIN,
                              .variant = ended_by(timeline),
                              .bytes = peak,
                              .count = timeline->live_at_peak,
                              .from_moment = timeline->peak_moment,
                              .to_moment = timeline->n_moments - 1,
                              .at_moment = timeline->peak_moment};
    finder_add(finder, &finding);
}

/* Is the peak before the last fiftieth of the events? */
static bool peak_is_earlier(const struct telling *telling) {
    const struct timeline *timeline = telling->verdicts->timeline;
    return timeline->n_moments - timeline->peak_moment > timeline->n_moments / 50 + 1;
}

static void stops_at_peak_title(struct telling *telling) {
    tell(telling, peak_is_earlier(telling) ? "the recording ends within 1 % of its highest moment"
                                           : "the recording ends at its highest moment");
}

static void stops_at_peak_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    uint64_t start = telling->verdicts->timeline->start_bytes;
    tell(telling, "Memory rises from ");
    TELL(telling, start == 0 ? "nothing" : "%b", start);
    TELL(telling, " to %b and falls by at most 1 % of that until the recording ends", finding->bytes);
    if (finding->variant == ENDED_BY_OOM)
        tell(telling, ", where memory ran out: the request that failed would have come on top.");
    else if (finding->variant == ENDED_BY_OTHERS_OOM)
        tell(telling, ". Another GPU ran out of memory: how much this one would have needed is not known.");
    else
        tell(telling, ": what came after it may have been higher.");
}

static struct advice stops_at_peak_advise(const struct telling *telling) {
    bool somehow = telling->finding->variant == ENDED_SOMEHOW;
    return (struct advice){
        .action = somehow ? "Dump after a step is complete, or in an out-of-memory observer." : NULL};
}

const struct kind kind_stops_at_peak = {KIND(stops_at_peak), "Stops at its peak",
                                        .advise = stops_at_peak_advise};

/* ---- starts_late ---- */

static bool origin_is_known(const struct allocations *allocations, uint32_t allocation) {
    return allocations->stack[allocation] != 0 &&
           (allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE) == 0;
}

static void starts_late_find(struct finder *finder) {
    const struct timeline *timeline = finder->timeline;
    struct finding finding = {.kind = FINDING_STARTS_LATE,
                              .severity = SEVERITY_INFO,
                              .confidence = CONFIDENCE_CERTAIN,
                              .at_moment = timeline->peak_moment,
                              .to_moment = timeline->n_moments - 1};
    for (uint32_t i = 0; i < finder->allocations->preexisting; i++) {
        uint64_t before = finding.bytes;
        finder_count(finder, &finding, i);
        if (!origin_is_known(finder->allocations, i))
            finding.without_origin += finding.bytes - before;
    }
    if (timeline->device->n_events > 0 && is_percent(finding.bytes, timeline->peak_bytes, 25))
        finder_add(finder, &finding);
}

static void starts_late_title(struct telling *telling) {
    uint64_t older = telling->finding->bytes, peak = telling->verdicts->timeline->peak_bytes;
    TELL(telling,
         older == peak ? "the whole peak is older than the recording"
                       : "%p of the peak is older than the recording",
         older, peak);
}

static void tell_origin(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         finding->without_origin == 0
             ? " were there before the first event, and when they were made is not known."
         : finding->without_origin == finding->bytes
             ? " were there before the first event, and where they come from is not known."
             : " were there before the first event, and where %b of them come from is not "
               "known.",
         finding->without_origin);
}

static void starts_late_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "%b", finding->bytes);
    if (telling->verdicts->timeline->trace->kind != TRACE_KINETO) /* its running total has no count */
        TELL(telling, " in %n allocation%s", finding->count);
    tell_origin(telling);
}

static struct advice starts_late_advise(const struct telling *telling) {
    if (!trace_has_segments(telling->verdicts->timeline->trace))
        return (struct advice){.action = "Begin the profile before the model is made."};
    const struct timeline *timeline = telling->verdicts->timeline;
    const struct trace *trace = timeline->trace;
    for (uint32_t i = 0; i < trace->n_diagnostics; i++)
        if (text_is(trace_text(trace, trace->diagnostics[i].code), "overflow") &&
            diagnostic_concerns(&trace->diagnostics[i], timeline->device->ordinal))
            return (struct advice){.action = "Events were lost because the history was full: record with a "
                                             "larger max_entries, or fewer steps."};
    return (struct advice){
        .action =
            "Call torch.cuda.memory._record_memory_history(max_entries=1000000) before the model is made.",
        "torch.cuda.memory._record_memory_history(max_entries=1000000)"};
}

const struct kind kind_starts_late = {KIND(starts_late), "Starts late", .flags = KIND_OF_SET,
                                      .advise = starts_late_advise};
