/* Text in HTML and XML. */
#pragma once

#include "base/buffer.h"

/* Appends text for an element or a quoted attribute. Bytes that are not UTF-8, and characters of utf8_steers except
 * ends of lines and tabs, become U+FFFD. */
void markup_add_text(struct buffer *out, const char *text);
