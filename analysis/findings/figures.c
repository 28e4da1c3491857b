#include "analysis/findings/figures.h"

/* A diagnostic that says that a part of the run is missing. */
static const char *doubt_find(const struct timeline *timeline) {
    static const char *const codes[] = {"truncated",    "damaged",     "overflow",
                                        "history_full", "lost_events", "merged",
                                        "sizes_unread", "misplaced",   "bad_json"};
    const struct trace *trace = timeline->trace;
    for (uint32_t i = 0; i < trace->n_diagnostics; i++)
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
            if (text_is(trace_text(trace, trace->diagnostics[i].code), codes[k]) &&
                diagnostic_concerns(&trace->diagnostics[i], timeline->device->ordinal))
                return codes[k];
    return NULL;
}

/* Bytes that the likely and certain findings add in each step. `*possible`: there are less certain ones too. */
static uint64_t growth_per_step(const struct findings *findings, bool *possible) {
    uint64_t bytes = 0;
    *possible = false;
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->finding[i];
        if (!finding->grows || finding->severity == SEVERITY_INFO)
            continue;
        *possible |= finding->confidence == CONFIDENCE_POSSIBLE;
        bytes += finding->confidence == CONFIDENCE_POSSIBLE ? 0 : finding->per_bytes;
    }
    return bytes;
}

static void growth_find(struct figures *figures, const struct verdicts *verdicts) {
    bool possible;
    figures->growth =
        growth_per_step(&verdicts->findings, &possible) + verdicts->findings.spared[FINDING_LEAK];
    figures->has_growth = figures->growth != 0 || (verdicts->judged.growth == GROWTH_JUDGED && !possible);
}

static uint64_t reserved_peak_from(const struct timeline *timeline, uint32_t first, uint32_t *moment) {
    uint64_t most = timeline_reserved_at(timeline, first);
    *moment = first;
    for (uint32_t i = 0; i < timeline->n_reserved; i++)
        if (timeline->reserved_moment[i] >= first && timeline->reserved_bytes[i] > most) {
            most = timeline->reserved_bytes[i];
            *moment = timeline->reserved_moment[i];
        }
    return most;
}

void figures_find(struct figures *figures, const struct verdicts *verdicts, const struct timeline *shown,
                  const uint64_t *keep, uint64_t skip_steps) {
    const struct timeline *timeline = verdicts->timeline;
    const struct spans *steps = &verdicts->steps;
    uint32_t reserved_moment;
    *figures = (struct figures){.doubt = doubt_find(timeline),
                                .steps = steps->count,
                                .ooms = timeline->device->n_ooms,
                                .has_start = skip_steps == 0 || skip_steps < steps->count};
    figures->first = figures->has_start && skip_steps != 0 ? steps->span[skip_steps].from_moment : 0;
    figures->peak_moment = timeline_peak_in(shown, figures->first, timeline->n_moments);
    figures->peak = shown->live[figures->peak_moment];
    figures->end = shown->end_bytes;
    figures->reserved = reserved_peak_from(timeline, figures->first, &reserved_moment);
    figures->has_reserved = timeline->device->n_segments != 0 || timeline->device->n_segment_events != 0;
    uint64_t live = timeline->live[timeline_reserved_settled(timeline, reserved_moment)];
    figures->gap = figures->reserved > live ? figures->reserved - live : 0;
    growth_find(figures, verdicts);
    verdicts_categories_at(verdicts, figures->peak_moment, keep, figures->category);
}
