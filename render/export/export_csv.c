/*
 * Writes rows as RFC 4180 defines them: CRLF, and quotes around what holds a comma, a quote or an end of line. A text
 * that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets read as "this is text".
 */
#include "render/export/export_parts.h"

#include <string.h>

struct csv {
    struct buffer *out;
    struct buffer cell; /* a text before it is quoted; begins with the apostrophe, if it needs one */
    struct export_frames frames;
    uint32_t *number; /* [stacks] of each stack that was written, from 1; 0: not yet */
    uint32_t n_numbered;
};

/* A stack's text is some kilobytes and the same for every allocation of a line, so its first row has it and all rows
 * have its number: a file of 1 MB could otherwise become one of 8 GB. */
static const char header[] = "id,device,alloc_event,free_event,alloc_us,free_us,bytes,address,stream,pool,"
                             "category,phase,step,site,stack_id,stack,older\r\n";

static void cell_begin(struct csv *csv) {
    csv->cell.nbytes = 0;
    buffer_add(&csv->cell, "'", 1);
}

static bool is_formula(const uint8_t *bytes, size_t nbytes) {
    return nbytes != 0 && memchr("=+-@\t\r", bytes[0], 6) != NULL;
}

static void quoted_add(struct buffer *out, const uint8_t *bytes, size_t nbytes) {
    buffer_add(out, "\"", 1);
    for (size_t at = 0; at < nbytes;) {
        const uint8_t *quote = memchr(bytes + at, '"', nbytes - at);
        size_t plain = quote != NULL ? (size_t)(quote - bytes) + 1 - at : nbytes - at;
        buffer_add(out, bytes + at, plain);
        buffer_add(out, "\"", quote != NULL);
        at += plain;
    }
    buffer_add(out, "\"", 1);
}

/* Quotes the text in `cell` where it must be, writes it, and adds a comma. */
static void cell_end(struct csv *csv) {
    struct buffer *out = csv->out;
    out->failed |= csv->cell.failed;
    if (out->failed)
        return;
    bool formula = is_formula(csv->cell.bytes + 1, csv->cell.nbytes - 1);
    const uint8_t *bytes = csv->cell.bytes + !formula;
    size_t nbytes = csv->cell.nbytes - !formula;
    if (memchr(bytes, ',', nbytes) != NULL || memchr(bytes, '"', nbytes) != NULL)
        quoted_add(out, bytes, nbytes);
    else
        buffer_add(out, bytes, nbytes);
    buffer_add(out, ",", 1);
}

static void word_add(struct buffer *out, const char *word) {
    bool quoted = strchr(word, ',') != NULL;
    buffer_add(out, "\"", quoted);
    buffer_add_text(out, word);
    buffer_add(out, quoted ? "\"," : ",", quoted ? 2 : 1);
}

static void number_add(struct buffer *out, int64_t number, bool known) {
    char digits[22];
    uint32_t n = known ? export_signed_digits(number, digits) : 0;
    digits[n++] = ',';
    buffer_add(out, digits, n);
}

/* The cells of site, number and stack. */
static bool stack_add(struct csv *csv, const struct export_device *device, const struct export_row *row) {
    uint32_t *number = &csv->number[row->stack];
    bool first = *number == 0;
    cell_begin(csv);
    export_site_add(&csv->cell, device->trace, row->site);
    cell_end(csv);
    if (first)
        *number = ++csv->n_numbered;
    number_add(csv->out, *number, true);
    cell_begin(csv);
    if (first && !export_frames_find(&csv->frames, device->trace, row->stack, device->work->scratch))
        return false;
    if (first && csv->frames.cut)
        buffer_add_text(&csv->cell, EXPORT_MORE_FRAMES ";");
    for (uint32_t i = 0; first && i < csv->frames.count; i++) {
        buffer_add(&csv->cell, ";", i != 0);
        export_frame_add(&csv->cell, device->trace, csv->frames.frame[i], ';', ',');
    }
    cell_end(csv);
    return true;
}

static bool row_add(struct csv *csv, const struct export_device *device, const struct export_row *row) {
    struct buffer *out = csv->out;
    bool begins = row->alloc_event != EXPORT_NO_EVENT, ends = row->free_event != EXPORT_NO_EVENT;
    number_add(out, row->id, true);
    number_add(out, device->device->ordinal, true);
    number_add(out, row->alloc_event, begins);
    number_add(out, row->free_event, ends);
    number_add(out, row->alloc_us, begins && row->timed);
    number_add(out, row->free_us, ends && row->timed);
    number_add(out, (int64_t)row->bytes, true);
    word_add(out, row->address_text);
    number_add(out, row->stream, true);
    word_add(out, row->pool);
    word_add(out, row->category);
    word_add(out, row->phase != NULL ? row->phase : "");
    number_add(out, row->step, row->step != EXPORT_NO_STEP);
    if (!stack_add(csv, device, row))
        return false;
    buffer_add(out, row->older ? "1\r\n" : "0\r\n", 3);
    return !out->failed;
}

static bool csv_write(void *context, struct export_device *device) {
    struct csv *csv = context;
    struct export_rows rows = {.device = device};
    struct export_row row;
    while (export_rows_next(&rows, &row))
        if (!row_add(csv, device, &row))
            return false;
    return true;
}

bool export_csv(struct export_work *work) {
    struct arena_host host = arena_share(work->scratch);
    struct csv csv = {.out = work->out, .cell = {.host = host}};
    csv.number = arena_zeros(work->scratch, work->trace->stacks.count, sizeof *csv.number);
    buffer_add_text(work->out, header);
    bool done = csv.number != NULL && export_each_device(work, csv_write, &csv);
    buffer_release(&csv.cell);
    return done;
}
