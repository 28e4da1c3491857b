/* The rows of an index for spreadsheets (RFC 4180) and for Prometheus' text format. */
#include "render/index/index.h"

#include <inttypes.h>
#include <string.h>

struct amount {
    bool known;
    uint64_t value;
};

static struct amount figure_of(uint64_t value) {
    return (struct amount){true, value};
}

static struct amount row_events(const struct index_row *row) {
    return figure_of(row->n_events);
}

static struct amount row_peak(const struct index_row *row) {
    return figure_of(row->peak_bytes);
}

static struct amount row_end(const struct index_row *row) {
    return figure_of(row->end_bytes);
}

static struct amount row_reserved_peak(const struct index_row *row) {
    return figure_of(row->reserved_peak_bytes);
}

static struct amount row_reserved_end(const struct index_row *row) {
    return figure_of(row->reserved_end_bytes);
}

static struct amount row_capacity(const struct index_row *row) {
    return (struct amount){row->capacity_bytes != 0, row->capacity_bytes};
}

static struct amount row_ooms(const struct index_row *row) {
    return figure_of(row->n_ooms);
}

static struct amount row_odd(const struct index_row *row) {
    return figure_of(row->odd != 0);
}

/* Columns of the one, metrics of the other. */
static const struct {
    const char *name, *help;
    struct amount (*of)(const struct index_row *row);
} figures[] = {
    {"events", "Events of the recording.", row_events},
    {"peak_bytes", "The most that was in use.", row_peak},
    {"end_bytes", "In use at the end of the recording.", row_end},
    {"reserved_peak_bytes", "The most that the allocator held of the device.", row_reserved_peak},
    {"reserved_end_bytes", "Held of the device at the end of the recording.", row_reserved_end},
    {"capacity_bytes", "Memory of the device, where the file tells it.", row_capacity},
    {"oom", "Out-of-memory events.", row_ooms},
    {"odd", "1 where the rank differs from those that do the same.", row_odd},
};
enum { N_FIGURES = sizeof figures / sizeof *figures };

/* ---- CSV ---- */

/* Quotes a text; one that a spreadsheet would run as a formula gets an apostrophe before it. */
static void csv_text(struct buffer *out, const char *text) {
    text = text != NULL ? text : "";
    buffer_add_text(out, *text != '\0' && strchr("=+-@\t\r", *text) != NULL ? "\"'" : "\"");
    for (; *text != '\0'; text++)
        buffer_printf(out, *text == '"' ? "\"%c" : "%c", *text);
    buffer_add_text(out, "\"");
}

static void csv_number(struct buffer *out, int64_t number) {
    if (number != INDEX_UNKNOWN)
        buffer_printf(out, "%" PRId64, number);
    buffer_add_text(out, ",");
}

bool index_csv(struct buffer *out, const struct index *index) {
    buffer_add_text(out, "input,kind,rank,step,device,");
    for (uint32_t i = 0; i < N_FIGURES; i++)
        buffer_printf(out, "%s,", figures[i].name);
    buffer_add_text(out, "finding\r\n");
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        csv_text(out, row->input);
        buffer_printf(out, ",%s,", !row->has_allocations ? "log" : row->is_snapshot ? "snapshot" : "profile");
        csv_number(out, row->rank);
        csv_number(out, row->step);
        buffer_printf(out, "%" PRId64 ",", row->device);
        for (uint32_t k = 0; k < N_FIGURES; k++) {
            struct amount figure = figures[k].of(row);
            if (figure.known)
                buffer_printf(out, "%" PRIu64, figure.value);
            buffer_add_text(out, ",");
        }
        csv_text(out, row->finding);
        buffer_add_text(out, "\r\n");
    }
    return !out->failed;
}

/* ---- Prometheus ---- */

static void label_add(struct buffer *out, const char *text) {
    for (; *text != '\0'; text++)
        if (*text == '\n')
            buffer_add_text(out, "\\n");
        else
            buffer_printf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void sample_add(struct buffer *out, const char *name, const struct index_row *row, uint64_t value) {
    buffer_printf(out, "strata_%s{input=\"", name);
    label_add(out, row->input);
    buffer_add_text(out, "\"");
    if (row->rank != INDEX_UNKNOWN)
        buffer_printf(out, ",rank=\"%" PRId64 "\"", row->rank);
    if (row->step != INDEX_UNKNOWN)
        buffer_printf(out, ",step=\"%" PRId64 "\"", row->step);
    buffer_printf(out, ",device=\"%" PRId64 "\"} %" PRIu64 "\n", row->device, value);
}

static void total_add(struct buffer *out, const char *name, const char *help, uint32_t count) {
    buffer_printf(out, "# HELP strata_%s %s\n# TYPE strata_%s gauge\nstrata_%s %" PRIu32 "\n", name, help,
                  name, name, count);
}

bool index_prometheus(struct buffer *out, const struct index *index) {
    total_add(out, "files_failed", "Files that could not be read.", index->n_failed);
    total_add(out, "files_skipped", "Files that are no snapshots.", index->n_skipped);
    for (uint32_t k = 0; k < N_FIGURES; k++) {
        buffer_printf(out, "# HELP strata_%s %s\n# TYPE strata_%s gauge\n", figures[k].name, figures[k].help,
                      figures[k].name);
        for (uint32_t i = 0; i < index->n_rows; i++) {
            struct amount figure = figures[k].of(&index->rows[i]);
            if (figure.known)
                sample_add(out, figures[k].name, &index->rows[i], figure.value);
        }
    }
    return !out->failed;
}
