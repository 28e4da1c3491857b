#include "cli/batch/batch_profile.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/planning.h"
#include "cli/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Adds the highest total of each of at most INDEX_SAMPLES equal parts of the run, so that no peak is lost. */
static void add_curve(struct json_writer *json, const struct timeline *timeline) {
    uint64_t n = timeline->n_moments, count = n < INDEX_SAMPLES ? n : INDEX_SAMPLES;
    json_array(json, "curve", JSON_COMPACT);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t from = (uint32_t)(n * i / count), to = (uint32_t)(n * (i + 1) / count);
        json_u64(json, NULL, timeline->live[timeline_peak_in(timeline, from, to)]);
    }
    json_end(json);
    if (!timeline_timed(timeline))
        return;
    json_i64(json, "curve_first_us", timeline->first_us);
    json_array(json, "curve_us", JSON_COMPACT);
    for (uint64_t i = 0; i < count; i++)
        json_i64(json, NULL, timeline_start_us(timeline, (uint32_t)(n * i / count)));
    json_end(json);
}

/* Everything that a sidecar's members beyond the report are made of. */
struct source {
    const struct recording *recording;
    const struct batch *batch;
    const struct batch_file *file;
    struct arena *scratch;
    uint32_t device;
};

/* Adds each setting's need, if a device is named: the index picks the setting for all ranks. False: no memory. */
static bool add_settings(struct json_writer *json, const struct source *source, uint32_t device,
                         struct arena *arena) {
    const struct trace *trace = &source->recording->trace;
    uint64_t budget = planning_budget(source->batch->settings);
    struct plan_need need[PLAN_NEEDS];
    struct program program;
    struct replay replay;
    uint32_t n;
    if (budget == 0 || source->batch->settings->plan.unwanted || !trace_has_segments(trace) ||
        trace->devices[device].n_events > REPLAY_EVENTS_AT_ONCE)
        return true;
    if (!program_init(&program, trace, &trace->devices[device], arena) ||
        !replay_run(&replay, trace, &trace->devices[device], &program, arena))
        return false;
    if (replay.grade == REPLAY_REFUSED)
        n = 0;
    else if (!plan_needs_find(need, &n, &program, &replay, budget, arena))
        return false;
    json_array(json, "settings", JSON_LINES);
    for (uint32_t i = 0; i < n; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "settings", need[i].settings);
        json_u64(json, "peak_reserved_bytes", need[i].peak_bytes);
        json_bool(json, "served", need[i].served);
        json_end(json);
    }
    json_end(json);
    return true;
}

static bool add_device(struct json_writer *json, const struct source *source, uint32_t device) {
    const struct trace *trace = &source->recording->trace;
    struct arena arena;
    struct timeline timeline;
    arena_init(&arena, arena_share(source->scratch), SIZE_MAX);
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "device", trace->devices[device].ordinal);
    json_u64(json, "capacity_bytes", recording_capacity(source->recording, source->batch->settings, device));
    bool done = timeline_init(&timeline, trace, device, &arena);
    if (done) {
        add_curve(json, &timeline);
        done = profile_add(json, &timeline, &arena) && add_settings(json, source, device, &arena);
    }
    json_end(json);
    arena_release(&arena);
    return done;
}

static void add_name(struct json_writer *json, const char *name, const struct batch_file *file,
                     const char *ending) {
    json_string_begin(json, name);
    json_string_add(json, file->name, strlen(file->name));
    json_string_add(json, ending, strlen(ending));
    json_string_end(json);
}

static void add_outputs(struct json_writer *json, const struct source *source) {
    const struct batch *batch = source->batch;
    json_text(json, "flags", batch->settings->flags);
    json_text(json, "version", STRATA_VERSION);
    add_name(json, "page", source->file, ".html");
    if (batch->settings->batch.png)
        add_name(json, "png", source->file, ".png");
    else
        json_null(json, "png");
    json_i64(json, "device", source->recording->trace.devices[source->device].ordinal);
}

/* Size and time of change are those of the open file, even if it has been replaced meanwhile. The time is
 * text, because it has more digits than most readers of JSON keep. */
static void add_origin(struct json_writer *json, const struct source *source) {
    const struct batch_file *file = source->file;
    const struct stat *status = &source->recording->input.status;
    char mtime[24];
    snprintf(mtime, sizeof mtime, "%" PRId64, batch_mtime_ns(status));
    json_text(json, "input", file->input);
    json_known_i64(json, "rank", file->rank != BATCH_UNKNOWN, file->rank);
    json_known_i64(json, "step", file->step != BATCH_UNKNOWN, file->step);
    json_known_i64(json, "local_rank", file->local_rank != BATCH_UNKNOWN, file->local_rank);
    json_text(json, "host", file->host != NULL ? file->host : "");
    json_text(json, "group", file->group != NULL ? file->group : "");
    if (source->recording->trace.devices_are_ranks)
        json_bool(json, "devices_are_ranks", true);
    json_u64(json, "size", (uint64_t)status->st_size);
    json_text(json, "mtime_ns", mtime);
}

static bool add_batch(struct json_writer *json, const void *context) {
    const struct source *source = context;
    bool done = true;
    json_object(json, "batch", JSON_LINES);
    add_origin(json, source);
    add_outputs(json, source);
    json_array(json, "devices", JSON_LINES);
    for (uint32_t i = 0; done && i < source->recording->trace.n_devices; i++)
        done = add_device(json, source, i);
    json_end(json);
    json_end(json);
    return done;
}

bool sidecar_build(struct buffer *out, const struct recording *recording, const struct batch *batch,
                   const struct batch_file *file, uint32_t device, struct arena *scratch) {
    const struct source source = {recording, batch, file, scratch, device};
    const struct report_more more = {add_batch, &source};
    struct settings settings = *batch->settings;
    settings.format = REPORT_JSON;
    settings.has_device = false; /* the index shows one device, programs read all */
    return report_build(out, recording, &settings, &more, false, scratch);
}
