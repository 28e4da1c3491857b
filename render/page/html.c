#include "render/page/html.h"

#include "render/page/payload_fit.h"
#include "render/page/shell.h"

#include <string.h>

/* Assets that the build made of templates/. */
extern const unsigned char asset_page_html[], asset_page_css[], asset_main_js[];
extern const size_t asset_page_html_nbytes, asset_page_css_nbytes, asset_main_js_nbytes;
extern const char asset_page_css_hash[], asset_main_js_hash[];

static const struct shell_assets assets = {
    .markup = {asset_page_html, &asset_page_html_nbytes, ""},
    .style = {asset_page_css, &asset_page_css_nbytes, asset_page_css_hash},
    .program = {asset_main_js, &asset_main_js_nbytes, asset_main_js_hash},
};

/* The data behind the template's holes. */
struct page_parts {
    const struct html_options *options;
    struct buffer payload;
    bool bare;   /* the still has no picture */
    bool merged; /* the payload is a smaller recording, about which `opening` says nothing */
};

static void fill_title(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    template_add_title(out, html_title(parts->options));
}

/* Writes the JSON unchanged, except for what would end the element. */
static void fill_plan(struct buffer *out, const struct html_options *options) {
    buffer_add_text(out, "<script type=\"application/json\" id=\"plan\">");
    for (size_t i = 0, from = 0; i <= options->plan_nbytes; i++)
        if (i == options->plan_nbytes || options->plan[i] == '<') {
            buffer_add(out, options->plan + from, i - from);
            buffer_add_text(out, i < options->plan_nbytes ? "\\u003c" : "</script>");
            from = i + 1;
        }
}

static void fill_data(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    if (parts->options->plan_nbytes != 0)
        fill_plan(out, parts->options);
    if (parts->options->opening != NULL && !parts->merged)
        buffer_printf(out, "<data id=\"opening\" value='%s'></data>", parts->options->opening);
    template_add_inert(out, "payload", parts->payload.bytes, parts->payload.nbytes);
}

static void fill_still(struct buffer *out, const void *context) {
    const struct page_parts *parts = context;
    const char *still = parts->options->still, *picture = still != NULL ? strstr(still, "<img ") : NULL;
    if (still == NULL)
        return;
    if (parts->bare && picture != NULL) {
        buffer_add(out, still, (size_t)(picture - still));
        still = strchr(picture, '>') + 1;
    }
    buffer_add_text(out, still);
}

static const struct template_hole holes[] = {
    {"TITLE", fill_title}, {"STILL", fill_still}, {"DATA", fill_data}};

static enum html_result page_fit(struct page_parts *parts, const struct trace *trace,
                                 const struct template_holes *own, struct html_outcome *took) {
    uint64_t frame_nbytes = shell_measure(&assets, own);
    *took = (struct html_outcome){0};
    return frame_nbytes != 0 ? payload_fit(&parts->payload, trace, parts->options, frame_nbytes, took)
                             : HTML_NO_MEMORY;
}

enum html_result html_render(struct buffer *out, const struct trace *trace, struct arena_host host,
                             const struct html_options *options, struct html_outcome *outcome) {
    struct page_parts parts = {.options = options, .payload = {.host = host}};
    struct html_outcome took = {0};
    enum html_result result;
    const struct template_holes own = {holes, sizeof holes / sizeof *holes, &parts, NULL};
    result = page_fit(&parts, trace, &own, &took);
    if (result == HTML_TOO_LARGE) { /* the smallest page goes without what it can do without */
        buffer_release(&parts.payload);
        parts.payload = (struct buffer){.host = host};
        parts.bare = true;
        result = page_fit(&parts, trace, &own, &took);
    }
    parts.merged = took.n_allocations != 0;
    if (result == HTML_DONE)
        shell_fill(out, &assets, &own);
    if (outcome != NULL)
        *outcome = took;
    buffer_release(&parts.payload);
    return result == HTML_DONE && out->failed ? HTML_NO_MEMORY : result;
}
