/* Strings as JSON that may stand inside of an HTML page too. */
#ifndef STRATA_RENDER_JSON_TEXT_H
#define STRATA_RENDER_JSON_TEXT_H

#include "base/buffer.h"

/*
 * Appends `text` in quotes. Bytes that are not UTF-8 become U+FFFD. Besides what JSON wants escaped, '<', '>', '&'
 * and everything outside of ASCII that a script could take for the end of a line is written as \uNNNN, so no text can
 * end a <script> element.
 */
void json_text_add(struct buffer *out, const char *text);

#endif
