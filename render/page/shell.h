/* What every page with recordings in it carries besides them: how it is opened, styles, program, the WebAssembly module. */
#ifndef STRATA_RENDER_PAGE_SHELL_H
#define STRATA_RENDER_PAGE_SHELL_H

#include "render/page/template.h"

/* What a page is made of; all of it is the build's. Program and style are packed. */
struct shell_assets {
    const char *template;
    struct template_asset program, style;
};

/* Fills the page's template: the holes POLICY, STYLE, MODULE and SCRIPT, and these of its own. */
void shell_fill(struct buffer *out, const struct shell_assets *assets, const struct template_holes *own);

/* Size of the same; 0: no memory. */
uint64_t shell_measure(const struct shell_assets *assets, const struct template_holes *own);

#endif
