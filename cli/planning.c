#include "cli/planning.h"

#include "render/report/report_plan.h"

uint64_t planning_budget(const struct settings *settings) {
    struct plan_request request;
    (void)planning_request(&request, settings);
    return plan_asked_budget(&request);
}

bool planning_request(struct plan_request *request, const struct settings *settings) {
    *request = (struct plan_request){.gpu_bytes = settings->gpu_bytes,
                                     .keep_bytes = settings->keep_bytes,
                                     .keep_percent = settings->keep_percent,
                                     .without = settings->without,
                                     .set = settings->set,
                                     .n_set = settings->n_set};
    return !settings->no_plan;
}

static bool devices_plan(struct plan_report *report, struct plan *device, const struct trace *trace,
                         struct plan_request *request, bool all, struct arena *scratch) {
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        struct plan *plan = &device[report->n_devices];
        struct timeline *timeline = arena_alloc(scratch, sizeof *timeline);
        bool large = trace->devices[i].n_events > REPLAY_EVENTS_AT_ONCE;
        if (!all && (large || !plan_is_asked(&trace->devices[i], request)))
            continue;
        request->work_most = all ? 0 : plan_work_beside(&trace->devices[i]);
        if (timeline == NULL || !timeline_init(timeline, trace, i, scratch) ||
            !plan_of_timeline(plan, timeline, request, scratch))
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
                devices_plan(&report, device, trace, &request, settings->plan_all, &scratch) &&
                (report.n_devices == 0 || plan_report_write(out, &report, &scratch));
    if (!done)
        recording_print_no_memory(recording, scratch.limit_hit);
    arena_release(&scratch);
    return done;
}
