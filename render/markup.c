#include "render/markup.h"

void markup_add_text(struct buffer *out, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '&': buffer_add_text(out, "&amp;"); break;
        case '<': buffer_add_text(out, "&lt;"); break;
        case '>': buffer_add_text(out, "&gt;"); break;
        case '"': buffer_add_text(out, "&quot;"); break;
        case '\'': buffer_add_text(out, "&#39;"); break;
        default: buffer_add(out, text, 1);
        }
    }
}
