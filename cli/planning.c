#include "cli/planning.h"

#include "render/report/report_plan.h"

uint64_t planning_budget(const struct settings *settings) {
    struct plan_request request;
    (void)planning_request(&request, settings);
    return plan_asked_budget(&request);
}

bool planning_request(struct plan_request *request, const struct settings *settings) {
    *request = (struct plan_request){.gpu_bytes = settings->plan.gpu_bytes,
                                     .keep_bytes = settings->plan.keep_bytes,
                                     .keep_percent = settings->plan.keep_percent,
                                     .without = settings->plan.without,
                                     .set = settings->plan.set,
                                     .n_set = settings->plan.n_set};
    return !settings->plan.unwanted;
}

static bool devices_plan(struct plan_report *report, struct plan *device, const struct trace *trace,
                         const struct plan_request *request, bool all, struct arena *scratch) {
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        struct plan *plan = &device[report->n_devices];
        const struct device_trace *of = &trace->devices[i];
        struct plan_request asked = *request;
        if (!all && !plan_is_asked(of, request))
            asked.without |= plan_settings_alone;
        if ((of->n_events == 0 && !all) ||
            (!all && of->n_events > (asked.without == request->without ? REPLAY_EVENTS_AT_ONCE
                                                                       : PLAN_SETTINGS_EVENTS_MAX)))
            continue;
        asked.work_most = all ? 0 : plan_work_beside(of);
        struct timeline *timeline = arena_alloc(scratch, sizeof *timeline);
        if (timeline == NULL || !timeline_init(timeline, trace, i, scratch) ||
            !plan_of_timeline(plan, timeline, &asked, scratch))
            return false;
        report->n_devices += !plan->left_out;
    }
    return true;
}

bool planning_json(struct buffer *out, const struct recording *recording, const struct settings *settings) {
    const struct trace *trace = &recording->trace;
    struct plan_report report = {
        .format = REPORT_JSON, .file = recording->input.name, .fingerprint = recording->fingerprint};
    struct plan_request request;
    struct arena scratch;
    if (!planning_request(&request, settings) || !trace_has_segments(trace))
        return true;
    recording_scratch(recording, &scratch);
    struct plan *device = arena_alloc(&scratch, (trace->n_devices + (size_t)1) * sizeof *device);
    report.device = device;
    bool done = device != NULL &&
                devices_plan(&report, device, trace, &request, settings->plan.all_devices, &scratch) &&
                (report.n_devices == 0 || plan_report_write(out, &report, &scratch));
    if (!done)
        recording_print_no_memory(recording, scratch.limit_hit);
    arena_release(&scratch);
    return done;
}
