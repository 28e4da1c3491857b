/* Text in HTML and XML. */
#pragma once

#include "base/buffer.h"

/* Text for an element or an attribute in quotes. Bytes that are not UTF-8, and what utf8_steers tells of but line ends
 * and tabs, become U+FFFD. */
void markup_add_text(struct buffer *out, const char *text);
