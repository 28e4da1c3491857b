/* Writes the rows of an index for spreadsheets (RFC 4180) and in Prometheus' text format. */
#include "render/index/index.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* A member of a row: a column of the CSV file, or a metric. */
#define MEMBER(member) offsetof(struct index_row, member), sizeof(((struct index_row *)0)->member)

static const struct row_figure {
    const char *name, *help;
    size_t offset, nbytes;
    enum { ALWAYS, UNLESS_0, AS_0_OR_1 } shown;
} figures[] = {
    {"events", "Events of the recording.", MEMBER(n_events), ALWAYS},
    {"peak_bytes", "The most that was in use.", MEMBER(peak_bytes), ALWAYS},
    {"end_bytes", "In use at the end of the recording.", MEMBER(end_bytes), ALWAYS},
    {"reserved_peak_bytes", "The most that the allocator held of the device.", MEMBER(reserved_peak_bytes),
     ALWAYS},
    {"reserved_end_bytes", "Held of the device at the end of the recording.", MEMBER(reserved_end_bytes),
     ALWAYS},
    {"capacity_bytes", "Memory of the device, where the file tells it.", MEMBER(capacity_bytes), UNLESS_0},
    {"oom", "Out-of-memory events.", MEMBER(n_ooms), ALWAYS},
    {"odd", "1 where the rank differs from those that do the same.", MEMBER(odd), AS_0_OR_1},
};
enum { N_FIGURES = sizeof figures / sizeof *figures };

/* Reads a figure of a row. False: the row does not have it. */
static bool figure_of(const struct row_figure *figure, const struct index_row *row, uint64_t *value) {
    const char *member = (const char *)row + figure->offset;
    uint32_t word;
    if (figure->nbytes == sizeof *value)
        memcpy(value, member, sizeof *value);
    else
        *value = *(uint32_t *)memcpy(&word, member, sizeof word);
    *value = figure->shown == AS_0_OR_1 ? *value != 0 : *value;
    return figure->shown != UNLESS_0 || *value != 0;
}

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
            uint64_t value;
            if (figure_of(&figures[k], row, &value))
                buffer_printf(out, "%" PRIu64, value);
            buffer_add_text(out, ",");
        }
        csv_text(out, row->finding);
        buffer_add_text(out, "\r\n");
    }
    return !out->failed;
}

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
            uint64_t value;
            if (figure_of(&figures[k], &index->rows[i], &value))
                sample_add(out, figures[k].name, &index->rows[i], value);
        }
    }
    return !out->failed;
}
