#include "cli/batch/batch_profile.h"

#include "cli/batch/batch_sidecar.h"
#include "layout/site.h"

enum { SITE_CAPACITY = 400 };

static void add_steps(struct json_writer *json, const struct rank_profile *profile) {
    json_array(json, "steps", JSON_COMPACT);
    for (uint32_t i = 0; i < profile->n_steps; i++) {
        const struct rank_step *step = &profile->step[i];
        json_array(json, NULL, JSON_COMPACT);
        json_i64(json, NULL, step->number);
        json_u64(json, NULL, step->complete);
        json_u64(json, NULL, step->begin_bytes);
        json_u64(json, NULL, step->peak_bytes);
        json_u64(json, NULL, step->end_bytes);
        for (uint32_t phase = 0; phase < 3; phase++)
            json_u64(json, NULL, step->phase_peak[phase]);
        json_u64(json, NULL, step->from_moment);
        json_u64(json, NULL, step->to_moment);
        json_u64(json, NULL, step->peak_moment);
        json_end(json);
    }
    json_end(json);
}

static void add_calls(struct json_writer *json, const struct rank_profile *profile,
                      const struct trace *trace) {
    json_array(json, "calls", JSON_COMPACT);
    for (uint32_t i = 0; i < profile->n_calls; i++) {
        const struct rank_call *call = &profile->call[i];
        char site[SITE_CAPACITY];
        site_text(trace, call->name, site, sizeof site);
        json_array(json, NULL, JSON_COMPACT);
        json_u64(json, NULL, call->site);
        json_text(json, NULL, site);
        json_end(json);
    }
    json_end(json);
}

static void add_tables(struct json_writer *json, const struct rank_profile *profile) {
    json_array(json, "tables", JSON_COMPACT);
    for (uint32_t i = 0; i < profile->n_tables; i++) {
        const struct rank_table *table = &profile->table[i];
        json_array(json, NULL, JSON_COMPACT);
        json_i64(json, NULL, table->step);
        json_u64(json, NULL, table->at);
        json_u64(json, NULL, table->total_bytes);
        for (uint32_t k = 0; k < table->count; k++) {
            json_u64(json, NULL, table->entry[k].call);
            json_u64(json, NULL, table->entry[k].bytes);
        }
        json_end(json);
    }
    json_end(json);
}

bool profile_add(struct json_writer *json, const struct timeline *timeline, struct arena *arena) {
    struct verdicts verdicts;
    struct rank_profile profile;
    if (!verdicts_init(&verdicts, timeline, arena) || !rank_profile_make(&profile, &verdicts, arena))
        return false;
    add_steps(json, &profile);
    add_calls(json, &profile, timeline->trace);
    add_tables(json, &profile);
    json_i64(json, "oom_step", profile.oom_step);
    json_i64(json, "oom_phase", profile.oom_phase);
    json_u64(json, "signature", profile.signature);
    return true;
}

static uint32_t count_of(const cJSON *array, uint32_t most) {
    uint32_t count = cJSON_IsArray(array) ? (uint32_t)cJSON_GetArraySize(array) : 0;
    return count < most ? count : most;
}

static void read_step(struct rank_step *step, const cJSON *item) {
    const cJSON *at = cJSON_IsArray(item) ? item->child : NULL;
    uint64_t figures[11] = {0};
    int64_t number = json_file_bounded(at, -1, INT32_MAX);
    for (uint32_t i = 0; at != NULL && i < 11; i++, at = at->next)
        figures[i] = sidecar_bytes(at);
    *step = (struct rank_step){
        .number = number,
        .complete = figures[1] != 0,
        .begin_bytes = figures[2],
        .peak_bytes = figures[3],
        .end_bytes = figures[4],
        .phase_peak = {figures[5], figures[6], figures[7]},
        .from_moment = (uint32_t)figures[8],
        .to_moment = (uint32_t)figures[9],
        .peak_moment = (uint32_t)figures[10],
    };
}

/* Reads the steps; they are rejected unless their numbers rise. */
static void read_steps(struct rank_profile *profile, const cJSON *steps, struct batch *batch) {
    const cJSON *item;
    uint32_t most = count_of(steps, RANK_STEPS_MOST);
    profile->step = batch_alloc(batch, most, sizeof *profile->step);
    cJSON_ArrayForEach(item, steps) {
        struct rank_step step;
        read_step(&step, item);
        bool rises = profile->n_steps == 0 || step.number > profile->step[profile->n_steps - 1].number;
        if (step.number >= 0 && rises && profile->n_steps < most)
            profile->step[profile->n_steps++] = step;
    }
}

static void read_calls(struct index_row *row, const cJSON *calls, struct batch *batch) {
    struct rank_profile *profile = &row->profile;
    const cJSON *item;
    uint32_t most = count_of(calls, RANK_CALLS_MOST);
    profile->call = batch_alloc(batch, most, sizeof *profile->call);
    row->call_names = batch_alloc(batch, most, sizeof *row->call_names);
    cJSON_ArrayForEach(item, calls) {
        const cJSON *at = cJSON_IsArray(item) ? item->child : NULL;
        struct rank_call call = {.name = profile->n_calls};
        call.site = (uint32_t)json_file_bounded(at, 0, UINT32_MAX);
        bool rises = profile->n_calls == 0 || call.site > profile->call[profile->n_calls - 1].site;
        if (!rises || profile->n_calls == most)
            break; /* ends here: tables name calls by their place in this list */
        row->call_names[profile->n_calls] =
            batch_keep(batch, cJSON_GetStringValue(at != NULL ? at->next : NULL));
        profile->call[profile->n_calls++] = call;
    }
}

static void read_table(struct rank_profile *profile, const cJSON *item, struct batch *batch) {
    struct rank_table table = {.step = RANK_NO_STEP};
    const cJSON *at = cJSON_IsArray(item) ? item->child : NULL;
    if (at == NULL || at->next == NULL || at->next->next == NULL)
        return;
    table.step = json_file_bounded(at, RANK_NO_STEP, INT32_MAX);
    table.at = (enum rank_moment)json_file_bounded(at->next, RANK_AT_END, RANK_AT_OOM);
    table.total_bytes = sidecar_bytes(at->next->next);
    table.entry = batch_alloc(batch, RANK_ENTRIES_MOST, sizeof *table.entry);
    for (at = at->next->next->next; at != NULL && at->next != NULL && table.count < RANK_ENTRIES_MOST;
         at = at->next->next) {
        int64_t call = json_file_bounded(at, -1, UINT32_MAX);
        if (call >= 0 && call < profile->n_calls)
            table.entry[table.count++] = (struct rank_entry){(uint32_t)call, sidecar_bytes(at->next)};
    }
    profile->table[profile->n_tables++] = table;
}

static void read_tables(struct rank_profile *profile, const cJSON *tables, struct batch *batch) {
    const cJSON *item;
    uint32_t most = count_of(tables, RANK_TABLES_MOST);
    profile->table = batch_alloc(batch, most, sizeof *profile->table);
    cJSON_ArrayForEach(item, tables) {
        if (profile->n_tables < most)
            read_table(profile, item, batch);
    }
}

void profile_read(struct index_row *row, const cJSON *device, struct batch *batch) {
    row->profile = (struct rank_profile){
        .oom_step = json_file_bounded(json_member(device, "oom_step"), RANK_NO_STEP, INT32_MAX),
        .oom_phase = (int32_t)json_file_bounded(json_member(device, "oom_phase"), -1, RANK_AT_OPTIMIZER),
        .signature = sidecar_bytes(json_member(device, "signature")),
    };
    read_steps(&row->profile, json_member(device, "steps"), batch);
    read_calls(row, json_member(device, "calls"), batch);
    read_tables(&row->profile, json_member(device, "tables"), batch);
}
