/* What every page with recordings in it carries besides them: how it is opened, styles, program, the WebAssembly module. */
#ifndef STRATA_RENDER_PAGE_SHELL_H
#define STRATA_RENDER_PAGE_SHELL_H

#include "render/page/template.h"

/* What a page is made of; all of it is the build's. Program and style are packed. */
struct shell_assets {
    const char *template;
    struct template_asset program, style;
};

/* Holes of the same names; STYLE is what is seen before the page's own styles are unpacked. */
void shell_add_policy(struct buffer *out, const struct shell_assets *assets);
void shell_add_style(struct buffer *out);
void shell_add_module(struct buffer *out);
void shell_add_script(struct buffer *out, const struct shell_assets *assets);

#endif
