/* The self-contained page: template, WebAssembly and payload in one file that fetches nothing. */
#ifndef STRATA_RENDER_HTML_H
#define STRATA_RENDER_HTML_H

#include "render/buffer.h"
#include "trace/trace.h"

struct html_options {
    const char *file;   /* name of the input as the reader knows it */
    const char *sha256; /* of the input, 64 hex digits */
    const char *title;  /* NULL: the file's name */
    const char *theme;  /* "light", "dark" or "auto" */
    const char *color;  /* what the colours show first: "site", "category", ...; NULL: the page's default */
    int32_t device;     /* ordinal shown first */
    uint64_t capacity_bytes; /* 0: unknown */
    unsigned threads;        /* for deflate; 0: one per core */
};

/* Appends the page to `out`. Sets trace->meta (adds one string), otherwise only reads. The same input gives the same
 * bytes, whatever `threads` is. False: no memory. */
bool html_render(struct buffer *out, struct trace *trace, const struct html_options *options);

#endif
