#include "render/html.h"

#include "render/deflate.h"

#include <cjson/cJSON.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

/* The files of templates/ and the WebAssembly module, embedded by the build. */
extern const unsigned char asset_page_html[], asset_page_css[], asset_strata_wasm[];
extern const size_t asset_page_html_nbytes, asset_page_css_nbytes, asset_strata_wasm_nbytes;
extern const unsigned char asset_text_js[], asset_host_js[], asset_state_js[], asset_plot_js[],
    asset_minimap_js[], asset_search_js[], asset_panel_js[], asset_page_js[];
extern const size_t asset_text_js_nbytes, asset_host_js_nbytes, asset_state_js_nbytes, asset_plot_js_nbytes,
    asset_minimap_js_nbytes, asset_search_js_nbytes, asset_panel_js_nbytes, asset_page_js_nbytes;

struct asset {
    const unsigned char *bytes;
    const size_t *nbytes;
};

/* In the order of the <script> elements of templates/page.html: each file uses only what stands before it. */
static const struct asset scripts[] = {
    {asset_text_js, &asset_text_js_nbytes},       {asset_host_js, &asset_host_js_nbytes},
    {asset_state_js, &asset_state_js_nbytes},     {asset_plot_js, &asset_plot_js_nbytes},
    {asset_minimap_js, &asset_minimap_js_nbytes}, {asset_search_js, &asset_search_js_nbytes},
    {asset_panel_js, &asset_panel_js_nbytes},     {asset_page_js, &asset_page_js_nbytes},
};

/* What is filled into the template. */
struct page_parts {
    const struct html_options *options;
    struct buffer script, style, payload;
};

/* EVP_EncodeBlock counts in int: whole groups of three bytes, so that pieces join without padding. */
enum { BASE64_STEP_NBYTES = 3 << 24 };

static void buffer_add_base64(struct buffer *out, const uint8_t *bytes, size_t nbytes) {
    for (size_t done = 0; done < nbytes;) {
        size_t step = nbytes - done < BASE64_STEP_NBYTES ? nbytes - done : BASE64_STEP_NBYTES;
        /* One byte more than is kept: EVP_EncodeBlock terminates its text. */
        uint8_t *to = buffer_extend(out, (step + 2) / 3 * 4 + 1);
        if (!to)
            return;
        EVP_EncodeBlock(to, bytes + done, (int)step);
        out->nbytes--;
        done += step;
    }
}

static void buffer_add_escaped(struct buffer *out, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '&': buffer_add_text(out, "&amp;"); break;
        case '<': buffer_add_text(out, "&lt;"); break;
        case '>': buffer_add_text(out, "&gt;"); break;
        case '"': buffer_add_text(out, "&quot;"); break;
        case '\'': buffer_add_text(out, "&#39;"); break;
        default: buffer_add(out, text, 1);
        }
    }
}

/* 'sha256-...' of an inline element's text, as a Content-Security-Policy wants it. */
static void buffer_add_source_hash(struct buffer *out, const struct buffer *text) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int digest_nbytes = 0;
    if (text->failed || !EVP_Digest(text->bytes, text->nbytes, digest, &digest_nbytes, EVP_sha256(), NULL)) {
        out->failed = true;
        return;
    }
    buffer_add_text(out, "'sha256-");
    buffer_add_base64(out, digest, digest_nbytes);
    buffer_add_text(out, "'");
}

static const char *title_of(const struct html_options *options) {
    return options->title ? options->title : options->file;
}

static void fill_title(struct buffer *out, const struct page_parts *parts) {
    buffer_add_text(out, "<title>");
    buffer_add_escaped(out, title_of(parts->options));
    buffer_add_text(out, " - Strata</title>");
}

static void fill_policy(struct buffer *out, const struct page_parts *parts) {
    buffer_add_text(out,
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ");
    buffer_add_source_hash(out, &parts->script);
    buffer_add_text(out, " 'wasm-unsafe-eval'; style-src ");
    buffer_add_source_hash(out, &parts->style);
    buffer_add_text(out, "; img-src blob: data:; base-uri 'none'; form-action 'none'\">");
}

static void fill_style(struct buffer *out, const struct page_parts *parts) {
    buffer_add_text(out, "<style>");
    buffer_add(out, parts->style.bytes, parts->style.nbytes);
    buffer_add_text(out, "</style>");
}

static void fill_script(struct buffer *out, const struct page_parts *parts) {
    buffer_add_text(out, "<script>");
    buffer_add(out, parts->script.bytes, parts->script.nbytes);
    buffer_add_text(out, "</script>");
}

/* Base64 has no '<', so nothing in it can end the element. */
static void fill_inert(struct buffer *out, const char *id, const uint8_t *bytes, size_t nbytes) {
    buffer_printf(out, "<script type=\"application/octet-stream\" id=\"%s\">", id);
    buffer_add_base64(out, bytes, nbytes);
    buffer_add_text(out, "</script>");
}

static void fill_module(struct buffer *out, const struct page_parts *parts) {
    (void)parts;
    fill_inert(out, "module", asset_strata_wasm, asset_strata_wasm_nbytes);
}

static void fill_payload(struct buffer *out, const struct page_parts *parts) {
    fill_inert(out, "payload", parts->payload.bytes, parts->payload.nbytes);
}

struct hole {
    const char *name;
    void (*fill)(struct buffer *out, const struct page_parts *parts);
};

static const struct hole holes[] = {
    {"TITLE", fill_title},   {"POLICY", fill_policy},   {"STYLE", fill_style},
    {"MODULE", fill_module}, {"PAYLOAD", fill_payload}, {"SCRIPT", fill_script},
};

/* The hole that `name` begins with, up to the space after its name. NULL: none. */
static const struct hole *hole_find(const char *name) {
    for (size_t i = 0; i < sizeof holes / sizeof *holes; i++) {
        size_t length = strlen(holes[i].name);
        if (strncmp(name, holes[i].name, length) == 0 && name[length] == ' ')
            return &holes[i];
    }
    return NULL;
}

/*
 * Copies the template; what stands between "<!-- hole:NAME -->" and "<!-- /hole -->" is a default that makes
 * the template open by itself in an editor or a browser, and is replaced. A template with an unknown or open
 * hole is a build mistake and gives no page.
 */
static void template_fill(struct buffer *out, const char *template, const struct page_parts *parts) {
    static const char begin[] = "<!-- hole:", end[] = "<!-- /hole -->";
    const char *at;
    while ((at = strstr(template, begin)) != NULL) {
        const struct hole *hole = hole_find(at + strlen(begin));
        const char *after = strstr(at, end);
        if (!hole || !after) {
            out->failed = true;
            return;
        }
        buffer_add(out, template, (size_t)(at - template));
        hole->fill(out, parts);
        template = after + strlen(end);
    }
    buffer_add_text(out, template);
}

/* One strict block around all files: their names stay out of the page's global scope. */
static void scripts_join(struct buffer *script) {
    buffer_add_text(script, "\"use strict\";\n{\n");
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        buffer_add(script, scripts[i].bytes, *scripts[i].nbytes);
        buffer_add_text(script, "\n");
    }
    buffer_add_text(script, "}\n");
}

/* The facts that the page cannot find in the trace, as JSON text. NULL: no memory. To be freed with
 * cJSON_free. */
static char *meta_text(const struct html_options *options) {
    cJSON *meta = cJSON_CreateObject();
    bool complete = cJSON_AddStringToObject(meta, "file", options->file) &&
                    cJSON_AddStringToObject(meta, "sha256", options->sha256) &&
                    cJSON_AddStringToObject(meta, "version", STRATA_VERSION) &&
                    cJSON_AddStringToObject(meta, "title", title_of(options)) &&
                    cJSON_AddStringToObject(meta, "theme", options->theme) &&
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
    scripts_join(&parts.script);
    buffer_add(&parts.style, asset_page_css, asset_page_css_nbytes);
    payload_make(&parts.payload, trace, options->threads);
    if (!parts.script.failed && !parts.style.failed && !parts.payload.failed)
        template_fill(out, (const char *)asset_page_html, &parts);
    else
        out->failed = true;
    buffer_release(&parts.script);
    buffer_release(&parts.style);
    buffer_release(&parts.payload);
    return !out->failed;
}
