#include "cli/batch/batch_sidecar.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_profile.h"
#include "cli/json_file.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "layout/groups.h"
#include "layout/site.h"
#include "render/json_text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SITES = 60, SITE_CAPACITY = 400 };

/* Text that a JSON reader has made, into the arena; "" of NULL. NULL: no memory. */
static const char *text_keep(struct arena *arena, const char *text) {
    size_t nbytes = text != NULL ? strlen(text) + 1 : 1;
    char *copy = arena_alloc(arena, nbytes);
    if (copy != NULL && text != NULL)
        memcpy(copy, text, nbytes);
    return copy;
}

/* ---- writing ---- */

/* The highest total of each of at most INDEX_SAMPLES equal parts of the run, so that no peak is lost. */
static void add_curve(struct buffer *out, const struct timeline *timeline) {
    uint64_t n = timeline->n_moments, count = n < INDEX_SAMPLES ? n : INDEX_SAMPLES;
    buffer_add_text(out, "\"curve\": [");
    for (uint64_t i = 0; i < count; i++) {
        uint32_t from = (uint32_t)(n * i / count), to = (uint32_t)(n * (i + 1) / count);
        uint64_t live = timeline->live[timeline_peak_in(timeline, from, to)];
        buffer_printf(out, "%s%" PRIu64, i != 0 ? "," : "", live);
    }
    buffer_add_text(out, "]");
    if (!timeline_timed(timeline))
        return;
    buffer_printf(out, ", \"curve_first_us\": %" PRId64 ", \"curve_us\": [", timeline->first_us);
    for (uint64_t i = 0; i < count; i++)
        buffer_printf(out, "%s%" PRId64, i != 0 ? "," : "",
                      timeline_start_us(timeline, (uint32_t)(n * i / count)));
    buffer_add_text(out, "]");
}

static bool add_sites(struct buffer *out, const struct timeline *timeline, struct arena *arena) {
    struct group *groups;
    uint32_t n_groups;
    if (!groups_at(timeline, timeline->peak_moment, GROUP_BY_SITE, arena, &groups, &n_groups))
        return false;
    buffer_add_text(out, ",\n       \"sites\": [");
    for (uint32_t i = 0; i < n_groups && i < SITES; i++) {
        char site[SITE_CAPACITY];
        site_text(timeline->trace, groups[i].site, site, sizeof site);
        buffer_printf(out, "%s\n        [%" PRIu64 ", %" PRIu32 ", ", i != 0 ? "," : "", groups[i].bytes,
                      groups[i].count);
        json_text_add(out, site);
        buffer_add_text(out, "]");
    }
    buffer_add_text(out, "]");
    return true;
}

static bool add_device(struct buffer *out, const struct recording *recording, const struct settings *settings,
                       uint32_t device, struct arena *scratch) {
    struct arena arena;
    struct timeline timeline;
    arena_init(&arena, arena_share(scratch), SIZE_MAX);
    bool done = timeline_init(&timeline, &recording->trace, device, &arena);
    if (done) {
        buffer_printf(out, "%s\n      {\"device\": %" PRId32 ", \"capacity_bytes\": %" PRIu64 ", ",
                      device != 0 ? "," : "", recording->trace.devices[device].ordinal,
                      recording_capacity(recording, settings, device));
        add_curve(out, &timeline);
        done = add_sites(out, &timeline, &arena) && profile_add(out, &timeline, &arena);
        buffer_add_text(out, "}");
    }
    if (!done || out->failed)
        recording_print_no_memory(recording, scratch->limit_hit);
    arena_release(&arena);
    return done && !out->failed;
}

static void add_number(struct buffer *out, const char *name, int64_t number) {
    if (number == BATCH_UNKNOWN)
        buffer_printf(out, ",\n    \"%s\": null", name);
    else
        buffer_printf(out, ",\n    \"%s\": %" PRId64, name, number);
}

static void add_text(struct buffer *out, const char *name, const char *text) {
    buffer_printf(out, ",\n    \"%s\": ", name);
    json_text_add(out, text);
}

static int64_t mtime_of(const struct stat *status) {
    return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

/* With what was asked for. */
static void add_outputs(struct buffer *out, const struct batch *batch, const struct batch_file *file) {
    add_text(out, "flags", batch->settings->flags);
    if (batch->rules_fingerprint[0] != '\0')
        add_text(out, "rules_fingerprint", batch->rules_fingerprint);
    add_text(out, "version", STRATA_VERSION);
    buffer_printf(out, ",\n    \"page\": \"%s.html\"", file->name);
    if (batch->settings->png)
        buffer_printf(out, ",\n    \"png\": \"%s.png\"", file->name);
    else
        buffer_add_text(out, ",\n    \"png\": null");
}

/* Size and time of change are those of the open file: what was read, even if it has been replaced meanwhile. The time
 * is text, because it has more digits than most readers of JSON keep. */
static void add_origin(struct buffer *out, const struct recording *recording, const struct batch *batch,
                       const struct batch_file *file) {
    buffer_add_text(out, "    \"input\": ");
    json_text_add(out, file->input);
    add_number(out, "rank", file->rank);
    add_number(out, "step", file->step);
    add_number(out, "local_rank", file->local_rank);
    add_text(out, "host", file->host != NULL ? file->host : "");
    add_text(out, "group", file->group != NULL ? file->group : "");
    buffer_printf(out, ",\n    \"size\": %" PRIu64, (uint64_t)recording->input.status.st_size);
    buffer_printf(out, ",\n    \"mtime_ns\": \"%" PRId64 "\"", mtime_of(&recording->input.status));
    add_outputs(out, batch, file);
}

/* The report up to the end of its object, and the begin of "batch". False: printed. */
static bool add_report(struct buffer *out, const struct recording *recording, const struct batch *batch,
                       struct arena *scratch) {
    static const char end[] = "\n}\n";
    struct settings settings = *batch->settings;
    settings.format = REPORT_JSON;
    settings.has_device = false; /* what the index shows is one device, what a program reads is the whole */
    if (!report_build(out, recording, &settings, scratch))
        return false;
    out->nbytes -= strlen(end);
    buffer_add_text(out, ",\n  \"batch\": {\n");
    return true;
}

static bool sidecar_end(const struct buffer *out, const struct recording *recording, bool limit_hit) {
    if (out->failed)
        recording_print_no_memory(recording, limit_hit);
    return !out->failed;
}

bool sidecar_build(struct buffer *out, const struct recording *recording, const struct batch *batch,
                   const struct batch_file *file, uint32_t device, struct arena *scratch) {
    if (!add_report(out, recording, batch, scratch))
        return false;
    add_origin(out, recording, batch, file);
    buffer_printf(out, ",\n    \"device\": %" PRId32 ",\n    \"devices\": [",
                  recording->trace.devices[device].ordinal);
    for (uint32_t i = 0; i < recording->trace.n_devices; i++)
        if (!add_device(out, recording, batch->settings, i, scratch))
            return false;
    buffer_add_text(out, "\n    ]\n  }\n}\n");
    return sidecar_end(out, recording, scratch->limit_hit);
}

bool sidecar_build_series(struct buffer *out, const struct recording *recording, const struct batch *batch,
                          const struct batch_file *file, uint32_t device, struct arena *scratch) {
    if (!add_report(out, recording, batch, scratch))
        return false;
    buffer_printf(out, "    \"series_of\": \"%016" PRIx64 "\"", file->series->made_of);
    add_number(out, "rank", file->rank);
    add_outputs(out, batch, file);
    buffer_printf(out, ",\n    \"device\": %" PRId32 "\n  }\n}\n", recording->trace.devices[device].ordinal);
    return sidecar_end(out, recording, scratch->limit_hit);
}

/* ---- reading ---- */

/* A sidecar may say anything: what is no number of bytes counts as 0. */
static uint64_t number_from(const cJSON *item) {
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= 0x1p63
               ? (uint64_t)item->valuedouble
               : 0;
}

static uint64_t number_of(const cJSON *object, const char *name) {
    return number_from(cJSON_GetObjectItemCaseSensitive(object, name));
}

static int64_t signed_of(const cJSON *object, const char *name, int64_t missing) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    bool number = cJSON_IsNumber(item) && item->valuedouble > -0x1p62 && item->valuedouble < 0x1p62;
    return number ? (int64_t)item->valuedouble : missing;
}

static const char *string_of(const cJSON *object, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static const char *string_or_none(const cJSON *object, const char *name) {
    const char *text = string_of(object, name);
    return text != NULL ? text : "";
}

/* The element whose "device" is `ordinal`. */
static const cJSON *device_of(const cJSON *owner, int64_t ordinal) {
    const cJSON *device;
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(owner, "devices")) {
        if (signed_of(device, "device", INT64_MIN) == ordinal)
            return device;
    }
    return NULL;
}

static void read_figures(struct index_row *row, const cJSON *device) {
    row->n_events = number_of(device, "events");
    row->peak_bytes = number_of(device, "peak_bytes");
    row->peak_event = signed_of(device, "peak_event", -1);
    row->end_bytes = number_of(device, "end_bytes");
    row->reserved_peak_bytes = number_of(device, "reserved_peak_bytes");
    row->reserved_end_bytes = number_of(device, "reserved_end_bytes");
    const cJSON *ooms = cJSON_GetObjectItemCaseSensitive(device, "oom");
    const cJSON *first = cJSON_GetArrayItem(ooms, 0);
    row->n_ooms = (uint32_t)cJSON_GetArraySize(ooms);
    row->oom_event = number_of(first, "event");
    row->oom_requested_bytes = number_of(first, "requested_bytes");
    row->oom_free_bytes = number_of(first, "device_free_bytes");
}

static bool read_curve(struct index_row *row, const cJSON *curve, struct arena *arena) {
    const cJSON *sample;
    row->samples = arena_alloc(arena, (INDEX_SAMPLES + 1) * sizeof *row->samples);
    if (row->samples == NULL)
        return false;
    /* None is above the peak, since the index draws them on a scale that ends there. */
    cJSON_ArrayForEach(sample, curve) {
        uint64_t bytes = number_from(sample);
        row->samples[row->n_samples++] = bytes < row->peak_bytes ? bytes : row->peak_bytes;
    }
    return true;
}

/* When the samples begin. None where one is missing, or comes before the one before it. */
static bool read_curve_times(struct index_row *row, const cJSON *extra, struct arena *arena) {
    const cJSON *sample;
    int64_t first = signed_of(extra, "curve_first_us", -1), last = INT64_MIN;
    uint32_t count = 0;
    uint64_t *us = arena_alloc(arena, (INDEX_SAMPLES + 1) * sizeof *us);
    if (us == NULL)
        return false;
    cJSON_ArrayForEach(sample, cJSON_GetObjectItemCaseSensitive(extra, "curve_us")) {
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

/* As many as are written, so that whoever compares them has an end. */
static bool read_sites(struct index_row *row, const cJSON *sites, struct arena *arena) {
    const cJSON *item;
    row->sites = arena_alloc(arena, SITES * sizeof *row->sites);
    if (row->sites == NULL)
        return false;
    cJSON_ArrayForEach(item, sites) {
        const cJSON *bytes = cJSON_GetArrayItem(item, 0), *number = cJSON_GetArrayItem(item, 1);
        const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(item, 2));
        if (!cJSON_IsNumber(bytes) || !cJSON_IsNumber(number) || text == NULL || row->n_sites == SITES)
            continue;
        const char *site = text_keep(arena, text);
        if (site == NULL)
            return false;
        row->sites[row->n_sites++] = (struct index_site){site, number_from(bytes), number_from(number)};
    }
    return true;
}

/* Findings of the report, the first INDEX_NOTES. */
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
            .kind = text_keep(arena, string_of(item, "kind")),
            .severity = text_keep(arena, string_of(item, "severity")),
            .confidence = text_keep(arena, string_of(item, "confidence")),
            .title = text_keep(arena, string_of(item, "title")),
            .site = text_keep(arena, string_of(item, "site")),
            .view = text_keep(arena, string_of(item, "view")),
            .bytes = number_of(item, "bytes"),
        };
        if (note.kind == NULL || note.severity == NULL || note.confidence == NULL || note.title == NULL ||
            note.site == NULL || note.view == NULL)
            return false;
        (*notes)[(*count)++] = note;
    }
    return true;
}

/* The reader's sentence about a file that is cut short. False: no memory. */
static bool read_truncation(struct index_row *row, const cJSON *document, struct arena *arena) {
    const cJSON *diagnostic;
    cJSON_ArrayForEach(diagnostic, cJSON_GetObjectItemCaseSensitive(document, "diagnostics")) {
        const char *code = string_of(diagnostic, "code");
        if (code != NULL && strcmp(code, "truncated") == 0) {
            row->truncation = text_keep(arena, string_of(diagnostic, "message"));
            return row->truncation != NULL;
        }
    }
    return true;
}

/* What the outputs beside a sidecar were made of: the input as it was then, the options and the program. */
static uint64_t stamp_of(const cJSON *document, const cJSON *batch) {
    const cJSON *item;
    uint64_t stamp = batch_hash(string_or_none(document, "recording_id")) + number_of(batch, "size");
    cJSON_ArrayForEach(item, batch) {
        const char *text = cJSON_GetStringValue(item);
        if (text != NULL)
            stamp = stamp * 0x100000001b3u ^ batch_hash(text);
    }
    return stamp;
}

static enum sidecar_result read_document(struct sidecar *sidecar, const cJSON *document, const char *name,
                                         struct arena *arena) {
    const cJSON *batch = cJSON_GetObjectItemCaseSensitive(document, "batch");
    const char *input = string_of(batch, "input"), *mtime = string_of(batch, "mtime_ns");
    int64_t ordinal = signed_of(batch, "device", INT64_MIN);
    const cJSON *figures = device_of(document, ordinal), *extra = device_of(batch, ordinal);
    if (number_of(document, "schema") != 1 || input == NULL || mtime == NULL || figures == NULL ||
        extra == NULL || cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(extra, "curve")) > INDEX_SAMPLES)
        return SIDECAR_NONE;
    struct index_row *row = &sidecar->row;
    row->input = text_keep(arena, input);
    row->name = text_keep(arena, name);
    row->rank = signed_of(batch, "rank", INDEX_UNKNOWN);
    row->step = signed_of(batch, "step", INDEX_UNKNOWN);
    row->local_rank = signed_of(batch, "local_rank", INDEX_UNKNOWN);
    row->host = text_keep(arena, string_of(batch, "host"));
    row->group = text_keep(arena, string_of(batch, "group"));
    row->recording_id = text_keep(arena, string_of(document, "recording_id"));
    row->device = ordinal;
    row->n_devices = (uint32_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(document, "devices"));
    row->has_png = string_of(batch, "png") != NULL;
    row->input_nbytes = number_of(batch, "size");
    sidecar->mtime_ns = strtoll(mtime, NULL, 10);
    sidecar->flags = text_keep(arena, string_of(batch, "flags"));
    sidecar->rules_fingerprint = text_keep(arena, string_of(batch, "rules_fingerprint"));
    sidecar->version = text_keep(arena, string_of(batch, "version"));
    row->capacity_bytes = number_of(extra, "capacity_bytes");
    row->is_snapshot = strcmp(string_or_none(document, "kind"), "snapshot") == 0;
    row->stamp = stamp_of(document, batch);
    read_figures(row, figures);
    bool kept = row->input != NULL && row->name != NULL && sidecar->flags != NULL &&
                sidecar->rules_fingerprint != NULL && sidecar->version != NULL &&
                profile_read(row, extra, arena) &&
                read_notes(&row->notes, &row->n_notes, cJSON_GetObjectItemCaseSensitive(figures, "findings"),
                           arena) &&
                read_curve(row, cJSON_GetObjectItemCaseSensitive(extra, "curve"), arena) &&
                read_curve_times(row, extra, arena) &&
                read_sites(row, cJSON_GetObjectItemCaseSensitive(extra, "sites"), arena) &&
                read_truncation(row, document, arena);
    return kept ? SIDECAR_READ : SIDECAR_NO_MEMORY;
}

/* A loop of links, a socket or a tree of gigabytes is nobody's sidecar. */
static enum sidecar_result result_of_errno(int error) {
    if (error == ENOMEM)
        return SIDECAR_NO_MEMORY;
    bool none = error == 0 || error == ENOENT || error == ELOOP || error == ENXIO || error == E2BIG;
    return none ? SIDECAR_NONE : SIDECAR_UNREADABLE;
}

/* The document DIRECTORY/NAME.strata.json; NULL: `*result` says why. */
static cJSON *document_read(const char *directory, const char *name, const struct arena *arena,
                            enum sidecar_result *result) {
    char *path;
    *result = SIDECAR_NONE;
    if (!names_is_plain(name))
        return NULL;
    *result = SIDECAR_NO_MEMORY;
    if (asprintf(&path, "%s/%s.strata.json", directory, name) < 0)
        return NULL;
    cJSON *document = json_file_read(path, arena->limit_nbytes - arena->used_nbytes);
    if (document == NULL)
        *result = result_of_errno(errno);
    free(path);
    return document;
}

enum sidecar_result sidecar_read(struct sidecar *sidecar, const char *directory, const char *name,
                                 struct arena *arena) {
    enum sidecar_result result;
    *sidecar = (struct sidecar){0};
    cJSON *document = document_read(directory, name, arena, &result);
    if (document != NULL)
        result = read_document(sidecar, document, name, arena);
    cJSON_Delete(document);
    return result;
}

/* The dumps of a series, as many as it was made of. */
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
        dump->gap = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "events_missing_behind"));
    }
    return true;
}

static enum sidecar_result read_series(struct index_series *series, const cJSON *document,
                                       const char *made_of, const char *flags, struct arena *arena) {
    const cJSON *batch = cJSON_GetObjectItemCaseSensitive(document, "batch");
    const cJSON *device = device_of(document, signed_of(batch, "device", INT64_MIN));
    if (strcmp(string_or_none(batch, "series_of"), made_of) != 0 ||
        strcmp(string_or_none(batch, "flags"), flags) != 0 ||
        strcmp(string_or_none(batch, "version"), STRATA_VERSION) != 0 || device == NULL ||
        !read_dumps(series, cJSON_GetObjectItemCaseSensitive(document, "series")))
        return SIDECAR_NONE;
    series->has_png = string_of(batch, "png") != NULL;
    series->n_events = number_of(device, "events");
    series->peak_bytes = number_of(device, "peak_bytes");
    return read_notes(&series->notes, &series->n_notes, cJSON_GetObjectItemCaseSensitive(device, "findings"),
                      arena)
               ? SIDECAR_READ
               : SIDECAR_NO_MEMORY;
}

enum sidecar_result sidecar_read_series(struct index_series *series, const struct batch *batch,
                                        const struct batch_file *file, struct arena *arena) {
    enum sidecar_result result;
    char made_of[24];
    snprintf(made_of, sizeof made_of, "%016" PRIx64, file->series->made_of);
    cJSON *document = document_read(batch->directory, file->name, arena, &result);
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
    return output_exists(batch, file, ".html") &&
           (!batch->settings->png || output_exists(batch, file, ".png"));
}

bool sidecar_is_current(struct batch *batch, struct batch_file *file) {
    struct sidecar sidecar;
    bool current = sidecar_read(&sidecar, batch->directory, file->name, &batch->arena) == SIDECAR_READ &&
                   strcmp(sidecar.row.input, file->input) == 0 && sidecar.row.input_nbytes == file->nbytes &&
                   sidecar.mtime_ns == file->mtime_ns && sidecar.row.rank == file->rank &&
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
