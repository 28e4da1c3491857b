/* A recording as a page carries it, made smaller where the page would be too large. */
#pragma once

#include "render/page/html.h"

/* Title of the page: the one in the options, otherwise the file's name. */
const char *html_title(const struct html_options *options);

/* Size of these bytes in base64, as in a page. */
uint64_t payload_text_nbytes(const struct buffer *payload);

/*
 * Fills `payload`, an empty buffer with a host, so that a page whose other parts take `frame_nbytes` stays within
 * options->max_nbytes (0: any size). All memory is that of the payload's host. `*outcome` says what that took; with a result
 * other than HTML_DONE the payload is empty or of no use, and must be released all the same.
 */
enum html_result payload_fit(struct buffer *payload, const struct trace *trace,
                             const struct html_options *options, uint64_t frame_nbytes,
                             struct html_outcome *outcome);
