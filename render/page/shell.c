#include "render/page/shell.h"

#include "render/deflate.h"

/* What the build made of the files of templates/ for every page, and the WebAssembly module. */
extern const unsigned char asset_boot_js[], asset_strata_wasm[];
extern const size_t asset_boot_js_nbytes, asset_strata_wasm_nbytes;
extern const char asset_boot_js_hash[];

/* What unpacks the program. */
static const struct template_asset boot = {asset_boot_js, &asset_boot_js_nbytes, asset_boot_js_hash};

/* Styles stand in a page as they are, so that nothing is shown without them; the rest is packed. */
bool shell_pack(struct shell *shell, const struct shell_assets *assets, struct arena_host host,
                unsigned threads) {
    struct payload_piece pieces[2] = {{0}};
    pieces[0].raw = assets->program.bytes;
    pieces[0].raw_nbytes = (uint32_t)*assets->program.nbytes;
    pieces[1].raw = asset_strata_wasm;
    pieces[1].raw_nbytes = (uint32_t)asset_strata_wasm_nbytes;
    bool done = deflate_pieces(pieces, 2, threads, host);
    *shell = (struct shell){.assets = assets, .host = host, .program = pieces[0], .module = pieces[1]};
    return done;
}

void shell_release(struct shell *shell) {
    deflate_release(&shell->program, 1, shell->host);
    deflate_release(&shell->module, 1, shell->host);
}

void shell_add_policy(struct buffer *out, const struct shell *shell) {
    const struct template_asset *const scripts[] = {&boot, &shell->assets->program};
    template_add_policy(out, scripts, 2, &shell->assets->style, " 'wasm-unsafe-eval'; worker-src blob:");
}

void shell_add_style(struct buffer *out, const struct shell *shell) {
    template_add_style(out, &shell->assets->style);
}

void shell_add_module(struct buffer *out, const struct shell *shell) {
    template_add_inert(out, "module", shell->module.packed, shell->module.packed_nbytes);
}

void shell_add_script(struct buffer *out, const struct shell *shell) {
    template_add_inert(out, "program", shell->program.packed, shell->program.packed_nbytes);
    template_add_script(out, &boot);
}
