#include "render/json_text.h"

#include "base/utf8.h"

#include <string.h>

static bool needs_escape(uint32_t code) {
    return code < 0x20 || code == 0x7f || code == 0x2028 || code == 0x2029 ||
           (code < 0x80 && strchr("\"\\<>&", (int)code) != NULL);
}

void json_text_add(struct buffer *out, const char *text) {
    size_t nbytes = strlen(text);
    buffer_add_text(out, "\"");
    for (size_t at = 0; at < nbytes;) {
        char bytes[4];
        uint32_t code = utf8_next(text, nbytes, &at);
        if (needs_escape(code))
            buffer_printf(out, "\\u%04x", (unsigned)code);
        else
            buffer_add(out, bytes, utf8_put(code, bytes));
    }
    buffer_add_text(out, "\"");
}
