#include "analysis/loop/blocks.h"
#include "layout/device_part.h"
#include "render/report/report_parts.h"
#include "render/report/report_plan.h"

static void categories_sum(struct report_device *report) {
    const struct allocations *allocations = &report->device->allocations;
    const struct verdicts *verdicts = &report->verdicts;
    for (uint32_t n = 0; n < report->n_alive; n++) {
        uint32_t i = report->alive[n];
        struct category_sum *sum = &report->category_at_peak[verdicts->category[i]];
        sum->bytes += allocations->size[i];
        sum->count += allocation_stands_for(allocations, i);
        sum->older_bytes += i < allocations->preexisting ? allocations->size[i] : 0;
        sum->sized_bytes += verdicts->reason[i] == REASON_BY_SIZE ? allocations->size[i] : 0;
        if (verdicts->category[i] == CATEGORY_OTHER)
            report->reason_at_peak[verdicts->reason[i]] += allocations->size[i];
        report->categories_inferred |= report->trace->contexts.context[allocations->context[i]].category == 0;
    }
}

/* Groups the allocations alive at the peak. False: no memory. */
static bool report_groups_find(struct report_device *report) {
    const struct timeline *timeline = &report->timeline;
    const struct verdicts *verdicts = &report->verdicts;
    enum compare_by by = report->options->group;
    report->alive =
        timeline_alive(report_shown(report), timeline->peak_moment, report->arena, &report->n_alive);
    report->column = verdicts->category;
    if (by == COMPARE_BY_MODULE) {
        report->modules = modules_find(timeline, &verdicts->runs, verdicts->category, report->arena);
        report->column = report->modules == NULL ? NULL : report->modules->key;
    }
    if (report->column == NULL || report->alive == NULL)
        return false;
    if (by == COMPARE_BY_SITE) /* those of one name in two folders are two rows */
        return groups_of(timeline, report->alive, report->n_alive, NULL, GROUP_BY_SITE, report->arena,
                         &report->groups, &report->n_groups);
    return compare_groups(timeline, report->alive, report->n_alive, by, report->column, report->arena,
                          &report->groups, &report->n_groups);
}

/* ---- the replay, at the same time as the rest if the host can do that ---- */

struct replaying {
    struct report_device *report;
    bool beside; /* it runs in another thread */
    bool done;   /* it had enough memory; read it only after the replay has ended */
};

static void replaying_work(void *context) {
    struct replaying *replaying = context;
    struct report_device *report = replaying->report;
    replaying->done = replay_run(&report->replay, report->trace, report->device, NULL, &report->replay_arena);
}

static void replaying_begin(struct replaying *replaying, struct report_device *report) {
    const struct beside_hooks *beside = report->options->beside;
    *replaying = (struct replaying){.report = report};
    report->replayed = report->device->n_events <= REPLAY_EVENTS_AT_ONCE &&
                       (!report->options->still || report->device->n_ooms != 0);
    replaying->beside =
        report->replayed && beside != NULL && report->device->n_events >= BESIDE_EVENTS_LEAST &&
        beside->begin(beside->context,
                      beside_ample_nbytes(report->device->n_events, report->device->allocations.count),
                      replaying_work, replaying);
}

/* Waits for the replay. If it failed for lack of memory, replays again: the rest has freed its scratch memory. If it is
 * not `wanted`, only waits and returns false. False: no memory. */
static bool replaying_end(struct replaying *replaying, bool wanted) {
    struct report_device *report = replaying->report;
    const struct beside_hooks *beside = report->options->beside;
    if (replaying->beside)
        beside->end(beside->context);
    if (!wanted || !report->replayed || replaying->done)
        return wanted;
    arena_release(&report->replay_arena);
    replaying_work(replaying);
    return replaying->done;
}

/* ---- a device ---- */

/* The hooks of the other thread, unless it runs the replay. It computes half of the timeline, and parts that no finding
 * needs. */
static const struct beside_hooks *report_beside(const struct report_device *report) {
    bool free = !report->replayed && report->device->n_events >= BESIDE_EVENTS_LEAST;
    return free ? report->options->beside : NULL;
}

struct layering {
    struct report_device *report;
    struct arena *arena;
    bool done;
};

static bool layers_any(struct report_device *report, struct arena *arena) {
    struct blocks blocks;
    struct arena own;
    arena_init(&own, arena_share(arena), SIZE_MAX);
    bool done =
        blocks_find(&blocks, &report->timeline, &report->verdicts.runs, report->verdicts.category, &own);
    report->has_layers = done && blocks.n_spans != 0;
    arena_release(&own);
    return done;
}

static void layering_work(void *context) {
    struct layering *layering = context;
    struct report_device *report = layering->report;
    const struct verdicts *verdicts = &report->verdicts;
    layering->done = (report->options->still /* a page's still does not show layers */
                          ? layers_any(report, layering->arena)
                          : layers_summarize(&report->layers, &report->timeline, &verdicts->runs,
                                             verdicts->category, layering->arena)) &&
                     free_blocks_find(&report->free_blocks, report->device, layering->arena);
}

static bool report_verdicts_make(struct report_device *report, struct arena *arena) {
    const struct beside_hooks *beside = report_beside(report);
    const struct allocations *allocations = &report->device->allocations;
    struct layering layering = {report, &report->replay_arena, false};
    if (!verdicts_judge(&report->verdicts, &report->timeline, arena))
        return false;
    bool begun =
        beside != NULL &&
        beside->begin(beside->context, beside_ample_nbytes(report->device->n_events, allocations->count),
                      layering_work, &layering);
    bool found = findings_find(&report->verdicts, arena);
    if (begun) {
        beside->end(beside->context);
    } else {
        layering.arena = arena;
        layering_work(&layering);
    }
    return found && layering.done;
}

/* Computes everything that needs no replay. */
static bool report_device_find(struct report_device *report, uint32_t index, struct arena *arena) {
    const struct report_options *options = report->options;
    if (!timeline_init_beside(&report->timeline, report->trace, index, report_beside(report), options->still,
                              &report->replay_arena, arena))
        return false;
    if (options->turn != NULL)
        options->turn->begin(options->turn->context);
    if (options->filter != NULL &&
        !selection_make(&report->selection, &report->timeline, options->filter, NULL, arena))
        return false;
    if (!report_verdicts_make(report, arena) || !report_groups_find(report))
        return false;
    if (report->device->n_ooms == 0)
        return true;
    report->oom_ground = arena_alloc(arena, sizeof *report->oom_ground);
    return report->oom_ground != NULL &&
           oom_ground_find(report->oom_ground, &report->verdicts, &report->free_blocks, arena);
}

static bool report_device_init(struct report_device *report, uint32_t index, struct arena *arena) {
    const struct report_options *options = report->options;
    struct replaying replaying;
    replaying_begin(&replaying, report);
    bool found = report_device_find(report, index, arena);
    if (!replaying_end(&replaying, found) || !report_gap_find(report) ||
        (report->oom_ground != NULL && report->replayed &&
         !oom_ground_model(report->oom_ground, &report->replay, arena)) ||
        !plan_said_find(&report->plan, &report->timeline, options->plan,
                        options->format == REPORT_BRIEF ? plan_lines_tell : NULL, arena))
        return false;
    categories_sum(report);
    bool all = options->top == 0 || options->top > report->n_groups;
    report->n_shown = all ? report->n_groups : options->top;
    return true;
}

bool report_one_device(const struct trace *trace, uint32_t index, const struct report_options *options,
                       struct arena *scratch, report_device_writer *write, void *context) {
    struct arena arena;
    struct trace part;
    struct report_device device = {
        .trace = trace, .device = &trace->devices[index], .options = options, .arena = &arena};
    arena_init(&arena, arena_share(scratch), SIZE_MAX);
    arena_init(&device.replay_arena, options->beside != NULL ? options->beside->host : arena_share(scratch),
               SIZE_MAX);
    bool done = device_part_init(&part, trace, index, &arena);
    device.trace = &part;
    device.device = &part.devices[index];
    done = done && report_device_init(&device, index, &arena) && write(context, &device);
    arena_release(&device.replay_arena);
    arena_release(&arena);
    return done;
}

bool report_each_device(const struct trace *trace, const struct report_options *options,
                        struct arena *scratch, report_device_writer *write, void *context) {
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        if (options->device != REPORT_ALL_DEVICES && options->device != trace->devices[i].ordinal)
            continue;
        if (!report_one_device(trace, i, options, scratch, write, context))
            return false;
    }
    return true;
}

/* ---- the table of exports ---- */

static const struct {
    const char *ending;
    bool (*write)(struct buffer *out, const struct trace *trace, const struct report_options *options,
                  struct arena *scratch);
} exports[] = {
#define STRATA_EXPORT_ROW(NUMBER, name, ending, writer) {ending, report_##writer},
    STRATA_EXPORTS(STRATA_EXPORT_ROW)
#undef STRATA_EXPORT_ROW
};

const char *report_format_ending(enum report_format format) {
    return exports[format].ending;
}

bool report_render(struct buffer *out, const struct trace *trace, const struct report_options *options,
                   struct arena *scratch) {
    return exports[options->format].write(out, trace, options, scratch) && !out->failed;
}
