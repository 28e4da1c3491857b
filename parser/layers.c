#include "parser/formats.h"

#include "parser/container/base64.h"
#include "parser/container/html.h"
#include "parser/container/zip.h"

enum { MAX_BLAME_NBYTES = 1 << 30 }; /* unpacked to look for damage; a zip bomb must not take forever */

/* Reads the input that `source` makes from the bytes of the cursor `below`. */
static bool layer_read(const struct cursor *below, const struct read_source *source,
                       const struct read_progress *progress, struct trace *trace, struct read_error *error) {
    struct cursor cursor;
    bool done = cursor_init(&cursor, source, progress, &trace->arena, error);
    cursor.depth = below->depth + 1;
    done = done && input_read(&cursor, trace);
    cursor_release(&cursor);
    return done;
}

/* The innermost cursor reports progress. */
static const struct read_progress *progress_take(struct cursor *below) {
    const struct read_progress *progress = below->progress;
    below->progress = NULL;
    return progress;
}

/* Can damage in a surrounding layer cause this error? */
static bool error_may_be_damage(const struct read_error *error) {
    return error->code >= READ_TRUNCATED && error->code <= READ_BAD_SHAPE;
}

/* A source that a thread reads ahead. Its errors are kept apart until the parser has read as far. */
struct ahead_layer {
    struct read_source source;
    struct read_error noted, *error; /* the thread's; the parser's */
};

static int64_t ahead_layer_result(struct ahead_layer *layer, int64_t got) {
    if (got < 0 && layer->error->code == READ_OK)
        *layer->error = layer->noted;
    return got;
}

static int64_t ahead_layer_read(void *context, void *to, size_t nbytes) {
    struct ahead_layer *layer = context;
    return ahead_layer_result(layer, layer->source.read(layer->source.context, to, nbytes));
}

static int64_t ahead_layer_lend(void *context, uint8_t **bytes) {
    struct ahead_layer *layer = context;
    return ahead_layer_result(layer, layer->source.lend(layer->source.context, bytes));
}

/* Settles an error of the unpacking thread as if there were no thread. */
static bool ahead_layer_settle(const struct ahead_layer *layer, bool done) {
    if (layer->noted.code == READ_OK)
        return done;
    if (done || error_may_be_damage(layer->error))
        *layer->error = layer->noted;
    return false;
}

/* Like layer_read, for a source that unpacks: in a thread, if the program has one for it. */
static bool packed_layer_read(struct cursor *below, const struct read_source *packed, struct trace *trace) {
    const struct read_helpers *helpers = below->source->helpers;
    const struct read_progress *progress = progress_take(below);
    struct ahead_layer layer = {.error = below->error};
    struct read_source source = {.read = ahead_layer_read, .context = &layer};
    struct read_ahead *ahead = NULL;
    below->error = &layer.noted;
    if (helpers != NULL && helpers->ahead_start != NULL)
        ahead = helpers->ahead_start(packed, &layer.source);
    source.lend = layer.source.lend != NULL ? ahead_layer_lend : NULL;
    if (ahead == NULL) /* no thread: this one reads, and the parser gets its errors */
        below->error = layer.error;
    bool done = layer_read(below, ahead != NULL ? &source : packed, progress, trace, layer.error);
    if (ahead != NULL)
        helpers->ahead_stop(ahead);
    below->error = layer.error;
    below->progress = progress;
    return ahead_layer_settle(&layer, done);
}

/* The recording was complete, but its envelope is not. */
static bool envelope_check(struct cursor *cursor, struct trace *trace, enum source_end end, const char *key) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {cursor_offset(cursor)};
    if (end != SOURCE_TRUNCATED)
        return true;
    for (uint32_t i = 0; i < trace->n_diagnostics; i++)
        if (text_is(trace_text(trace, trace->diagnostics[i].code), "truncated"))
            return true; /* the recording was cut too, and says so */
    return trace_diagnose(trace, key, ORDINAL_NONE, numbers) || cursor_fail_memory(cursor, numbers[0]);
}

/* A file that ends before its first packed byte is cut off, not "empty". */
static void envelope_blame_cut(struct cursor *cursor, enum source_end end) {
    if (cursor->error->code != READ_EMPTY || end != SOURCE_TRUNCATED)
        return;
    cursor->error->code = READ_OK;
    (void)cursor_fail(cursor, READ_TRUNCATED, cursor_offset(cursor),
                      "the file ends before anything could be unpacked");
}

/* Nothing could be read. If the envelope is the cause, the error must name it. */
static void envelope_blame(struct cursor *cursor, const struct read_source *source, enum source_end end) {
    envelope_blame_cut(cursor, end);
    struct read_error *error = cursor->error, inner = *error;
    uint8_t waste[16 << 10];
    if (!error_may_be_damage(&inner) || end == SOURCE_FAILED)
        return;
    error->code = READ_OK; /* a checksum may show that the bytes were damaged */
    for (uint64_t nbytes = 0; nbytes < MAX_BLAME_NBYTES; nbytes += sizeof waste)
        if (source->read(source->context, waste, sizeof waste) <= 0)
            break;
    if (error->code == READ_OK)
        *error = inner;
}

/* Reads the recording that `source` unpacks from the cursor's bytes, and then the rest of the source, to verify its
 * checksums. `end` is the state of the source; `key` is the diagnostic for one that is cut off. */
static bool unpacked_read(struct cursor *cursor, struct trace *trace, struct read_source source,
                          const enum source_end *end, const char *key) {
    if (!packed_layer_read(cursor, &source, trace)) {
        envelope_blame(cursor, &source, *end);
        return false;
    }
    source_drain(&source);
    return cursor->error->code == READ_OK && envelope_check(cursor, trace, *end, key);
}

static bool stream_layer_read(struct cursor *cursor, struct trace *trace, enum packed_kind kind,
                              const char *key) {
    struct packed packed;
    if (!packed_open(&packed, cursor, kind))
        return false;
    bool done = unpacked_read(cursor, trace, packed_source(&packed), &packed.end, key);
    packed_explain(&packed);
    packed_release(&packed);
    return done;
}

bool gzip_layer_read(struct cursor *cursor, struct trace *trace) {
    return stream_layer_read(cursor, trace, PACKED_GZIP, "truncated/gzip");
}

bool zstd_layer_read(struct cursor *cursor, struct trace *trace) {
    return stream_layer_read(cursor, trace, PACKED_ZSTD, "truncated/packed");
}

bool xz_layer_read(struct cursor *cursor, struct trace *trace) {
    return stream_layer_read(cursor, trace, PACKED_XZ, "truncated/packed");
}

bool zip_layer_read(struct cursor *cursor, struct trace *trace) {
    struct zip zip;
    if (!zip_open(&zip, cursor))
        return false;
    bool done = unpacked_read(cursor, trace, zip_source(&zip), &zip.end, "truncated/zip");
    zip_release(&zip);
    return done;
}

bool html_layer_read(struct cursor *cursor, struct trace *trace) {
    enum html_kind kind;
    struct base64 base64;
    if (!html_seek(cursor, &kind))
        return false;
    if (kind == HTML_STRATA)
        return page_read(cursor, trace);
    base64_open(&base64, cursor, '"');
    struct read_source source = base64_source(&base64);
    bool done = layer_read(cursor, &source, progress_take(cursor), trace, cursor->error);
    if (!done)
        envelope_blame_cut(cursor, base64.end);
    return done;
}
