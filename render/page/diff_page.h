/* The page of a difference: two recordings, the verb's results, and the program that shows both. */
#pragma once

#include "render/page/html.h"

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
