/* Writes a database with SQLite's own library, in one transaction. SQLite needs a file that it can seek in, so it gets
 * an unnamed one beside the output, which is copied out when it is complete: a half-written file never has a name. */
#include "render/export/export_parts.h"

#ifndef STRATA_SQLITE

bool export_sqlite(struct export_work *work) {
    return export_fail(
        work, "this strata was built without SQLite (libsqlite3-dev); --to csv writes the same rows");
}

#else

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char schema[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA cache_size = -16384; BEGIN;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);"
    "CREATE TABLE device(device INTEGER PRIMARY KEY, name TEXT, capacity_bytes INTEGER, events INTEGER,"
    " allocations INTEGER, preexisting INTEGER, start_bytes INTEGER, peak_bytes INTEGER, peak_event INTEGER,"
    " end_bytes INTEGER, live_at_peak INTEGER, reserved_start_bytes INTEGER, reserved_peak_bytes INTEGER,"
    " reserved_end_bytes INTEGER, oom_event INTEGER, oom_requested_bytes INTEGER);"
    "CREATE TABLE frame(id INTEGER PRIMARY KEY, file TEXT, line INTEGER, function TEXT);"
    "CREATE TABLE stack_frame(stack_id INTEGER, depth INTEGER, frame_id INTEGER,"
    " PRIMARY KEY(stack_id, depth)) WITHOUT ROWID;"
    "CREATE TABLE site(id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE allocation(id INTEGER PRIMARY KEY, device INTEGER, alloc_event INTEGER, free_event INTEGER,"
    " alloc_us INTEGER, free_us INTEGER, bytes INTEGER, address TEXT, stream INTEGER, pool TEXT, category "
    "TEXT,"
    " phase TEXT, step INTEGER, site_id INTEGER, stack_id INTEGER, older INTEGER);"
    "CREATE TABLE segment(device INTEGER, address TEXT, bytes INTEGER, allocated_bytes INTEGER,"
    " active_bytes INTEGER, requested_bytes INTEGER, stream INTEGER, expandable INTEGER, small INTEGER,"
    " stack_id INTEGER);"
    "CREATE TABLE annotation(device INTEGER, name TEXT, kind TEXT, step INTEGER, from_event INTEGER,"
    " to_event INTEGER, begin_bytes INTEGER, end_bytes INTEGER, peak_bytes INTEGER, peak_event INTEGER);"
    "CREATE TABLE step(device INTEGER, step INTEGER, from_event INTEGER, to_event INTEGER, begin_bytes "
    "INTEGER,"
    " end_bytes INTEGER, peak_bytes INTEGER, peak_event INTEGER);"
    "CREATE TABLE finding(device INTEGER, kind TEXT, severity TEXT, confidence TEXT, title TEXT, detail TEXT,"
    " site TEXT, bytes INTEGER, count INTEGER, saves_peak_bytes INTEGER, from_event INTEGER, to_event "
    "INTEGER,"
    " at_event INTEGER);"
    "CREATE TABLE curve(device INTEGER, event INTEGER, live_bytes INTEGER, reserved_bytes INTEGER);";

static const char views[] =
    "CREATE VIEW live_at_peak AS SELECT a.* FROM allocation a JOIN device d USING(device)"
    " WHERE (a.alloc_event IS NULL OR a.alloc_event <= d.peak_event)"
    " AND (a.free_event IS NULL OR a.free_event > d.peak_event);"
    "CREATE VIEW live_at_oom AS SELECT a.* FROM allocation a JOIN device d USING(device)"
    " WHERE d.oom_event IS NOT NULL AND (a.alloc_event IS NULL OR a.alloc_event <= d.oom_event)"
    " AND (a.free_event IS NULL OR a.free_event > d.oom_event);"
    "CREATE INDEX allocation_event ON allocation(device, alloc_event);"
    "CREATE INDEX allocation_site ON allocation(site_id);"
    "CREATE VIEW by_site AS SELECT a.device AS device, s.id AS site_id, s.name AS site,"
    " sum(a.bytes) AS bytes, count(*) AS count FROM live_at_peak a JOIN site s ON s.id = a.site_id"
    " GROUP BY a.device, s.id ORDER BY bytes DESC, s.id;"
    "CREATE VIEW by_category AS SELECT device, category, sum(bytes) AS bytes, count(*) AS count"
    " FROM live_at_peak GROUP BY device, category ORDER BY bytes DESC, category;"
    "COMMIT;";

enum table {
    T_META,
    T_DEVICE,
    T_FRAME,
    T_STACK,
    T_SITE,
    T_ALLOCATION,
    T_SEGMENT,
    T_ANNOTATION,
    T_STEP,
    T_FINDING,
    T_CURVE,
    TABLES
};
static const struct {
    const char *name;
    int n_columns;
} tables[TABLES] = {{"meta", 2}, {"device", 16},     {"frame", 4},    {"stack_frame", 3},
                    {"site", 2}, {"allocation", 16}, {"segment", 10}, {"annotation", 10},
                    {"step", 8}, {"finding", 13},    {"curve", 4}};

struct database {
    struct export_work *work;
    sqlite3 *db;
    sqlite3_stmt *insert[TABLES];
    sqlite3_stmt *row; /* the table that is being filled */
    int column;        /* number of its columns that are bound so far */
    struct buffer text;
    struct export_frames frames;
    uint64_t *stacks, *known_frames, *sites; /* bitmaps of what is written already */
    int fd;
};

static bool database_failed(struct database *to) {
    return export_fail(to->work, "SQLite: %s", sqlite3_errmsg(to->db));
}

/* ---- rows ---- */

static void row_begin(struct database *to, enum table table) {
    to->row = to->insert[table];
    to->column = 0;
}

static void put_null(struct database *to) {
    sqlite3_bind_null(to->row, ++to->column);
}

static void put_i64(struct database *to, int64_t number) {
    sqlite3_bind_int64(to->row, ++to->column, number);
}

static void put_u64(struct database *to, uint64_t number) {
    put_i64(to, (int64_t)number);
}

static void put_known(struct database *to, int64_t number, bool known) {
    if (known)
        put_i64(to, number);
    else
        put_null(to);
}

/* Binds a word; NULL and "" become NULL. The text must live until the row ends. */
static void put_word(struct database *to, const char *word) {
    if (word != NULL && word[0] != '\0')
        sqlite3_bind_text(to->row, ++to->column, word, -1, SQLITE_STATIC);
    else
        put_null(to);
}

/* Binds the text collected in `text`, and empties it. */
static void put_text(struct database *to) {
    const char *bytes = to->text.bytes != NULL ? (const char *)to->text.bytes : "";
    sqlite3_bind_text(to->row, ++to->column, bytes, (int)to->text.nbytes, SQLITE_TRANSIENT);
    to->text.nbytes = 0;
}

static void put_trace_text(struct database *to, struct text text) {
    export_text_add(&to->text, text, 0, 0);
    put_text(to);
}

static bool row_end(struct database *to) {
    bool done = sqlite3_step(to->row) == SQLITE_DONE;
    if (sqlite3_reset(to->row) != SQLITE_OK || !done)
        return database_failed(to);
    return true;
}

/* ---- stacks, frames, sites: each is written once ---- */

static bool bit_is_new(uint64_t *bits, uint32_t at) {
    bool is_new = (bits[at / 64] >> at % 64 & 1) == 0;
    bits[at / 64] |= UINT64_C(1) << at % 64;
    return is_new;
}

static bool frame_put(struct database *to, uint32_t frame) {
    if (!bit_is_new(to->known_frames, frame))
        return true;
    struct place place = export_place_of(to->work->trace, frame);
    row_begin(to, T_FRAME);
    put_i64(to, frame);
    put_trace_text(to, place.file);
    put_i64(to, place.line);
    put_trace_text(to, place.name);
    return row_end(to);
}

static bool stack_put(struct database *to, uint32_t stack) {
    if (!bit_is_new(to->stacks, stack))
        return true;
    if (!export_frames_find(&to->frames, to->work->trace, stack, to->work->scratch))
        return false;
    for (uint32_t i = 0; i < to->frames.count; i++) {
        if (!frame_put(to, to->frames.frame[i]))
            return false;
        row_begin(to, T_STACK);
        put_i64(to, stack);
        put_i64(to, i);
        put_i64(to, to->frames.frame[i]);
        if (!row_end(to))
            return false;
    }
    return true;
}

static bool site_put(struct database *to, uint32_t site) {
    if (!bit_is_new(to->sites, site))
        return true;
    row_begin(to, T_SITE);
    put_i64(to, site);
    export_site_add(&to->text, to->work->trace, site);
    put_text(to);
    return row_end(to);
}

/* ---- the tables of a device ---- */

static bool allocation_put(struct database *to, const struct export_device *device,
                           const struct export_row *row) {
    bool begins = row->alloc_event != EXPORT_NO_EVENT, ends = row->free_event != EXPORT_NO_EVENT;
    if (!stack_put(to, row->stack) || !site_put(to, row->site))
        return false;
    row_begin(to, T_ALLOCATION);
    put_i64(to, row->id);
    put_i64(to, device->device->ordinal);
    put_known(to, row->alloc_event, begins);
    put_known(to, row->free_event, ends);
    put_known(to, row->alloc_us, begins && row->timed);
    put_known(to, row->free_us, ends && row->timed);
    put_u64(to, row->bytes);
    put_word(to, row->address_text);
    put_i64(to, row->stream);
    put_word(to, row->pool);
    put_word(to, row->category);
    put_word(to, row->phase);
    put_known(to, row->step, row->step != EXPORT_NO_STEP);
    put_i64(to, row->site);
    put_i64(to, row->stack);
    put_i64(to, row->older);
    return row_end(to);
}

static bool allocations_put(struct database *to, const struct export_device *device) {
    struct export_rows rows = {.device = device};
    struct export_row row;
    while (export_rows_next(&rows, &row))
        if (!allocation_put(to, device, &row))
            return false;
    return true;
}

static bool device_put(struct database *to, const struct export_device *device) {
    const struct timeline *timeline = &device->timeline;
    const struct device_trace *recorded = device->device;
    bool oom = recorded->n_ooms != 0;
    row_begin(to, T_DEVICE);
    put_i64(to, recorded->ordinal);
    if (recorded->name != 0)
        put_trace_text(to, trace_text(device->trace, recorded->name));
    else
        put_null(to);
    put_known(to, (int64_t)recorded->capacity_bytes, recorded->capacity_bytes != 0);
    put_i64(to, recorded->n_events);
    put_i64(to, recorded->allocations.count);
    put_i64(to, recorded->allocations.preexisting);
    put_u64(to, timeline->start_bytes);
    put_u64(to, timeline->peak_bytes);
    put_i64(to, export_event(timeline->peak_moment));
    put_u64(to, timeline->end_bytes);
    put_i64(to, timeline->live_at_peak);
    put_u64(to, timeline->reserved_start);
    put_u64(to, timeline->reserved_peak);
    put_u64(to, timeline->reserved_end);
    put_known(to, oom ? recorded->ooms[0].event : 0, oom);
    put_known(to, oom ? (int64_t)recorded->ooms[0].size : 0, oom);
    return row_end(to);
}

static bool segments_put(struct database *to, const struct export_device *device) {
    for (uint32_t i = 0; i < device->device->n_segments; i++) {
        const struct segment *segment = &device->device->segments[i];
        char address[20];
        if (!stack_put(to, segment->stack))
            return false;
        snprintf(address, sizeof address, "0x%" PRIx64, segment->address);
        row_begin(to, T_SEGMENT);
        put_i64(to, device->device->ordinal);
        put_word(to, address);
        put_u64(to, segment->total_size);
        put_u64(to, segment->allocated_size);
        put_u64(to, segment->active_size);
        put_u64(to, segment->requested_size);
        put_i64(to, segment->stream);
        put_i64(to, (segment->flags & SEGMENT_EXPANDABLE) != 0);
        put_i64(to, (segment->flags & SEGMENT_SMALL) != 0);
        put_i64(to, segment->stack);
        if (!row_end(to))
            return false;
    }
    return true;
}

static void span_put(struct database *to, const struct span *span) {
    put_i64(to, export_event(span->from_moment));
    put_i64(to, export_event(span->to_moment));
    put_known(to, (int64_t)span->begin_bytes, span->begin_known);
    put_u64(to, span->end_bytes);
    put_u64(to, span->peak_bytes);
    put_i64(to, export_event(span->peak_moment));
}

static bool steps_put(struct database *to, const struct export_device *device) {
    const struct verdicts *verdicts = &device->verdicts;
    for (uint32_t i = 0; i < verdicts->steps.count; i++) {
        row_begin(to, T_STEP);
        put_i64(to, device->device->ordinal);
        put_i64(to, turns_number(&verdicts->turns, verdicts->steps.span[i].step));
        span_put(to, &verdicts->steps.span[i]);
        if (!row_end(to))
            return false;
    }
    return true;
}

/* Writes annotations under their own name, and phases under the name of their kind. */
static bool annotations_put(struct database *to, const struct export_device *device) {
    const struct verdicts *verdicts = &device->verdicts;
    for (uint32_t i = 0; i < verdicts->phases.count; i++) {
        const struct span *span = &verdicts->phases.span[i];
        const char *kind = span_kind_name[span->kind];
        bool in_step = span->step != SPAN_NO_STEP;
        row_begin(to, T_ANNOTATION);
        put_i64(to, device->device->ordinal);
        if (span->kind == SPAN_ANNOTATION)
            put_trace_text(to, trace_text(device->trace, span->name));
        else
            put_word(to, kind);
        put_word(to, kind);
        put_known(to, in_step ? turns_number(&verdicts->turns, span->step) : 0, in_step);
        span_put(to, span);
        if (!row_end(to))
            return false;
    }
    return true;
}

static bool finding_put(struct database *to, const struct export_device *device,
                        const struct finding *finding) {
    const struct verdicts *verdicts = &device->verdicts;
    char title[FINDING_TEXT_NBYTES], detail[FINDING_TEXT_NBYTES];
    finding_title(verdicts, finding, title, sizeof title);
    finding_detail(verdicts, finding, detail, sizeof detail);
    row_begin(to, T_FINDING);
    put_i64(to, device->device->ordinal);
    put_word(to, finding_kind_name((enum finding_kind)finding->kind));
    put_word(to, finding_severity_name[finding->severity]);
    put_word(to, finding_confidence_name[finding->confidence]);
    put_word(to, title);
    put_word(to, detail);
    if (finding->site != 0) {
        export_site_add(&to->text, device->trace, finding->site);
        put_text(to);
    } else
        put_null(to);
    put_u64(to, finding->bytes);
    put_i64(to, finding->count);
    put_known(to, (int64_t)finding->saves, finding->saves_known);
    put_i64(to, export_event(finding->from_moment));
    put_i64(to, export_event(finding->to_moment));
    put_i64(to, export_event(finding->at_moment));
    return row_end(to);
}

static bool findings_put(struct database *to, const struct export_device *device) {
    const struct findings *findings = &device->verdicts.findings;
    for (uint32_t i = 0; i < findings->count; i++)
        if (!finding_put(to, device, &findings->finding[i]))
            return false;
    return true;
}

static bool curve_put(struct database *to, const struct export_device *device) {
    uint32_t *moments, count;
    if (!export_curve_find(device, &moments, &count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        row_begin(to, T_CURVE);
        put_i64(to, device->device->ordinal);
        put_i64(to, export_event(moments[i]));
        put_u64(to, export_shown(device)->live[moments[i]]);
        put_u64(to, timeline_reserved_at(&device->timeline, moments[i]));
        if (!row_end(to))
            return false;
    }
    return true;
}

static bool sqlite_write(void *context, struct export_device *device) {
    struct database *to = context;
    return device_put(to, device) && allocations_put(to, device) && segments_put(to, device) &&
           steps_put(to, device) && annotations_put(to, device) && findings_put(to, device) &&
           curve_put(to, device);
}

/* ---- the file ---- */

static bool meta_put(struct database *to, const char *key, const char *value) {
    row_begin(to, T_META);
    put_word(to, key);
    export_text_add(&to->text, (struct text){(const uint8_t *)value, (uint32_t)strlen(value)}, 0, 0);
    put_text(to);
    return row_end(to);
}

static bool metas_put(struct database *to) {
    const struct export_options *options = to->work->options;
    return meta_put(to, "file", options->file) && meta_put(to, "fingerprint", options->fingerprint) &&
           meta_put(to, "kind", options->source) && meta_put(to, "strata", STRATA_VERSION) &&
           meta_put(to, "schema", "1") &&
           (options->filter == NULL || meta_put(to, "filter", options->filter->text));
}

static bool inserts_prepare(struct database *to) {
    for (uint32_t i = 0; i < TABLES; i++) {
        char text[128];
        int n = snprintf(text, sizeof text, "INSERT INTO %s VALUES(?", tables[i].name);
        for (int column = 1; column < tables[i].n_columns; column++)
            n += snprintf(text + n, sizeof text - (size_t)n, ",?");
        snprintf(text + n, sizeof text - (size_t)n, ")");
        if (sqlite3_prepare_v2(to->db, text, -1, &to->insert[i], NULL) != SQLITE_OK)
            return database_failed(to);
    }
    return true;
}

static bool execute(struct database *to, const char *text) {
    return sqlite3_exec(to->db, text, NULL, NULL, NULL) == SQLITE_OK || database_failed(to);
}

static const char *directory_of(const struct export_options *options) {
    const char *chosen = options->directory != NULL ? options->directory : getenv("TMPDIR");
    return chosen != NULL ? chosen : "/var/tmp";
}

/* Opens a temporary file, which has a name only while SQLite opens it. */
static bool database_open(struct database *to) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/.strata-export-XXXXXX", directory_of(to->work->options));
    to->fd = n < (int)sizeof path ? mkstemp(path) : -1;
    if (to->fd < 0)
        return export_fail(to->work, "no temporary file can be made: %s", strerror(errno));
    int code = sqlite3_open_v2(path, &to->db, SQLITE_OPEN_READWRITE, NULL);
    unlink(path);
    return code == SQLITE_OK || database_failed(to);
}

static bool database_hand_on(struct database *to) {
    uint8_t block[BUFFER_BLOCK_NBYTES];
    ssize_t n;
    for (off_t at = 0; (n = pread(to->fd, block, sizeof block, at)) > 0; at += n)
        buffer_add(to->work->out, block, (size_t)n);
    return n == 0 ? !to->work->out->failed : export_fail(to->work, "cannot read back: %s", strerror(errno));
}

static bool database_fill(struct database *to) {
    const struct trace *trace = to->work->trace;
    to->stacks = arena_bits(to->work->scratch, trace->stacks.count);
    to->known_frames = arena_bits(to->work->scratch, trace->frames.count);
    to->sites = arena_bits(to->work->scratch, trace->frames.count);
    return to->stacks != NULL && to->known_frames != NULL && to->sites != NULL && execute(to, schema) &&
           inserts_prepare(to) && metas_put(to) && export_each_device(to->work, sqlite_write, to) &&
           execute(to, views);
}

/* Hands the file on if it is `done`, and closes it. */
static bool database_end(struct database *to, bool done) {
    for (uint32_t i = 0; i < TABLES; i++)
        sqlite3_finalize(to->insert[i]);
    sqlite3_close(to->db);
    done = done && database_hand_on(to);
    if (to->fd >= 0)
        close(to->fd);
    buffer_release(&to->text);
    return done;
}

bool export_sqlite(struct export_work *work) {
    struct database to = {.work = work, .text = {.host = arena_share(work->scratch)}, .fd = -1};
    return database_end(&to, database_open(&to) && database_fill(&to));
}

#endif
