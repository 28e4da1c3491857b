/* The page of an index. */
#include "render/index/index.h"

#include "render/page/template.h"

/* Assets that the build made of templates/. */
extern const unsigned char asset_index_html[], asset_index_css[], asset_index_js[];
extern const size_t asset_index_css_nbytes, asset_index_js_nbytes;
extern const char asset_index_css_hash[], asset_index_js_hash[];

static const struct template_asset script = {asset_index_js, &asset_index_js_nbytes, asset_index_js_hash};
static const struct template_asset style = {asset_index_css, &asset_index_css_nbytes, asset_index_css_hash};

bool index_html(struct buffer *out, const struct index *index) {
    struct template page = {out, (const char *)asset_index_html};
    struct json_writer json = json_writer_of(out);
    template_hole(&page, "POLICY");
    template_add_policy(out, &(struct template_policy){{&script}, {&style}, ""});
    template_hole(&page, "STYLE");
    template_add_style(out, &style);
    template_hole(&page, "DATA");
    json.for_page = true; /* no '<' is left in the data, so nothing in it can end the element */
    buffer_add_text(out, "<script type=\"application/json\" id=\"data\">");
    if (!index_write(&json, index))
        out->failed = true;
    buffer_add_text(out, "</script>");
    template_hole(&page, "SCRIPT");
    template_add_script(out, &script);
    template_end(&page);
    return !out->failed;
}
