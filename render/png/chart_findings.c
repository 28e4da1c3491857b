/*
 * The findings above the legend: the most urgent ones, each with its title and the beginning of its sentences. Where
 * memory ran out, a bar shows what took the device's memory.
 *
 *     The peak of 6.5 GiB is reached in a forward: 61 % activations ...
 *
 *     | Out of memory: 1.5 GiB asked for, 384 MiB free       bold, in the colour of its urgency
 *     | [live ==============|unused///|free]
 *     | The request came from loss.py:19 ...                  two or three lines
 */
#include "render/png/chart_maker.h"

#include "analysis/findings/peak_made.h"
#include "base/format.h"

#include <stdio.h>
#include <string.h>

enum { FINDINGS_SHOWN = 3, DETAIL_LINES = 3, MADE_LINES = 3, TITLE_LINES = 3 };

/* Is the finding shown? Remarks about the recording itself belong to the notes and the report. */
static bool finding_is_shown(const struct finding *finding) {
    return finding->severity != SEVERITY_INFO && finding->confidence != CONFIDENCE_POSSIBLE;
}

static uint32_t findings_ranked(const struct chart_maker *maker,
                                const struct finding *shown[FINDINGS_SHOWN]) {
    uint32_t n = 0;
    if (maker->in->verdicts == NULL)
        return 0;
    const struct findings *findings = &maker->in->verdicts->findings;
    for (uint32_t i = 0; i < findings->count && n < FINDINGS_SHOWN; i++)
        if (finding_is_shown(&findings->finding[i]))
            shown[n++] = &findings->finding[i];
    return n;
}

static void title_of(const struct chart_maker *maker, const struct finding *finding,
                     char text[FINDING_TEXT_NBYTES]) {
    finding_title(maker->in->verdicts, finding, text, FINDING_TEXT_NBYTES);
    /* A title that begins with a word gets a capital letter; one that begins with a place in the code stays as it
     * is. */
    size_t word = strcspn(text, " :.");
    if (text[0] >= 'a' && text[0] <= 'z' && text[word] == ' ')
        text[0] = (char)(text[0] - 'a' + 'A');
}

/* Puts the sentence about the parts of the peak, which comes first, if there is one. */
static int32_t made_put(struct chart_maker *maker, struct rect area) {
    const struct verdicts *verdicts = maker->in->verdicts;
    char text[FINDING_TEXT_NBYTES];
    struct peak_made made;
    if (verdicts == NULL || !trace_has_allocations(verdicts->timeline->trace))
        return area.y;
    peak_made_of(&made, verdicts);
    peak_made_text(&made, verdicts, text, sizeof text);
    return made.n_parts == 0
               ? area.y
               : chart_put_lines(maker, area, maker->small, maker->out->colors->text, MADE_LINES, text) +
                     maker->em;
}

/* Puts what took the device's memory when it ran out. */
static int32_t oom_bar_put(struct chart_maker *maker, const struct finding *finding, struct rect area) {
    const struct timeline *timeline = maker->in->timeline;
    const struct inks *colors = maker->out->colors;
    const struct oom_event *oom = timeline_oom_in(timeline, finding->at_moment, finding->at_moment + 1);
    if (oom == NULL || oom->device_free == OOM_UNKNOWN)
        return area.y;
    uint64_t live = timeline->live[oom->event + 1], reserved = timeline_reserved_at(timeline, oom->event + 1),
             unused = reserved > live ? reserved - live : 0;
    const struct chart_part parts[] = {
        {colors->live, live, "live", format_bytes(live)},
        {colors->unused, unused, "unused", format_bytes(unused)},
        {colors->line, oom->device_free, "free", format_bytes(oom->device_free)}};
    return chart_bar_put(maker, area, parts, sizeof parts / sizeof *parts) + maker->em / 4;
}

/* The colour of a finding, by its severity: red, amber, grey, as in the report. */
static uint32_t finding_color(const struct chart_maker *maker, const struct finding *finding) {
    const struct inks *colors = maker->out->colors;
    return finding->severity == SEVERITY_HIGH     ? colors->bad
           : finding->severity >= SEVERITY_MEDIUM ? colors->note
                                                  : colors->dim;
}

static int32_t finding_put(struct chart_maker *maker, const struct finding *finding, struct rect area) {
    char text[FINDING_TEXT_NBYTES];
    int32_t indent = maker->em * 3 / 4;
    struct rect inner = {area.x + indent, area.y, area.width - indent, 0};
    title_of(maker, finding, text);
    inner.y = chart_put_lines(maker, inner, maker->bold, maker->out->colors->text, TITLE_LINES, text);
    if (finding->kind == FINDING_OUT_OF_MEMORY)
        inner.y = oom_bar_put(maker, finding, inner);
    const char *code = finding_asks_plan(finding) ? maker->in->options->plan_code : NULL;
    (code != NULL ? finding_facts : finding_detail)(maker->in->verdicts, finding, text, sizeof text);
    inner.y = chart_put_lines(maker, inner, maker->small, maker->out->colors->dim, DETAIL_LINES, text);
    if (code != NULL && chart_text_width(maker, maker->small, code) <= inner.width)
        inner.y = chart_put_lines(maker, inner, maker->small, maker->out->colors->text, 1, code);
    chart_put(maker, CHART_FILL, (struct rect){area.x, area.y, maker->em / 4, inner.y - area.y},
              finding_color(maker, finding));
    return inner.y + maker->em;
}

int32_t chart_findings_put(struct chart_maker *maker, struct rect area) {
    const struct finding *shown[FINDINGS_SHOWN];
    int32_t bottom = area.y + area.height;
    if (CHART_MEASURED(maker, made_put(maker, area)) > bottom)
        return area.y;
    area.y = made_put(maker, area);
    for (uint32_t i = 0, n = findings_ranked(maker, shown); i < n; i++) {
        if (CHART_MEASURED(maker, finding_put(maker, shown[i], area)) > bottom)
            break;
        area.y = finding_put(maker, shown[i], area);
    }
    return area.y;
}
