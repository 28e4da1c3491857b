/* Text in HTML and XML. */
#ifndef STRATA_RENDER_MARKUP_H
#define STRATA_RENDER_MARKUP_H

#include "base/buffer.h"

/* Text for an element or an attribute in quotes. */
void markup_add_text(struct buffer *out, const char *text);

#endif
