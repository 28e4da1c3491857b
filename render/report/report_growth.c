/* What grows from step to step. */
#include "render/report/report_words.h"

#include "base/format.h"

#include <inttypes.h>

enum { STEPS_SHOWN = 12, KEPT_SHOWN = 5, RISING_SHOWN = 10 };

static const char *step_name(struct sheet *sheet, const struct growth *growth, uint32_t step) {
    return sheet_format(sheet, "%" PRId64, growth->steps.first_number + step);
}

static void source_write(struct sheet *sheet, const struct growth *growth) {
    static const char *const texts[] = {
        [STEPS_PROFILER_STEP] = "from the annotations ProfilerStep#N",
        [STEPS_OPTIMIZER] = "from the ends of the annotations Optimizer.step",
        [STEPS_PERIOD] = "from the allocations, which repeat themselves; no annotation names them",
    };
    sheet_say(sheet,
              "%s, found %s. %s of a step's allocations have one of the same stack in the step before.",
              words_counted(sheet, growth->steps.count, "step"), texts[growth->steps.source],
              format_share(growth->steps.similar_permil, 1000).text);
}

static void step_row(struct sheet *sheet, const struct report_device *report, uint32_t step) {
    const struct growth *growth = &report->growth;
    const struct growth_step *own = &growth->step[step];
    uint64_t before = step == 0 ? growth->carried_in : growth->step[step - 1].carried_bytes;
    sheet_cell(sheet, "%s%s", step_name(sheet, growth, step), own->warm_up ? " (warm-up)" : "");
    sheet_cell(sheet, "%s", format_bytes(own->peak_bytes).text);
    sheet_cell(sheet, "%s", format_bytes(own->carried_bytes).text);
    sheet_cell(sheet, "%s", format_bytes_change((int64_t)(own->carried_bytes - before)).text);
}

static void steps_table(struct sheet *sheet, const struct report_device *report) {
    static const char *const headings[] = {"Step", "Peak", "Carried over", "Change", NULL};
    uint32_t count = report->growth.steps.count, head = count > STEPS_SHOWN ? STEPS_SHOWN / 2 : count;
    sheet_table(sheet, headings, "lrrr");
    for (uint32_t i = 0; i < head; i++)
        step_row(sheet, report, i);
    for (uint32_t i = head == count ? count : count - STEPS_SHOWN / 2; i < count; i++)
        step_row(sheet, report, i);
    sheet_table_end(sheet);
    if (head != count)
        sheet_say(sheet, "Not listed: the %s steps in the middle; --json has them all.",
                  format_count(count - STEPS_SHOWN).text);
}

static void site_row(struct sheet *sheet, const struct report_device *report,
                     const struct growth_site *site) {
    const struct growth *growth = &report->growth;
    if (site->kind != GROWTH_KEPT)
        sheet_cell(sheet, "%s", format_bytes_change((int64_t)site->slope_bytes).text);
    sheet_cell(sheet, "%s", format_bytes(site->risen_bytes).text);
    sheet_cell(sheet, "%s", format_count(site->count).text);
    sheet_cell(sheet, site->n_steps > 1 ? "%s to %s" : "%s", step_name(sheet, growth, site->first_step),
               step_name(sheet, growth, site->first_step + site->n_steps - 1));
    sheet_cell(sheet, "%s%s%s", words_site(sheet, report->trace, site->site),
               site->optimizer ? " (optimizer state)" : "",
               site->replaced ? " (replaced by more in every step)" : "");
}

/* What is kept has no slope. */
static void sites_table(struct sheet *sheet, const struct report_device *report, enum growth_kind kind,
                        uint32_t most) {
    static const char *const headings[] = {"Per step", "In all", "Count", "Steps", "Call site", NULL};
    const struct growth *growth = &report->growth;
    uint32_t shown = 0;
    sheet_table(sheet, kind == GROWTH_KEPT ? headings + 1 : headings, kind == GROWTH_KEPT ? "rrll" : "rrrll");
    for (uint32_t i = 0; i < growth->n_sites && shown < most; i++) {
        if (growth->sites[i].kind != kind)
            continue;
        shown++;
        site_row(sheet, report, &growth->sites[i]);
    }
    sheet_table_end(sheet);
}

static uint32_t kind_count(const struct growth *growth, enum growth_kind kind, uint64_t *slope_bytes) {
    uint32_t n = 0;
    *slope_bytes = 0;
    for (uint32_t i = 0; i < growth->n_sites; i++) {
        n += growth->sites[i].kind == kind;
        *slope_bytes += growth->sites[i].kind == kind ? growth->sites[i].slope_bytes : 0;
    }
    return n;
}

static void rising_write(struct sheet *sheet, const struct report_device *report) {
    uint64_t slope;
    uint32_t n = kind_count(&report->growth, GROWTH_RISES, &slope);
    if (n == 0) {
        sheet_say(
            sheet,
            "No call site carries more over from step to step: nothing leaks as far as these steps show.");
        return;
    }
    sheet_say(sheet, "%s more over in every step, %s per step in all, up to the end of the recording:",
              n == 1 ? "1 call site carries"
                     : sheet_format(sheet, "%s call sites carry", format_count(n).text),
              format_bytes_change((int64_t)slope).text);
    sites_table(sheet, report, GROWTH_RISES, RISING_SHOWN);
    if (n > RISING_SHOWN)
        sheet_say(sheet, "Not listed: %s.", words_counted(sheet, n - RISING_SHOWN, "more call site"));
}

static void others_write(struct sheet *sheet, const struct report_device *report) {
    uint64_t slope;
    if (kind_count(&report->growth, GROWTH_ROSE, &slope) != 0) {
        sheet_say(sheet, "Rose for some steps and then stopped:");
        sites_table(sheet, report, GROWTH_ROSE, KEPT_SHOWN);
    }
    if (kind_count(&report->growth, GROWTH_KEPT, &slope) != 0) {
        sheet_say(sheet, "Allocated during the steps and kept, without growing further:");
        sites_table(sheet, report, GROWTH_KEPT, KEPT_SHOWN);
    }
}

void report_growth(struct sheet *sheet, const struct report_device *report) {
    const struct growth *growth = &report->growth;
    if (report->device->n_events == 0)
        return;
    sheet_heading(sheet, 3, "Growth");
    if (growth->steps.source == STEPS_NONE) {
        sheet_say(sheet, "No steps can be told apart: there are no annotations of two steps or more, and the "
                         "allocations do not repeat themselves three times.");
        return;
    }
    source_write(sheet, growth);
    steps_table(sheet, report);
    if (!growth->judged && growth->steps.count <= GROWTH_MIN_STEPS)
        sheet_say(sheet, "That is too few to tell what grows: it takes %d steps.", GROWTH_MIN_STEPS + 1);
    else if (!growth->judged)
        sheet_say(sheet, "These turns do not go forward and backward, so they may be layers or parameters "
                         "instead of steps: "
                         "what rises among them is not a sign of a leak.");
    if (!growth->judged)
        return;
    rising_write(sheet, report);
    others_write(sheet, report);
}
