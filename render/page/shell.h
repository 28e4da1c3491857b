/* The parts of every page with recordings: opening, elements, styles, program, and the WebAssembly module
 * (templates/shell.html). */
#pragma once

#include "render/page/template.h"

/* The parts that differ between pages, packed by the build (scripts/pack.c). */
struct shell_assets {
    struct template_asset markup, style, program;
};

/* Writes the page. `own` has the holes TITLE, STILL and DATA. */
void shell_fill(struct buffer *out, const struct shell_assets *assets, const struct template_holes *own);

/* Measures the same page; 0: no memory. */
uint64_t shell_measure(const struct shell_assets *assets, const struct template_holes *own);
