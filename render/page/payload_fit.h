/* Makes the payload of a page, and merges small allocations where the page would be too large. */
#pragma once

#include "render/page/html.h"

/* Title of the page: the one in the options, otherwise the file's name. */
const char *html_title(const struct html_options *options);

/* The number of characters that these bytes have in base64. */
uint64_t payload_text_nbytes(const struct buffer *payload);

/*
 * Fills `payload`, an empty buffer whose host provides all memory, so that a page whose other parts take `frame_nbytes`
 * stays within options->max_nbytes (0: any size). `*outcome` says what had to be merged. After a result other than
 * HTML_DONE the payload is of no use, but must be released all the same.
 */
enum html_result payload_fit(struct buffer *payload, const struct trace *trace,
                             const struct html_options *options, uint64_t frame_nbytes,
                             struct html_outcome *outcome);
