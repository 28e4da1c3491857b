#include "render/export/export_parts.h"

#include "base/text.h"
#include "layout/device_part.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct export_kind_row export_kinds[EXPORT_KINDS] = {
#define EXPORT_ROW(NUMBER, name, ending, other, text) {#name, ending, other, text, export_##name},
    STRATA_EXPORT_KINDS(EXPORT_ROW)
#undef EXPORT_ROW
};

bool export_kind_of_one_device(enum export_kind kind) {
    return kind == EXPORT_FOLDED; /* a line of folded stacks cannot say which device it is of */
}

bool export_kind_of_moment(enum export_kind kind) {
    return kind == EXPORT_FOLDED || kind == EXPORT_PPROF;
}

enum export_kind export_kind_by_name(const char *name) {
    uint32_t kind = 0;
    while (kind < EXPORT_KINDS && strcmp(export_kinds[kind].name, name) != 0)
        kind++;
    return (enum export_kind)kind;
}

enum export_kind export_kind_of_path(const char *path) {
    uint32_t kind = 0;
    while (kind < EXPORT_KINDS && !word_ends(path, export_kinds[kind].ending) &&
           !(export_kinds[kind].other[0] != '\0' && word_ends(path, export_kinds[kind].other)))
        kind++;
    return (enum export_kind)kind;
}

bool export_fail(struct export_work *work, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(work->reason, EXPORT_REASON_NBYTES, format, arguments);
    va_end(arguments);
    work->result = EXPORT_FAILED;
    return false;
}

/* Exports one device. A timeline takes several times the memory of its columns, so no two timelines are kept at
 * once. */
static bool device_export(struct export_work *work, uint32_t index, uint32_t first_id,
                          export_device_writer *write, void *context) {
    struct arena arena;
    struct export_device device = {.work = work,
                                   .trace = work->trace,
                                   .device = &work->trace->devices[index],
                                   .first_id = first_id,
                                   .arena = &arena};
    arena_init(&arena, arena_share(work->scratch), SIZE_MAX);
    const struct export_options *options = work->options;
    struct timeline *timeline = &device.timeline;
    bool done = device_part_share(&device.part, device.trace, index, &arena) &&
                timeline_init(timeline, &device.part, index, &arena);
    device.range =
        (struct export_range){.until = timeline->n_moments, .at = timeline->peak_moment, .whole = true};
    if (done && options->range != NULL && !options->range(options->context, timeline, &device.range)) {
        work->result = EXPORT_NO_RANGE;
        done = false;
    }
    done = done && (device.range.none ||
                    (verdicts_init(&device.verdicts, timeline, &arena) &&
                     (options->filter == NULL || selection_make(&device.selection, timeline, options->filter,
                                                                &device.verdicts, &arena)) &&
                     write(context, &device)));
    arena_release(&arena);
    return done && !work->out->failed;
}

bool export_each_device(struct export_work *work, export_device_writer *write, void *context) {
    const struct trace *trace = work->trace;
    uint32_t first_id = 0;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        const struct device_trace *device = &trace->devices[i];
        if (work->options->device != EXPORT_ALL_DEVICES && work->options->device != device->ordinal)
            continue;
        if (!device_export(work, i, first_id, write, context))
            return false;
        first_id += device->allocations.count;
    }
    return true;
}

enum export_result export_render(struct buffer *out, const struct trace *trace,
                                 const struct export_options *options, struct arena *scratch,
                                 char reason[EXPORT_REASON_NBYTES]) {
    struct export_work work = {.out = out,
                               .trace = trace,
                               .options = options,
                               .scratch = scratch,
                               .result = EXPORT_NO_MEMORY,
                               .reason = reason};
    return export_kinds[options->kind].write(&work) && !out->failed ? EXPORT_DONE : work.result;
}
