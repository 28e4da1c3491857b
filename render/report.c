#include "render/report_parts.h"

static bool report_device_init(struct report_device *report, const struct trace *trace, uint32_t index,
                               const struct report_options *options, struct arena *arena) {
    *report = (struct report_device){
        .trace = trace, .device = &trace->devices[index], .options = options, .arena = arena};
    if (!timeline_init(&report->timeline, trace, index, arena))
        return false;
    if (!groups_at(&report->timeline, report->timeline.peak_moment, options->group, arena, &report->groups,
                   &report->n_groups))
        return false;
    bool all = options->top == 0 || options->top > report->n_groups;
    report->n_shown = all ? report->n_groups : options->top;
    return true;
}

/* A timeline takes several times the memory of its columns, so no two of them are kept at once. */
static bool report_one_device(struct buffer *out, const struct trace *trace, uint32_t index,
                              const struct report_options *options, struct arena *scratch, uint32_t nth,
                              report_device_writer *write) {
    struct arena arena;
    struct report_device device;
    size_t left = scratch->limit_nbytes == SIZE_MAX ? SIZE_MAX : scratch->limit_nbytes - scratch->used_nbytes;
    arena_init(&arena, scratch->host, left);
    bool done = report_device_init(&device, trace, index, options, &arena) && write(out, &device, nth);
    scratch->limit_hit = scratch->limit_hit || arena.limit_hit;
    arena_release(&arena);
    return done;
}

bool report_each_device(struct buffer *out, const struct trace *trace, const struct report_options *options,
                        struct arena *scratch, report_device_writer *write) {
    uint32_t nth = 0;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        if (options->device != REPORT_ALL_DEVICES && options->device != trace->devices[i].ordinal)
            continue;
        if (!report_one_device(out, trace, i, options, scratch, nth++, write))
            return false;
    }
    return true;
}

bool report_render(struct buffer *out, const struct trace *trace, const struct report_options *options,
                   struct arena *scratch) {
    bool done = options->format == REPORT_JSON ? report_json(out, trace, options, scratch)
                                               : report_text(out, trace, options, scratch);
    return done && !out->failed;
}
