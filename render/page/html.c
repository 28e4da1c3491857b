#include "render/page/html.h"

#include "base/format.h"
#include "layout/merge.h"
#include "render/deflate.h"
#include "render/page/template.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the build made of the files of templates/, and the WebAssembly module. */
extern const unsigned char asset_page_html[], asset_boot_js[], asset_page_js[], asset_page_css[],
    asset_strata_wasm[];
extern const size_t asset_boot_js_nbytes, asset_page_js_nbytes, asset_page_css_nbytes,
    asset_strata_wasm_nbytes;
extern const char asset_boot_js_hash[], asset_page_js_hash[], asset_page_css_hash[];

/* What unpacks the program, and the program. */
static const struct template_asset boot = {asset_boot_js, &asset_boot_js_nbytes, asset_boot_js_hash};
static const struct template_asset program = {asset_page_js, &asset_page_js_nbytes, asset_page_js_hash};
static const struct template_asset style = {asset_page_css, &asset_page_css_nbytes, asset_page_css_hash};

/* What is filled into the template. */
struct page_parts {
    const struct html_options *options;
    struct arena_host host; /* counts as the trace's */
    struct buffer payload;
    struct payload_piece program, module; /* packed */
};

static const char *title_of(const struct html_options *options) {
    return options->title ? options->title : options->file;
}

static void fill_title(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_title(out, title_of(parts->options));
}

static void fill_policy(struct buffer *out, const void *context) {
    static const struct template_asset *const scripts[] = {&boot, &program};
    (void)context;
    template_add_policy(out, scripts, 2, &style, " 'wasm-unsafe-eval'; worker-src blob:");
}

static void fill_style(struct buffer *out, const void *context) {
    (void)context;
    template_add_style(out, &style);
}

static void fill_script(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_inert(out, "program", parts->program.packed, parts->program.packed_nbytes);
    template_add_script(out, &boot);
}

static void fill_module(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_inert(out, "module", parts->module.packed, parts->module.packed_nbytes);
}

static void fill_payload(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_inert(out, "payload", parts->payload.bytes, parts->payload.nbytes);
}

static const struct template_hole holes[] = {
    {"TITLE", fill_title},   {"POLICY", fill_policy},   {"STYLE", fill_style},
    {"MODULE", fill_module}, {"PAYLOAD", fill_payload}, {"SCRIPT", fill_script},
};

/* The facts that the page cannot find in the trace, as JSON text. `merge` may be NULL. NULL: no memory. To be freed
 * with cJSON_free. */
static char *meta_text(const struct html_options *options, const struct merge *merge) {
    cJSON *meta = cJSON_CreateObject();
    bool complete = cJSON_AddStringToObject(meta, "file", options->file) &&
                    cJSON_AddStringToObject(meta, "fingerprint", options->fingerprint) &&
                    cJSON_AddStringToObject(meta, "version", STRATA_VERSION) &&
                    cJSON_AddStringToObject(meta, "title", title_of(options)) &&
                    cJSON_AddStringToObject(meta, "theme", options->theme) &&
                    (options->color == NULL || cJSON_AddStringToObject(meta, "color", options->color)) &&
                    (options->view == NULL || cJSON_AddStringToObject(meta, "view", options->view)) &&
                    cJSON_AddNumberToObject(meta, "device", options->device) &&
                    cJSON_AddNumberToObject(meta, "capacity", (double)options->capacity_bytes);
    if (complete && merge != NULL)
        complete = cJSON_AddNumberToObject(meta, "allocations", (double)merge->n_lives) &&
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

/* The trace in its compact form, ready for base64. `out` has a host, which brings all the memory. */
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

/* ---- pages of limited size ---- */

/* The smaller recording says itself what it lacks: in its diagnostics and in what the page knows of it. */
static bool merge_explain(struct merge *merge, struct trace *trace, const struct html_options *options) {
    char message[512];
    snprintf(message, sizeof message,
             "To keep the page below %s, %s of %s allocations, the smallest and shortest-lived, are merged "
             "into %s bands "
             "by stack and time%s%s%s. Bytes are exact at the %s moments that are kept, the peak among them.",
             format_bytes(options->max_nbytes).text, format_count(merge->n_merged).text,
             format_count(merge->n_lives).text, format_count(merge->n_bands).text,
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

/* The search for the level that merges as little as it must. */
struct fitting {
    const struct html_options *options;
    struct trace *trace;
    uint64_t frame_nbytes; /* of the page without its payload */
    struct buffer best;    /* payload of the lowest level known to fit */
    struct html_outcome outcome;
};

static uint64_t page_nbytes(const struct fitting *fitting, const struct buffer *payload) {
    return fitting->frame_nbytes + ((uint64_t)payload->nbytes + 2) / 3 * 4;
}

/* Tries a level; keeps its payload if the page fits. Returns the size of the page, 0: no memory. */
static uint64_t level_try(struct fitting *fitting, unsigned level) {
    struct merge merge;
    struct buffer payload = {.host = arena_share(&fitting->trace->arena)};
    bool done =
        merge_init(&merge, fitting->trace, level) && merge_explain(&merge, fitting->trace, fitting->options);
    if (done)
        payload_make(&payload, &merge.trace, fitting->options->threads);
    uint64_t nbytes = done && !payload.failed ? page_nbytes(fitting, &payload) : 0;
    if (nbytes != 0 && nbytes <= fitting->options->max_nbytes) {
        buffer_release(&fitting->best);
        fitting->best = payload;
        fitting->outcome =
            (struct html_outcome){merge.n_lives, merge.n_merged, merge.n_bands, merge.n_hidden, 0};
    } else {
        buffer_release(&payload);
    }
    merge_release(&merge);
    return nbytes;
}

/* Bisects the levels: a higher one makes a smaller page, give or take a little. Content with 98 % of the limit. */
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

/* ---- the page ---- */

/* What is the same in every page: styles as they are, so that nothing is shown without them, the rest packed. */
static bool frame_make(struct page_parts *parts) {
    struct payload_piece pieces[2] = {{0}};
    pieces[0].raw = program.bytes;
    pieces[0].raw_nbytes = (uint32_t)*program.nbytes;
    pieces[1].raw = asset_strata_wasm;
    pieces[1].raw_nbytes = (uint32_t)asset_strata_wasm_nbytes;
    bool done = deflate_pieces(pieces, 2, parts->options->threads, parts->host);
    parts->program = pieces[0];
    parts->module = pieces[1];
    return done;
}

static void parts_release(struct page_parts *parts) {
    buffer_release(&parts->payload);
    deflate_release(&parts->program, 1, parts->host);
    deflate_release(&parts->module, 1, parts->host);
}

static void page_fill(struct buffer *out, const struct page_parts *parts) {
    template_fill(out, (const char *)asset_page_html, holes, sizeof holes / sizeof *holes, parts);
}

static enum html_result payload_fit(struct page_parts *parts, struct trace *trace,
                                    struct html_outcome *outcome) {
    const struct html_options *options = parts->options;
    struct fitting fitting = {.options = options, .trace = trace};
    struct buffer frame = {0};
    page_fill(&frame, parts);
    fitting.frame_nbytes = frame.nbytes;
    bool failed = frame.failed;
    buffer_release(&frame);
    payload_make(&parts->payload, trace, options->threads);
    if (failed || parts->payload.failed)
        return HTML_NO_MEMORY;
    if (options->max_nbytes == 0 || page_nbytes(&fitting, &parts->payload) <= options->max_nbytes)
        return HTML_DONE;
    buffer_release(&parts->payload);
    enum html_result result = level_find(&fitting);
    parts->payload = fitting.best;
    if (outcome != NULL)
        *outcome = fitting.outcome;
    return result;
}

enum html_result html_render(struct buffer *out, struct trace *trace, const struct html_options *options,
                             struct html_outcome *outcome) {
    struct arena_host host = arena_share(&trace->arena);
    struct page_parts parts = {.options = options, .host = host, .payload = {.host = host}};
    enum html_result result = HTML_NO_MEMORY;
    if (outcome != NULL)
        *outcome = (struct html_outcome){0};
    if (meta_store(trace, options, NULL) && frame_make(&parts))
        result = payload_fit(&parts, trace, outcome);
    if (result == HTML_DONE)
        page_fill(out, &parts);
    parts_release(&parts);
    return result == HTML_DONE && out->failed ? HTML_NO_MEMORY : result;
}
