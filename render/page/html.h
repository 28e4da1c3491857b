/* The self-contained pages, of a recording and of a difference: template, WebAssembly and payload in one file that
 * fetches nothing. */
#pragma once

#include "base/buffer.h"
#include "trace/trace.h"

struct html_options {
    const char *file;        /* name of the input as the reader knows it */
    const char *fingerprint; /* of the input, "xxh128:" and 32 hex digits */
    const char *title;       /* NULL: the file's name */
    const char *theme;       /* "light", "dark" or "auto" */
    const char *color;       /* the first colouring: "site", "category", ...; NULL: the page's default */
    const char *view;        /* the first view, as in the fragment of the page's address; NULL: all */
    /* advice after running out of memory: a JSON object of arrays of { code, text, short_bytes }, by ordinals; NULL:
     * not known */
    const char *follows;
    /* HTML shown until the page's program runs, without its <img> where the page would be too large; NULL: none */
    const char *still;
    /* what the first picture needs of the findings: JSON of report_page_write; NULL: they are found before it */
    const char *opening;
    const char *plan; /* [plan_nbytes] JSON of strata plan, for the tab "Plan"; NULL: none */
    size_t plan_nbytes;
    int32_t device;          /* ordinal of the device that is shown first */
    uint64_t capacity_bytes; /* 0: unknown */
    /* limit for the page; 0: none. Small allocations are merged until it fits, see layout/merge.h */
    uint64_t max_nbytes;
    unsigned threads; /* for deflate; 0: as many as cores */
    /* made by html_payload with these options; html_render takes it over. NULL or failed: html_render makes its own */
    struct buffer *payload;
};

enum html_result { HTML_DONE, HTML_NO_MEMORY, HTML_TOO_LARGE };

/* What html_render did to meet max_nbytes. */
struct html_outcome {
    uint64_t n_allocations, n_merged, n_bands,
        n_hidden;          /* as in layout/merge.h; 0 where nothing had to be merged */
    uint64_t least_nbytes; /* HTML_TOO_LARGE: the size of the smallest page */
};

/* Makes the payload of the whole recording in an empty buffer, whose host provides all the memory. `still`,
 * `opening` and `plan` affect only the page's size, so they may be set later. Without memory payload->failed is set. */
void html_payload(struct buffer *payload, const struct trace *trace, const struct html_options *options);

/* Appends the page to `out`, in pieces if that has a sink. `outcome` may be NULL. All memory but that of `out` comes
 * from `host`. The same input gives the same bytes, whatever `threads` is. O(size of the trace); with max_nbytes about
 * ten times that. */
enum html_result html_render(struct buffer *out, const struct trace *trace, struct arena_host host,
                             const struct html_options *options, struct html_outcome *outcome);

/* The page of a difference: two recordings, the verb's results, and the program that shows both. */
struct diff_page {
    const char *title;
    const struct trace *a, *b;
    struct arena_host host; /* provides all memory but the output's */
    /* theme, max_nbytes and threads of the page are those of `of_a` */
    const struct html_options *of_a, *of_b;
    const struct buffer *figures; /* the JSON that templates/pair.js reads */
};

/*
 * Appends the page to `out`. With max_nbytes each recording may take half of the size plus what the smaller one leaves;
 * the figures are always of the whole recordings. `outcome_a` and `outcome_b` say how each was fitted. The same input
 * gives the same bytes, whatever `threads` is.
 */
enum html_result diff_page_render(struct buffer *out, const struct diff_page *page,
                                  struct html_outcome *outcome_a, struct html_outcome *outcome_b);
