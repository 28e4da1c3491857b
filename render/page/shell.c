#include "render/page/shell.h"

/* Assets that the build made of templates/ for every page, and the WebAssembly module, which is packed. */
extern const unsigned char asset_shell_html[], asset_boot_js[], asset_boot_css[], asset_strata_wasm[];
extern const size_t asset_boot_js_nbytes, asset_boot_css_nbytes, asset_strata_wasm_nbytes;
extern const char asset_boot_js_hash[], asset_boot_css_hash[];

/* The code that unpacks the rest, and the style until then. */
static const struct template_asset boot = {asset_boot_js, &asset_boot_js_nbytes, asset_boot_js_hash};
static const struct template_asset boot_style = {asset_boot_css, &asset_boot_css_nbytes, asset_boot_css_hash};
static const struct template_asset module = {asset_strata_wasm, &asset_strata_wasm_nbytes, ""};

static void fill_policy(struct buffer *out, const void *context) {
    const struct shell_assets *assets = context;
    template_add_policy(out, &(struct template_policy){{&boot, &assets->program},
                                                       {&boot_style, &assets->style},
                                                       " 'wasm-unsafe-eval'; worker-src blob:"});
}

static void fill_style(struct buffer *out, const void *context) {
    (void)context;
    template_add_style(out, &boot_style);
}

static void fill_program(struct buffer *out, const void *context) {
    const struct shell_assets *assets = context;
    template_add_packed(out, "module", &module);
    template_add_packed(out, "style", &assets->style);
    template_add_packed(out, "markup", &assets->markup);
    template_add_packed(out, "program", &assets->program);
    template_add_script(out, &boot);
}

void shell_fill(struct buffer *out, const struct shell_assets *assets, const struct template_holes *own) {
    static const struct template_hole holes[] = {
        {"POLICY", fill_policy}, {"STYLE", fill_style}, {"PROGRAM", fill_program}};
    template_fill(out, (const char *)asset_shell_html,
                  &(struct template_holes){holes, sizeof holes / sizeof *holes, assets, own});
}

uint64_t shell_measure(const struct shell_assets *assets, const struct template_holes *own) {
    struct buffer shell = {0};
    shell_fill(&shell, assets, own);
    uint64_t nbytes = shell.failed ? 0 : shell.nbytes;
    buffer_release(&shell);
    return nbytes;
}
