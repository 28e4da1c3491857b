#include "render/markup.h"

#include "base/joined.h"
#include "base/utf8.h"

#include <string.h>

static const char *entity_of(uint32_t code) {
    switch (code) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void markup_add_text(struct buffer *out, const char *text) {
    for (size_t at = 0, nbytes = strlen(text); at < nbytes;) {
        uint32_t code = utf8_next(text, nbytes, &at);
        const char *entity = is_joined(text, at - 1) ? "&nbsp;" : entity_of(code);
        char bytes[4];
        bool blank = code == '\n' || code == '\t';
        if (entity != NULL)
            buffer_add_text(out, entity);
        else
            buffer_add(out, bytes, utf8_put(utf8_steers(code) && !blank ? UTF8_REPLACEMENT : code, bytes));
    }
}
