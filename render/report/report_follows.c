/* Writes the parts of the report that a page carries: advice after running out of memory, because the page cannot run
 * the model, and the still for readers without its program. */
#include "render/report/report_parts.h"

#include <stdio.h>

enum { STILL_SITES = 10 };

static void follow_write(struct json_writer *json, const struct report_advice *advice) {
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "code", advice->code);
    json_text(json, "text", advice->text);
    json_u64(json, "short_bytes", advice->short_bytes);
    json_end(json);
}

static bool follows_write(struct json_writer *json, const struct report_device *report) {
    const struct device_trace *device = report->device;
    struct report_advice advice[REPORT_ADVICE_MAX];
    struct report_oom oom;
    char name[16];
    if (!report_oom_of(&oom, report, &device->ooms[device->n_ooms - 1]))
        return false;
    uint32_t n = report_oom_advice(report, &oom, advice);
    snprintf(name, sizeof name, "%d", (int)device->ordinal);
    json_array(json, name, JSON_COMPACT);
    for (uint32_t i = 0; i < n; i++)
        follow_write(json, &advice[i]);
    json_end(json);
    return true;
}

struct page_writing {
    const struct report_page *page;
    struct json_writer json;
};

static bool device_write(void *context, const struct report_device *report) {
    struct page_writing *writing = context;
    return (report->device->n_ooms == 0 || follows_write(&writing->json, report)) &&
           (report->device->ordinal != writing->page->device || report_still(writing->page, report));
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
    return !page->follows->failed && !page->still->failed;
}
