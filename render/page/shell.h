/* What every page with recordings in it carries besides them: how it is opened, the program, the WebAssembly module. */
#ifndef STRATA_RENDER_PAGE_SHELL_H
#define STRATA_RENDER_PAGE_SHELL_H

#include "render/page/template.h"
#include "trace/payload.h"

/* What a page is made of; all of it is the build's. */
struct shell_assets {
    const char *template;
    struct template_asset program, style;
};

/* Program and module, packed with memory of `host`. */
struct shell {
    const struct shell_assets *assets;
    struct arena_host host;
    struct payload_piece program, module;
};

/* `threads` as in html.h. False: no memory; it must still be released. */
bool shell_pack(struct shell *shell, const struct shell_assets *assets, struct arena_host host,
                unsigned threads);
void shell_release(struct shell *shell);

/* Holes of the same names. */
void shell_add_policy(struct buffer *out, const struct shell *shell);
void shell_add_style(struct buffer *out, const struct shell *shell);
void shell_add_module(struct buffer *out, const struct shell *shell);
void shell_add_script(struct buffer *out, const struct shell *shell);

#endif
