/* Writes the parts of the report that a page carries: advice after running out of memory, because the page cannot run
 * the model, the still for readers without its program, and what its first picture needs. */
#include "analysis/findings/log_oom.h"
#include "render/report/report_parts.h"

#include <stdio.h>

enum { STILL_SITES = 10 };

/* Fills one advice of a log's error, without the space that its sentences begin with. */
static uint32_t log_advise(struct report_advice *advice, const char *code,
                           void (*tell)(struct words *, const struct trace *, const struct log_oom_facts *),
                           const struct trace *trace, const struct log_oom_facts *facts) {
    char text[sizeof advice->text];
    struct words words = {text, sizeof text, 0};
    tell(&words, trace, facts);
    if (words_end(&words) == 0)
        return 0;
    *advice = (struct report_advice){.code = code};
    snprintf(advice->text, sizeof advice->text, "%s", text + 1);
    return 1;
}

/* Advice for an error that a log printed. The allocator's model cannot judge it. */
static uint32_t log_advice(const struct report_device *report, const struct oom_event *event,
                           struct report_advice *advice) {
    struct log_oom_facts facts;
    log_oom_facts_of(&facts, report->device, event->event);
    if (facts.killed != 0)
        return 0;
    uint32_t n = log_advise(advice, "log_cause", log_oom_tell_cause, report->trace, &facts);
    return n + log_advise(advice + n, "log_action", log_oom_tell_action, report->trace, &facts);
}

static bool follows_write(struct json_writer *json, const struct report_device *report) {
    const struct device_trace *device = report->device;
    struct report_advice advice[REPORT_ADVICE_MAX];
    struct report_oom oom;
    char name[16];
    const struct oom_event *last = &device->ooms[device->n_ooms - 1];
    if (!report_oom_of(&oom, report, last))
        return false;
    uint32_t n = trace_has_allocations(report->trace) ? report_oom_advice(report, &oom, advice)
                                                      : log_advice(report, last, advice);
    snprintf(name, sizeof name, "%d", (int)device->ordinal);
    json_array(json, name, JSON_COMPACT);
    for (uint32_t i = 0; i < n; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "code", advice[i].code);
        json_text(json, "text", advice[i].text);
        json_u64(json, "short_bytes", advice[i].short_bytes);
        json_end(json);
    }
    json_end(json);
    return true;
}

/* Is anything in the lane of phases told apart? Annotations, which come last, have a lane of their own. */
static bool phases_are_told(const struct spans *phases) {
    uint32_t i = 0;
    while (i < phases->count && phases->span[i].kind == SPAN_OTHER)
        i++;
    return i < phases->count && phases->span[i].kind != SPAN_ANNOTATION;
}

/* With these figures a page draws its first picture before it has found the findings themselves. */
static void opening_write(struct buffer *out, const struct report_device *report) {
    struct json_writer json = json_writer_of(out);
    json_object(&json, NULL, JSON_COMPACT);
    json_u64(&json, "findings", report->verdicts.findings.count);
    json_bool(&json, "parts", phases_are_told(&report->verdicts.phases));
    json_bool(&json, "layers", report->has_layers);
    json_end(&json);
}

struct page_writing {
    const struct report_page *page;
    struct json_writer json;
};

static bool device_write(void *context, const struct report_device *report) {
    struct page_writing *writing = context;
    if (report->device->n_ooms != 0 && !follows_write(&writing->json, report))
        return false;
    if (report->device->ordinal != writing->page->device)
        return true;
    opening_write(writing->page->opening, report);
    return report_still(writing->page, report);
}

bool report_page_write(const struct report_page *page, const struct trace *trace,
                       const struct plan_request *plan, struct arena *scratch) {
    struct report_options options = {
        .top = STILL_SITES, .plan = plan, .still = true, .turn = page->turn, .beside = page->beside};
    struct page_writing writing = {page, json_writer_of(page->follows)};
    json_object(&writing.json, NULL, JSON_COMPACT);
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        options.device = trace->devices[i].ordinal;
        if ((trace->devices[i].n_ooms != 0 || options.device == page->device) &&
            !report_each_device(trace, &options, scratch, device_write, &writing))
            return false;
    }
    json_end(&writing.json);
    return !page->follows->failed && !page->still->failed && !page->opening->failed;
}
