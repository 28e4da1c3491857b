#include "render/page/payload_fit.h"

#include "base/bytes.h"
#include "base/format.h"
#include "layout/merge.h"
#include "render/deflate.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

const char *html_title(const struct html_options *options) {
    return options->title ? options->title : options->file;
}

/* The facts that are not in the trace, as JSON text. `merge` may be NULL. Free the text with cJSON_free.
 * NULL: no memory. */
static char *meta_text(const struct html_options *options, const struct merge *merge) {
    cJSON *meta = cJSON_CreateObject();
    bool complete = cJSON_AddStringToObject(meta, "file", options->file) &&
                    cJSON_AddStringToObject(meta, "fingerprint", options->fingerprint) &&
                    cJSON_AddStringToObject(meta, "version", STRATA_VERSION) &&
                    cJSON_AddStringToObject(meta, "title", html_title(options)) &&
                    cJSON_AddStringToObject(meta, "theme", options->theme) &&
                    (options->color == NULL || cJSON_AddStringToObject(meta, "color", options->color)) &&
                    (options->view == NULL || cJSON_AddStringToObject(meta, "view", options->view)) &&
                    (options->follows == NULL || cJSON_AddRawToObject(meta, "follows", options->follows)) &&
                    cJSON_AddNumberToObject(meta, "device", options->device) &&
                    cJSON_AddNumberToObject(meta, "capacity", (double)options->capacity_bytes);
    if (complete && merge != NULL)
        complete = cJSON_AddNumberToObject(meta, "allocations", (double)merge->n_allocations) &&
                   cJSON_AddNumberToObject(meta, "merged", (double)merge->n_merged) &&
                   cJSON_AddNumberToObject(meta, "hidden", (double)merge->n_hidden);
    char *text = complete ? cJSON_PrintUnformatted(meta) : NULL;
    cJSON_Delete(meta);
    return text;
}

static bool meta_store(struct trace *trace, const struct html_options *options, const struct merge *merge) {
    char *text = meta_text(options, merge);
    if (!text)
        return false;
    trace->meta = trace_string_add(trace, text, strlen(text));
    cJSON_free(text);
    return trace->meta != 0;
}

static void payload_write(struct buffer *out, struct payload *payload, unsigned threads) {
    if (!deflate_pieces(payload->pieces, payload->n_pieces, threads, out->host)) {
        out->failed = true;
        return;
    }
    uint8_t *to = buffer_extend(out, (size_t)payload_nbytes(payload));
    if (to)
        payload_assemble(payload, to);
    deflate_release(payload->pieces, payload->n_pieces, out->host);
}

/* Writes the trace in its compact form, ready for base64. `out` has a host, which provides all memory. */
static void payload_make(struct buffer *out, const struct trace *trace, unsigned threads) {
    struct arena arena;
    arena_init(&arena, out->host, SIZE_MAX);
    struct payload payload = {0};
    if (payload_pack(&payload, trace, &arena) == PAYLOAD_OK)
        payload_write(out, &payload, threads);
    else
        out->failed = true;
    arena_release(&arena);
}

/* Says in the diagnostics and in the page's data what was merged. */
static bool merge_explain(struct merge *merge, struct trace *trace, const struct html_options *options) {
    char message[512];
    snprintf(message, sizeof message,
             "To keep the page below %s, %s of %s allocations, the smallest and shortest-lived, are merged "
             "into %s bands "
             "by stack and time%s%s%s. Bytes are exact at the %s moments that are kept, the peak among them.",
             format_bytes(options->max_nbytes).text, format_count(merge->n_merged).text,
             format_count(merge->n_allocations).text, format_count(merge->n_bands).text,
             merge->n_hidden != 0 ? ", and " : "",
             merge->n_hidden != 0 ? format_count(merge->n_hidden).text : "",
             merge->n_hidden != 0 ? " that come and go between two kept moments are not drawn" : "",
             format_count(merge->n_kept).text);
    uint32_t code = trace_string_add(trace, "merged", 6);
    uint32_t text = trace_string_add(trace, message, strlen(message));
    if (code == 0 || text == 0 || !meta_store(trace, options, merge))
        return false;
    struct diagnostic *diagnostics = NULL;
    uint32_t capacity = 0, n = trace->n_diagnostics;
    if (!ARENA_GROW(&merge->arena, diagnostics, capacity, (uint64_t)n + 1))
        return false;
    for (uint32_t i = 0; i < n; i++)
        diagnostics[i] = trace->diagnostics[i];
    diagnostics[n] = (struct diagnostic){.code = code, .message = text, .device = ORDINAL_NONE};
    merge->trace.diagnostics = diagnostics;
    merge->trace.n_diagnostics = n + 1;
    merge->trace.strings = trace->strings;
    merge->trace.meta = trace->meta;
    return true;
}

/* The search for the lowest level of merging with which the page fits. */
struct fitting {
    const struct html_options *options;
    struct trace *trace;
    struct arena_host host; /* outlives `trace` */
    uint64_t frame_nbytes;  /* of the page without its payload */
    struct buffer best;     /* payload of the lowest level known to fit */
    struct html_outcome outcome;
};

uint64_t payload_text_nbytes(const struct buffer *payload) {
    return ((uint64_t)payload->nbytes + 2) / 3 * 4;
}

static uint64_t page_nbytes(const struct fitting *fitting, const struct buffer *payload) {
    return fitting->frame_nbytes + payload_text_nbytes(payload);
}

/* Tries a level; keeps its payload if the page fits. Returns the size of the page, 0: no memory. */
static uint64_t level_try(struct fitting *fitting, unsigned level) {
    struct merge merge;
    struct buffer payload = {.host = fitting->host};
    bool done =
        merge_init(&merge, fitting->trace, level) && merge_explain(&merge, fitting->trace, fitting->options);
    if (done)
        payload_make(&payload, &merge.trace, fitting->options->threads);
    uint64_t nbytes = done && !payload.failed ? page_nbytes(fitting, &payload) : 0;
    if (nbytes != 0 && nbytes <= fitting->options->max_nbytes) {
        buffer_release(&fitting->best);
        fitting->best = payload;
        fitting->outcome =
            (struct html_outcome){merge.n_allocations, merge.n_merged, merge.n_bands, merge.n_hidden, 0};
    } else {
        buffer_release(&payload);
    }
    merge_release(&merge);
    return nbytes;
}

/* Bisects the levels. A higher level makes a smaller page, or one about as large. The search ends at 98 % of the
 * limit. */
static enum html_result level_find(struct fitting *fitting) {
    const uint64_t most = fitting->options->max_nbytes, enough = most - most / 50;
    unsigned low = 0, high = MERGE_LEVELS;
    uint64_t nbytes = level_try(fitting, high);
    fitting->outcome.least_nbytes = nbytes;
    if (nbytes == 0 || nbytes > most)
        return nbytes == 0 ? HTML_NO_MEMORY : HTML_TOO_LARGE;
    while (high - low > 1 && nbytes < enough) {
        unsigned level = low + (high - low) / 2;
        uint64_t tried = level_try(fitting, level);
        if (tried == 0)
            return HTML_NO_MEMORY;
        if (tried > most) {
            low = level;
        } else {
            high = level;
            nbytes = tried;
        }
    }
    return HTML_DONE;
}

/* Copies the recording with a table of texts of its own, so that texts added for a page stay out of the recording.
 * Release the arena in any case. False: no memory. */
static bool trace_borrow(struct trace *own, const struct trace *trace, struct arena_host host) {
    const struct string_table *from = &trace->strings;
    uint32_t nbytes = from->start[from->count];
    *own = *trace;
    own->strings = (struct string_table){.count = from->count};
    arena_init(&own->arena, host, SIZE_MAX);
    if (!ARENA_GROW(&own->arena, own->strings.bytes, own->strings.bytes_capacity, (uint64_t)nbytes + 4096) ||
        !ARENA_GROW(&own->arena, own->strings.start, own->strings.start_capacity, (uint64_t)from->count + 16))
        return false;
    bytes_copy(own->strings.start, from->start, ((size_t)from->count + 1) * sizeof *from->start);
    bytes_copy(own->strings.bytes, from->bytes, nbytes);
    return true;
}

static bool trace_pack(struct buffer *payload, struct trace *own, const struct html_options *options) {
    if (!meta_store(own, options, NULL))
        return false;
    payload_make(payload, own, options->threads);
    return !payload->failed;
}

void html_payload(struct buffer *payload, const struct trace *trace, const struct html_options *options) {
    struct trace own;
    if (!trace_borrow(&own, trace, payload->host) || !trace_pack(payload, &own, options))
        payload->failed = true;
    arena_release(&own.arena);
}

static enum html_result trace_fit(struct buffer *payload, struct fitting *fitting) {
    const struct html_options *options = fitting->options;
    if (options->payload != NULL && options->payload->nbytes != 0 && !options->payload->failed) {
        *payload = *options->payload;
        *options->payload = (struct buffer){.host = payload->host};
    } else if (!trace_pack(payload, fitting->trace, options)) {
        return HTML_NO_MEMORY;
    }
    if (options->max_nbytes == 0 || page_nbytes(fitting, payload) <= options->max_nbytes)
        return HTML_DONE;
    buffer_release(payload);
    enum html_result result = level_find(fitting);
    if (result == HTML_DONE)
        *payload = fitting->best;
    else
        buffer_release(&fitting->best);
    return result;
}

enum html_result payload_fit(struct buffer *payload, const struct trace *trace,
                             const struct html_options *options, uint64_t frame_nbytes,
                             struct html_outcome *outcome) {
    struct trace own;
    struct fitting fitting = {
        .options = options, .trace = &own, .host = payload->host, .frame_nbytes = frame_nbytes};
    bool borrowed = trace_borrow(&own, trace, payload->host);
    enum html_result result = borrowed ? trace_fit(payload, &fitting) : HTML_NO_MEMORY;
    arena_release(&own.arena);
    *outcome = fitting.outcome;
    return result;
}
