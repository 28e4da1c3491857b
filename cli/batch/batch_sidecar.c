#include "cli/batch/batch_sidecar.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_profile.h"
#include "cli/json_file.h"
#include "cli/version.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a number of bytes. A sidecar may hold anything: a member that is not one counts as 0. */
static uint64_t number_from(const cJSON *item) {
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= 0x1p63
               ? (uint64_t)item->valuedouble
               : 0;
}

static uint64_t number_of(const cJSON *object, const char *name) {
    return number_from(json_member(object, name));
}

/* Reads a figure of an out-of-memory error; null is OOM_UNKNOWN. */
static uint64_t figure_of(const cJSON *oom, const char *name) {
    return cJSON_IsNull(json_member(oom, name)) ? OOM_UNKNOWN : number_of(oom, name);
}

/* The element whose "device" is `ordinal`. */
static const cJSON *device_of(const cJSON *owner, int64_t ordinal) {
    const cJSON *device;
    cJSON_ArrayForEach(device, json_member(owner, "devices")) {
        if (json_file_number(device, "device", INT64_MIN) == ordinal)
            return device;
    }
    return NULL;
}

static void read_figures(struct index_row *row, const cJSON *device) {
    row->n_events = number_of(device, "events");
    row->peak_bytes = number_of(device, "peak_bytes");
    row->peak_event = json_file_number(device, "peak_event", -1);
    row->end_bytes = number_of(device, "end_bytes");
    row->reserved_peak_bytes = number_of(device, "reserved_peak_bytes");
    row->reserved_end_bytes = number_of(device, "reserved_end_bytes");
    const cJSON *ooms = json_member(device, "oom");
    const cJSON *first = cJSON_GetArrayItem(ooms, 0);
    row->n_ooms = (uint32_t)cJSON_GetArraySize(ooms);
    row->oom_event = number_of(first, "event");
    row->oom_requested_bytes = figure_of(first, "requested_bytes");
    row->oom_free_bytes = figure_of(first, "device_free_bytes");
}

/* If a log prints only reserved bytes, its highest level is theirs. */
static void read_levels(struct index_row *row, const cJSON *device) {
    const cJSON *levels = json_member(device, "levels");
    const cJSON *shown = json_member(levels, json_file_text(levels, "shown", ""));
    if (shown == NULL || !cJSON_IsNull(json_member(device, "peak_bytes")))
        return;
    row->peak_bytes = number_of(shown, "peak_bytes");
    row->end_bytes = number_of(shown, "last_bytes");
}

static bool read_curve(struct index_row *row, const cJSON *curve, struct arena *arena) {
    const cJSON *sample;
    row->samples = arena_alloc(arena, (INDEX_SAMPLES + 1) * sizeof *row->samples);
    if (row->samples == NULL)
        return false;
    /* No sample may exceed the peak, because the index draws samples on a scale that ends there. */
    cJSON_ArrayForEach(sample, curve) {
        uint64_t bytes = number_from(sample);
        row->samples[row->n_samples++] = bytes < row->peak_bytes ? bytes : row->peak_bytes;
    }
    return true;
}

/* Reads when the samples begin. The row gets no times where one is missing or comes before its predecessor. */
static bool read_curve_times(struct index_row *row, const cJSON *extra, struct arena *arena) {
    const cJSON *sample;
    int64_t first = json_file_number(extra, "curve_first_us", -1), last = INT64_MIN;
    uint32_t count = 0;
    uint64_t *us = arena_alloc(arena, (INDEX_SAMPLES + 1) * sizeof *us);
    if (us == NULL)
        return false;
    cJSON_ArrayForEach(sample, json_member(extra, "curve_us")) {
        double offset = cJSON_IsNumber(sample) ? sample->valuedouble : -1e300;
        if (first < 0 || count == row->n_samples || !(fabs(offset) < 0x1p52) || (int64_t)offset < last ||
            first + (int64_t)offset < 0)
            return true;
        last = (int64_t)offset;
        us[count++] = (uint64_t)(first + last);
    }
    row->sample_us = count != 0 && count == row->n_samples ? us : NULL;
    return true;
}

/* Reads at most as many sites as are written, which bounds the comparison. */
static bool read_sites(struct index_row *row, const cJSON *sites, struct arena *arena) {
    const cJSON *item;
    row->sites = arena_alloc(arena, SIDECAR_SITES * sizeof *row->sites);
    if (row->sites == NULL)
        return false;
    cJSON_ArrayForEach(item, sites) {
        const cJSON *bytes = cJSON_GetArrayItem(item, 0), *number = cJSON_GetArrayItem(item, 1);
        const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(item, 2));
        if (!cJSON_IsNumber(bytes) || !cJSON_IsNumber(number) || text == NULL ||
            row->n_sites == SIDECAR_SITES)
            continue;
        const char *site = json_file_keep(arena, text);
        if (site == NULL)
            return false;
        row->sites[row->n_sites++] = (struct index_site){site, number_from(bytes), number_from(number)};
    }
    return true;
}

static bool read_settings(struct index_row *row, const cJSON *settings, struct arena *arena) {
    const cJSON *item;
    size_t most = (size_t)cJSON_GetArraySize(settings);
    row->settings = arena_alloc(arena, (most + 1) * sizeof *row->settings);
    cJSON_ArrayForEach(item, settings) {
        const char *name = json_file_text(item, "settings", NULL);
        if (row->settings == NULL || name == NULL || (name = json_file_keep(arena, name)) == NULL)
            return false;
        row->settings[row->n_settings++] = (struct index_setting){
            name, number_of(item, "peak_reserved_bytes"), cJSON_IsTrue(json_member(item, "served"))};
    }
    return row->settings != NULL;
}

/* The severity of a name that this version writes. A name of an older or a later version counts as the least that is a
 * finding. */
static enum finding_severity severity_of(const char *name) {
    enum finding_severity severity = SEVERITY_HIGH;
    while (severity > SEVERITY_INFO && strcmp(finding_severity_name(severity), name) != 0)
        severity--;
    return severity == SEVERITY_INFO && strcmp(name, "info") != 0 ? SEVERITY_LOW : severity;
}

static enum finding_confidence confidence_of(const char *name) {
    enum finding_confidence confidence = CONFIDENCE_CERTAIN;
    while (confidence > CONFIDENCE_POSSIBLE && strcmp(finding_confidence_name(confidence), name) != 0)
        confidence--;
    return confidence;
}

/* Reads the report's findings, the first INDEX_NOTES. */
static bool read_notes(struct index_note **notes, uint32_t *count, const cJSON *findings,
                       struct arena *arena) {
    const cJSON *item;
    *notes = arena_alloc(arena, INDEX_NOTES * sizeof **notes);
    if (*notes == NULL)
        return false;
    cJSON_ArrayForEach(item, findings) {
        if (*count == INDEX_NOTES)
            break;
        struct index_note note = {
            .kind = json_file_keep(arena, json_file_text(item, "kind", NULL)),
            .severity = severity_of(json_file_text(item, "severity", "")),
            .confidence = confidence_of(json_file_text(item, "confidence", "")),
            .title = json_file_keep(arena, json_file_text(item, "title", NULL)),
            .site = json_file_keep(arena, json_file_text(item, "site", NULL)),
            .view = json_file_keep(arena, json_file_text(item, "view", NULL)),
            .bytes = number_of(item, "bytes"),
        };
        if (note.kind == NULL || note.title == NULL || note.site == NULL || note.view == NULL)
            return false;
        note.out_of_memory = strcmp(note.kind, finding_kind_name(FINDING_OUT_OF_MEMORY)) == 0;
        (*notes)[(*count)++] = note;
    }
    return true;
}

/* Reads the sentence about a file that is cut short. False: no memory. */
static bool read_truncation(struct index_row *row, const cJSON *document, struct arena *arena) {
    const cJSON *diagnostic;
    cJSON_ArrayForEach(diagnostic, json_member(document, "diagnostics")) {
        const char *code = json_file_text(diagnostic, "code", NULL);
        if (code != NULL && strcmp(code, "truncated") == 0) {
            row->truncation = json_file_keep(arena, json_file_text(diagnostic, "message", NULL));
            return row->truncation != NULL;
        }
    }
    return true;
}

/* Hashes what the outputs beside a sidecar were made of: the input as it was then, the options and the program. */
static uint64_t stamp_of(const cJSON *document, const cJSON *batch) {
    const cJSON *item;
    uint64_t stamp = batch_hash(json_file_text(document, "recording_id", "")) + number_of(batch, "size");
    cJSON_ArrayForEach(item, batch) {
        const char *text = cJSON_GetStringValue(item);
        if (text != NULL)
            stamp = stamp * 0x100000001b3u ^ batch_hash(text);
    }
    return stamp;
}

static bool read_device(struct index_row *row, const cJSON *figures, const cJSON *extra,
                        struct arena *arena) {
    row->device = json_file_number(figures, "device", 0);
    row->capacity_bytes = number_of(extra, "capacity_bytes");
    read_figures(row, figures);
    const cJSON *made = json_member(figures, "peak_made_of");
    bool is_told = made != NULL && row->has_allocations;
    row->made_of = is_told ? json_file_keep(arena, json_file_text(made, "text", NULL)) : NULL;
    const char *plan = json_file_text(figures, "plan", NULL);
    row->plan = plan != NULL ? json_file_keep(arena, plan) : NULL;
    if (!row->has_allocations)
        read_levels(row, figures);
    return (row->plan != NULL || plan == NULL) && read_settings(row, json_member(extra, "settings"), arena) &&
           (row->made_of != NULL || !is_told) && profile_read(row, extra, arena) &&
           read_notes(&row->notes, &row->n_notes, json_member(figures, "findings"), arena) &&
           read_curve(row, json_member(extra, "curve"), arena) && read_curve_times(row, extra, arena) &&
           (!row->has_allocations || read_sites(row, json_member(extra, "sites"), arena));
}

static bool device_is_fine(const cJSON *figures, const cJSON *extra) {
    return figures != NULL && extra != NULL &&
           cJSON_GetArraySize(json_member(extra, "curve")) <= INDEX_SAMPLES;
}

/* ---- logs: a row for each rank or GPU ---- */

/* Sets a row's group: ranks of one log are compared with each other, and so are logs known to be of one rank each, by
 * the same level. */
static bool log_group(struct index_row *row, const cJSON *figures, bool alone, struct arena *arena) {
    const cJSON *levels = json_member(figures, "levels");
    char *group;
    if (asprintf(&group, "%s, %s", alone ? "logs" : row->input, json_file_text(levels, "shown", "")) < 0)
        return false;
    row->group = json_file_keep(arena, group);
    free(group);
    return row->group != NULL;
}

/* Is it a rank? The host's memory is not one, unless the log has nothing else. */
static bool is_rank(const cJSON *device) {
    return json_file_number(device, "device", -1) >= 0;
}

static uint32_t ranks_count(const cJSON *document) {
    const cJSON *device;
    uint32_t count = 0;
    cJSON_ArrayForEach(device, json_member(document, "devices")) {
        count += is_rank(device);
    }
    return count;
}

static bool read_other(struct index_row *row, const struct index_row *main, const cJSON *figures,
                       const cJSON *extra, struct arena *arena) {
    *row = (struct index_row){.input = main->input,
                              .name = main->name,
                              .step = main->step,
                              .local_rank = INDEX_UNKNOWN,
                              .host = main->host,
                              .recording_id = "",
                              .n_devices = main->n_devices,
                              .has_png = main->has_png,
                              .input_nbytes = main->input_nbytes,
                              .truncation = main->truncation};
    return read_device(row, figures, extra, arena) && log_group(row, figures, false, arena);
}

/* Reads the other devices. Both lists have the same devices in the same order; devices that differ are left out. */
static bool read_others(struct index_row *row, const cJSON *document, const cJSON *batch, uint32_t n_ranks,
                        bool ranks_named, struct arena *arena) {
    const cJSON *extra = json_member(batch, "devices"), *figures;
    extra = extra != NULL ? extra->child : NULL;
    row->others = arena_alloc(arena, ((size_t)n_ranks + 1) * sizeof *row->others);
    if (row->others == NULL)
        return false;
    cJSON_ArrayForEach(figures, json_member(document, "devices")) {
        const cJSON *of = extra;
        extra = extra != NULL ? extra->next : NULL;
        int64_t ordinal = json_file_number(figures, "device", -1);
        if (!is_rank(figures) || ordinal == row->device || !device_is_fine(figures, of) ||
            json_file_number(of, "device", -1) != ordinal)
            continue;
        struct index_row *other = &row->others[row->n_others++];
        if (!read_other(other, row, figures, of, arena))
            return false;
        other->rank = ranks_named ? ordinal : INDEX_UNKNOWN;
    }
    return true;
}

static bool read_log(struct index_row *row, const cJSON *document, const cJSON *batch, const cJSON *figures,
                     struct arena *arena) {
    bool ranks_named = cJSON_IsTrue(json_member(batch, "devices_are_ranks"));
    uint32_t n_ranks = ranks_count(document);
    if (row->device >= 0 && ranks_named)
        row->rank = row->device;
    else if (n_ranks > 1)
        row->rank = INDEX_UNKNOWN;
    return log_group(row, figures, n_ranks < 2 && row->rank != INDEX_UNKNOWN, arena) &&
           (n_ranks < 2 || read_others(row, document, batch, n_ranks, ranks_named, arena));
}

static enum sidecar_result read_document(struct sidecar *sidecar, const cJSON *document, const char *name,
                                         struct arena *arena) {
    const cJSON *batch = json_member(document, "batch");
    const char *input = json_file_text(batch, "input", NULL),
               *mtime = json_file_text(batch, "mtime_ns", NULL);
    int64_t ordinal = json_file_number(batch, "device", INT64_MIN);
    const cJSON *figures = device_of(document, ordinal), *extra = device_of(batch, ordinal);
    uint64_t schema = number_of(document, "schema"); /* 1 had more figures, which nothing here reads */
    if (schema < 1 || schema > 2 || input == NULL || mtime == NULL || !device_is_fine(figures, extra))
        return SIDECAR_NONE;
    struct index_row *row = &sidecar->row;
    row->input = json_file_keep(arena, input);
    row->name = json_file_keep(arena, name);
    row->rank = sidecar->rank = json_file_number(batch, "rank", INDEX_UNKNOWN);
    row->step = json_file_number(batch, "step", INDEX_UNKNOWN);
    row->local_rank = json_file_number(batch, "local_rank", INDEX_UNKNOWN);
    row->host = json_file_keep(arena, json_file_text(batch, "host", NULL));
    row->group = json_file_keep(arena, json_file_text(batch, "group", NULL));
    row->recording_id = json_file_keep(arena, json_file_text(document, "recording_id", NULL));
    row->n_devices = (uint32_t)cJSON_GetArraySize(json_member(document, "devices"));
    row->has_png = json_file_text(batch, "png", NULL) != NULL;
    row->input_nbytes = number_of(batch, "size");
    sidecar->mtime_ns = strtoll(mtime, NULL, 10);
    sidecar->flags = json_file_keep(arena, json_file_text(batch, "flags", NULL));
    sidecar->rules_fingerprint = json_file_keep(arena, json_file_text(batch, "rules_fingerprint", NULL));
    sidecar->version = json_file_keep(arena, json_file_text(batch, "version", NULL));
    row->is_snapshot = strcmp(json_file_text(document, "kind", ""), "snapshot") == 0;
    row->has_allocations = strcmp(json_file_text(document, "kind", ""), "log") != 0;
    row->stamp = stamp_of(document, batch);
    bool kept = row->input != NULL && row->name != NULL && row->host != NULL && row->group != NULL &&
                row->recording_id != NULL && sidecar->flags != NULL && sidecar->rules_fingerprint != NULL &&
                sidecar->version != NULL && read_device(row, figures, extra, arena) &&
                read_truncation(row, document, arena) &&
                (row->has_allocations || read_log(row, document, batch, figures, arena));
    return kept ? SIDECAR_READ : SIDECAR_NO_MEMORY;
}

/* The answer for a file that cannot be opened: a loop of links, a socket or a tree of gigabytes is not a sidecar. */
static enum sidecar_result result_of_errno(int error) {
    if (error == ENOMEM)
        return SIDECAR_NO_MEMORY;
    bool none = error == 0 || error == ENOENT || error == ELOOP || error == ENXIO || error == E2BIG;
    return none ? SIDECAR_NONE : SIDECAR_UNREADABLE;
}

/* The document DIRECTORY/NAME.strata.json; NULL: `*result` says why. */
static cJSON *document_read(const char *directory, const char *name, const struct arena *arena,
                            enum sidecar_result *result, struct json_fault *fault) {
    char *path;
    *result = SIDECAR_NONE;
    if (!names_is_plain(name))
        return NULL;
    *result = SIDECAR_NO_MEMORY;
    if (asprintf(&path, "%s/%s.strata.json", directory, name) < 0)
        return NULL;
    cJSON *document = json_file_read(path, arena->limit_nbytes - arena->used_nbytes, fault);
    if (document == NULL)
        *result = result_of_errno(errno);
    free(path);
    return document;
}

enum sidecar_result sidecar_read(struct sidecar *sidecar, const char *directory, const char *name,
                                 struct arena *arena) {
    enum sidecar_result result;
    *sidecar = (struct sidecar){0};
    cJSON *document = document_read(directory, name, arena, &result, &sidecar->fault);
    if (document != NULL)
        result = read_document(sidecar, document, name, arena);
    cJSON_Delete(document);
    return result;
}

/* Reads the dumps of a series, as many as it was made of. */
static bool read_dumps(struct index_series *series, const cJSON *dumps) {
    const cJSON *item;
    uint32_t count = 0;
    if (cJSON_GetArraySize(dumps) != (int)series->n_dumps)
        return false;
    cJSON_ArrayForEach(item, dumps) {
        struct index_dump *dump = &series->dump[count++];
        dump->live_bytes = number_of(item, "live_bytes");
        dump->stayed_bytes = number_of(item, "stayed_bytes");
        dump->new_bytes = number_of(item, "new_bytes");
        dump->gone_bytes = number_of(item, "gone_bytes");
        dump->gap = cJSON_IsTrue(json_member(item, "events_missing_behind"));
    }
    return true;
}

static enum sidecar_result read_series(struct index_series *series, const cJSON *document,
                                       const char *made_of, const char *flags, struct arena *arena) {
    const cJSON *batch = json_member(document, "batch");
    const cJSON *device = device_of(document, json_file_number(batch, "device", INT64_MIN));
    if (strcmp(json_file_text(batch, "series_of", ""), made_of) != 0 ||
        strcmp(json_file_text(batch, "flags", ""), flags) != 0 ||
        strcmp(json_file_text(batch, "version", ""), STRATA_VERSION) != 0 || device == NULL ||
        !read_dumps(series, json_member(document, "series")))
        return SIDECAR_NONE;
    series->has_png = json_file_text(batch, "png", NULL) != NULL;
    series->n_events = number_of(device, "events");
    series->peak_bytes = number_of(device, "peak_bytes");
    return read_notes(&series->notes, &series->n_notes, json_member(device, "findings"), arena)
               ? SIDECAR_READ
               : SIDECAR_NO_MEMORY;
}

enum sidecar_result sidecar_read_series(struct index_series *series, const struct batch *batch,
                                        const struct batch_file *file, struct arena *arena) {
    enum sidecar_result result;
    char made_of[24];
    snprintf(made_of, sizeof made_of, "%016" PRIx64, file->series->made_of);
    cJSON *document = document_read(batch->directory, file->name, arena, &result, NULL);
    if (document != NULL)
        result = read_series(series, document, made_of, batch->settings->flags, arena);
    cJSON_Delete(document);
    return result;
}

static bool output_exists(const struct batch *batch, const struct batch_file *file, const char *ending) {
    char *path;
    if (asprintf(&path, "%s/%s%s", batch->directory, file->name, ending) < 0)
        return false;
    bool exists = access(path, F_OK) == 0;
    free(path);
    return exists;
}

bool sidecar_has_outputs(const struct batch *batch, const struct batch_file *file) {
    const struct settings *settings = batch->settings;
    return (!batch_writes_page(batch, file) || output_exists(batch, file, ".html")) &&
           (!settings->png || output_exists(batch, file, ".png")) &&
           (!batch_exports(batch, file) ||
            output_exists(batch, file, export_kind_ending(settings->export_kind)));
}

bool sidecar_is_current(struct batch *batch, struct batch_file *file) {
    struct sidecar sidecar;
    bool current = sidecar_read(&sidecar, batch->directory, file->name, &batch->arena) == SIDECAR_READ &&
                   strcmp(sidecar.row.input, file->input) == 0 && sidecar.row.input_nbytes == file->nbytes &&
                   sidecar.mtime_ns == file->mtime_ns && sidecar.rank == file->rank &&
                   sidecar.row.step == file->step && strcmp(sidecar.flags, batch->settings->flags) == 0 &&
                   strcmp(sidecar.rules_fingerprint, batch->rules_fingerprint) == 0 &&
                   strcmp(sidecar.version, STRATA_VERSION) == 0 && sidecar_has_outputs(batch, file);
    if (current && batch->settings->png)
        current = sidecar.row.has_png;
    struct index_row *row = current ? arena_alloc(&batch->arena, sizeof *row) : NULL;
    if (row != NULL)
        *row = sidecar.row;
    file->row = row;
    return current;
}
