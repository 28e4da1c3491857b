#include "cli/batch/batch_sidecar.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_profile.h"
#include "cli/json_file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t number_of(const cJSON *object, const char *name) {
    return sidecar_bytes(json_member(object, name));
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
    row->peak_event = json_file_bounded(json_member(device, "peak_event"), -1, INT64_C(1) << 60);
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

static void read_curve(struct index_row *row, const cJSON *curve, struct batch *batch) {
    const cJSON *sample;
    row->samples = batch_alloc(batch, INDEX_SAMPLES, sizeof *row->samples);
    /* No sample may exceed the peak, because the index draws samples on a scale that ends there. */
    cJSON_ArrayForEach(sample, curve) {
        uint64_t bytes = sidecar_bytes(sample);
        row->samples[row->n_samples++] = bytes < row->peak_bytes ? bytes : row->peak_bytes;
    }
}

/* Reads when the samples begin. The row gets no times where one is missing or comes before its predecessor. */
static void read_curve_times(struct index_row *row, const cJSON *extra, struct batch *batch) {
    const cJSON *sample;
    int64_t first = json_file_number(extra, "curve_first_us", -1), last = INT64_MIN;
    uint32_t count = 0;
    uint64_t *us = batch_alloc(batch, INDEX_SAMPLES, sizeof *us);
    cJSON_ArrayForEach(sample, json_member(extra, "curve_us")) {
        double offset = cJSON_IsNumber(sample) ? sample->valuedouble : -1e300;
        if (first < 0 || count == row->n_samples || !(fabs(offset) < 0x1p52) || (int64_t)offset < last ||
            first + (int64_t)offset < 0)
            return;
        last = (int64_t)offset;
        us[count++] = (uint64_t)(first + last);
    }
    row->sample_us = count != 0 && count == row->n_samples ? us : NULL;
}

/* Reads the settings up to one without a name. */
static void read_settings(struct index_row *row, const cJSON *settings, struct batch *batch) {
    const cJSON *item;
    row->settings = batch_alloc(batch, (size_t)cJSON_GetArraySize(settings), sizeof *row->settings);
    cJSON_ArrayForEach(item, settings) {
        const char *name = json_file_text(item, "settings", NULL);
        if (name == NULL)
            return;
        row->settings[row->n_settings++] =
            (struct plan_need){batch_keep(batch, name), number_of(item, "peak_reserved_bytes"),
                               cJSON_IsTrue(json_member(item, "served"))};
    }
}

/* The severity of a name that this version writes. A name of an older or a later version counts as the least that is a
 * finding. */
static enum finding_severity severity_of(const char *name) {
    enum finding_severity severity = SEVERITY_HIGH;
    while (severity > SEVERITY_INFO && strcmp(finding_severity_name[severity], name) != 0)
        severity--;
    return severity == SEVERITY_INFO && strcmp(name, "info") != 0 ? SEVERITY_LOW : severity;
}

static enum finding_confidence confidence_of(const char *name) {
    enum finding_confidence confidence = CONFIDENCE_CERTAIN;
    while (confidence > CONFIDENCE_POSSIBLE && strcmp(finding_confidence_name[confidence], name) != 0)
        confidence--;
    return confidence;
}

/* Reads the report's findings, the first INDEX_NOTES. */
static void read_notes(struct index_note **notes, uint32_t *count, const cJSON *findings,
                       struct batch *batch) {
    const cJSON *item;
    *notes = batch_alloc(batch, INDEX_NOTES, sizeof **notes);
    cJSON_ArrayForEach(item, findings) {
        if (*count == INDEX_NOTES)
            break;
        struct index_note note = {
            .kind = batch_keep(batch, json_file_text(item, "kind", NULL)),
            .severity = severity_of(json_file_text(item, "severity", "")),
            .confidence = confidence_of(json_file_text(item, "confidence", "")),
            .title = batch_keep(batch, json_file_text(item, "title", NULL)),
            .site = batch_keep(batch, json_file_text(item, "site", NULL)),
            .view = batch_keep(batch, json_file_text(item, "view", NULL)),
            .bytes = number_of(item, "bytes"),
        };
        note.out_of_memory = strcmp(note.kind, finding_kind_name(FINDING_OUT_OF_MEMORY)) == 0;
        (*notes)[(*count)++] = note;
    }
}

/* The sentence about a file that is cut short. NULL: it is complete. */
static const char *truncation_of(const cJSON *document, struct batch *batch) {
    const cJSON *diagnostic;
    cJSON_ArrayForEach(diagnostic, json_member(document, "diagnostics")) {
        if (strcmp(json_file_text(diagnostic, "code", ""), "truncated") == 0)
            return batch_keep(batch, json_file_text(diagnostic, "message", NULL));
    }
    return NULL;
}

/* A text of the object; NULL: it has none. */
static const char *text_of(const cJSON *object, const char *name, struct batch *batch) {
    const char *text = json_file_text(object, name, NULL);
    return text != NULL ? batch_keep(batch, text) : NULL;
}

static void read_device(struct index_row *row, const cJSON *figures, const cJSON *extra,
                        struct batch *batch) {
    const cJSON *made = json_member(figures, "peak_made_of");
    row->device = json_file_number(figures, "device", 0);
    row->capacity_bytes = number_of(extra, "capacity_bytes");
    read_figures(row, figures);
    if (made != NULL && row->has_allocations)
        row->made_of = batch_keep(batch, json_file_text(made, "text", NULL));
    row->plan = text_of(figures, "plan", batch);
    if (!row->has_allocations)
        read_levels(row, figures);
    read_settings(row, json_member(extra, "settings"), batch);
    profile_read(row, extra, batch);
    read_notes(&row->notes, &row->n_notes, json_member(figures, "findings"), batch);
    read_curve(row, json_member(extra, "curve"), batch);
    read_curve_times(row, extra, batch);
}

static bool device_is_fine(const cJSON *figures, const cJSON *extra) {
    return figures != NULL && extra != NULL &&
           cJSON_GetArraySize(json_member(extra, "curve")) <= INDEX_SAMPLES;
}

/* ---- logs: a row for each rank or GPU ---- */

/* The group of a log's row: ranks of one log are compared with each other, and so are logs known to be of one rank
 * each, by the same level. */
static const char *log_group(const struct index_row *row, const cJSON *figures, bool alone,
                             struct batch *batch) {
    return batch_text(batch, "%s, %s", alone ? "logs" : row->input,
                      json_file_text(json_member(figures, "levels"), "shown", ""));
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

/* Reads the other devices. Both lists have the same devices in the same order; devices that differ are left out. */
static void read_others(struct index_row *row, const cJSON *document, const cJSON *member, uint32_t n_ranks,
                        bool ranks_named, struct batch *batch) {
    const cJSON *extra = json_member(member, "devices"), *figures;
    extra = extra != NULL ? extra->child : NULL;
    row->others = batch_alloc(batch, n_ranks, sizeof *row->others);
    cJSON_ArrayForEach(figures, json_member(document, "devices")) {
        const cJSON *of = extra;
        extra = extra != NULL ? extra->next : NULL;
        int64_t ordinal = json_file_number(figures, "device", -1);
        if (!is_rank(figures) || ordinal == row->device || !device_is_fine(figures, of) ||
            json_file_number(of, "device", -1) != ordinal)
            continue;
        struct index_row *other = &row->others[row->n_others++];
        *other = (struct index_row){.input = row->input,
                                    .name = row->name,
                                    .rank = ranks_named ? ordinal : INDEX_UNKNOWN,
                                    .step = row->step,
                                    .local_rank = INDEX_UNKNOWN,
                                    .host = row->host,
                                    .group = log_group(row, figures, false, batch),
                                    .recording_id = "",
                                    .n_devices = row->n_devices,
                                    .has_png = row->has_png,
                                    .input_nbytes = row->input_nbytes,
                                    .truncation = row->truncation};
        read_device(other, figures, of, batch);
    }
}

static void read_log(struct index_row *row, const cJSON *document, const cJSON *member, const cJSON *figures,
                     struct batch *batch) {
    bool ranks_named = cJSON_IsTrue(json_member(member, "devices_are_ranks"));
    uint32_t n_ranks = ranks_count(document);
    if (row->device >= 0 && ranks_named)
        row->rank = row->device;
    else if (n_ranks > 1)
        row->rank = INDEX_UNKNOWN;
    row->group = log_group(row, figures, n_ranks < 2 && row->rank != INDEX_UNKNOWN, batch);
    if (n_ranks > 1)
        read_others(row, document, member, n_ranks, ranks_named, batch);
}

static enum sidecar_result read_document(struct sidecar *sidecar, const cJSON *document, const char *name,
                                         struct batch *batch) {
    const cJSON *member = json_member(document, "batch");
    const char *input = json_file_text(member, "input", NULL), *kind = json_file_text(document, "kind", ""),
               *mtime = json_file_text(member, "mtime_ns", NULL);
    int64_t ordinal = json_file_number(member, "device", INT64_MIN);
    const cJSON *figures = device_of(document, ordinal), *extra = device_of(member, ordinal);
    if (number_of(document, "schema") != SIDECAR_SCHEMA || input == NULL || mtime == NULL ||
        !device_is_fine(figures, extra))
        return SIDECAR_NONE;
    struct index_row *row = &sidecar->row;
    *row = (struct index_row){
        .is_snapshot = strcmp(kind, "snapshot") == 0,
        .has_allocations = strcmp(kind, "log") != 0,
        .input = batch_keep(batch, input),
        .name = batch_keep(batch, name),
        .rank = json_file_number(member, "rank", INDEX_UNKNOWN),
        .step = json_file_number(member, "step", INDEX_UNKNOWN),
        .local_rank = json_file_number(member, "local_rank", INDEX_UNKNOWN),
        .host = batch_keep(batch, json_file_text(member, "host", NULL)),
        .group = batch_keep(batch, json_file_text(member, "group", NULL)),
        .recording_id = batch_keep(batch, json_file_text(document, "recording_id", NULL)),
        .n_devices = (uint32_t)cJSON_GetArraySize(json_member(document, "devices")),
        .has_png = json_file_text(member, "png", NULL) != NULL,
        .input_nbytes = number_of(member, "size"),
        .truncation = truncation_of(document, batch),
    };
    sidecar->rank = row->rank;
    sidecar->mtime_ns = strtoll(mtime, NULL, 10);
    sidecar->flags = batch_keep(batch, json_file_text(member, "flags", NULL));
    sidecar->version = batch_keep(batch, json_file_text(member, "version", NULL));
    read_device(row, figures, extra, batch);
    if (!row->has_allocations)
        read_log(row, document, member, figures, batch);
    return SIDECAR_READ;
}

/* Reads the document DIRECTORY/NAME.strata.json. NULL: `*result` says why; a loop of links, a socket or a tree of
 * gigabytes is not a sidecar. */
static cJSON *document_read(const char *directory, const char *name, struct batch *batch,
                            enum sidecar_result *result, struct json_fault *fault) {
    *result = SIDECAR_NONE;
    if (!names_is_plain(name))
        return NULL;
    const char *path = batch_text(batch, "%s/%s.strata.json", directory, name);
    cJSON *document = batch_json(batch, path, fault);
    int error = errno;
    if (document == NULL && error != 0 && error != ENOENT && error != ELOOP && error != ENXIO &&
        error != E2BIG)
        *result = SIDECAR_UNREADABLE;
    return document;
}

enum sidecar_result sidecar_read(struct sidecar *sidecar, struct batch *batch, const char *name) {
    enum sidecar_result result;
    *sidecar = (struct sidecar){0};
    cJSON *document = document_read(batch->directory, name, batch, &result, &sidecar->fault);
    if (document != NULL)
        result = read_document(sidecar, document, name, batch);
    cJSON_Delete(document);
    return result;
}

static bool output_exists(struct batch *batch, const struct batch_file *file, const char *ending) {
    return access(batch_text(batch, "%s/%s%s", batch->directory, file->name, ending), F_OK) == 0;
}

bool sidecar_has_outputs(struct batch *batch, const struct batch_file *file) {
    const struct settings *settings = batch->settings;
    return (!batch_writes_page(batch, file) || output_exists(batch, file, ".html")) &&
           (!settings->batch.png || output_exists(batch, file, ".png")) &&
           (!batch_exports(batch) || output_exists(batch, file, export_kinds[settings->export_kind].ending));
}

bool sidecar_is_current(struct batch *batch, struct batch_file *file) {
    struct sidecar sidecar;
    if (sidecar_read(&sidecar, batch, file->name) != SIDECAR_READ ||
        strcmp(sidecar.row.input, file->input) != 0 || sidecar.row.input_nbytes != file->nbytes ||
        sidecar.mtime_ns != file->mtime_ns || sidecar.rank != file->rank || sidecar.row.step != file->step ||
        strcmp(sidecar.flags, batch->settings->flags) != 0 || strcmp(sidecar.version, STRATA_VERSION) != 0 ||
        !sidecar_has_outputs(batch, file) || (batch->settings->batch.png && !sidecar.row.has_png))
        return false;
    struct index_row *row = batch_alloc(batch, 1, sizeof *row);
    *row = sidecar.row;
    file->row = row;
    return true;
}
