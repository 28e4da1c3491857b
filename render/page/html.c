#include "render/page/html.h"

#include "render/deflate.h"
#include "render/page/payload_fit.h"
#include "render/page/template.h"

#include <string.h>

/* Assets that the build made of templates/, most of them packed (scripts/pack.c), and the WebAssembly module. */
extern const unsigned char asset_shell_html[], asset_boot_js[], asset_boot_css[], asset_strata_wasm[],
    asset_page_html[], asset_page_css[], asset_main_js[], asset_pair_css[], asset_pair_js[];
extern const size_t asset_boot_js_nbytes, asset_boot_css_nbytes, asset_strata_wasm_nbytes,
    asset_page_html_nbytes, asset_page_css_nbytes, asset_main_js_nbytes, asset_pair_css_nbytes,
    asset_pair_js_nbytes;
extern const char asset_boot_js_hash[], asset_boot_css_hash[], asset_page_css_hash[], asset_main_js_hash[],
    asset_pair_css_hash[], asset_pair_js_hash[];

/* ---- the parts of every page with recordings: opening, elements, styles, program, and the WebAssembly module
 * (templates/shell.html) ---- */

/* The code that unpacks the rest, and the style until then. */
static const struct template_asset boot = {asset_boot_js, &asset_boot_js_nbytes, asset_boot_js_hash};
static const struct template_asset boot_style = {asset_boot_css, &asset_boot_css_nbytes, asset_boot_css_hash};
static const struct template_asset module = {asset_strata_wasm, &asset_strata_wasm_nbytes, ""};
static const struct template_asset markup = {asset_page_html, &asset_page_html_nbytes, ""};

/* The parts that differ between pages. */
struct shell_assets {
    struct template_asset style, program;
};

/* Writes the page up to its still. */
static struct template shell_begin(struct buffer *out, const struct shell_assets *assets, const char *title) {
    struct template shell = {out, (const char *)asset_shell_html};
    template_hole(&shell, "POLICY");
    template_add_policy(out, &(struct template_policy){{&boot, &assets->program},
                                                       {&boot_style, &assets->style},
                                                       " 'wasm-unsafe-eval'; worker-src blob:"});
    template_hole(&shell, "TITLE");
    template_add_title(out, title);
    template_hole(&shell, "STYLE");
    template_add_style(out, &boot_style);
    template_hole(&shell, "STILL");
    return shell;
}

/* Writes what comes after the data. */
static void shell_end(struct template *shell, const struct shell_assets *assets) {
    template_hole(shell, "PROGRAM");
    template_add_packed(shell->out, "module", &module);
    template_add_packed(shell->out, "style", &assets->style);
    template_add_packed(shell->out, "markup", &markup);
    template_add_packed(shell->out, "program", &assets->program);
    template_add_script(shell->out, &boot);
    template_end(shell);
}

/* The size of a page that was only written to be measured, and is released; 0: no memory. */
static uint64_t measured_nbytes(struct buffer *page) {
    uint64_t nbytes = page->failed ? 0 : page->nbytes;
    buffer_release(page);
    return nbytes;
}

/* ---- the page of a recording ---- */

static const struct shell_assets page_assets = {
    .style = {asset_page_css, &asset_page_css_nbytes, asset_page_css_hash},
    .program = {asset_main_js, &asset_main_js_nbytes, asset_main_js_hash},
};

struct page_parts {
    const struct html_options *options;
    struct buffer payload;
    bool bare;   /* the still has no picture */
    bool merged; /* the payload is a smaller recording, about which `opening` says nothing */
};

/* Writes the JSON unchanged, except for what would end the element. */
static void add_plan(struct buffer *out, const struct html_options *options) {
    buffer_add_text(out, "<script type=\"application/json\" id=\"plan\">");
    for (size_t i = 0, from = 0; i <= options->plan_nbytes; i++)
        if (i == options->plan_nbytes || options->plan[i] == '<') {
            buffer_add(out, options->plan + from, i - from);
            buffer_add_text(out, i < options->plan_nbytes ? "\\u003c" : "</script>");
            from = i + 1;
        }
}

static void add_still(struct buffer *out, const struct page_parts *parts) {
    const char *still = parts->options->still, *picture = still != NULL ? strstr(still, "<img ") : NULL;
    if (still == NULL)
        return;
    if (parts->bare && picture != NULL) {
        buffer_add(out, still, (size_t)(picture - still));
        still = strchr(picture, '>') + 1;
    }
    buffer_add_text(out, still);
}

static void page_write(struct buffer *out, const struct page_parts *parts) {
    const struct html_options *options = parts->options;
    struct template shell = shell_begin(out, &page_assets, html_title(options));
    add_still(out, parts);
    template_hole(&shell, "DATA");
    if (options->plan_nbytes != 0)
        add_plan(out, options);
    if (options->opening != NULL && !parts->merged)
        buffer_printf(out, "<data id=\"opening\" value='%s'></data>", options->opening);
    template_add_inert(out, "payload", parts->payload.bytes, parts->payload.nbytes);
    shell_end(&shell, &page_assets);
}

static enum html_result page_fit(struct page_parts *parts, const struct trace *trace,
                                 struct html_outcome *took) {
    struct buffer frame = {0};
    page_write(&frame, parts);
    uint64_t frame_nbytes = measured_nbytes(&frame);
    *took = (struct html_outcome){0};
    return frame_nbytes != 0 ? payload_fit(&parts->payload, trace, parts->options, frame_nbytes, took)
                             : HTML_NO_MEMORY;
}

enum html_result html_render(struct buffer *out, const struct trace *trace, struct arena_host host,
                             const struct html_options *options, struct html_outcome *outcome) {
    struct page_parts parts = {.options = options, .payload = {.host = host}};
    struct html_outcome took = {0};
    enum html_result result;
    result = page_fit(&parts, trace, &took);
    if (result == HTML_TOO_LARGE) { /* the smallest page goes without what it can do without */
        buffer_release(&parts.payload);
        parts.payload = (struct buffer){.host = host};
        parts.bare = true;
        result = page_fit(&parts, trace, &took);
    }
    parts.merged = took.n_allocations != 0;
    if (result == HTML_DONE)
        page_write(out, &parts);
    if (outcome != NULL)
        *outcome = took;
    buffer_release(&parts.payload);
    return result == HTML_DONE && out->failed ? HTML_NO_MEMORY : result;
}

/* ---- the page of a difference ---- */

static const struct shell_assets pair_assets = {
    .style = {asset_pair_css, &asset_pair_css_nbytes, asset_pair_css_hash},
    .program = {asset_pair_js, &asset_pair_js_nbytes, asset_pair_js_hash},
};

struct pair_parts {
    const struct diff_page *page;
    struct buffer a, b;           /* payloads */
    struct payload_piece figures; /* deflated: its checksum tells a damaged file */
};

/* The element is not called "payload", because a reader of one recording's page must not take a page of two for one. */
static void pair_write(struct buffer *out, const struct pair_parts *parts) {
    struct template shell = shell_begin(out, &pair_assets, parts->page->title);
    template_hole(&shell, "DATA");
    template_add_inert(out, "figures", parts->figures.packed, parts->figures.packed_nbytes);
    template_add_inert(out, "payload-a", parts->a.bytes, parts->a.nbytes);
    template_add_inert(out, "payload-b", parts->b.bytes, parts->b.nbytes);
    shell_end(&shell, &pair_assets);
}

static enum html_result fit_a(struct pair_parts *parts, uint64_t frame_nbytes, struct html_outcome *outcome) {
    return payload_fit(&parts->a, parts->page->a, parts->page->of_a, frame_nbytes, outcome);
}

/* Fits each recording into half of the room, then the one that had to shrink into what the other leaves. */
static enum html_result fit_both(struct pair_parts *parts, uint64_t shell_nbytes, struct html_outcome *a,
                                 struct html_outcome *b) {
    uint64_t most = parts->page->of_a->max_nbytes, room = most > shell_nbytes ? most - shell_nbytes : 0;
    enum html_result result = fit_a(parts, shell_nbytes + room / 2, a);
    if (result == HTML_DONE)
        result = payload_fit(&parts->b, parts->page->b, parts->page->of_b,
                             shell_nbytes + payload_text_nbytes(&parts->a), b);
    if (result != HTML_DONE || a->n_merged + a->n_hidden == 0)
        return result;
    uint64_t rest = shell_nbytes + payload_text_nbytes(&parts->b);
    buffer_release(&parts->a);
    return fit_a(parts, rest, a);
}

enum html_result diff_page_render(struct buffer *out, const struct diff_page *page,
                                  struct html_outcome *outcome_a, struct html_outcome *outcome_b) {
    struct arena_host host = page->host;
    struct pair_parts parts = {.page = page, .a = {.host = host}, .b = {.host = host}};
    parts.figures =
        (struct payload_piece){.raw = page->figures->bytes, .raw_nbytes = (uint32_t)page->figures->nbytes};
    enum html_result result = HTML_NO_MEMORY;
    if (page->figures->nbytes > UINT32_MAX || !deflate_pieces(&parts.figures, 1, 1, host))
        return result;
    struct buffer shell = {0};
    pair_write(&shell, &parts);
    uint64_t shell_nbytes = measured_nbytes(&shell);
    if (shell_nbytes != 0)
        result = fit_both(&parts, shell_nbytes, outcome_a, outcome_b);
    if (result == HTML_DONE)
        pair_write(out, &parts);
    buffer_release(&parts.a);
    buffer_release(&parts.b);
    deflate_release(&parts.figures, 1, host);
    return result == HTML_DONE && out->failed ? HTML_NO_MEMORY : result;
}
