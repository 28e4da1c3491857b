/* What follows from running out of memory, for the page, which cannot ask the model itself. */
#include "render/report/report_parts.h"

#include <stdio.h>

static void follow_write(struct json_writer *json, const struct report_advice *advice) {
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "code", advice->code);
    json_text(json, "text", advice->text);
    json_u64(json, "short_bytes", advice->short_bytes);
    json_end(json);
}

static bool follows_write(void *context, const struct report_device *report) {
    struct json_writer *json = context;
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

bool report_follows(struct buffer *out, const struct trace *trace, const struct plan_request *plan,
                    struct arena *scratch) {
    struct report_options options = {.top = 1, .plan = plan};
    struct json_writer json = json_writer_of(out);
    json_object(&json, NULL, JSON_COMPACT);
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        options.device = trace->devices[i].ordinal;
        if (trace->devices[i].n_ooms != 0 &&
            !report_each_device(trace, &options, scratch, follows_write, &json))
            return false;
    }
    json_end(&json);
    return !out->failed;
}
