#include "parser/read.h"

#include "base/format.h"
#include "parser/base64.h"
#include "parser/gzip.h"
#include "parser/html.h"
#include "parser/json.h"
#include "parser/page.h"
#include "parser/pickle.h"
#include "parser/sniff.h"
#include "parser/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SNIFF_NBYTES = 1024,        /* enough for a comment or white space in front of a page */
    MAX_BLAME_NBYTES = 1 << 30, /* unpacked to look for damage; a bomb must not keep us busy */
    MAX_LAYERS = 4              /* a page in a zip in gzip needs three; each costs a buffer */
};

const char *read_code_name(enum read_code code) {
    static const char *const names[] = {
        [READ_OK] = "ok",
        [READ_IO] = "io",
        [READ_EMPTY] = "empty",
        [READ_UNKNOWN_KIND] = "unknown_kind",
        [READ_TRUNCATED] = "truncated",
        [READ_BAD_OPCODE] = "bad_opcode",
        [READ_FORBIDDEN] = "forbidden",
        [READ_BAD_LENGTH] = "bad_length",
        [READ_BAD_VALUE] = "bad_value",
        [READ_BAD_STACK] = "bad_stack",
        [READ_BAD_SHAPE] = "bad_shape",
        [READ_LIMIT] = "limit",
        [READ_NO_MEMORY] = "no_memory",
        [READ_INTERRUPTED] = "interrupted",
        [READ_CORRUPT] = "corrupt",
        [READ_NO_DATA] = "no_data",
    };
    return names[code];
}

/* ---- recognising an input by its first bytes ---- */

/* The first line of GLOBAL: a module's name. */
static bool is_module_line(const uint8_t *p, size_t nbytes) {
    size_t i = 0;
    while (i < nbytes && (p[i] == '.' || p[i] == '_' || (p[i] >= '0' && p[i] <= '9') ||
                          (p[i] >= 'A' && p[i] <= 'Z') || (p[i] >= 'a' && p[i] <= 'z')))
        i++;
    return i != 0 && i < nbytes && p[i] == '\n';
}

/* Pickles of protocol 2 and later begin with PROTO, older ones with the opcode of a container. */
static bool is_pickle(const uint8_t *p, size_t nbytes) {
    if (nbytes >= 1 && p[0] == 0x80)
        return nbytes == 1 || p[1] >= 2;
    if (nbytes >= 2 && (p[0] == ']' || p[0] == '}' || p[0] == '('))
        return p[1] == '(' || p[1] == '.' || p[1] == 'q' || p[1] == 'p' || p[1] == 'd' || p[1] == 'l';
    return nbytes >= 1 && p[0] == 'c' && is_module_line(p + 1, nbytes - 1);
}

static bool is_json(const uint8_t *p, size_t nbytes) {
    size_t blank = sniff_blank(p, nbytes);
    return blank < nbytes && (p[blank] == '{' || p[blank] == '[');
}

/* ---- inputs inside of inputs ---- */

static bool input_read(struct cursor *cursor, struct trace *trace, unsigned depth);

/* Reads what `source` makes of the bytes below it. */
static bool layer_read(const struct read_source *source, const struct read_progress *progress,
                       struct trace *trace, struct read_error *error, unsigned depth) {
    struct cursor cursor;
    bool done =
        cursor_init(&cursor, source, progress, &trace->arena, error) && input_read(&cursor, trace, depth + 1);
    cursor_release(&cursor);
    return done;
}

/* Progress is told by the innermost cursor. */
static const struct read_progress *progress_take(struct cursor *below) {
    const struct read_progress *progress = below->progress;
    below->progress = NULL;
    return progress;
}

/* Can damage of what surrounds the recording be the reason of this error in it? */
static bool error_may_be_damage(const struct read_error *error) {
    return error->code >= READ_TRUNCATED && error->code <= READ_BAD_SHAPE;
}

/* A source that a thread reads ahead. What goes wrong there is noted apart: the parser has not come so far. */
struct ahead_layer {
    struct read_source source;
    struct read_error noted, *error; /* the thread's; the parser's */
};

static int64_t ahead_layer_read(void *context, void *to, size_t nbytes) {
    struct ahead_layer *layer = context;
    int64_t got = layer->source.read(layer->source.context, to, nbytes);
    if (got < 0 && layer->error->code == READ_OK)
        *layer->error = layer->noted;
    return got;
}

/* What the thread met ahead of the parser counts as it does where there is none, and the source is read to its end for
 * check sums. */
static bool ahead_layer_settle(const struct ahead_layer *layer, bool done) {
    if (layer->noted.code == READ_OK)
        return done;
    if (done || error_may_be_damage(layer->error))
        *layer->error = layer->noted;
    return false;
}

/* As layer_read, of a source that unpacks what is below: in a thread, where the program has one for it. */
static bool packed_layer_read(struct cursor *below, const struct read_source *packed, struct trace *trace,
                              unsigned depth) {
    const struct read_helpers *helpers = below->source->helpers;
    const struct read_progress *progress = progress_take(below);
    struct ahead_layer layer = {.error = below->error};
    const struct read_source source = {.read = ahead_layer_read, .context = &layer};
    struct read_ahead *ahead = NULL;
    below->error = &layer.noted;
    if (helpers != NULL && helpers->ahead_start != NULL)
        ahead = helpers->ahead_start(packed, &layer.source);
    if (ahead == NULL) /* what reads is this thread, and its error the parser's */
        below->error = layer.error;
    bool done = layer_read(ahead != NULL ? &source : packed, progress, trace, layer.error, depth);
    if (ahead != NULL)
        helpers->ahead_stop(ahead);
    below->error = layer.error;
    below->progress = progress;
    return ahead_layer_settle(&layer, done);
}

static bool is_truncated(const struct trace *trace, const struct diagnostic *diagnostic) {
    static const char code[] = "truncated";
    uint32_t nbytes;
    const uint8_t *bytes = trace_string(trace, diagnostic->code, &nbytes);
    return nbytes == sizeof code - 1 && memcmp(bytes, code, nbytes) == 0;
}

/* The recording was complete, and what surrounds it is not. */
static bool envelope_check(struct cursor *cursor, struct trace *trace, enum source_end end, const char *key) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {cursor_offset(cursor)};
    if (end != SOURCE_TRUNCATED)
        return true;
    for (uint32_t i = 0; i < trace->n_diagnostics; i++)
        if (is_truncated(trace, &trace->diagnostics[i]))
            return true; /* the recording is cut too, and that is said */
    return trace_diagnose(trace, key, ORDINAL_NONE, numbers) || cursor_fail_memory(cursor, numbers[0]);
}

/* "Empty" is not said of a file that ends before its first packed byte. */
static void envelope_blame_cut(struct cursor *cursor, enum source_end end) {
    if (cursor->error->code != READ_EMPTY || end != SOURCE_TRUNCATED)
        return;
    cursor->error->code = READ_OK;
    (void)cursor_fail(cursor, READ_TRUNCATED, cursor_offset(cursor),
                      "the file ends before anything could be unpacked");
}

/* Nothing could be read. If the envelope is to blame, it must be what the error speaks of. */
static void envelope_blame(struct cursor *cursor, struct read_source source, const enum source_end *end) {
    envelope_blame_cut(cursor, *end);
    struct read_error *error = cursor->error, inner = *error;
    uint8_t waste[16 << 10];
    if (!error_may_be_damage(&inner) || *end == SOURCE_FAILED)
        return;
    error->code = READ_OK; /* a check sum may tell that the bytes were damaged */
    for (uint64_t nbytes = 0; nbytes < MAX_BLAME_NBYTES; nbytes += sizeof waste)
        if (source.read(source.context, waste, sizeof waste) <= 0)
            break;
    if (error->code == READ_OK)
        *error = inner;
}

static bool gzip_layer_read(struct cursor *cursor, struct trace *trace, unsigned depth) {
    struct gzip gzip;
    if (!gzip_open(&gzip, cursor))
        return false;
    struct read_source source = gzip_source(&gzip);
    bool read = packed_layer_read(cursor, &source, trace, depth);
    if (!read)
        envelope_blame(cursor, source, &gzip.end);
    bool done = read && gzip_finish(&gzip) && envelope_check(cursor, trace, gzip.end, "truncated/gzip");
    gzip_explain(&gzip);
    gzip_release(&gzip);
    return done;
}

static bool zip_layer_read(struct cursor *cursor, struct trace *trace, unsigned depth) {
    struct zip zip;
    if (!zip_open(&zip, cursor))
        return false;
    struct read_source source = zip_source(&zip);
    bool read = packed_layer_read(cursor, &source, trace, depth);
    if (!read)
        envelope_blame(cursor, source, &zip.end);
    bool done = read && zip_finish(&zip) && envelope_check(cursor, trace, zip.end, "truncated/zip");
    zip_release(&zip);
    return done;
}

static bool html_layer_read(struct cursor *cursor, struct trace *trace, unsigned depth) {
    enum html_kind kind;
    struct base64 base64;
    if (!html_seek(cursor, &kind))
        return false;
    if (kind == HTML_STRATA)
        return page_read(cursor, trace);
    base64_open(&base64, cursor, '"');
    struct read_source source = base64_source(&base64);
    bool done = layer_read(&source, progress_take(cursor), trace, cursor->error, depth);
    if (!done)
        envelope_blame_cut(cursor, base64.end);
    return done;
}

static bool input_read(struct cursor *cursor, struct trace *trace, unsigned depth) {
    if (!cursor_fill(cursor, 1))
        return cursor->error->code == READ_OK &&
               cursor_fail(cursor, READ_EMPTY, 0,
                           depth == 0 ? "the file is empty" : "what is packed in the file is empty");
    (void)cursor_fill(cursor, SNIFF_NBYTES);
    if (cursor->error->code != READ_OK)
        return false;
    const uint8_t *p = cursor->p;
    size_t nbytes = (size_t)(cursor->end - p);
    if (nbytes > SNIFF_NBYTES)
        nbytes = SNIFF_NBYTES; /* what is recognised does not depend on how much comes at once */
    if (is_pickle(p, nbytes))
        return pickle_read(cursor, trace);
    if (depth == MAX_LAYERS)
        return cursor_fail(cursor, READ_LIMIT, 0, "inputs are packed into each other more than 4 deep");
    if (gzip_recognises(p, nbytes))
        return gzip_layer_read(cursor, trace, depth);
    if (zip_recognises(p, nbytes))
        return zip_layer_read(cursor, trace, depth);
    if (html_recognises(p, nbytes))
        return html_layer_read(cursor, trace, depth);
    if (is_json(p, nbytes))
        return json_read(cursor, trace);
    return cursor_fail(
        cursor, READ_UNKNOWN_KIND, 0,
        "this is not a memory snapshot: it is neither a pickle nor JSON, a page, a zip or gzip");
}

/* Memory is not what was missing. */
static void full_blame(struct read_error *error) {
    error->code = READ_LIMIT;
    snprintf(error->message, sizeof error->message,
             "the recording has more than 4 GiB of text, or more than 4,294,967,291 events or other things "
             "of a kind");
}

static bool sizes_check(struct cursor *cursor, const struct trace *trace) {
    int32_t device = trace_oversized_device(trace);
    if (device == ORDINAL_NONE)
        return true;
    return cursor_fail(cursor, READ_BAD_VALUE, cursor_offset(cursor),
                       "the sizes of device %" PRId32 " add up to more than 8 EiB, which no memory holds",
                       device);
}

bool trace_read(struct trace *trace, const struct read_source *source, const struct read_progress *progress,
                struct read_error *error) {
    struct cursor cursor;
    *error = (struct read_error){.code = READ_OK};
    bool done = cursor_init(&cursor, source, progress, &trace->arena, error) &&
                input_read(&cursor, trace, 0) && sizes_check(&cursor, trace);
    cursor_release(&cursor);
    if (error->code == READ_NO_MEMORY && trace->arena.full)
        full_blame(error);
    return done;
}
