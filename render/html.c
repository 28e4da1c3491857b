#include "render/html.h"

#include "render/deflate.h"
#include "render/template.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* The files of templates/ and the WebAssembly module, embedded by the build. */
extern const unsigned char asset_page_html[], asset_base_css[], asset_page_css[], asset_strata_wasm[];
extern const size_t asset_page_html_nbytes, asset_base_css_nbytes, asset_page_css_nbytes,
    asset_strata_wasm_nbytes;
extern const unsigned char asset_text_js[], asset_host_js[], asset_state_js[], asset_filter_js[],
    asset_lane_js[], asset_plot_js[], asset_minimap_js[], asset_search_js[], asset_legend_js[],
    asset_list_js[], asset_panel_js[], asset_picture_js[], asset_page_js[];
extern const size_t asset_text_js_nbytes, asset_host_js_nbytes, asset_state_js_nbytes, asset_filter_js_nbytes,
    asset_lane_js_nbytes, asset_plot_js_nbytes, asset_minimap_js_nbytes, asset_search_js_nbytes,
    asset_legend_js_nbytes, asset_list_js_nbytes, asset_panel_js_nbytes, asset_picture_js_nbytes,
    asset_page_js_nbytes;

/* In the order of the <script> elements of templates/page.html: each file uses only what stands before it. */
static const struct template_asset scripts[] = {
    {asset_text_js, &asset_text_js_nbytes},       {asset_host_js, &asset_host_js_nbytes},
    {asset_state_js, &asset_state_js_nbytes},     {asset_filter_js, &asset_filter_js_nbytes},
    {asset_lane_js, &asset_lane_js_nbytes},       {asset_plot_js, &asset_plot_js_nbytes},
    {asset_minimap_js, &asset_minimap_js_nbytes}, {asset_search_js, &asset_search_js_nbytes},
    {asset_legend_js, &asset_legend_js_nbytes},   {asset_list_js, &asset_list_js_nbytes},
    {asset_panel_js, &asset_panel_js_nbytes},     {asset_picture_js, &asset_picture_js_nbytes},
    {asset_page_js, &asset_page_js_nbytes},
};

/* What is filled into the template. */
struct page_parts {
    const struct html_options *options;
    struct buffer script, style, payload;
};

static const char *title_of(const struct html_options *options) {
    return options->title ? options->title : options->file;
}

static void fill_title(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_title(out, title_of(parts->options));
}

static void fill_policy(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_policy(out, &parts->script, &parts->style, " 'wasm-unsafe-eval'");
}

static void fill_style(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_style(out, &parts->style);
}

static void fill_script(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_script(out, &parts->script);
}

static void fill_module(struct buffer *out, const void *context) {
    (void)context;
    template_add_inert(out, "module", asset_strata_wasm, asset_strata_wasm_nbytes);
}

static void fill_payload(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_inert(out, "payload", parts->payload.bytes, parts->payload.nbytes);
}

static const struct template_hole holes[] = {
    {"TITLE", fill_title},   {"POLICY", fill_policy},   {"STYLE", fill_style},
    {"MODULE", fill_module}, {"PAYLOAD", fill_payload}, {"SCRIPT", fill_script},
};

/* The facts that the page cannot find in the trace, as JSON text. NULL: no memory. To be freed with
 * cJSON_free. */
static char *meta_text(const struct html_options *options) {
    cJSON *meta = cJSON_CreateObject();
    bool complete = cJSON_AddStringToObject(meta, "file", options->file) &&
                    cJSON_AddStringToObject(meta, "sha256", options->sha256) &&
                    cJSON_AddStringToObject(meta, "version", STRATA_VERSION) &&
                    cJSON_AddStringToObject(meta, "title", title_of(options)) &&
                    cJSON_AddStringToObject(meta, "theme", options->theme) &&
                    (options->color == NULL || cJSON_AddStringToObject(meta, "color", options->color)) &&
                    cJSON_AddNumberToObject(meta, "device", options->device) &&
                    cJSON_AddNumberToObject(meta, "capacity", (double)options->capacity_bytes);
    char *text = complete ? cJSON_PrintUnformatted(meta) : NULL;
    cJSON_Delete(meta);
    return text;
}

static bool meta_store(struct trace *trace, const struct html_options *options) {
    char *text = meta_text(options);
    if (!text)
        return false;
    trace->meta = trace_string_add(trace, text, strlen(text));
    cJSON_free(text);
    return trace->meta != 0;
}

static void payload_write(struct buffer *out, struct payload *payload, unsigned threads) {
    if (!deflate_pieces(payload->pieces, payload->n_pieces, threads)) {
        out->failed = true;
        return;
    }
    uint8_t *to = buffer_extend(out, (size_t)payload_nbytes(payload));
    if (to)
        payload_assemble(payload, to);
    deflate_release(payload->pieces, payload->n_pieces);
}

/* The trace in its compact form, ready for base64. */
static void payload_make(struct buffer *out, const struct trace *trace, unsigned threads) {
    struct arena arena;
    arena_init(&arena, trace->arena.host, SIZE_MAX);
    struct payload payload = {0};
    if (payload_pack(&payload, trace, &arena) == PAYLOAD_OK)
        payload_write(out, &payload, threads);
    else
        out->failed = true;
    arena_release(&arena);
}

bool html_render(struct buffer *out, struct trace *trace, const struct html_options *options) {
    struct page_parts parts = {.options = options};
    if (!meta_store(trace, options))
        return false;
    template_join_scripts(&parts.script, scripts, sizeof scripts / sizeof *scripts);
    buffer_add(&parts.style, asset_base_css, asset_base_css_nbytes);
    buffer_add(&parts.style, asset_page_css, asset_page_css_nbytes);
    payload_make(&parts.payload, trace, options->threads);
    if (!parts.script.failed && !parts.style.failed && !parts.payload.failed)
        template_fill(out, (const char *)asset_page_html, holes, sizeof holes / sizeof *holes, &parts);
    else
        out->failed = true;
    buffer_release(&parts.script);
    buffer_release(&parts.style);
    buffer_release(&parts.payload);
    return !out->failed;
}
