#include "render/page/diff_page.h"

#include "render/deflate.h"
#include "render/page/payload_fit.h"
#include "render/page/shell.h"

/* Assets that the build made of templates/. */
extern const unsigned char asset_page_html[], asset_pair_css[], asset_pair_js[];
extern const size_t asset_page_html_nbytes, asset_pair_css_nbytes, asset_pair_js_nbytes;
extern const char asset_pair_css_hash[], asset_pair_js_hash[];

static const struct shell_assets assets = {
    .markup = {asset_page_html, &asset_page_html_nbytes, ""},
    .style = {asset_pair_css, &asset_pair_css_nbytes, asset_pair_css_hash},
    .program = {asset_pair_js, &asset_pair_js_nbytes, asset_pair_js_hash},
};

/* The data behind the template's holes. */
struct parts {
    const struct diff_page *page;
    struct buffer a, b;           /* payloads */
    struct payload_piece figures; /* deflated: its checksum tells a damaged file */
};

static void fill_title(struct buffer *out, const void *context) {
    const struct parts *parts = context;
    template_add_title(out, parts->page->title);
}

/* The element is not called "payload", because a reader of one recording's page must not take a page of two for one. */
static void fill_data(struct buffer *out, const void *context) {
    const struct parts *parts = context;
    template_add_inert(out, "figures", parts->figures.packed, parts->figures.packed_nbytes);
    template_add_inert(out, "payload-a", parts->a.bytes, parts->a.nbytes);
    template_add_inert(out, "payload-b", parts->b.bytes, parts->b.nbytes);
}

static void fill_still(struct buffer *out, const void *context) {
    (void)out;
    (void)context;
}

static const struct template_hole holes[] = {
    {"TITLE", fill_title}, {"STILL", fill_still}, {"DATA", fill_data}};

static enum html_result fit_a(struct parts *parts, uint64_t frame_nbytes, struct html_outcome *outcome) {
    return payload_fit(&parts->a, parts->page->a, parts->page->of_a, frame_nbytes, outcome);
}

/* Fits each recording into half of the room, then the one that had to shrink into what the other leaves. */
static enum html_result fit_both(struct parts *parts, uint64_t shell_nbytes, struct html_outcome *a,
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
    struct parts parts = {.page = page, .a = {.host = host}, .b = {.host = host}};
    parts.figures =
        (struct payload_piece){.raw = page->figures->bytes, .raw_nbytes = (uint32_t)page->figures->nbytes};
    enum html_result result = HTML_NO_MEMORY;
    if (page->figures->nbytes > UINT32_MAX || !deflate_pieces(&parts.figures, 1, 1, host))
        return result;
    const struct template_holes own = {holes, sizeof holes / sizeof *holes, &parts, NULL};
    uint64_t shell_nbytes = shell_measure(&assets, &own);
    if (shell_nbytes != 0)
        result = fit_both(&parts, shell_nbytes, outcome_a, outcome_b);
    if (result == HTML_DONE)
        shell_fill(out, &assets, &own);
    buffer_release(&parts.a);
    buffer_release(&parts.b);
    deflate_release(&parts.figures, 1, host);
    return result == HTML_DONE && out->failed ? HTML_NO_MEMORY : result;
}
