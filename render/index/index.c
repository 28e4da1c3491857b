#include "render/index/index.h"

#include "base/base64.h"
#include "render/json_text.h"
#include "render/page/template.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the build made of the files of templates/. */
extern const unsigned char asset_index_html[], asset_index_css[], asset_index_js[];
extern const size_t asset_index_css_nbytes, asset_index_js_nbytes;
extern const char asset_index_css_hash[], asset_index_js_hash[];

static const struct template_asset script = {asset_index_js, &asset_index_js_nbytes, asset_index_js_hash};
static const struct template_asset style = {asset_index_css, &asset_index_css_nbytes, asset_index_css_hash};

/* ---- rows ---- */

bool index_add_row(struct index *index, const struct index_row *row) {
    if (!ARENA_GROW(index->arena, index->rows, index->rows_capacity,
                    (uint64_t)index->n_rows + row->n_others + 1))
        return false;
    index->rows[index->n_rows++] = *row;
    for (uint32_t i = 0; i < row->n_others; i++)
        index->rows[index->n_rows++] = row->others[i];
    return true;
}

/* ---- order ---- */

/* Unknown numbers last. */
static int number_compare(int64_t a, int64_t b) {
    if (a == b)
        return 0;
    if (a == INDEX_UNKNOWN || b == INDEX_UNKNOWN)
        return a == INDEX_UNKNOWN ? 1 : -1;
    return a < b ? -1 : 1;
}

static int row_compare(const void *a, const void *b) {
    const struct index_row *x = a, *y = b;
    int order = number_compare(x->rank, y->rank);
    if (order == 0)
        order = number_compare(x->step, y->step);
    if (order == 0)
        order = strcmp(x->input, y->input);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : number_compare(x->device, y->device);
}

static int refusal_compare(const void *a, const void *b) {
    const struct index_refusal *x = a, *y = b;
    int order = strcmp(x->input, y->input);
    return order != 0 ? order : strcmp(x->reason, y->reason);
}

void index_sort(struct index *index) {
    if (index->n_rows != 0)
        qsort(index->rows, index->n_rows, sizeof *index->rows, row_compare);
    if (index->n_failed != 0)
        qsort(index->failed, index->n_failed, sizeof *index->failed, refusal_compare);
    if (index->n_skipped != 0)
        qsort(index->skipped, index->n_skipped, sizeof *index->skipped, refusal_compare);
}

/* ---- JSON ---- */

static void add_name(struct buffer *out, const char *name) {
    buffer_printf(out, ", \"%s\": ", name);
}

static void add_text(struct buffer *out, const char *name, const char *text) {
    add_name(out, name);
    json_text_add(out, text);
}

static void add_count(struct buffer *out, const char *name, uint64_t count) {
    buffer_printf(out, ", \"%s\": %" PRIu64, name, count);
}

/* null where it is unknown. */
static void add_number(struct buffer *out, const char *name, int64_t number) {
    add_name(out, name);
    if (number == INDEX_UNKNOWN)
        buffer_add_text(out, "null");
    else
        buffer_printf(out, "%" PRId64, number);
}

static void add_text_or_null(struct buffer *out, const char *name, const char *text) {
    add_name(out, name);
    if (text != NULL)
        json_text_add(out, text);
    else
        buffer_add_text(out, "null");
}

static void add_odd(struct buffer *out, unsigned odd) {
    static const char *const names[] = {"peak",      "end",    "events", "oom",
                                        "truncated", "growth", "line",   "steps"};
    const char *comma = "";
    buffer_add_text(out, ", \"odd\": [");
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (odd & 1u << i) {
            buffer_printf(out, "%s\"%s\"", comma, names[i]);
            comma = ", ";
        }
    buffer_add_text(out, "]");
}

static void add_outputs(struct buffer *out, const struct index_row *row) {
    buffer_printf(out, ", \"page\": \"%s.html\", \"sidecar\": \"%s.strata.json\", \"png\": ", row->name,
                  row->name);
    if (row->has_png)
        buffer_printf(out, "\"%s.png\"", row->name);
    else
        buffer_add_text(out, "null");
}

static void add_differences(struct buffer *out, const struct index_row *row) {
    buffer_add_text(out, ", \"differences\": [");
    for (uint32_t i = 0; i < row->n_differences; i++) {
        const struct index_difference *difference = &row->differences[i];
        buffer_printf(out, "%s{\"bytes\": %" PRIu64 ", \"median_bytes\": %" PRIu64, i != 0 ? ", " : "",
                      difference->bytes, difference->median_bytes);
        add_text(out, "site", difference->site);
        buffer_add_text(out, "}");
    }
    buffer_add_text(out, "]");
}

static void add_oom(struct buffer *out, const struct index_row *row) {
    add_count(out, "oom", row->n_ooms);
    if (row->n_ooms == 0)
        return;
    add_count(out, "oom_requested_bytes", row->oom_requested_bytes);
    add_count(out, "oom_free_bytes", row->oom_free_bytes);
}

/* Whether the recording was dumped before its last step had ended. */
static bool row_ends_in_step(const struct index_row *row) {
    uint32_t n = row->profile.n_steps;
    return n != 0 && !row->profile.step[n - 1].complete;
}

/* The members that summary.json and the page share; the first has no comma before it. */
static void add_row_members(struct buffer *out, const struct index_row *row) {
    buffer_add_text(out, "\"input\": ");
    json_text_add(out, row->input);
    add_text(out, "kind", row->is_log ? "log" : row->is_snapshot ? "snapshot" : "profile");
    add_number(out, "rank", row->rank);
    add_number(out, "step", row->step);
    buffer_printf(out, ", \"device\": %" PRId64, row->device);
    add_count(out, "devices", row->n_devices);
    add_count(out, "input_bytes", row->input_nbytes);
    add_count(out, "events", row->n_events);
    add_count(out, "peak_bytes", row->peak_bytes);
    buffer_printf(out, ", \"peak_event\": %" PRId64, row->peak_event);
    add_count(out, "end_bytes", row->end_bytes);
    add_count(out, "reserved_peak_bytes", row->reserved_peak_bytes);
    add_count(out, "reserved_end_bytes", row->reserved_end_bytes);
    add_name(out, "capacity_bytes");
    if (row->capacity_bytes != 0)
        buffer_printf(out, "%" PRIu64, row->capacity_bytes);
    else
        buffer_add_text(out, "null");
    add_oom(out, row);
    add_name(out, "truncation");
    if (row->truncation != NULL)
        json_text_add(out, row->truncation);
    else
        buffer_add_text(out, "null");
    /* Rounded first: "-0.00" is not a number that anybody wants to see. */
    buffer_printf(out, ", \"peak_score\": %.2f", round(row->score * 100) / 100 + 0.0);
    add_odd(out, row->odd);
    add_text_or_null(out, "host", row->host != NULL && row->host[0] != '\0' ? row->host : NULL);
    add_number(out, "local_rank", row->local_rank);
    add_text_or_null(out, "group", row->group != NULL && row->group[0] != '\0' ? row->group : NULL);
    add_count(out, "cohort", row->cohort);
    add_count(out, "steps", row->n_steps);
    add_name(out, "mid_step");
    buffer_add_text(out, row_ends_in_step(row) ? "true" : "false");
    buffer_printf(out, ", \"growth_bytes\": %" PRId64, row->growth_bytes);
    add_text_or_null(out, "copy_of", row->copy_of);
    add_outputs(out, row);
    add_text_or_null(out, "diff", row->diff);
    add_name(out, "finding");
    if (row->finding != NULL)
        json_text_add(out, row->finding);
    else
        buffer_add_text(out, "null");
    add_differences(out, row);
}

static void line_begin(struct buffer *out, uint32_t nth) {
    buffer_add_text(out, nth != 0 ? ",\n    " : "\n    ");
}

static void add_refusals(struct buffer *out, const char *name, const struct index_refusal *refusals,
                         uint32_t count) {
    buffer_printf(out, "  \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        line_begin(out, i);
        buffer_add_text(out, "{\"input\": ");
        json_text_add(out, refusals[i].input);
        add_text(out, "reason", refusals[i].reason);
        buffer_add_text(out, "}");
    }
    buffer_add_text(out, count != 0 ? "\n  ],\n" : "],\n");
}

static void add_notes(struct buffer *out, const struct index *index) {
    buffer_add_text(out, "  \"notes\": [");
    for (uint32_t i = 0; i < index->n_notes; i++) {
        line_begin(out, i);
        json_text_add(out, index->notes[i]);
    }
    buffer_add_text(out, index->n_notes != 0 ? "\n  ],\n" : "],\n");
}

static void add_finding(struct buffer *out, const struct index *index, const struct index_finding *finding) {
    buffer_add_text(out, "{\"kind\": ");
    json_text_add(out, finding->kind);
    add_text(out, "severity", finding->severity);
    add_text(out, "confidence", finding->confidence);
    add_text(out, "title", finding->title);
    add_text(out, "detail", finding->detail);
    add_text_or_null(out, "site", finding->site);
    add_count(out, "bytes", finding->bytes);
    add_count(out, "count", finding->n_rows);
    buffer_add_text(out, ", \"ranks\": [");
    for (uint32_t i = 0, n = 0; i < finding->n_rows; i++) {
        int64_t rank = index->rows[finding->rows[i]].rank;
        bool again = i != 0 && index->rows[finding->rows[i - 1]].rank == rank;
        if (rank != INDEX_UNKNOWN && !again)
            buffer_printf(out, "%s%" PRId64, n++ != 0 ? "," : "", rank);
    }
    buffer_add_text(out, "], \"rows\": [");
    for (uint32_t i = 0; i < finding->n_rows; i++)
        buffer_printf(out, "%s%" PRIu32, i != 0 ? "," : "", finding->rows[i]);
    buffer_add_text(out, "]");
    add_text_or_null(out, "view", finding->view);
    add_number(out, "against", finding->against == INDEX_NOBODY ? INDEX_UNKNOWN : (int64_t)finding->against);
    add_text_or_null(out, "diff", finding->diff);
    add_number(out, "series", finding->series != NULL ? finding->series - index->series : INDEX_UNKNOWN);
    buffer_add_text(out, "}");
}

static void add_findings(struct buffer *out, const struct index *index) {
    buffer_add_text(out, "  \"findings\": [");
    for (uint32_t i = 0; i < index->n_findings; i++) {
        line_begin(out, i);
        add_finding(out, index, &index->findings[i]);
    }
    buffer_add_text(out, index->n_findings != 0 ? "\n  ],\n" : "],\n");
}

static int count_compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct totals {
    uint64_t n_events, input_nbytes, n_ooms, peak_least, peak_median, peak_most;
};

static bool totals_of(const struct index *index, struct totals *totals) {
    *totals = (struct totals){0};
    uint64_t *peaks = malloc(((size_t)index->n_rows + 1) * sizeof *peaks);
    if (peaks == NULL)
        return false;
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        totals->n_events += row->n_events;
        totals->input_nbytes += row->input_nbytes;
        totals->n_ooms += row->n_ooms != 0;
        peaks[i] = row->peak_bytes;
    }
    if (index->n_rows != 0) {
        qsort(peaks, index->n_rows, sizeof *peaks, count_compare);
        uint64_t low = peaks[(index->n_rows - 1) / 2], high = peaks[index->n_rows / 2];
        totals->peak_least = peaks[0];
        totals->peak_median = low + (high - low) / 2;
        totals->peak_most = peaks[index->n_rows - 1];
    }
    free(peaks);
    return true;
}

static void add_totals(struct buffer *out, const struct index *index, const struct totals *totals) {
    buffer_printf(out, "  \"totals\": {\"files\": %" PRIu32,
                  index->n_rows + index->n_failed + index->n_skipped);
    add_count(out, "done", index->n_rows);
    add_count(out, "failed", index->n_failed);
    add_count(out, "skipped", index->n_skipped);
    add_count(out, "out_of_memory", totals->n_ooms);
    uint32_t n_odd = 0;
    for (uint32_t i = 0; i < index->n_rows; i++)
        n_odd += index->rows[i].finding != NULL;
    add_count(out, "odd", n_odd);
    add_count(out, "copies", index->n_copies);
    add_count(out, "cohorts", index->n_cohorts);
    add_count(out, "events", totals->n_events);
    add_count(out, "input_bytes", totals->input_nbytes);
    add_count(out, "lowest_peak_bytes", totals->peak_least);
    add_count(out, "median_peak_bytes", totals->peak_median);
    add_count(out, "highest_peak_bytes", totals->peak_most);
    buffer_add_text(out, "},\n");
}

/* ---- what the page has beside summary.json ---- */

enum { CELLS_MOST = 1 << 19, PAGE_NOTES = 6, SHARE_MOST = 65535 };

/* What the page draws is in 16-bit shares, so that ten thousand curves stay small and are on one scale by construction. */
struct page_scale {
    uint64_t peak_most;         /* share SHARE_MOST of bytes */
    uint64_t first_us, last_us; /* shares 0 and SHARE_MOST of times */
    uint32_t step_stride; /* of the steps that are shown; thinned where there are more than CELLS_MOST */
};

static unsigned share_of(uint64_t part, uint64_t whole) {
    return whole != 0 ? (unsigned)lround((double)part / (double)whole * SHARE_MOST) : 0;
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

static void shares_begin(struct buffer *out, const char *name) {
    add_name(out, name);
    buffer_add_text(out, "\"");
}

/* Little endian, as the page's typed arrays are on every machine that has a browser. */
static void shares_end(struct buffer *out, const uint8_t *bytes, size_t nbytes) {
    uint8_t text[(INDEX_SAMPLES * 2 + 2) / 3 * 4];
    base64_encode(text, bytes, nbytes);
    buffer_add(out, text, base64_nbytes(nbytes));
    buffer_add_text(out, "\"");
}

static void add_samples(struct buffer *out, const struct index_row *row, const struct page_scale *scale) {
    uint8_t bytes[INDEX_SAMPLES * 2];
    shares_begin(out, "samples");
    for (uint32_t i = 0; i < row->n_samples; i++) {
        unsigned share = share_of(row->samples[i], scale->peak_most);
        bytes[2 * i] = (uint8_t)share;
        bytes[2 * i + 1] = (uint8_t)(share >> 8);
    }
    shares_end(out, bytes, (size_t)row->n_samples * 2);
    if (row->sample_us == NULL)
        return;
    shares_begin(out, "times");
    for (uint32_t i = 0; i < row->n_samples; i++) {
        unsigned share = share_of(row->sample_us[i] - scale->first_us, scale->last_us - scale->first_us);
        bytes[2 * i] = (uint8_t)share;
        bytes[2 * i + 1] = (uint8_t)(share >> 8);
    }
    shares_end(out, bytes, (size_t)row->n_samples * 2);
}

/* Number, whether it is complete, begin and end as shares of the run, peak and end as shares of the highest peak. */
static void add_steps(struct buffer *out, const struct index_row *row, const struct page_scale *scale) {
    uint32_t nth = 0;
    buffer_add_text(out, ", \"steps_at\": [");
    for (uint32_t i = 0; i < row->profile.n_steps; i++) {
        const struct rank_step *step = &row->profile.step[i];
        uint64_t n_moments = row->n_events + 1;
        if (step->number % scale->step_stride != 0 || step->to_moment > n_moments ||
            step->peak_bytes > scale->peak_most || step->end_bytes > scale->peak_most)
            continue;
        buffer_printf(out, "%s[%" PRId64 ",%d,%u,%u,%u,%u]", nth++ != 0 ? "," : "", step->number,
                      step->complete, share_of(step->from_moment, n_moments),
                      share_of(step->to_moment, n_moments), share_of(step->peak_bytes, scale->peak_most),
                      share_of(step->end_bytes, scale->peak_most));
    }
    buffer_add_text(out, "]");
}

/* What a recording's own report concludes, the first few, with the views that show them. */
static void add_own_notes(struct buffer *out, const struct index_note *notes, uint32_t count) {
    buffer_add_text(out, ", \"notes\": [");
    for (uint32_t i = 0; i < count && i < PAGE_NOTES; i++) {
        buffer_add_text(out, i != 0 ? ", {\"kind\": " : "{\"kind\": ");
        json_text_add(out, notes[i].kind);
        add_text(out, "severity", notes[i].severity);
        add_text(out, "title", notes[i].title);
        add_text(out, "view", notes[i].view);
        buffer_add_text(out, "}");
    }
    buffer_add_text(out, "]");
}

/* A dump and what changed since the one before it; of the first nothing is known. */
static void add_dump(struct buffer *out, const struct index_dump *dump, bool first) {
    buffer_printf(out, "{\"row\": %" PRIu32 ", \"live_bytes\": %" PRIu64, dump->row, dump->live_bytes);
    const uint64_t changes[] = {dump->stayed_bytes, dump->new_bytes, dump->gone_bytes};
    static const char *const names[] = {"stayed_bytes", "new_bytes", "gone_bytes"};
    for (unsigned i = 0; i < 3; i++) {
        add_name(out, names[i]);
        if (first)
            buffer_add_text(out, "null");
        else
            buffer_printf(out, "%" PRIu64, changes[i]);
    }
    buffer_printf(out, ", \"events_missing_behind\": %s}", dump->gap ? "true" : "false");
}

static void add_one_series(struct buffer *out, const struct index_series *series) {
    buffer_add_text(out, "{\"title\": ");
    json_text_add(out, series->what);
    add_number(out, "rank", series->rank);
    buffer_printf(out, ", \"page\": \"%s.html\", \"sidecar\": \"%s.strata.json\"", series->name,
                  series->name);
    add_name(out, "png");
    if (series->has_png)
        buffer_printf(out, "\"%s.png\"", series->name);
    else
        buffer_add_text(out, "null");
    add_count(out, "events", series->n_events);
    add_count(out, "peak_bytes", series->peak_bytes);
    buffer_add_text(out, ", \"dumps\": [");
    for (uint32_t i = 0; i < series->n_dumps; i++) {
        buffer_add_text(out, i != 0 ? ", " : "");
        add_dump(out, &series->dump[i], i == 0);
    }
    buffer_add_text(out, "]");
    add_own_notes(out, series->notes, series->n_notes);
    buffer_add_text(out, "}");
}

static void add_series(struct buffer *out, const struct index *index) {
    buffer_add_text(out, "  \"series\": [");
    for (uint32_t i = 0; i < index->n_series; i++) {
        line_begin(out, i);
        add_one_series(out, &index->series[i]);
    }
    buffer_add_text(out, index->n_series != 0 ? "\n  ],\n" : "],\n");
}

/* `scale` NULL: for summary.json. */
static void add_row(struct buffer *out, const struct index_row *row, const struct page_scale *scale) {
    buffer_add_text(out, "{");
    add_row_members(out, row);
    if (scale != NULL) {
        add_samples(out, row, scale);
        add_steps(out, row, scale);
        add_own_notes(out, row->notes, row->n_notes);
    }
    buffer_add_text(out, "}");
}

static bool add_document(struct buffer *out, const struct index *index, bool for_page) {
    struct totals totals;
    if (!totals_of(index, &totals))
        return false;
    buffer_add_text(out, "{\n  \"schema\": 1,\n  \"kind\": \"batch\",\n  \"version\": ");
    json_text_add(out, index->version);
    buffer_add_text(out, ",\n");
    add_totals(out, index, &totals);
    add_notes(out, index);
    add_findings(out, index);
    add_series(out, index);
    add_refusals(out, "failed", index->failed, index->n_failed);
    add_refusals(out, "skipped", index->skipped, index->n_skipped);
    struct page_scale scale = page_scale_of(index, &totals);
    if (for_page)
        buffer_printf(out, "  \"span_us\": %" PRIu64 ",\n  \"step_stride\": %" PRIu32 ",\n",
                      scale.last_us - scale.first_us, scale.step_stride);
    buffer_add_text(out, "  \"rows\": [");
    for (uint32_t i = 0; i < index->n_rows; i++) {
        line_begin(out, i);
        add_row(out, &index->rows[i], for_page ? &scale : NULL);
    }
    buffer_add_text(out, index->n_rows != 0 ? "\n  ]\n}\n" : "]\n}\n");
    return !out->failed;
}

bool index_json(struct buffer *out, const struct index *index) {
    return add_document(out, index, false);
}

/* ---- the page ---- */

static void fill_policy(struct buffer *out, const void *context) {
    static const struct template_asset *const scripts[] = {&script};
    (void)context;
    const struct template_asset *const styles[] = {&style};
    template_add_policy(
        out, &(struct template_policy){
                 .scripts = scripts, .n_scripts = 1, .styles = styles, .n_styles = 1, .more_scripts = ""});
}

static void fill_style(struct buffer *out, const void *context) {
    (void)context;
    template_add_style(out, &style);
}

static void fill_script(struct buffer *out, const void *context) {
    (void)context;
    template_add_script(out, &script);
}

/* json_text_add leaves no '<' in the data, so nothing in it can end the element. */
static void fill_data(struct buffer *out, const void *context) {
    const struct buffer *data = context;
    buffer_add_text(out, "<script type=\"application/json\" id=\"data\">");
    buffer_add(out, data->bytes, data->nbytes);
    buffer_add_text(out, "</script>");
}

static const struct template_hole holes[] = {
    {"POLICY", fill_policy},
    {"STYLE", fill_style},
    {"DATA", fill_data},
    {"SCRIPT", fill_script},
};

bool index_html(struct buffer *out, const struct index *index) {
    struct buffer data = {0};
    if (add_document(&data, index, true))
        template_fill(out, (const char *)asset_index_html,
                      &(struct template_holes){holes, sizeof holes / sizeof *holes, &data, NULL});
    else
        out->failed = true;
    buffer_release(&data);
    return !out->failed;
}
