/* The index: the order of its rows, and its page. */
#include "render/index/index_internal.h"

#include "render/page/template.h"

#include <stdlib.h>
#include <string.h>

/* What the build made of the files of templates/. */
extern const unsigned char asset_index_html[], asset_index_css[], asset_index_js[];
extern const size_t asset_index_css_nbytes, asset_index_js_nbytes;
extern const char asset_index_css_hash[], asset_index_js_hash[];

static const struct template_asset script = {asset_index_js, &asset_index_js_nbytes, asset_index_js_hash};
static const struct template_asset style = {asset_index_css, &asset_index_css_nbytes, asset_index_css_hash};

/* ---- rows ---- */

bool index_add_row(struct index *index, const struct index_row *row) {
    if (!ARENA_GROW(index->arena, index->rows, index->rows_capacity,
                    (uint64_t)index->n_rows + row->n_others + 1))
        return false;
    index->rows[index->n_rows++] = *row;
    for (uint32_t i = 0; i < row->n_others; i++)
        index->rows[index->n_rows++] = row->others[i];
    return true;
}

/* ---- order ---- */

/* Unknown numbers last. */
static int number_compare(int64_t a, int64_t b) {
    if (a == b)
        return 0;
    if (a == INDEX_UNKNOWN || b == INDEX_UNKNOWN)
        return a == INDEX_UNKNOWN ? 1 : -1;
    return a < b ? -1 : 1;
}

static int row_compare(const void *a, const void *b) {
    const struct index_row *x = a, *y = b;
    int order = number_compare(x->rank, y->rank);
    if (order == 0)
        order = number_compare(x->step, y->step);
    if (order == 0)
        order = strcmp(x->input, y->input);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : number_compare(x->device, y->device);
}

static int refusal_compare(const void *a, const void *b) {
    const struct index_refusal *x = a, *y = b;
    int order = strcmp(x->input, y->input);
    return order != 0 ? order : strcmp(x->reason, y->reason);
}

void index_sort(struct index *index) {
    if (index->n_rows != 0)
        qsort(index->rows, index->n_rows, sizeof *index->rows, row_compare);
    if (index->n_failed != 0)
        qsort(index->failed, index->n_failed, sizeof *index->failed, refusal_compare);
    if (index->n_skipped != 0)
        qsort(index->skipped, index->n_skipped, sizeof *index->skipped, refusal_compare);
}

/* ---- the page ---- */

static void fill_policy(struct buffer *out, const void *context) {
    static const struct template_asset *const scripts[] = {&script};
    (void)context;
    const struct template_asset *const styles[] = {&style};
    template_add_policy(
        out, &(struct template_policy){
                 .scripts = scripts, .n_scripts = 1, .styles = styles, .n_styles = 1, .more_scripts = ""});
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
