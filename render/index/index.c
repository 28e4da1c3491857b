/* The page of an index. */
#include "render/index/index.h"

#include "render/page/template.h"

/* Assets that the build made of templates/. */
extern const unsigned char asset_index_html[], asset_index_css[], asset_index_js[];
extern const size_t asset_index_css_nbytes, asset_index_js_nbytes;
extern const char asset_index_css_hash[], asset_index_js_hash[];

static const struct template_asset script = {asset_index_js, &asset_index_js_nbytes, asset_index_js_hash};
static const struct template_asset style = {asset_index_css, &asset_index_css_nbytes, asset_index_css_hash};

static void fill_policy(struct buffer *out, const void *context) {
    (void)context;
    template_add_policy(out, &(struct template_policy){{&script}, {&style}, ""});
}

static void fill_style(struct buffer *out, const void *context) {
    (void)context;
    template_add_style(out, &style);
}

static void fill_script(struct buffer *out, const void *context) {
    (void)context;
    template_add_script(out, &script);
}

/* No '<' is left in the data, so nothing in it can end the element. */
static void fill_data(struct buffer *out, const void *context) {
    struct json_writer json = json_writer_of(out);
    json.for_page = true;
    buffer_add_text(out, "<script type=\"application/json\" id=\"data\">");
    if (!index_write(&json, context))
        out->failed = true;
    buffer_add_text(out, "</script>");
}

static const struct template_hole holes[] = {
    {"POLICY", fill_policy},
    {"STYLE", fill_style},
    {"DATA", fill_data},
    {"SCRIPT", fill_script},
};

bool index_html(struct buffer *out, const struct index *index) {
    template_fill(out, (const char *)asset_index_html,
                  &(struct template_holes){holes, sizeof holes / sizeof *holes, index, NULL});
    return !out->failed;
}
