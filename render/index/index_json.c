/* The index as JSON: summary.json, and the same with curves, steps and notes for the page. */
#include "render/index/index.h"

#include "base/base64.h"
#include "base/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds a number; null where it is unknown. */
static void add_number(struct json_writer *json, const char *name, int64_t number) {
    json_known_i64(json, name, number != INDEX_UNKNOWN, number);
}

static void add_text_or_null(struct json_writer *json, const char *name, const char *text) {
    json_text(json, name, text != NULL && text[0] != '\0' ? text : NULL);
}

static void add_odd(struct json_writer *json, unsigned odd) {
    static const char *const names[] = {"peak", "end", "events", "oom", "truncated", "growth", "steps"};
    json_array(json, "odd", JSON_COMPACT);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (odd & 1u << i)
            json_text(json, NULL, names[i]);
    json_end(json);
}

static void add_file(struct json_writer *json, const char *name, bool exists, const char *stem,
                     const char *ending) {
    if (!exists) {
        json_null(json, name);
        return;
    }
    json_string_begin(json, name);
    json_string_add(json, stem, strlen(stem));
    json_string_add(json, ending, strlen(ending));
    json_string_end(json);
}

static void add_differences(struct json_writer *json, const struct index_row *row) {
    json_array(json, "differences", JSON_COMPACT);
    for (uint32_t i = 0; i < row->n_differences; i++) {
        const struct index_difference *difference = &row->differences[i];
        json_object(json, NULL, JSON_COMPACT);
        json_u64(json, "bytes", difference->bytes);
        json_u64(json, "median_bytes", difference->median_bytes);
        json_text(json, "site", difference->site);
        json_end(json);
    }
    json_end(json);
}

static void add_row_members(struct json_writer *json, const struct index_row *row) {
    uint32_t n_steps = row->profile.n_steps;
    json_text(json, "input", row->input);
    json_text(json, "kind", !row->has_allocations ? "log" : row->is_snapshot ? "snapshot" : "profile");
    add_number(json, "rank", row->rank);
    add_number(json, "step", row->step);
    json_i64(json, "device", row->device);
    json_u64(json, "devices", row->n_devices);
    json_u64(json, "input_bytes", row->input_nbytes);
    json_u64(json, "events", row->n_events);
    json_u64(json, "peak_bytes", row->peak_bytes);
    json_i64(json, "peak_event", row->peak_event);
    json_u64(json, "end_bytes", row->end_bytes);
    json_u64(json, "reserved_peak_bytes", row->reserved_peak_bytes);
    json_u64(json, "reserved_end_bytes", row->reserved_end_bytes);
    json_known_u64(json, "capacity_bytes", row->capacity_bytes != 0, row->capacity_bytes);
    json_u64(json, "oom", row->n_ooms);
    if (row->n_ooms != 0) {
        json_known_u64(json, "oom_requested_bytes", row->oom_requested_bytes != OOM_UNKNOWN,
                       row->oom_requested_bytes);
        json_known_u64(json, "oom_free_bytes", row->oom_free_bytes != OOM_UNKNOWN, row->oom_free_bytes);
    }
    json_text(json, "truncation", row->truncation);
    json_hundredths(json, "peak_score", llround(row->score * 100));
    add_odd(json, row->odd);
    add_text_or_null(json, "host", row->host);
    add_number(json, "local_rank", row->local_rank);
    add_text_or_null(json, "group", row->group);
    json_u64(json, "steps", row->n_steps);
    json_bool(json, "mid_step", n_steps != 0 && !row->profile.step[n_steps - 1].complete);
    json_i64(json, "growth_bytes", row->growth_bytes);
    json_text(json, "copy_of", row->copy_of);
    add_file(json, "page", !row->no_page, row->name, ".html");
    add_file(json, "sidecar", true, row->name, ".strata.json");
    add_file(json, "png", row->has_png, row->name, ".png");
    json_text(json, "diff", row->diff);
    json_text(json, "made_of", row->made_of);
    json_text(json, "plan", row->plan);
    json_text(json, "finding", row->finding);
    add_differences(json, row);
}

static void add_refusals(struct json_writer *json, const char *name, const struct index_refusal *refusals,
                         uint32_t count) {
    json_array(json, name, JSON_LINES);
    for (uint32_t i = 0; i < count; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "input", refusals[i].input);
        json_text(json, "reason", refusals[i].reason);
        json_end(json);
    }
    json_end(json);
}

static void add_together(struct json_writer *json, const struct index *index) {
    if (index->n_planned == 0) {
        json_null(json, "together");
        return;
    }
    json_array(json, "together", JSON_LINES);
    for (uint32_t i = 0; i < index->n_together; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "settings", index->together[i].settings);
        json_u64(json, "peak_reserved_bytes", index->together[i].peak_bytes);
        json_bool(json, "served", index->together[i].served);
        json_end(json);
    }
    json_end(json);
}

static void add_notes(struct json_writer *json, const struct index *index) {
    const struct plan_need *best = plan_need_best(index->together, index->n_together);
    struct buffer text = {.host = json->out->host};
    json_array(json, "notes", JSON_LINES);
    if (best != NULL) {
        buffer_printf(&text,
                      "One setting for all %" PRIu32
                      " ranks: %s; by the allocator's model it needs %s reserved at most, and %s them all.",
                      index->n_planned, best->settings, format_bytes(best->peak_bytes).text,
                      best->served ? "serves" : "does not serve");
        json_string(json, NULL, text.bytes, text.nbytes);
    }
    json_end(json);
    json->out->failed |= text.failed;
    buffer_release(&text);
}

/* Adds the ranks of a finding's rows, each once, and the rows. */
static void add_whom(struct json_writer *json, const struct index *index,
                     const struct index_finding *finding) {
    json_array(json, "ranks", JSON_COMPACT);
    for (uint32_t i = 0; i < finding->n_rows; i++) {
        int64_t rank = index->rows[finding->rows[i]].rank;
        bool again = i != 0 && index->rows[finding->rows[i - 1]].rank == rank;
        if (rank != INDEX_UNKNOWN && !again)
            json_i64(json, NULL, rank);
    }
    json_end(json);
    json_array(json, "rows", JSON_COMPACT);
    for (uint32_t i = 0; i < finding->n_rows; i++)
        json_u64(json, NULL, finding->rows[i]);
    json_end(json);
}

static void add_finding(struct json_writer *json, const struct index *index,
                        const struct index_finding *finding) {
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "kind", finding->kind);
    json_text(json, "severity", finding_severity_name[finding->severity]);
    json_text(json, "confidence", finding_confidence_name[finding->confidence]);
    json_text(json, "kind_title", kind_title(finding->kind));
    json_text(json, "title", finding->title);
    json_text(json, "detail", finding->detail);
    json_text(json, "site", finding->site);
    json_u64(json, "bytes", finding->bytes);
    json_u64(json, "count", finding->n_rows);
    add_whom(json, index, finding);
    json_text(json, "view", finding->view);
    add_number(json, "against", finding->against == INDEX_NOBODY ? INDEX_UNKNOWN : (int64_t)finding->against);
    json_text(json, "diff", finding->diff);
    json_end(json);
}

/* ---- columns ---- */

static const char *const column_names[] = {"peak_bytes", "end_bytes", "reserved_peak_bytes", "growth_bytes",
                                           "events"};
enum { COLUMNS = sizeof column_names / sizeof *column_names };

/* The figure of a row in a column. False: the row has none. */
static bool column_figure(const struct index_row *row, unsigned column, int64_t *figure) {
    enum { GROWTH = 3, GROWTH_STEPS_LEAST = 3 };
    const int64_t figures[COLUMNS] = {(int64_t)row->peak_bytes, (int64_t)row->end_bytes,
                                      (int64_t)row->reserved_peak_bytes, row->growth_bytes,
                                      (int64_t)row->n_events};
    *figure = figures[column];
    return row->copy_of == NULL && (column != GROWTH || row->n_steps >= GROWTH_STEPS_LEAST);
}

static int figure_compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median; of an even number the mean of the middle two, rounded down. `count` >= 1. */
static int64_t figures_median(int64_t *figures, uint32_t count) {
    qsort(figures, count, sizeof *figures, figure_compare);
    int64_t low = figures[(count - 1) / 2], high = figures[count / 2];
    return low + (high - low) / 2;
}

/* Adds for each column its median, and the median of the distances from it (MAD). */
static void add_columns(struct json_writer *json, const struct index *index, int64_t *figures) {
    json_array(json, "columns", JSON_LINES);
    for (unsigned column = 0; column < COLUMNS; column++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < index->n_rows; i++)
            count += column_figure(&index->rows[i], column, &figures[count]);
        if (count == 0)
            continue;
        int64_t median = figures_median(figures, count);
        for (uint32_t i = 0; i < count; i++)
            figures[i] = figures[i] > median ? figures[i] - median : median - figures[i];
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "name", column_names[column]);
        json_i64(json, "median", median);
        json_i64(json, "mad", figures_median(figures, count));
        json_end(json);
    }
    json_end(json);
}

/* ---- totals ---- */

struct totals {
    uint64_t n_events, input_nbytes, n_ooms, peak_least, peak_median, peak_most;
};

/* `figures` [n_rows + 1] is overwritten. */
static struct totals totals_of(const struct index *index, int64_t *figures) {
    struct totals totals = {0};
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        totals.n_events += row->n_events;
        totals.input_nbytes += row->input_nbytes;
        totals.n_ooms += row->n_ooms != 0;
        figures[i] = (int64_t)row->peak_bytes;
    }
    if (index->n_rows != 0) {
        totals.peak_median = (uint64_t)figures_median(figures, index->n_rows);
        totals.peak_least = (uint64_t)figures[0];
        totals.peak_most = (uint64_t)figures[index->n_rows - 1];
    }
    return totals;
}

static void add_totals(struct json_writer *json, const struct index *index, const struct totals *totals) {
    uint32_t n_odd = 0;
    for (uint32_t i = 0; i < index->n_rows; i++)
        n_odd += index->rows[i].finding != NULL;
    json_object(json, "totals", JSON_COMPACT);
    json_u64(json, "files", index->n_rows + index->n_failed + index->n_skipped);
    json_u64(json, "done", index->n_rows);
    json_u64(json, "failed", index->n_failed);
    json_u64(json, "skipped", index->n_skipped);
    json_u64(json, "out_of_memory", totals->n_ooms);
    json_u64(json, "odd", n_odd);
    json_u64(json, "copies", index->n_copies);
    json_u64(json, "events", totals->n_events);
    json_u64(json, "input_bytes", totals->input_nbytes);
    json_u64(json, "lowest_peak_bytes", totals->peak_least);
    json_u64(json, "median_peak_bytes", totals->peak_median);
    json_u64(json, "highest_peak_bytes", totals->peak_most);
    json_end(json);
}

enum { CELLS_MOST = 1 << 19, PAGE_NOTES = 6, SHARE_MOST = 65535 };

/* The page's curves are 16-bit shares of these scales, so that ten thousand curves stay small and share one scale. */
struct page_scale {
    uint64_t peak_most;         /* bytes that are drawn as the share SHARE_MOST */
    uint64_t first_us, last_us; /* times that are drawn as the shares 0 and SHARE_MOST */
    uint32_t step_stride; /* every so many steps are shown; above 1 where there are more than CELLS_MOST */
};

static unsigned share_of(uint64_t part, uint64_t whole) {
    return whole != 0 ? (unsigned)lround((double)part / (double)whole * (double)SHARE_MOST) : 0;
}

static struct page_scale page_scale_of(const struct index *index, const struct totals *totals) {
    struct page_scale scale = {.peak_most = totals->peak_most, .first_us = UINT64_MAX, .step_stride = 1};
    uint64_t cells = 0;
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        cells += row->profile.n_steps;
        if (row->sample_us == NULL || row->n_samples == 0)
            continue;
        if (row->sample_us[0] < scale.first_us)
            scale.first_us = row->sample_us[0];
        if (row->sample_us[row->n_samples - 1] > scale.last_us)
            scale.last_us = row->sample_us[row->n_samples - 1];
    }
    if (scale.last_us == 0)
        scale.first_us = 0;
    while (cells / scale.step_stride > CELLS_MOST)
        scale.step_stride *= 2;
    return scale;
}

/* Adds 16-bit shares of a whole in little endian, as typed arrays have them on every machine with a browser. */
static void add_shares(struct json_writer *json, const char *name, const uint64_t *values, uint32_t count,
                       uint64_t from, uint64_t whole) {
    uint8_t bytes[INDEX_SAMPLES * 2], text[(INDEX_SAMPLES * 2 + 2) / 3 * 4];
    for (uint32_t i = 0; i < count; i++) {
        unsigned share = share_of(values[i] - from, whole);
        bytes[2 * i] = (uint8_t)share;
        bytes[2 * i + 1] = (uint8_t)(share >> 8);
    }
    base64_encode(text, bytes, (size_t)count * 2);
    json_string(json, name, text, base64_nbytes((size_t)count * 2));
}

static void add_samples(struct json_writer *json, const struct index_row *row,
                        const struct page_scale *scale) {
    add_shares(json, "samples", row->samples, row->n_samples, 0, scale->peak_most);
    if (row->sample_us != NULL)
        add_shares(json, "times", row->sample_us, row->n_samples, scale->first_us,
                   scale->last_us - scale->first_us);
}

/* Adds for each step: its number, whether it is complete, begin and end as shares of the run, peak and end as shares of
 * the highest peak. */
static void add_steps(struct json_writer *json, const struct index_row *row, const struct page_scale *scale) {
    json_array(json, "steps_at", JSON_COMPACT);
    for (uint32_t i = 0; i < row->profile.n_steps; i++) {
        const struct rank_step *step = &row->profile.step[i];
        uint64_t n_moments = row->n_events + 1;
        if (step->number % scale->step_stride != 0 || step->to_moment > n_moments ||
            step->from_moment > step->to_moment || step->peak_bytes > scale->peak_most ||
            step->end_bytes > scale->peak_most)
            continue;
        json_array(json, NULL, JSON_COMPACT);
        json_i64(json, NULL, step->number);
        json_u64(json, NULL, step->complete);
        json_u64(json, NULL, share_of(step->from_moment, n_moments));
        json_u64(json, NULL, share_of(step->to_moment, n_moments));
        json_u64(json, NULL, share_of(step->peak_bytes, scale->peak_most));
        json_u64(json, NULL, share_of(step->end_bytes, scale->peak_most));
        json_end(json);
    }
    json_end(json);
}

/* Adds the first few conclusions of a recording's own report, with the views that show them. */
static void add_own_notes(struct json_writer *json, const struct index_note *notes, uint32_t count) {
    json_array(json, "notes", JSON_COMPACT);
    for (uint32_t i = 0; i < count && i < PAGE_NOTES; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "kind", notes[i].kind);
        json_text(json, "severity", finding_severity_name[notes[i].severity]);
        json_text(json, "kind_title", kind_title(notes[i].kind));
        json_text(json, "title", notes[i].title);
        json_text(json, "view", notes[i].view);
        json_end(json);
    }
    json_end(json);
}

bool index_write(struct json_writer *json, const struct index *index) {
    int64_t *figures = malloc(((size_t)index->n_rows + 1) * sizeof *figures);
    if (figures == NULL)
        return false;
    const struct totals totals = totals_of(index, figures);
    json_object(json, NULL, JSON_LINES);
    json_u64(json, "schema", 3);
    json_text(json, "kind", "batch");
    json_text(json, "version", STRATA_VERSION);
    add_totals(json, index, &totals);
    add_columns(json, index, figures);
    free(figures);
    add_notes(json, index);
    json_array(json, "findings", JSON_LINES);
    for (uint32_t i = 0; i < index->n_findings; i++)
        add_finding(json, index, &index->findings[i]);
    json_end(json);
    add_together(json, index);
    add_refusals(json, "failed", index->failed, index->n_failed);
    add_refusals(json, "skipped", index->skipped, index->n_skipped);
    struct page_scale scale = page_scale_of(index, &totals);
    if (json->for_page) {
        json_u64(json, "span_us", scale.last_us - scale.first_us);
        json_u64(json, "step_stride", scale.step_stride);
    }
    json_array(json, "rows", JSON_LINES);
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        json_object(json, NULL, JSON_COMPACT);
        add_row_members(json, row);
        if (json->for_page) {
            json_bool(json, "namesake", row->has_namesake);
            add_samples(json, row, &scale);
            add_steps(json, row, &scale);
            add_own_notes(json, row->notes, row->n_notes);
        }
        json_end(json);
    }
    json_end(json);
    return json_document_end(json);
}

bool index_json(struct buffer *out, const struct index *index) {
    struct json_writer json = json_writer_of(out);
    return index_write(&json, index);
}
